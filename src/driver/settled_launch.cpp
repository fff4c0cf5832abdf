// Copies on the device around two launches.
#include "driver/settled_launch.h"

#include "driver/array_copies.h"
#include "driver/gpu_launch.h"

namespace weft::driver {

void launch_settled(const KernelVariant& variant, const void* block, const LaunchRequest& request) {
  cuda::Device& device = variant.binary->gpu()->device();
  cuda::ContextScope scope(device);
  const StreamJoin join(device, request.gpu.stream);
  join.before_copies();
  ArrayCopies before(block, variant.plan->written, device);
  join.before_launch();
  launch_on_gpu(variant, block, request);
  join.before_copies();
  ArrayCopies settled(block, variant.plan->settled, device);
  before.restore();
  settled.restore();
  join.before_launch();
  launch_on_gpu(variant, block, request);
}

}  // namespace weft::driver
