// The host's half of the algorithms: grids, scratch memory, passes.
#include "algorithms/gpu/gpu.h"

#include <algorithm>

#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/ptx_text.h"
#include "cuda/algorithm_kernels.h"

namespace weft::algorithms::gpu {
namespace {

using cuda::ContextScope, cuda::Device, cuda::KernelCode, cuda::AlgorithmKernels;

DevicePtr address(const std::shared_ptr<void>& memory) { return reinterpret_cast<DevicePtr>(memory.get()); }

std::string name_of(ScalarKind kind) { return std::string(scalar_text(kind)); }

template <class Arguments>
void run(Device& device, const KernelCode& code, std::int64_t blocks, unsigned threads, const Arguments& arguments) {
  const std::shared_ptr<cuda::Stream> stream = device.stream();
  const cuda::TimedScope timed(device, stream->handle(), cuda::kTimeBuiltin, "", code.entry());
  code.launch(stream->handle(), unsigned(blocks), threads, &arguments, sizeof arguments);
}

/// One step of a sum, which takes numbers `in` to numbers `out`; see SumArguments.
void sum_step(Device& device, ScalarKind in, ScalarKind out, const SumArguments& arguments, bool columns) {
  const bool product = arguments.b != 0;
  const std::string name = std::string("weft_sum_") + (columns ? "columns_" : "rows_") + name_of(in) + "_" +
                           name_of(out) + (product ? "_product" : "");
  const KernelCode& code =
      device.algorithm_kernels().get(name, [&] { return sum_ptx(name, in, out, product, columns); });
  const std::int64_t work = arguments.outputs * arguments.parts;
  run(device, code, columns ? (work - 1) / kBlock + 1 : work, kBlock, arguments);
}

/// Whether threads that have an output each read neighbouring numbers, or blocks would have too little to do.
bool by_columns(std::int64_t outputs, std::int64_t length, std::int64_t inner) {
  return inner >= 32 || (length < 2 * kBlock && outputs >= 32);
}

/// Entries that one block scans about as fast as three launches would.
constexpr std::int64_t kSpineOnly = 16 * kSpineBlock;

void scan_spine(Device& device, ScalarKind sum, const ScanArguments& arguments) {
  const std::string name = std::string("weft_scan_spine_") + name_of(sum);
  run(device, device.algorithm_kernels().get(name, [&] { return scan_spine_ptx(name, sum); }), 1, kSpineBlock,
      arguments);
}

/// One sum of packed float32 or float64, by 128-bit loads; false for other requests.
bool sum_packed(Device& device, const SumRequest& request) {
  const bool fits = request.kind == ScalarKind::f32 || request.kind == ScalarKind::f64;
  if (!fits || request.outer * request.inner != 1 || request.a % 16 != 0 || request.b % 16 != 0) return false;
  const std::string name = "weft_sum_packed_" + name_of(request.kind) + (request.b ? "_product" : "");
  const KernelCode& code = device.algorithm_kernels().get(
      name, [&] { return sum_packed_ptx(name, request.kind, request.kind, request.b != 0); });
  SumArguments a{request.a, request.b, request.out, 1, request.length, 1, 1, 0};
  a.parts = std::clamp<std::int64_t>(request.length / kTile, 1, std::int64_t(device.facts().sm_count) * 8);
  a.chunk = (((request.length - 1) / a.parts + 1) + 3) / 4 * 4;
  a.parts = std::max<std::int64_t>(1, (request.length - 1) / std::max<std::int64_t>(1, a.chunk) + 1);
  if (a.parts == 1) {
    run(device, code, 1, kBlock, a);
    return true;
  }
  const std::shared_ptr<void> parts =
      device.allocate(std::uint64_t(a.parts * number_text(request.kind).sum_bytes), false);
  a.out = address(parts);
  run(device, code, a.parts, kBlock, a);
  const std::string last = "weft_sum_packed_" + name_of(request.kind);
  run(device,
      device.algorithm_kernels().get(last, [&] { return sum_packed_ptx(last, request.kind, request.kind, false); }), 1,
      kBlock, SumArguments{address(parts), 0, request.out, 1, a.parts, 1, 1, (a.parts + 3) / 4 * 4});
  return true;
}

}  // namespace

void sum(Device& device, const SumRequest& request) {
  const std::int64_t outputs = request.outer * request.inner;
  if (outputs == 0) return;
  ContextScope scope(device);
  if (request.length > 0 && sum_packed(device, request)) return;
  SumArguments a{request.a, request.b, request.out, outputs, request.length, request.inner, 1, request.length};
  const bool columns = by_columns(outputs, request.length, request.inner);
  // The length is cut so far that the device has enough to do, and no part is very short.
  const std::int64_t wanted = std::int64_t(device.facts().sm_count) * (columns ? 2048 : 8);
  const std::int64_t shortest = columns ? 64 : kTile;
  a.parts = std::max<std::int64_t>(1, std::min((wanted - 1) / outputs + 1, request.length / shortest));
  a.chunk = std::max<std::int64_t>(1, (request.length - 1) / a.parts + 1);
  if (a.parts == 1) return sum_step(device, request.kind, request.kind, a, columns);
  const NumberText number = number_text(request.kind);
  const std::shared_ptr<void> parts = device.allocate(std::uint64_t(a.parts * outputs * number.sum_bytes), false);
  a.out = address(parts);
  sum_step(device, request.kind, number.sum, a, columns);
  const SumArguments last{address(parts), 0, request.out, outputs, a.parts, outputs, 1, a.parts};
  sum_step(device, number.sum, request.kind, last, by_columns(outputs, a.parts, outputs));
}

namespace {

/// Prefix sums of one number of each element.
void scan_component(Device& device, const ScanRequest& request) {
  const NumberText number = number_text(request.kind);
  const std::int64_t tiles = (request.count - 1) / kTile + 1;
  const std::shared_ptr<void> sums = device.allocate(std::uint64_t(tiles * number.sum_bytes), false);
  ScanArguments a{request.in, request.out, address(sums), request.in_stride, request.out_stride, request.count};
  AlgorithmKernels& kernels = device.algorithm_kernels();
  const bool packed = number.bytes == number.sum_bytes && request.in_stride == number.bytes &&
                      request.out_stride == number.bytes && request.in % 16 == 0 && request.out % 16 == 0;
  const std::string kind = name_of(request.kind) + (packed ? "_packed" : "");
  const std::string add = "weft_scan_sums_" + kind;
  run(device, kernels.get(add, [&] { return scan_sums_ptx(add, request.kind, packed); }), tiles, kBlock, a);
  ScanArguments spine = a;
  spine.count = tiles;
  scan_spine(device, number.sum, spine);
  const std::string apply = std::string(request.inclusive ? "weft_scan_inclusive_" : "weft_scan_exclusive_") + kind;
  run(device, kernels.get(apply, [&] { return scan_apply_ptx(apply, request.kind, request.inclusive, packed); }), tiles,
      kBlock, a);
}

}  // namespace

void scan(Device& device, const ScanRequest& request) {
  if (request.count == 0) return;
  ContextScope scope(device);
  for (std::int64_t c = 0; c < request.components; ++c) {
    ScanRequest one = request;
    const std::uint64_t offset = std::uint64_t(c) * std::uint64_t(number_text(request.kind).bytes);
    one.in += offset;
    one.out += offset;
    scan_component(device, one);
  }
}

void sort(Device& device, const SortRequest& request) {
  if (request.count == 0) return;
  if (request.count > UINT32_MAX)
    throw runtime::ArgumentError("sorting on " + device.name() + " takes at most 4294967295 elements, got " +
                                 std::to_string(request.count));
  ContextScope scope(device);
  AlgorithmKernels& kernels = device.algorithm_kernels();
  const std::string key = name_of(request.key), value = std::to_string(request.value_bytes);
  const std::string count = "weft_sort_count_" + key, move = "weft_sort_move_" + key + "_" + value;
  const std::int64_t tiles = (request.count - 1) / kTile + 1, entries = 256 * tiles;
  const std::shared_ptr<void> counts = device.allocate(std::uint64_t(entries) * 4, false);
  SortArguments a{request.keys,    request.values, request.spare_keys,  request.spare_values,
                  address(counts), request.count,  std::uint32_t(tiles)};
  bool there = false;  // whether the pairs are in the spare arrays
  for (int bit = request.begin_bit; bit < request.end_bit; bit += 8) {
    a.shift = std::uint32_t(bit);
    a.mask = (1u << std::min(8, request.end_bit - bit)) - 1;
    run(device, kernels.get(count, [&] { return sort_count_ptx(count, request.key); }), tiles, kBlock, a);
    if (entries <= kSpineOnly)
      scan_spine(device, ScalarKind::u32, {0, 0, a.counts, 0, 0, entries});
    else
      scan_component(device, {ScalarKind::u32, a.counts, a.counts, 4, 4, entries, false});
    run(device, kernels.get(move, [&] { return sort_move_ptx(move, request.key, request.value_bytes); }), tiles, kBlock,
        a);
    std::swap(a.keys, a.keys_out);
    std::swap(a.values, a.values_out);
    there = !there;
  }
  if (!there) return;
  const cuda::DriverTable& api = device.api();
  const cuda::StreamHandle stream = device.stream()->handle();
  const std::size_t key_bytes = std::size_t(number_text(request.key).bytes);
  WEFT_CUDA(api, copy_async, request.keys, request.spare_keys, std::size_t(request.count) * key_bytes, stream);
  WEFT_CUDA(api, copy_async, request.values, request.spare_values,
            std::size_t(request.count) * std::size_t(request.value_bytes), stream);
}

}  // namespace weft::algorithms::gpu
