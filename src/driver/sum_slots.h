// Arrays to which a kernel only adds, and how: launches give them copies (runtime/private_sums.h) or words for exact sums
// (driver/exact_launch.h).
#pragma once
#include <vector>

#include "ir/ir.h"
#include "runtime/private_sums.h"
#include "runtime/sum_buckets.h"

namespace weft::driver {

/// Marks additions that need no atomic operations, and says to which arrays.
std::vector<runtime::SumSlot> private_sums(ir::Function& kernel);
/// The streams of these additions, none if some can't be written down; `mark`: for code that does.
std::vector<runtime::SumStream> sum_streams(ir::Function& kernel, bool mark);
/// Marks additions of floats to arrays that are only added to, and says which: their sums are to be exact.
std::vector<runtime::SumSlot> exact_sums(ir::Function& kernel);

}  // namespace weft::driver
