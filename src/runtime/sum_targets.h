// The memory of arrays that a kernel only adds to, as a launch's parameters have it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/private_sums.h"

namespace weft::runtime {

struct SumTarget {
  char* at = nullptr;
  std::int64_t count = 0;  // scalars
  ScalarKind scalar = ScalarKind::f32;
  std::size_t slot = 0;  // which of the arrays
};

std::uint32_t scalar_size(ScalarKind kind);
std::uint64_t bytes_of(const SumTarget& target);
std::uint64_t bytes_of(std::span<const SumTarget> targets);

/// The memory behind all of them that have any; false if some of it has gaps or is used twice.
bool find_sum_targets(const void* params, std::span<const SumSlot> sums, std::vector<SumTarget>& out);

}  // namespace weft::runtime
