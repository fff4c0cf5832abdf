// Makes private arrays that leave an `if` or a loop by its results where that stands: early returns and names assigned in
// branches give such results. Each array then has one place in the program, which differentiation needs, because an
// array's gradient lives as long as the array. Results that can only be one array become that array.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool hoist_locals(ir::Function& function);

}  // namespace weft::passes
