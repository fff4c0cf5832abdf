// Square roots that keep away from zero, where there is no need: `length` and `normalize` take the root of 1 instead of 0
// and put the zero back, so that derivatives there are zero, not infinite. When everything is differentiated,
//   select(x == 0, x, sqrt(select(x == 0, 1, x))) → sqrt(x)
// which is the same for every x, zeros of both signs and NaN included.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool plain_roots(ir::Function& function);

}  // namespace weft::passes
