// Minima and maxima that come out the same in whatever order threads take them. To `min` and `max` the two zeros are equal,
// and of equal ones the last stays: which zero is left would depend on who came last. So the zeros that threads bring are
// made positive,
//   atomic max a[i], v → atomic max a[i], v + 0.0
// and one of them replaces whatever zero was there. Other numbers, and NaN, are what they were.
//
// For deterministic kernels, behind all passes that change arithmetic: fused with a product the sum would round a negative
// number that is too small to −0 again.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool positive_zeros(ir::Function& function);

}  // namespace weft::passes
