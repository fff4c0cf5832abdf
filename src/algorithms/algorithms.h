// The algorithms on the CPU (no device) or on a CUDA device: for whoever has memory there. On the CPU they are done on
// return; false (nothing, of runs) says that the host wanted to stop before (LaunchOptions::interrupted). On a device they
// are queued on its current stream, and the options mean nothing.
#pragma once
#include "algorithms/gpu/gpu.h"
#include "algorithms/host/host.h"

namespace weft::algorithms {

inline bool sum(cuda::Device* device, const SumRequest& request, const runtime::LaunchOptions& options = {}) {
  if (!device) return host::sum(request, options);
  gpu::sum(*device, request);
  return true;
}
inline bool scan(cuda::Device* device, const ScanRequest& request, const runtime::LaunchOptions& options = {}) {
  if (!device) return host::scan(request, options);
  gpu::scan(*device, request);
  return true;
}
inline bool sort(cuda::Device* device, const SortRequest& request, const runtime::LaunchOptions& options = {}) {
  if (!device) return host::sort(request, options);
  gpu::sort(*device, request);
  return true;
}
/// Sorts within segments. On the CPU they lie within the count, and overlapping ones are sorted one after the other.
inline bool sort_segments(cuda::Device* device, const SortRequest& request, const Segments& segments,
                          const runtime::LaunchOptions& options = {}) {
  if (!device)
    return host::sort_segments(request, {pointer_to<const std::int32_t>(segments.begins), std::size_t(segments.count)},
                               {pointer_to<const std::int32_t>(segments.ends), std::size_t(segments.count)}, options);
  gpu::sort_segments(*device, request, segments);
  return true;
}
/// How many runs there are; of a device, which writes that to `run_count`, 0.
inline std::optional<std::int64_t> runs(cuda::Device* device, const RunsRequest& request,
                                        const runtime::LaunchOptions& options = {}) {
  if (!device) return host::runs(request, options);
  gpu::runs(*device, request);
  return 0;
}
inline bool histogram(cuda::Device* device, const HistogramRequest& request,
                      const runtime::LaunchOptions& options = {}) {
  if (!device) return host::histogram(request, options);
  gpu::histogram(*device, request);
  return true;
}

}  // namespace weft::algorithms
