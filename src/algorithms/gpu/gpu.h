// The algorithms on a CUDA device, queued on its current stream; nothing waits for the host, and all of it can be captured.
// The caller keeps the arrays.
#pragma once
#include "algorithms/requests.h"
#include "cuda/device.h"

namespace weft::algorithms::gpu {

/// float16, bfloat16, float32, float64.
void sum(cuda::Device& device, const SumRequest& request);
void scan(cuda::Device& device, const ScanRequest& request);
/// Values have 4 or 8 bytes; at most 2^32 − 1 pairs.
void sort(cuda::Device& device, const SortRequest& request);

}  // namespace weft::algorithms::gpu
