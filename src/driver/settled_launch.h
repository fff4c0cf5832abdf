// Launches of tangents on a GPU whose minima and maxima two runs settle (autodiff/tangent_order.h).
#pragma once
#include "driver/kernel.h"

namespace weft::driver {

/// Queues a launch of a form with such a plan: once to find out what is left of the settled arrays, then, with all that it
/// wrote as it was before and the settled arrays as they will be, for good.
void launch_settled(const KernelVariant& variant, const void* block, const LaunchRequest& request);

}  // namespace weft::driver
