// Whether the results of a kernel depend on the order in which its threads come to their atomic operations. Sums of floats
// round differently in another order; the value before an operation, where the kernel uses it, is another one.
#pragma once
#include <cstdint>

#include "ir/ir.h"

namespace weft::analysis {

enum class SumOrder : std::uint8_t {
  free,       // any order gives the same bits
  lone_sums,  // only of additions that were marked as private sums (analysis/private_sums.h)
  all,        // of others, too
};

/// Looks into the functions that the kernel calls. Native ones may do anything.
SumOrder sum_order(const ir::Function& kernel);

}  // namespace weft::analysis
