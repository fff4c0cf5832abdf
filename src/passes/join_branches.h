// What unrolled loops leave behind: branches by the same condition one after the other, and accesses by an index that a
// branch has chosen.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Makes one `if` of two neighbours with the same condition. Returns whether anything changed.
bool join_branches(ir::Function& function);

/// Moves stores to private arrays into both sides of the `if` right before them that chooses their index, if nobody else
/// wants the index and a side chooses a constant; likewise in the sides. Returns whether anything changed.
bool sink_stores(ir::Function& function);

}  // namespace weft::passes
