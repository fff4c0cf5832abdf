// Whether the results of a kernel depend on the order in which its threads come to their atomic operations. Sums of floats
// round differently in another order; the value before an operation, where the kernel uses it, is another one; of the two
// zeros a minimum or maximum keeps the last (passes/positive_zeros.h).
#pragma once
#include <cstdint>

#include "ir/ir.h"

namespace weft::analysis {

enum class SumOrder : std::uint8_t {
  free,       // any order gives the same bits
  lone_sums,  // only of additions that were marked as private sums (analysis/private_sums.h)
  all,        // of others, too
};

/// Whether −0 can't be the value, or a component of it, as far as its operation shows: two threads that bring different
/// zeros to a minimum or maximum leave the last one.
bool has_no_negative_zero(const ir::Value* value);

/// Looks into the functions that the kernel calls. Native ones may do anything.
SumOrder sum_order(const ir::Function& kernel);

}  // namespace weft::analysis
