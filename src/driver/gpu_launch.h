// Launching a kernel's form on the GPU that it was built for.
#pragma once
#include "driver/kernel_family.h"

namespace weft::driver {

/// Queues a launch: the parameters and a trailer with the grid are the kernel's argument block. Failed checks are raised
/// by the next synchronisation. Throws LaunchError for grids and blocks that can't be, DriverError.
void launch_on_gpu(const KernelVariant& variant, const void* block, const LaunchRequest& request);

}  // namespace weft::driver
