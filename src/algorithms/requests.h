// What can be asked of the algorithms, whichever device does it: plain addresses, counts and kinds of numbers, so that
// builders of other structures can call them on memory of their own. Addresses are those of the place where the work is
// done, the host's or a GPU's.
#pragma once
#include <cstdint>

#include "types/type.h"

namespace weft::algorithms {

using Address = std::uint64_t;

inline Address address_of(const void* memory) { return reinterpret_cast<Address>(memory); }
template <class T>
T* pointer_to(Address address) {
  return reinterpret_cast<T*>(address);
}

/// Numbers of (outer, length, inner) elements, packed, summed over the middle into (outer, inner) of the same kind. With
/// `b`, sums of products of two. float16 and bfloat16 are summed in float32. The shape of the tree of additions follows
/// from the three extents alone.
struct SumRequest {
  ScalarKind kind = ScalarKind::f32;
  Address a = 0, b = 0, out = 0;
  std::int64_t outer = 1, length = 0, inner = 1;
};

/// Prefix sums of `count` elements of so many numbers each, every one for itself; strides in bytes, from one element to
/// the next. In place is fine where the strides are equal. int32, uint32, int64, uint64, float16, float32, float64.
struct ScanRequest {
  ScalarKind kind = ScalarKind::f32;
  Address in = 0, out = 0;
  std::int64_t in_stride = 0, out_stride = 0, count = 0;
  bool inclusive = true;
  std::int64_t components = 1;
};

/// Sorts `count` keys (int32, uint32, int64, uint64, float32, float64) ascending and stable, with values of 4 or 8 bytes,
/// or none (0 bytes). Keys count as unsigned numbers of the same order (signs flipped, negative floats reversed: −0 comes
/// before 0, not-a-numbers lie outside of the infinities by their sign), of which the bits from begin_bit to end_bit
/// decide. `spare_keys` and `spare_values` are scratch of the same size; the four share no memory.
struct SortRequest {
  ScalarKind key = ScalarKind::i32;
  int value_bytes = 4;
  Address keys = 0, values = 0, spare_keys = 0, spare_values = 0;
  std::int64_t count = 0;
  int begin_bit = 0, end_bit = 32;
};

/// Segments of what is sorted, each from a begin to its end; int32.
struct Segments {
  Address begins = 0, ends = 0;
  std::int64_t count = 0;
};

/// Runs of equal values (int32, uint32, int64, uint64, float32, float64) among `count` packed ones: the value and the
/// length of each, the latter int32 and only if there is an address for them. There is room for as many as can be. The
/// runs of sorted values are the unique ones. On a device, `run_count` takes how many there are (int32).
struct RunsRequest {
  ScalarKind kind = ScalarKind::i32;
  Address values = 0, run_values = 0, run_lengths = 0;
  std::int64_t count = 0;
  Address run_count = 0;
};

/// How many of `count` packed values lie in each of `bins` stretches of equal width from `lower` to `upper`, the latter
/// not included; int32. Values outside and not-a-numbers are counted nowhere.
struct HistogramRequest {
  ScalarKind kind = ScalarKind::i32;
  Address values = 0, counts = 0;
  std::int64_t count = 0, bins = 0;
  double lower = 0, upper = 0;
};

}  // namespace weft::algorithms
