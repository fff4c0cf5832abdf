// The host's half of sorts: digits are counted for all passes, then each pass moves the pairs from one pair of arrays to
// the other.
#include <algorithm>

#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/kernels.h"
#include "algorithms/gpu/queue.h"
#include "algorithms/gpu/radix_keys.h"

namespace weft::algorithms::gpu {
namespace {

/// As measured on an H200, for 1 to 100 million pairs; what bounds them are registers and 48 KB of shared memory.
SortShape shape_for(ScalarKind key, int value_bytes, std::int64_t count) {
  SortShape shape;
  const auto set = [&](int threads, int items, bool values_early, int resident) {
    shape.threads = threads;
    shape.items = items;
    shape.values_early = values_early;
    shape.resident = resident;
  };
  if (count < 200'000)  // few tiles: what one of them takes is what a pass takes
    set(256, 8, true, 4);
  else if (value_bytes == 8)
    set(512, 11, true, 2);
  else if (wide_key(key))
    value_bytes ? set(384, 15, true, 2) : set(256, 18, true, 4);
  else
    value_bytes ? set(512, 18, false, 2) : set(384, 24, true, 3);
  shape.wide_states = count >= std::int64_t(1) << 30;
  return shape;
}

void copy(cuda::Device& device, DevicePtr to, DevicePtr from, std::int64_t bytes) {
  if (bytes) WEFT_CUDA(device.api(), copy_async, to, from, std::size_t(bytes), device.stream()->handle());
}

int passes_of(const SortRequest& request) {
  return (request.end_bit - request.begin_bit + kDigitBits - 1) / kDigitBits;
}

}  // namespace

Address keys_of_numbers(const SortRequest& request) {
  return passes_of(request) % 2 ? request.spare_keys : request.keys;
}

void sort_numbers(cuda::Device& device, const SortRequest& request) {
  sort_by(device, request, shape_for(request.key, 4, request.count), true);
}

void sort(cuda::Device& device, const SortRequest& request) {
  sort_by(device, request, shape_for(request.key, request.value_bytes, request.count));
}

void sort_by(cuda::Device& device, const SortRequest& request, const SortShape& shape, bool of_numbers) {
  const std::int64_t count = request.count;
  const int bits = request.end_bit - request.begin_bit, passes = passes_of(request);
  if (of_numbers && passes <= 0) return count_up(device, request.values, count);
  if (count == 0 || passes <= 0) return;
  if (count > UINT32_MAX)
    throw runtime::ArgumentError("sorting on " + device.name() + " takes at most 4294967295 elements, got " +
                                 std::to_string(count));
  cuda::ContextScope scope(device);
  const std::int64_t tiles = (count - 1) / (shape.threads * shape.items) + 1;

  // Zero at first: numbers of tiles begun, counts of digits, states of the first pass. Each pass clears those of the next.
  constexpr std::uint64_t kStarted = 64;
  const std::uint64_t counts_bytes = std::uint64_t(passes) * kDigits * 4;
  const std::uint64_t states_bytes = std::uint64_t(tiles) * kDigits * (shape.wide_states ? 8 : 4);
  const Scratch zero(device, kStarted + counts_bytes + states_bytes, true);
  const DevicePtr counts = zero.at(kStarted), states = zero.at(kStarted + counts_bytes);
  const Scratch more(device, passes > 1 ? states_bytes : 4);

  const std::string key = name_of(request.key);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << bits) - 1;
  SortPassArguments a{request.keys, request.values, request.spare_keys, request.spare_values, 0, 0, 0, count};
  if (of_numbers && passes % 2) {  // the last pass is to end in `values`
    std::swap(a.keys, a.keys_out);
    std::swap(a.values, a.values_out);
  }
  const SortCountArguments counting{a.keys, counts, count, std::uint32_t(request.begin_bit), 0, mask};
  const std::string count_name = "weft_sort_count_" + key + "_" + std::to_string(passes);
  const std::int64_t blocks = std::min<std::int64_t>((count - 1) / kSortCountTile + 1, device.facts().sm_count * 8);
  queue(device, count_name, blocks, kSortCountBlock, counting,
        [&] { return sort_count_ptx(count_name, request.key, passes); });
  const std::string places_name = "weft_sort_places";
  queue(device, places_name, passes, kDigits, counting, [&] { return sort_places_ptx(places_name); });

  const std::string pass_name = "weft_sort_pass_" + key + "_" + std::to_string(request.value_bytes) + "_" +
                                std::to_string(shape.threads) + "_" + std::to_string(shape.items) +
                                (shape.values_early ? "" : "_late") + (shape.wide_states ? "_wide" : "");
  for (int pass = 0; pass < passes; ++pass) {
    const int from = pass * kDigitBits;
    a.shift = std::uint32_t(request.begin_bit + from);
    a.mask = (1u << std::min(kDigitBits, bits - from)) - 1;
    a.places = counts + std::uint64_t(pass) * kDigits * 4;
    a.started = zero.at(std::uint64_t(pass) * 4);
    a.states = pass % 2 ? more.at() : states;
    a.next_states = pass + 1 == passes ? 0 : pass % 2 ? states : more.at();
    SortShape form = shape;
    form.numbered = of_numbers && pass == 0;
    form.values_alone = of_numbers && pass + 1 == passes;
    const std::string name = pass_name + (form.numbered ? "_numbered" : "") + (form.values_alone ? "_alone" : "");
    queue(device, name, tiles, shape.threads, a,
          [&] { return sort_pass_ptx(name, request.key, request.value_bytes, form); });
    std::swap(a.keys, a.keys_out);
    std::swap(a.values, a.values_out);
  }
  if (of_numbers || passes % 2 == 0) return;
  copy(device, request.keys, request.spare_keys, count * key_bytes(request.key));
  copy(device, request.values, request.spare_values, count * request.value_bytes);
}

}  // namespace weft::algorithms::gpu
