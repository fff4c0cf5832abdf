// The host's half of sums: how the work is cut into parts, whose sums are summed in turn.
#include <algorithm>

#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/queue.h"

namespace weft::algorithms::gpu {
namespace {

/// One step of a sum, which takes numbers `in` to numbers `out`; see SumArguments.
void sum_step(cuda::Device& device, ScalarKind in, ScalarKind out, const SumArguments& arguments, bool columns) {
  const bool product = arguments.b != 0;
  const std::string name = std::string("weft_sum_") + (columns ? "columns_" : "rows_") + name_of(in) + "_" +
                           name_of(out) + (product ? "_product" : "");
  const std::int64_t work = arguments.outputs * arguments.parts;
  queue(device, name, columns ? (work - 1) / kSumBlock + 1 : work, kSumBlock, arguments,
        [&] { return sum_ptx(name, in, out, product, columns); });
}

/// Whether threads that have an output each read neighbouring numbers, or blocks would have too little to do.
bool by_columns(std::int64_t outputs, std::int64_t length, std::int64_t inner) {
  return inner >= 32 || (length < 2 * kSumBlock && outputs >= 32);
}

void sum_packed_step(cuda::Device& device, ScalarKind kind, const PackedSumArguments& a, std::int64_t blocks,
                     const SumShape& shape) {
  const std::string name =
      "weft_sum_packed_" + name_of(kind) + (a.b ? "_product" : "") + "_" + std::to_string(shape.loads);
  queue(device, name, blocks, shape.threads, a, [&] { return sum_packed_ptx(name, kind, a.b != 0, shape); });
}

/// One sum of packed numbers of 4 or 8 bytes, by 128-bit loads; false for other requests.
bool sum_packed(cuda::Device& device, const SumRequest& request) {
  const NumberText number = number_text(request.kind);
  if (number.bytes != number.sum_bytes || request.outer * request.inner != 1 || request.a % 16 != 0 ||
      request.b % 16 != 0)
    return false;
  const SumShape shape{256, 4}, last{128, 1};
  const std::int64_t tiles = (request.length - 1) / sum_tile(shape, request.kind) + 1;
  const std::int64_t blocks = std::min<std::int64_t>(tiles, std::int64_t(device.facts().sm_count) * 8);
  PackedSumArguments a{request.a, request.b, request.out, request.length};
  if (blocks == 1) {
    sum_packed_step(device, request.kind, a, 1, shape);
    return true;
  }
  const Scratch parts(device, std::uint64_t(blocks * number.sum_bytes));
  a.out = parts.at();
  sum_packed_step(device, request.kind, a, blocks, shape);
  sum_packed_step(device, request.kind, {parts.at(), 0, request.out, blocks}, 1, last);
  return true;
}

}  // namespace

void sum(cuda::Device& device, const SumRequest& request) {
  const std::int64_t outputs = request.outer * request.inner;
  if (outputs == 0) return;
  cuda::ContextScope scope(device);
  if (request.length > 0 && sum_packed(device, request)) return;
  SumArguments a{request.a, request.b, request.out, outputs, request.length, request.inner, 1, request.length};
  const bool columns = by_columns(outputs, request.length, request.inner);
  // The length is cut so far that the device has enough to do, and no part is very short.
  const std::int64_t wanted = std::int64_t(device.facts().sm_count) * (columns ? 2048 : 8);
  const std::int64_t shortest = columns ? 64 : 16 * kSumBlock;
  a.parts = std::max<std::int64_t>(1, std::min((wanted - 1) / outputs + 1, request.length / shortest));
  a.chunk = std::max<std::int64_t>(1, (request.length - 1) / a.parts + 1);
  if (a.parts == 1) return sum_step(device, request.kind, request.kind, a, columns);
  const NumberText number = number_text(request.kind);
  const Scratch parts(device, std::uint64_t(a.parts * outputs * number.sum_bytes));
  a.out = parts.at();
  sum_step(device, request.kind, number.sum, a, columns);
  const SumArguments last{parts.at(), 0, request.out, outputs, a.parts, outputs, 1, a.parts};
  sum_step(device, number.sum, request.kind, last, by_columns(outputs, a.parts, outputs));
}

}  // namespace weft::algorithms::gpu
