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

void check_on_host(std::initializer_list<const Array*> arrays, const char* what) {
  if (device_of(arrays)) throw ArgumentError(std::string(what) + " takes arrays that the CPU reaches");
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

/// Sorts on the CPU, all together or within segments.
bool sort_request_on_host(const SortRequest& request, const SortedPairs& what, const runtime::LaunchOptions& options) {
  if (!what.begins) return host::sort(request, options);
  const auto indices = [](const Array& array) {
    if (array.element() != types::i32() || !array.is_contiguous())
      throw ArgumentError("the bounds of segments are packed arrays of int32");
    return array.span<std::int32_t>();
  };
  const std::span<std::int32_t> begins = indices(*what.begins), ends = indices(*what.ends);
  if (begins.size() != ends.size())
    throw ArgumentError("there are " + std::to_string(begins.size()) + " begins of segments and " +
                        std::to_string(ends.size()) + " ends");
  for (std::size_t s = 0; s < begins.size(); ++s)
    if (begins[s] < 0 || begins[s] > ends[s] || ends[s] > request.count)
      throw ArgumentError("the segment " + std::to_string(begins[s]) + " to " + std::to_string(ends[s]) +
                          " does not lie within 0 to " + std::to_string(request.count));
  return host::sort_segments(request, begins, ends, options);
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

/// Sorts copies of the keys with their numbers, then puts keys and values into that order.
template <class Index>
bool sort_by_order(const Array& keys, const Array* values, const SortedPairs& what, const Array* order,
                   const runtime::LaunchOptions& options) {
  const Type* index_type = types::scalar(sizeof(Index) == 4 ? ScalarKind::i32 : ScalarKind::i64);
  const std::int64_t count = what.count;
  const Array key_room = Array::empty(keys.element(), {2 * count}), index_room = Array::empty(index_type, {2 * count});
  const Array sorted = key_room.slice(0, 0, count), indices = index_room.slice(0, 0, count);
  sorted.assign(keys);
  const std::span<Index> list = indices.span<Index>();
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = Index(i);
  SortRequest request = sort_request(sorted, key_room.slice(0, count, 2 * count), count, what);
  request.value_bytes = sizeof(Index);
  request.values = at(indices);
  request.spare_values = at(index_room.slice(0, count, 2 * count));
  if (!sort_request_on_host(request, what, options)) return false;
  if (values) {
    const Array moved = Array::empty(values->element(), {count});
    if (!gather<Index>(static_cast<char*>(moved.data()), static_cast<const char*>(values->data()), values->strides()[0],
                       values->element()->size(), list, options))
      return false;
    values->assign(moved);
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
  if (device && kind < ScalarKind::f16)
    throw ArgumentError("there are no sums of " + out.element()->user_name() + " on " + device->name());
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

bool sort_packed(const Array& keys, const Array& values, const SortedPairs& what,
                 const runtime::LaunchOptions& options) {
  cuda::Device* device = device_of({&keys, &values});
  const std::int64_t count = what.count, value = element_bytes(values);
  if (!keys.is_contiguous() || !values.is_contiguous() || keys.size() < 2 * count || values.size() < 2 * count ||
      (value != 4 && value != 8))
    throw ArgumentError("sorted arrays are packed, with room for as many elements again, and values of 4 or 8 bytes");
  SortRequest request = sort_request(keys, keys, count, what);
  request.spare_keys += std::uint64_t(count * element_bytes(keys));
  request.value_bytes = int(value);
  request.values = at(values);
  request.spare_values = at(values) + std::uint64_t(count * value);
  return sort(device, request, options);
}

bool sort_on_host(const Array& keys, const Array* values, const SortedPairs& what, const Array* order,
                  const runtime::LaunchOptions& options) {
  check_on_host({&keys, values, order, what.begins, what.ends}, "this sort");
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
      more = Array::empty(array.element(), {count});
      return at(more);
    };
    SortRequest request = sort_request(first, first, count, what);
    request.spare_keys = spare(keys, more_keys);
    request.value_bytes = int(value);
    request.values = values ? at(*values) : 0;
    request.spare_values = values ? spare(*values, more_values) : 0;
    return sort_request_on_host(request, what, options);
  }
  const bool wide = order ? order->element() == types::i64() : count > INT32_MAX;
  if (wide) return sort_by_order<std::int64_t>(first, values ? &first_values : nullptr, what, order, options);
  return sort_by_order<std::int32_t>(first, values ? &first_values : nullptr, what, order, options);
}

std::optional<std::int64_t> encode_runs(const Array& values, const Array& run_values, const Array* run_lengths,
                                        std::int64_t count, const runtime::LaunchOptions& options) {
  check_on_host({&values, &run_values, run_lengths}, "run-length encoding");
  const ScalarKind kind = kind_of(values, "run-length encoding");
  if (!values.element()->is_scalar() || !sortable(kind) || run_values.element() != values.element() ||
      (run_lengths && run_lengths->element() != types::i32()))
    throw ArgumentError("runs are found of numbers of 4 or 8 bytes; their lengths are int32");
  Array source = first_of(values, count, "run-length encoding");
  const Array to_values = first_of(run_values, count, "run-length encoding");
  const Array to_lengths = run_lengths ? first_of(*run_lengths, count, "run-length encoding") : Array();
  const auto shared = [&](const Array& one) { return one.is_valid() && one.range().intersects(source.range()); };
  if (!source.is_contiguous() || shared(to_values) || shared(to_lengths)) source = source.copy();
  const Array out = to_values.is_contiguous() ? to_values : Array::empty(values.element(), {count});
  const Array lengths = !run_lengths || to_lengths.is_contiguous() ? to_lengths : Array::empty(types::i32(), {count});
  const std::optional<std::int64_t> runs =
      host::runs({kind, at(source), at(out), run_lengths ? at(lengths) : 0, count}, options);
  if (!runs) return runs;
  if (out.data() != to_values.data()) to_values.slice(0, 0, *runs).assign(out.slice(0, 0, *runs));
  if (run_lengths && lengths.data() != to_lengths.data())
    to_lengths.slice(0, 0, *runs).assign(lengths.slice(0, 0, *runs));
  return runs;
}

bool count_values(const Array& values, const Array& counts, double lower, double upper,
                  const runtime::LaunchOptions& options) {
  check_on_host({&values, &counts}, "a histogram");
  const ScalarKind kind = kind_of(values, "a histogram");
  if (scalar_bits(kind) < 32 && kind != ScalarKind::f16 && kind != ScalarKind::bf16)
    throw ArgumentError("there are no histograms of " + values.element()->user_name());
  if (counts.element() != types::i32() || !counts.is_contiguous() || !values.element()->is_scalar())
    throw ArgumentError("a histogram takes numbers, and a packed array of int32 for its counts");
  if (!(lower < upper)) throw ArgumentError("a histogram reaches from a lower bound to an upper one");
  const Array source = values.is_contiguous() && !values.range().intersects(counts.range()) ? values : values.copy();
  return host::histogram({kind, at(source), at(counts), source.size(), counts.size(), lower, upper}, options);
}

}  // namespace weft::algorithms
