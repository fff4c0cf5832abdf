// The host's half of prefix sums.
#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/queue.h"

namespace weft::algorithms::gpu {
namespace {

/// Large tiles have fewer sums to publish; small ones give every multiprocessor something to do. As measured on an H200.
ScanShape shape_for(std::int64_t bytes) {
  if (bytes < 12'000'000) return {128, 64, 0};
  if (bytes < 80'000'000) return {512, 128, 2};
  return {1024, 128, 1};
}

/// Prefix sums of one number of each element.
void scan_component(cuda::Device& device, const ScanRequest& request) {
  const NumberText number = number_text(request.kind);
  const bool packed = number.bytes == number.sum_bytes && request.in_stride == number.bytes &&
                      request.out_stride == number.bytes && request.in % 16 == 0 && request.out % 16 == 0;
  const ScanShape shape = shape_for(packed ? request.count * number.bytes : 0);
  const std::int64_t tiles = (request.count - 1) / (shape.threads * scan_items(shape, request.kind)) + 1;
  const Scratch sums(device, tile_prefix_bytes(tiles, number.sum_bytes), true);
  const ScanArguments a{request.in,         request.out,   request.in_stride,
                        request.out_stride, request.count, tile_prefixes(sums.at(), tiles, number.sum_bytes)};
  const std::string name = std::string("weft_scan_") + (request.inclusive ? "inclusive_" : "exclusive_") +
                           name_of(request.kind) + (packed ? "_packed_" : "_") + std::to_string(shape.threads);
  queue(device, name, tiles, shape.threads, a,
        [&] { return scan_ptx(name, request.kind, request.inclusive, packed, shape); });
}

}  // namespace

void scan(cuda::Device& device, const ScanRequest& request) {
  if (request.count == 0) return;
  cuda::ContextScope scope(device);
  for (std::int64_t c = 0; c < request.components; ++c) {
    ScanRequest one = request;
    const std::uint64_t offset = std::uint64_t(c) * std::uint64_t(number_text(request.kind).bytes);
    one.in += offset;
    one.out += offset;
    scan_component(device, one);
  }
}

}  // namespace weft::algorithms::gpu
