// Sums, prefix sums and sorts, on the CPU (no device) or on a CUDA device: for whoever has memory there. On the CPU they are
// done on return; false says that the host wanted to stop before (LaunchOptions::interrupted). On a device they are queued
// on its current stream, and the options mean nothing. What only the CPU does is in algorithms/host/host.h.
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

}  // namespace weft::algorithms
