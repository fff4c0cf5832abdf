// Finds the memory of sums in a block of parameters.
#include "runtime/sum_targets.h"

namespace weft::runtime {
namespace {

// A copy has the array's own strides, so its gaps would be copied, zeroed and added up as well; and who knows what
// lies in them.
bool is_dense(const ArrayDesc& desc, std::uint32_t element_size) {
  std::int64_t expected = element_size;
  for (std::int32_t d = desc.ndim; d-- > 0;) {
    if (desc.shape[d] > 1 && desc.strides[d] != expected) return false;
    expected *= desc.shape[d];
  }
  return true;
}

const ArrayDesc& desc_at(const void* params, std::uint32_t offset) {
  return *reinterpret_cast<const ArrayDesc*>(static_cast<const char*>(params) + offset);
}

}  // namespace

std::uint32_t scalar_size(ScalarKind kind) { return types::scalar(kind)->size(); }

std::uint64_t bytes_of(const SumTarget& target) { return std::uint64_t(target.count) * scalar_size(target.scalar); }

std::uint64_t bytes_of(std::span<const SumTarget> targets) {
  std::uint64_t total = 0;
  for (const SumTarget& t : targets) total += bytes_of(t);
  return total;
}

bool find_sum_targets(const void* params, std::span<const SumSlot> sums, std::vector<SumTarget>& out) {
  std::vector<ByteRange> ranges;
  for (std::size_t k = 0; k < sums.size(); ++k) {
    const ArrayDesc& desc = desc_at(params, sums[k].offset);
    void* data = sums[k].gradient ? desc.grad : desc.data;
    if (!data) continue;
    if (!is_dense(desc, sums[k].element_size)) return false;
    std::int64_t elements = 1;
    for (std::int32_t d = 0; d < desc.ndim; ++d) elements *= desc.shape[d];
    if (elements == 0) continue;
    const std::uint32_t scalar = scalar_size(sums[k].scalar);
    SumTarget target{static_cast<char*>(data), elements * std::int64_t(sums[k].element_size / scalar), sums[k].scalar,
                     k};
    const auto lo = reinterpret_cast<std::uintptr_t>(data);
    ranges.push_back({lo, lo + std::uintptr_t(target.count) * scalar});
    out.push_back(target);
  }
  // Two targets over one stretch of memory would be added up twice.
  for (std::size_t a = 0; a < ranges.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (ranges[a].intersects(ranges[b])) return false;
  return true;
}

}  // namespace weft::runtime
