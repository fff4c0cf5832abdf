// GPU launches: sizes, the argument block, a slot for failed checks.
#include "driver/gpu_launch.h"

#include <cstring>

namespace weft::driver {
namespace {

constexpr int kBlockDim = 256;
constexpr std::int64_t kThreadsPerSm = 4096;  // twice what runs at a time: enough to be even
constexpr std::size_t kMaxArguments = 4096;

unsigned block_size(const KernelBinary& binary, int asked) {
  const int most = binary.gpu()->max_threads();
  if (asked < 0 || asked > most)
    throw runtime::LaunchError("kernel '" + binary.name() + "': a block has 1 to " + std::to_string(most) +
                               " threads here, block_dim is " + std::to_string(asked));
  return unsigned(asked > 0 ? asked : std::min(most, kBlockDim));
}

}  // namespace

void launch_on_gpu(const KernelVariant& variant, const void* block, const LaunchRequest& request) {
  const KernelBinary& binary = *variant.binary;
  const std::int64_t total = runtime::launch_size(binary.code(), request.dims);
  const unsigned block_dim = block_size(binary, request.gpu.block_dim);
  if (request.gpu.max_blocks < 0) throw runtime::LaunchError("max_blocks is 0 (no limit) or more");
  if (total == 0) return;
  cuda::Device& device = binary.gpu()->device();
  cuda::ContextScope scope(device);
  std::shared_ptr<cuda::Stream> current;
  if (!request.gpu.stream) current = device.stream();
  const cuda::StreamHandle stream = (request.gpu.stream ? request.gpu.stream : current.get())->handle();

  codegen::GpuTrailer trailer{};
  for (std::size_t d = 0; d < std::size_t(kMaxRank); ++d)
    trailer.dims[d] = d < request.dims.size() ? request.dims[d] : 1;
  trailer.count = total;
  if (request.dims.size() > 1 && total <= INT32_MAX)
    for (std::size_t d = 1; d < request.dims.size(); ++d)
      trailer.divisors[d] = codegen::GpuDivisor(std::uint32_t(trailer.dims[d]));
  if (!binary.code().check_sites.empty()) {
    cuda::CheckSlot* slot = device.checks().watch(
        {binary.code().name, int(request.dims.size()), binary.code().check_sites, variant.binary}, stream);
    if (slot) {
      trailer.error = reinterpret_cast<std::uint64_t>(&slot->record);
      trailer.stop = reinterpret_cast<std::uint64_t>(&slot->stop);
    }
  }
  trailer.print = device.prints().buffer();
  trailer.launch = device.prints().next_launch();
  alignas(8) char arguments[kMaxArguments];
  const std::uint32_t at = codegen::gpu_trailer_offset(variant.param_bytes);
  std::memcpy(arguments, block, variant.param_bytes);
  std::memcpy(arguments + at, &trailer, sizeof trailer);
  if (device.capture()) device.keep_for_capture(variant.binary);
  const std::int64_t steps = (total - 1) / binary.code().lanes + 1;
  std::int64_t most = request.gpu.max_blocks;
  if (binary.steps() != 1) {
    std::int64_t enough = std::int64_t(device.facts().sm_count) * kThreadsPerSm / block_dim;
    if (binary.steps() > 1) enough = std::max(enough, (steps - 1) / (std::int64_t(block_dim) * binary.steps()) + 1);
    most = most > 0 ? std::min(most, enough) : enough;
  }
  binary.gpu()->launch(stream, cuda::blocks_for(steps, block_dim, most), block_dim, arguments, at + sizeof trailer);
}

}  // namespace weft::driver
