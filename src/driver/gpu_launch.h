// Launching a kernel's form on the GPU that it was built for.
#pragma once
#include "driver/kernel.h"

namespace weft::driver {

/// A launch whose grid and arguments are settled: what is left is a call of the driver. Recorded launches keep one.
class GpuLaunch {
 public:
  /// Bytes of arguments, trailer included, of a form.
  static std::size_t argument_bytes(const KernelVariant& variant);

  /// Writes the parameters and a trailer with the grid to `arguments`, 8-byte aligned, of argument_bytes. They and the
  /// variant must live as long as this. Throws LaunchError for grids and blocks that can't be.
  GpuLaunch(const KernelVariant& variant, const void* block, const LaunchRequest& request, char* arguments);

  /// Whether nothing changes from one run to the next: there are no checks, which take a slot each time, and no rule about
  /// the order of threads, no object to look up, and no sum to round afterwards.
  static bool is_steady(const KernelVariant& variant) {
    return variant.ordered.empty() && !variant.plan && variant.handles.empty() &&
           variant.binary->code().check_sites.empty() && variant.binary->sums().empty();
  }
  /// Queues it; a null stream is the device's current one. Failed checks are raised by the next synchronisation. Throws
  /// DriverError.
  void run(const cuda::Stream* stream);
  /// The same for a steady one, without a look at the thread's context: the driver refuses a launch into another one.
  /// False if it did, if a graph is captured or launches are timed: nothing was queued then, and run() does it or says what is wrong.
  bool run_quickly(const cuda::Stream& stream);

 private:
  void queue(const cuda::Stream& stream);
  codegen::GpuTrailer& trailer();

  // What a quick run needs lies together: the driver's own work drives everything else out of the caches.
  decltype(cuda::DriverTable::launch) call_;
  cuda::FunctionHandle function_;
  cuda::Device& device_;
  char* arguments_;
  std::size_t size_;
  unsigned blocks_ = 0, shared_bytes_, block_dim_;
  std::size_t trailer_at_;
  const KernelVariant& variant_;
  int rank_;
};

/// Queues a launch of a form. Throws as GpuLaunch does.
void launch_on_gpu(const KernelVariant& variant, const void* block, const LaunchRequest& request);
/// The same without what follows launches with exact sums.
void launch_plainly(const KernelVariant& variant, const void* block, const LaunchRequest& request);

}  // namespace weft::driver
