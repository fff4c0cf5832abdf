// Launches on GPUs whose sums of floats have no order: threads add exactly, to words that stand for each number of the arrays
// they add to (codegen/exact_sums.h), and a second kernel rounds the sums into the arrays. For deterministic kernels.
#pragma once
#include "driver/kernel.h"

namespace weft::driver {

/// Queues a launch of a form with exact sums, and what follows it. Throws as launch_on_gpu does.
void launch_exactly(const KernelVariant& variant, const void* block, const LaunchRequest& request);

/// What weftc compiles ahead (driver/ready_kernels.h).
std::vector<BuildRequest> exact_sum_requests();

}  // namespace weft::driver
