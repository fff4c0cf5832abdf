// Removes what nobody needs: operations without effect whose results are unused, results of `if` and carried values of
// loops that only feed themselves, and stores into local arrays that are never read. A loop without effects counts as
// terminating.
#pragma once
#include "analysis/effects.h"
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. `effects` may be shared between functions of one module.
bool dce(ir::Function& function, analysis::Effects* effects = nullptr);

}  // namespace weft::passes
