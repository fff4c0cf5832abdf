// The algorithms on a CUDA device, queued on its current stream; nothing waits for the host, and all of it can be captured.
// The caller keeps the arrays.
#pragma once
#include "algorithms/requests.h"
#include "cuda/device.h"

namespace weft::algorithms::gpu {

/// Sums of integers wrap around.
void sum(cuda::Device& device, const SumRequest& request);
void scan(cuda::Device& device, const ScanRequest& request);
/// At most 2^32 − 1 pairs.
void sort(cuda::Device& device, const SortRequest& request);
/// Puts the numbers of the keys (0, 1, …; uint32) into `values`, in the order of the keys, which lie at keys_of_numbers() and
/// are lost. It reads and writes a third less than `sort` of such pairs, and copies nothing.
void sort_numbers(cuda::Device& device, const SortRequest& request);
Address keys_of_numbers(const SortRequest& request);
/// Keys have 32 bits. Segments that reach beyond the elements are cut; they don't overlap.
void sort_segments(cuda::Device& device, const SortRequest& request, const Segments& segments);
/// At most 2^31 − 1 values. The number of runs (int32) goes to `run_count`. The results overlap nothing.
void runs(cuda::Device& device, const RunsRequest& request);
void histogram(cuda::Device& device, const HistogramRequest& request);

/// Writes 0, 1, 2, …: an order (int32) to begin with. At most 2^31 − 1 elements.
void count_up(cuda::Device& device, Address to, std::int64_t count);
/// Element i of `to`, which is packed, becomes element order[i] of `from`, whose elements lie `from_stride` bytes apart.
struct GatherRequest {
  Address to = 0, from = 0, order = 0;
  std::int64_t count = 0, element_bytes = 0, from_stride = 0;
};
void gather(cuda::Device& device, const GatherRequest& request);

}  // namespace weft::algorithms::gpu
