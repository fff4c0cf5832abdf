// Moves the test of a `while` into its body where the test reads memory: the loop then runs until a carried flag says
// stop. Differentiation asks for it in kernels that write memory: what the test read may have to be written down, and
// only a body can carry the place where.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool move_tests(ir::Function& function);

}  // namespace weft::passes
