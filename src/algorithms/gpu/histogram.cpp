// The host's half of histograms.
#include <algorithm>

#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/queue.h"

namespace weft::algorithms::gpu {

void histogram(cuda::Device& device, const HistogramRequest& request) {
  if (request.bins <= 0) return;
  cuda::ContextScope scope(device);
  WEFT_CUDA(device.api(), set8_async, request.counts, 0, std::size_t(request.bins) * 4, device.stream()->handle());
  if (request.count <= 0) return;
  const bool shared = request.bins <= kHistogramSharedBins;
  const std::string name = "weft_histogram_" + name_of(request.kind) + (shared ? "_shared" : "");
  const std::int64_t blocks =
      std::min<std::int64_t>((request.count - 1) / kHistogramBlock + 1, std::int64_t(device.facts().sm_count) * 8);
  queue(device, name, blocks, kHistogramBlock,
        HistogramArguments{request.values, request.counts, request.count, request.bins, request.lower, request.upper},
        [&] { return histogram_ptx(name, request.kind, shared); });
}

}  // namespace weft::algorithms::gpu
