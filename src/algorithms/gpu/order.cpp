// The host's half of orders.
#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/queue.h"

namespace weft::algorithms::gpu {

void count_up(cuda::Device& device, DevicePtr to, std::int64_t count) {
  if (count == 0) return;
  if (count > INT32_MAX)
    throw runtime::ArgumentError("orders on " + device.name() + " have at most 2147483647 elements, got " +
                                 std::to_string(count));
  cuda::ContextScope scope(device);
  const std::string name = "weft_count_up";
  queue(device, name, (count - 1) / kOrderBlock + 1, kOrderBlock, CountUpArguments{to, std::uint32_t(count)},
        [&] { return count_up_ptx(name); });
}

void gather(cuda::Device& device, const GatherRequest& request) {
  if (request.count == 0 || request.element_bytes == 0) return;
  cuda::ContextScope scope(device);
  const std::uint64_t all =
      request.to | request.from | std::uint64_t(request.from_stride) | std::uint64_t(request.element_bytes);
  int unit = 8;  // the largest number of bytes that all places are multiples of
  while (all % std::uint64_t(unit) != 0) unit /= 2;
  const std::int64_t units = request.element_bytes / unit;
  const std::string name = "weft_gather_" + std::to_string(unit);
  queue(device, name, (request.count * units - 1) / kOrderBlock + 1, kOrderBlock,
        GatherArguments{request.to, request.from, request.order, request.count, request.from_stride, units},
        [&] { return gather_ptx(name, unit); });
}

}  // namespace weft::algorithms::gpu
