// The last launch of a kernel on a GPU, settled (driver/gpu_launch.h): programs launch the same again and again, and what
// is left of that is a comparison of the packed arguments and a call of the driver.
#pragma once
#include <cstring>

#include "bind/python_kernel.h"
#include "driver/gpu_launch.h"

namespace weft::bind {

class __attribute__((visibility("hidden"))) RecentLaunch {
 public:
  /// Whether it was this launch; padding in the block is zero.
  bool is(const driver::KernelSignature& signature, const char* block, std::span<const std::int64_t> dims,
          const LaunchPlace& place) const {
    return launch_ && signature_ == &signature && device_ == place.device && block_dim_ == place.gpu.block_dim &&
           max_blocks_ == place.gpu.max_blocks && dims.size() == rank_ &&
           std::equal(dims.begin(), dims.end(), extents_) &&
           std::memcmp(arguments_.data(), block, signature.layout.size) == 0;
  }
  driver::GpuLaunch& launch() { return *launch_; }

  /// Settles a launch, which must be steady. Throws LaunchError.
  driver::GpuLaunch& settle(const driver::KernelSignature& signature, const driver::KernelVariant& variant,
                            const char* block, std::span<const std::int64_t> dims, const LaunchPlace& place) {
    launch_.reset();
    arguments_.resize((driver::GpuLaunch::argument_bytes(variant) + 7) / 8);
    launch_.emplace(variant, block, driver::LaunchRequest{dims, {}, place.gpu},
                    reinterpret_cast<char*>(arguments_.data()));
    signature_ = &signature;
    device_ = place.device;
    block_dim_ = place.gpu.block_dim;
    max_blocks_ = place.gpu.max_blocks;
    rank_ = dims.size();
    std::copy(dims.begin(), dims.end(), extents_);
    return *launch_;
  }

 private:
  const driver::KernelSignature* signature_ = nullptr;
  const cuda::Device* device_ = nullptr;
  std::int64_t max_blocks_ = 0, extents_[kMaxRank] = {};
  std::size_t rank_ = 0;
  int block_dim_ = 0;
  std::vector<std::uint64_t> arguments_;
  std::optional<driver::GpuLaunch> launch_;
};

}  // namespace weft::bind
