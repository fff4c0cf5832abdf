// The host's half of prefix sums.
#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/queue.h"

namespace weft::algorithms::gpu {
namespace {

/// Large tiles have fewer sums to publish; small ones give every multiprocessor something to do. As measured on an H200.
ScanShape shape_for(std::int64_t bytes) {
  if (bytes < 6'000'000) return {128, 48, 0};
  if (bytes < 14'000'000) return {192, 96, 0};
  if (bytes < 80'000'000) return {512, 128, 2};
  return {1024, 128, 1};
}

bool is_packed(const ScanRequest& request) {
  const NumberText number = number_text(request.kind);
  return number.bytes == number.sum_bytes && request.in_stride == number.bytes && request.out_stride == number.bytes &&
         request.in % 16 == 0 && request.out % 16 == 0;
}

}  // namespace

void scan_by(cuda::Device& device, const ScanRequest& request, const ScanShape& shape) {
  cuda::ContextScope scope(device);
  const NumberText number = number_text(request.kind);
  const bool packed = is_packed(request);
  const std::int64_t tiles = (request.count - 1) / (shape.threads * scan_items(shape, request.kind)) + 1;
  const Scratch sums(device, tile_prefix_bytes(tiles, number.sum_bytes), true);
  const ScanArguments a{request.in,         request.out,   request.in_stride,
                        request.out_stride, request.count, tile_prefixes(sums.at(), tiles, number.sum_bytes)};
  const std::string name = std::string("weft_scan_") + (request.inclusive ? "inclusive_" : "exclusive_") +
                           name_of(request.kind) + (packed ? "_packed_" : "_") + std::to_string(shape.threads);
  queue(device, name, tiles, shape.threads, a,
        [&] { return scan_ptx(name, request.kind, request.inclusive, packed, shape); });
}

void scan(cuda::Device& device, const ScanRequest& request) {
  if (request.count == 0) return;
  for (std::int64_t c = 0; c < request.components; ++c) {
    ScanRequest one = request;
    const std::uint64_t offset = std::uint64_t(c) * std::uint64_t(number_text(request.kind).bytes);
    one.in += offset;
    one.out += offset;
    scan_by(device, one, shape_for(is_packed(one) ? one.count * number_text(one.kind).bytes : 0));
  }
}

}  // namespace weft::algorithms::gpu
