// The parameter block of such a launch has the words' memory in the place of the arrays'. Words lie as the numbers do, some
// bytes each instead of one number's: gaps between elements have words, too, which nobody touches, and then nobody writes to
// the gap.
#include "driver/exact_launch.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "codegen/exact_sums.h"
#include "driver/array_copies.h"
#include "driver/gpu_launch.h"
#include "driver/kernel_keys.h"
#include "driver/program_impl.h"
#include "driver/ready_kernels.h"
#include "driver/tape.h"
#include "runtime/errors.h"

namespace weft::driver {
namespace {

constexpr char kKernels[] =
#include "driver/exact_sum_kernels.inc"
    ;

const Program& program() {
  static const Program& made = library_program(kKernels, "exact_sums.py");
  return made;
}

/// An array that is added to.
struct Target {
  runtime::Array sums, words;
  bool wide = false;

  void round() const {
    program().kernel(wide ? "round_float64" : "round_float32").launch({sums.extent(0)}, handle(words), handle(sums));
  }
};

/// From the first byte of an array's elements to behind the last.
std::pair<std::int64_t, std::int64_t> span_of(const ArrayDesc& desc, std::uint32_t element_size) {
  std::int64_t low = 0, high = element_size;
  for (std::int32_t d = 0; d < desc.ndim; ++d) {
    if (desc.shape[d] == 0) return {0, 0};
    const std::int64_t reach = (desc.shape[d] - 1) * desc.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

/// Takes memory for the words of an array, and puts it in the place of the array's in the block.
Target open(const runtime::SumSlot& slot, char* block, cuda::Device& device) {
  ArrayDesc& desc = *reinterpret_cast<ArrayDesc*>(block + slot.offset);
  void*& data = slot.gradient ? desc.grad : desc.data;
  const auto [low, high] = span_of(desc, slot.element_size);
  if (!data || low == high) return {};
  const codegen::ExactSum sum = codegen::exact_sum(slot.scalar);
  const bool wide = slot.scalar == ScalarKind::f64;
  const std::int64_t size = wide ? 8 : 4, count = (high - low) / size;
  if (low % size != 0 || (high - low) % size != 0)
    throw runtime::LaunchError(
        "elements of an array that a deterministic kernel adds to lie at multiples of their numbers' size");
  if (count > INT32_MAX)
    throw runtime::LaunchError("a deterministic kernel adds to arrays of less than 2^31 numbers on GPUs");
  Target out;
  out.wide = wide;
  runtime::Array::External memory;
  memory.data = static_cast<char*>(data) + low;
  memory.space = &device;
  out.sums = runtime::Array::wrap(wide ? types::u64() : types::u32(), {&count, 1}, std::move(memory));
  out.words = runtime::Array::zeros(types::i64(), {count, std::int64_t(sum.words())}, false, &device);
  data = static_cast<char*>(out.words.data()) - low / size * sum.bytes();
  return out;
}

}  // namespace

void launch_exactly(const KernelVariant& variant, const void* block, const LaunchRequest& request) {
  const RecordingSuspended unrecorded;
  cuda::Device& device = variant.binary->gpu()->device();
  cuda::ContextScope scope(device);
  const StreamJoin join(device, request.gpu.stream);
  join.before_copies();
  const auto words = std::make_unique<std::uint64_t[]>(variant.param_bytes / 8 + 1);
  char* own = reinterpret_cast<char*>(words.get());
  std::memcpy(own, block, variant.param_bytes);
  std::vector<Target> targets;
  for (const runtime::SumSlot& slot : variant.binary->sums()) {
    Target target = open(slot, own, device);
    if (target.words.is_valid()) targets.push_back(std::move(target));
  }
  join.before_launch();
  launch_plainly(variant, own, request);
  join.before_copies();
  for (const Target& target : targets) target.round();
  join.before_launch();
}

std::vector<BuildRequest> exact_sum_requests() { return requests_of(program()); }

}  // namespace weft::driver
