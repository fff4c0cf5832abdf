// GPU launches: sizes, the argument block, a slot for failed checks.
#include "driver/gpu_launch.h"
#include "driver/exact_launch.h"
#include "geometry/object.h"
#include "runtime/late_work.h"
#include "support/hot.h"

#include <cstring>
#include <memory>

namespace weft::driver {
namespace {

constexpr std::int64_t kThreadsPerSm = 4096;  // twice what runs at a time: enough to be even

WEFT_HOT unsigned block_size(const KernelVariant& variant, int asked) {
  const KernelBinary& binary = *variant.binary;
  const int most = binary.gpu()->max_threads();
  if (const int fixed = binary.block()) asked = asked <= 0 ? fixed : asked;
  if (asked < 0 || asked > most)
    throw runtime::LaunchError("kernel '" + variant.name + "': a block has 1 to " + std::to_string(most) +
                               " threads here, block_dim is " + std::to_string(asked));
  return unsigned(asked > 0 ? asked : binary.gpu()->usual_block());
}

/// The most blocks that a launch is given.
WEFT_HOT std::int64_t most_blocks(const KernelBinary& binary, std::int64_t steps, unsigned block_dim,
                                  std::int64_t asked) {
  if (binary.steps() == 1) return asked;
  std::int64_t enough = std::int64_t(binary.gpu()->device().facts().sm_count) * kThreadsPerSm / block_dim;
  if (binary.steps() > 1) enough = std::max(enough, (steps - 1) / (std::int64_t(block_dim) * binary.steps()) + 1);
  return asked > 0 ? std::min(asked, enough) : enough;
}

/// Whether a handle names a stream of one context: the default ones are those of whichever is current.
bool names_its_context(cuda::StreamHandle handle) { return reinterpret_cast<std::uintptr_t>(handle) > 2; }

}  // namespace

std::size_t GpuLaunch::argument_bytes(const KernelVariant& variant) {
  return codegen::gpu_trailer_offset(variant.param_bytes) + sizeof(codegen::GpuTrailer);
}

WEFT_HOT GpuLaunch::GpuLaunch(const KernelVariant& variant, const void* block, const LaunchRequest& request,
                              char* arguments)
    : call_(variant.binary->gpu()->device().api().launch),
      function_(variant.binary->gpu()->function()),
      device_(variant.binary->gpu()->device()),
      arguments_(arguments),
      size_(argument_bytes(variant)),
      shared_bytes_(variant.binary->gpu()->shared_bytes()),
      block_dim_(block_size(variant, request.gpu.block_dim)),
      trailer_at_(codegen::gpu_trailer_offset(variant.param_bytes)),
      variant_(variant),
      rank_(int(request.dims.size())) {
  const KernelBinary& binary = *variant.binary;
  const std::int64_t total = runtime::launch_size(binary.code(), request.dims);
  if (request.gpu.max_blocks < 0) throw runtime::LaunchError("max_blocks is 0 (no limit) or more");
  if (total == 0) return;
  codegen::GpuTrailer trailer{};
  for (std::size_t d = 0; d < std::size_t(kMaxRank); ++d)
    trailer.dims[d] = d < request.dims.size() ? request.dims[d] : 1;
  trailer.count = total;
  for (std::size_t d = 1; d < request.dims.size(); ++d)
    if (total <= INT32_MAX)
      trailer.divisors[d] = codegen::GpuDivisor(std::uint32_t(trailer.dims[d]));
    else
      trailer.large_divisors[d] = codegen::GpuLargeDivisor(std::uint64_t(trailer.dims[d]));
  std::memcpy(arguments, block, variant.param_bytes);
  std::memcpy(arguments + trailer_at_, &trailer, sizeof trailer);
  if (variant.in_order) {  // one thread does the work of all
    blocks_ = block_dim_ = 1;
    return;
  }
  const std::int64_t steps = (total - 1) / binary.code().lanes + 1;
  blocks_ = cuda::blocks_for(steps, block_dim_, most_blocks(binary, steps, block_dim_, request.gpu.max_blocks));
}

codegen::GpuTrailer& GpuLaunch::trailer() { return *reinterpret_cast<codegen::GpuTrailer*>(arguments_ + trailer_at_); }

void GpuLaunch::run(const cuda::Stream* stream) {
  if (blocks_ == 0) return;
  cuda::ContextScope scope(device_);
  if (stream) return queue(*stream);
  queue(*device_.stream());
}

void GpuLaunch::queue(const cuda::Stream& stream) {
  const KernelBinary& binary = *variant_.binary;
  codegen::GpuTrailer& trailer = this->trailer();
  if (!binary.code().check_sites.empty()) {
    cuda::CheckSlot* slot =
        device_.checks().watch({variant_.name, rank_, binary.code().check_sites, variant_.binary}, stream.handle());
    trailer.error = slot ? reinterpret_cast<std::uint64_t>(&slot->record) : 0;
    trailer.stop = slot ? reinterpret_cast<std::uint64_t>(&slot->stop) : 0;
    trailer.objects = geometry::object_table(&device_);
  }
  trailer.print = device_.prints().buffer();
  trailer.launch = device_.prints().next_launch();
  if (device_.capture()) {
    trailer.launch |= cuda::PrintBoard::kInGraph;
    device_.keep_for_capture(variant_.binary);
  }
  const cuda::OrderedWork order(device_, stream.handle(),
                                [&] { return binary.memory().of(arguments_, trailer.print); });
  const cuda::TimedScope timed(device_, stream.handle(), cuda::kTimeKernel,
                               variant_.adjoint ? "backward kernel " : "forward kernel ", variant_.name);
  binary.gpu()->launch(stream.handle(), blocks_, block_dim_, arguments_, size_);
}

WEFT_HOT bool GpuLaunch::run_quickly(const cuda::Stream& stream) {
  const cuda::StreamHandle handle = stream.handle();
  const std::uint64_t prints = device_.prints().ready_buffer();
  if (!prints || runtime::LateWork::waiting() || device_.capture() || !names_its_context(handle) ||
      device_.system().forked() || device_.system().timing().wants(cuda::kTimeKernel))
    return false;
  if (blocks_ == 0) return true;
  codegen::GpuTrailer& trailer = this->trailer();
  trailer.print = prints;
  trailer.launch = device_.prints().next_launch();
  void* extra[] = {cuda::kLaunchParamPointer, arguments_, cuda::kLaunchParamSize, &size_, cuda::kLaunchParamEnd};
  return call_(function_, blocks_, 1, 1, block_dim_, 1, 1, shared_bytes_, handle, nullptr, extra) == cuda::kSuccess;
}

WEFT_HOT void launch_on_gpu(const KernelVariant& variant, const void* block, const LaunchRequest& request) {
  if (!variant.binary->sums().empty()) [[unlikely]]
    return launch_exactly(variant, block, request);
  launch_plainly(variant, block, request);
}

WEFT_HOT void launch_plainly(const KernelVariant& variant, const void* block, const LaunchRequest& request) {
  constexpr std::size_t kUsual = 4096;  // most kernels take a few hundred bytes; more of the stack would be cold
  alignas(8) char usual[kUsual];
  std::unique_ptr<std::uint64_t[]> many;
  const std::size_t size = GpuLaunch::argument_bytes(variant);
  if (size > kUsual) [[unlikely]]
    many.reset(new std::uint64_t[size / 8 + 1]);
  GpuLaunch launch(variant, block, request, many ? reinterpret_cast<char*>(many.get()) : usual);
  if (request.gpu.stream && GpuLaunch::is_steady(variant) && launch.run_quickly(*request.gpu.stream)) return;
  launch.run(request.gpu.stream);
}

}  // namespace weft::driver
