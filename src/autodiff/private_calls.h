// Calls of library functions that have a gradient of their own and work on private memory: the algebra of tiles. To the
// reverse they are one operation each, a store of whole arrays; docs/design/gradients.md says what that takes.
#pragma once
#include "analysis/alias.h"
#include "ir/ir.h"

namespace weft::autodiff {

/// A call that writes to private arrays and to nothing else, gives nothing back, and has a gradient of its own.
bool fills_private(const ir::Op& call, const analysis::Alias& alias, analysis::Effects& effects);

/// Makes such calls of a function fit for the reverse: what a call, or its gradient, reads must still be there when the
/// region that made it is over, so arrays that are written later are copied for it. Calls whose arrays can't be told are
/// replaced by their bodies. `form` is that of the kernel. True if something changed.
bool settle_private_calls(ir::Function& function, const ir::Form& form);

}  // namespace weft::autodiff
