// From arrays to requests: layouts, places, copies where memory is shared or not packed.
#include "algorithms/arrays.h"

#include <algorithm>
#include <cstring>

#include "algorithms/host/workers.h"
#include "runtime/errors.h"

namespace weft::algorithms {
namespace {

using runtime::ArgumentError;

Address at(const Array& array) { return address_of(array.data()); }

std::int64_t element_bytes(const Array& array) { return std::int64_t(array.element()->size()); }

ScalarKind kind_of(const Array& array, const char* what) {
  const Type* type = array.element();
  if (!type->is_scalar() && !type->is_composite())
    throw ArgumentError(std::string(what) + " takes numbers or vectors and matrices of them, not " + type->user_name());
  return type->scalar_kind();
}

/// Bytes from one element to the next of an array that counts as its flat memory.
std::int64_t stride_of(const Array& array, const char* what) {
  if (array.rank() == 1) return array.strides()[0];
  if (!array.is_contiguous())
    throw ArgumentError(std::string(what) + " takes arrays of one dimension or contiguous ones");
  return element_bytes(array);
}

/// The first elements, in one dimension.
Array first_of(const Array& array, std::int64_t count, const char* what) {
  const std::int64_t stride = stride_of(array, what);
  if (count > array.size())
    throw ArgumentError(std::string(what) + " needs " + std::to_string(count) + " elements, the array has " +
                        std::to_string(array.size()));
  return array.reinterpret(array.element(), Array::Shape(&count, 1), Array::Shape(&stride, 1));
}

bool sortable(ScalarKind kind) { return (scalar_bits(kind) == 32 || scalar_bits(kind) == 64); }

SortRequest sort_request(const Array& keys, const Array& spare_keys, std::int64_t count, const SortedPairs& what) {
  const Type* key = keys.element();
  if (!key->is_scalar() || !sortable(key->scalar_kind()))
    throw ArgumentError("keys are int32, uint32, int64, uint64, float32 or float64, not " + key->user_name());
  const int bits = int(scalar_bits(key->scalar_kind()));
  if (what.begin_bit < 0 || what.begin_bit > what.end_bit || what.end_bit > bits)
    throw ArgumentError("bits must lie in 0 to " + std::to_string(bits) + ", got " + std::to_string(what.begin_bit) +
                        " to " + std::to_string(what.end_bit));
  return {key->scalar_kind(), 0, at(keys), 0, at(spare_keys), 0, count, what.begin_bit, what.end_bit};
}

/// Sorts all together or within segments.
bool run_sort(cuda::Device* device, const SortRequest& request, const SortedPairs& what,
              const runtime::LaunchOptions& options) {
  if (!what.begins) return sort(device, request, options);
  for (const Array* bounds : {what.begins, what.ends})
    if (bounds->element() != types::i32() || !bounds->is_contiguous())
      throw ArgumentError("the bounds of segments are packed arrays of int32");
  const std::int64_t segments = what.begins->size();
  if (segments != what.ends->size())
    throw ArgumentError("there are " + std::to_string(segments) + " begins of segments and " +
                        std::to_string(what.ends->size()) + " ends");
  if (!device) {
    const std::span<std::int32_t> begins = what.begins->span<std::int32_t>(), ends = what.ends->span<std::int32_t>();
    for (std::size_t s = 0; s < begins.size(); ++s)
      if (begins[s] < 0 || begins[s] > ends[s] || ends[s] > request.count)
        throw ArgumentError("the segment " + std::to_string(begins[s]) + " to " + std::to_string(ends[s]) +
                            " does not lie within 0 to " + std::to_string(request.count));
  }
  return sort_segments(device, request, {at(*what.begins), at(*what.ends), segments}, options);
}

/// to[i] = from[order[i]], elements of so many bytes; `to` is packed.
template <class Index>
bool gather(char* to, const char* from, std::int64_t stride, std::size_t bytes, std::span<const Index> order,
            const runtime::LaunchOptions& options) {
  constexpr std::int64_t kPiece = 16 * 1024;
  const std::int64_t count = std::int64_t(order.size());
  host::Workers workers(options);
  return workers.run((count + kPiece - 1) / kPiece, [&](std::int64_t piece) {
    for (std::int64_t i = piece * kPiece; i < std::min(count, (piece + 1) * kPiece); ++i)
      std::memcpy(to + i * std::int64_t(bytes), from + std::int64_t(order[std::size_t(i)]) * stride, bytes);
  });
}

/// Writes 0, 1, 2, … to a packed array.
template <class Index>
void count_up(cuda::Device* device, const Array& to) {
  if (device) return gpu::count_up(*device, at(to), to.size());
  const std::span<Index> list = to.span<Index>();
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = Index(i);
}

/// The elements of an array in an order, packed; nothing when the host wanted to stop.
template <class Index>
std::optional<Array> in_order(cuda::Device* device, const Array& from, const Array& order,
                              const runtime::LaunchOptions& options) {
  const Array moved = Array::empty(from.element(), {order.size()}, false, from.space());
  if (device) {
    gpu::gather(*device, {at(moved), at(from), at(order), order.size(), element_bytes(from), from.strides()[0]});
    return moved;
  }
  if (!gather<Index>(static_cast<char*>(moved.data()), static_cast<const char*>(from.data()), from.strides()[0],
                     from.element()->size(), order.span<Index>(), options))
    return std::nullopt;
  return moved;
}

/// Sorts copies of the keys with their numbers, then puts keys and values into that order.
template <class Index>
bool sort_by_order(cuda::Device* device, const Array& keys, const Array* values, const SortedPairs& what,
                   const Array* order, const runtime::LaunchOptions& options) {
  const Type* index_type = types::scalar(sizeof(Index) == 4 ? ScalarKind::i32 : ScalarKind::i64);
  const std::int64_t count = what.count;
  const Array key_room = Array::empty(keys.element(), {2 * count}, false, keys.space());
  const Array index_room = Array::empty(index_type, {2 * count}, false, keys.space());
  const Array sorted = key_room.slice(0, 0, count), indices = index_room.slice(0, 0, count);
  sorted.assign(keys);
  count_up<Index>(device, indices);
  SortRequest request = sort_request(sorted, key_room.slice(0, count, 2 * count), count, what);
  request.value_bytes = sizeof(Index);
  request.values = at(indices);
  request.spare_values = at(index_room.slice(0, count, 2 * count));
  if (!run_sort(device, request, what, options)) return false;
  if (values) {
    const std::optional<Array> moved = in_order<Index>(device, *values, indices, options);
    if (!moved) return false;
    values->assign(*moved);
  }
  keys.assign(sorted);
  if (order) order->assign(indices);
  return true;
}

}  // namespace

cuda::Device* device_of(std::initializer_list<const Array*> arrays) {
  cuda::Device* device = nullptr;
  bool first = true;
  for (const Array* one : arrays) {
    if (!one) continue;
    if (!one->is_valid()) throw ArgumentError("this is no array: it has no elements and no type");
    cuda::Device* const there = one->on_host() ? nullptr : dynamic_cast<cuda::Device*>(one->space());
    if (!first && there != device) throw ArgumentError("the arrays must lie on one device");
    device = there;
    first = false;
  }
  return device;
}

bool scan_array(const Array& in, const Array& out, bool inclusive, const runtime::LaunchOptions& options) {
  cuda::Device* device = device_of({&in, &out});
  const ScalarKind kind = kind_of(out, "a prefix sum");
  if (in.element() != out.element() || in.size() != out.size())
    throw ArgumentError("prefix sums go to an array of the same type and size");
  if (scalar_bits(kind) < 32 && kind != ScalarKind::f16)
    throw ArgumentError("there are no prefix sums of " + out.element()->user_name());
  Array source = in;
  const std::int64_t to = stride_of(out, "a prefix sum");
  std::int64_t from = stride_of(in, "a prefix sum");
  if (in.range().intersects(out.range()) && (in.data() != out.data() || from != to)) {
    source = in.copy();
    from = element_bytes(source);
  }
  return scan(device,
              {kind, at(source), at(out), from, to, out.size(), inclusive,
               element_bytes(out) / (std::int64_t(scalar_bits(kind)) / 8)},
              options);
}

bool sum_array(const Array& a, const Array* b, const Array& out, std::int64_t outer, std::int64_t length,
               std::int64_t inner, const runtime::LaunchOptions& options) {
  cuda::Device* device = device_of({&a, b, &out});
  const ScalarKind kind = kind_of(out, "a sum");
  if (scalar_bits(kind) < 16 || (scalar_bits(kind) == 16 && kind != ScalarKind::f16 && kind != ScalarKind::bf16))
    throw ArgumentError("there are no sums of " + out.element()->user_name());
  const auto holds = [&](const Array& array, std::int64_t numbers) {
    return array.is_contiguous() && kind_of(array, "a sum") == kind &&
           array.bytes() == std::uint64_t(numbers) * (scalar_bits(kind) / 8);
  };
  const std::int64_t numbers = outer * length * inner;
  if (outer < 0 || length < 0 || inner < 0 || !holds(a, numbers) || (b && !holds(*b, numbers)) ||
      !holds(out, outer * inner))
    throw ArgumentError("sums are taken of packed arrays of one kind, whose sizes follow from the three extents");
  return sum(device, {kind, at(a), b ? at(*b) : 0, at(out), outer, length, inner}, options);
}

bool sort_array(const Array& keys, const Array* values, const SortedPairs& what, const Array* order,
                const runtime::LaunchOptions& options) {
  cuda::Device* device = device_of({&keys, values, order, what.begins, what.ends});
  const std::int64_t count = what.count, value = values ? element_bytes(*values) : 0;
  const Array first = first_of(keys, count, "a sort");
  const Array first_values = values ? first_of(*values, count, "a sort") : Array();
  const bool packed =
      first.is_contiguous() && (!values || (first_values.is_contiguous() && (value == 4 || value == 8) &&
                                            !keys.range().intersects(values->range())));
  if (packed && !order) {
    // Scratch is the rest of an array, if that is large enough.
    Array more_keys, more_values;
    const auto spare = [&](const Array& array, Array& more) {
      if (array.is_contiguous() && array.size() >= 2 * count)
        return at(array) + std::uint64_t(count * element_bytes(array));
      more = Array::empty(array.element(), {count}, false, array.space());
      return at(more);
    };
    SortRequest request = sort_request(first, first, count, what);
    request.spare_keys = spare(keys, more_keys);
    request.value_bytes = int(value);
    request.values = values ? at(*values) : 0;
    request.spare_values = values ? spare(*values, more_values) : 0;
    return run_sort(device, request, what, options);
  }
  const bool wide = order ? order->element() == types::i64() : !device && count > INT32_MAX;
  if (device && wide) throw ArgumentError("orders on " + device->name() + " are int32");
  const Array* const moved = values ? &first_values : nullptr;
  if (wide) return sort_by_order<std::int64_t>(device, first, moved, what, order, options);
  return sort_by_order<std::int32_t>(device, first, moved, what, order, options);
}

namespace {

/// Finds runs on a device; see encode_runs.
std::int64_t runs_on_device(cuda::Device& device, RunsRequest request, const Array* run_count) {
  const Array own = run_count ? Array() : Array::empty(types::i32(), {1}, false, &device);
  request.run_count = at(run_count ? *run_count : own);
  runs(&device, request);
  if (run_count) return 0;
  const Array here = Array::empty(types::i32(), {1});
  here.assign(own);
  return here.at<std::int32_t>(0);
}

}  // namespace

std::optional<std::int64_t> encode_runs(const Array& values, const Array& run_values, const Array* run_lengths,
                                        const Array* run_count, std::int64_t count,
                                        const runtime::LaunchOptions& options) {
  cuda::Device* device = device_of({&values, &run_values, run_lengths, run_count});
  const ScalarKind kind = kind_of(values, "run-length encoding");
  if (!values.element()->is_scalar() || !sortable(kind) || run_values.element() != values.element() ||
      (run_lengths && run_lengths->element() != types::i32()))
    throw ArgumentError("runs are found of numbers of 4 or 8 bytes; their lengths are int32");
  if (run_count && (run_count->element() != types::i32() || run_count->rank() != 1 || run_count->size() < 1))
    throw ArgumentError("the number of runs goes to an array of int32");
  Array source = first_of(values, count, "run-length encoding");
  const Array to_values = first_of(run_values, count, "run-length encoding");
  const Array to_lengths = run_lengths ? first_of(*run_lengths, count, "run-length encoding") : Array();
  const auto shared = [&](const Array& one) { return one.is_valid() && one.range().intersects(source.range()); };
  if (!source.is_contiguous() || shared(to_values) || shared(to_lengths)) source = source.copy();
  // Of results that are not packed, copies are written and brought back; elements behind the runs stay as they are.
  const auto packed = [&](const Array& to) { return !to.is_valid() || to.is_contiguous() ? to : to.copy(); };
  const Array out = packed(to_values), lengths = packed(to_lengths);
  const RunsRequest request{kind, at(source), at(out), run_lengths ? at(lengths) : 0, count};
  std::optional<std::int64_t> found;
  if (device) {
    found = runs_on_device(*device, request, run_count);
  } else {
    found = runs(nullptr, request, options);
    if (!found) return found;
    if (run_count) *static_cast<std::int32_t*>(run_count->data()) = std::int32_t(*found);
  }
  if (out.data() != to_values.data()) to_values.assign(out);
  if (run_lengths && lengths.data() != to_lengths.data()) to_lengths.assign(lengths);
  return found;
}

bool count_values(const Array& values, const Array& counts, double lower, double upper,
                  const runtime::LaunchOptions& options) {
  cuda::Device* device = device_of({&values, &counts});
  const ScalarKind kind = kind_of(values, "a histogram");
  if (scalar_bits(kind) < 32 && kind != ScalarKind::f16 && kind != ScalarKind::bf16)
    throw ArgumentError("there are no histograms of " + values.element()->user_name());
  if (counts.element() != types::i32() || !counts.is_contiguous() || !values.element()->is_scalar())
    throw ArgumentError("a histogram takes numbers, and a packed array of int32 for its counts");
  if (!(lower < upper)) throw ArgumentError("a histogram reaches from a lower bound to an upper one");
  const Array source = values.is_contiguous() && !values.range().intersects(counts.range()) ? values : values.copy();
  return histogram(device, {kind, at(source), at(counts), source.size(), counts.size(), lower, upper}, options);
}

}  // namespace weft::algorithms
