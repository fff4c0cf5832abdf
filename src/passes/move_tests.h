// Moves the test of a `while` into its body where the test reads memory: the loop then runs until a carried flag says
// stop. Differentiation asks for it in kernels that write memory: what the test read may have to be written down, and
// only a body can carry the place where.
#pragma once
#include <functional>

#include "ir/builder.h"
#include "ir/walk.h"

namespace weft::passes {

/// Returns whether anything changed.
bool move_tests(ir::Function& function);

/// Does it to one loop, which is removed, in the middle of a forward walk: gives the body of the new loop, which the walk
/// has still to go through. `goes_on` makes the new test out of the carried flag.
ir::Region* move_test(ir::Op& loop, ir::Rewriter& rewriter,
                      const std::function<ir::Value*(ir::Builder&, ir::Value*)>& goes_on);

}  // namespace weft::passes
