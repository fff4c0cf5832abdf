// The algorithms on arrays, wherever they lie: what Python's utilities and the public header call. Any contiguous array
// counts as its flat memory. Arguments that don't fit are ArgumentErrors. As in algorithms.h, false (nothing, of runs) says
// that the host wanted to stop.
#pragma once
#include "algorithms/algorithms.h"
#include "runtime/array.h"

namespace weft::algorithms {

using runtime::Array;

/// The device that all of these arrays lie on; null: the CPU reaches them all. Throws ArgumentError for arrays in several
/// places and for those that are none.
cuda::Device* device_of(std::initializer_list<const Array*> arrays);

/// Prefix sums of one array to another of the same type and size; components of vectors and matrices each for themselves.
/// The two may share memory.
bool scan_array(const Array& in, const Array& out, bool inclusive, const runtime::LaunchOptions& options = {});

/// The sums (see SumRequest) of packed arrays; `b` may be null.
bool sum_array(const Array& a, const Array* b, const Array& out, std::int64_t outer, std::int64_t length,
               std::int64_t inner, const runtime::LaunchOptions& options = {});

/// Which of an array's pairs are sorted and by what.
struct SortedPairs {
  std::int64_t count = 0;
  int begin_bit = 0, end_bit = 0;
  /// int32: sorted within segments, each from a begin to its end. Null: all together. On the CPU segments lie within the
  /// count, on a device they are cut, and keys have 32 bits.
  const Array *begins = nullptr, *ends = nullptr;
};
/// Sorts the first keys of an array and, where there is one, of an array of values with elements of any size, in place.
/// Where there is an array `order` (int32 or, on the CPU, int64; of `count` elements), it is told where each pair came from.
/// Where arrays have room for as many elements again, that may become scratch.
bool sort_array(const Array& keys, const Array* values, const SortedPairs& what, const Array* order = nullptr,
                const runtime::LaunchOptions& options = {});

/// Writes the runs of equal values among the first `count`, the lengths (int32) if there is an array for them, and their
/// number if there is an array for it (one int32); gives how many there are. On a device the program waits for that only if
/// there is no such array, else 0 is given. Arrays may share memory.
std::optional<std::int64_t> encode_runs(const Array& values, const Array& run_values, const Array* run_lengths,
                                        const Array* run_count, std::int64_t count,
                                        const runtime::LaunchOptions& options = {});

/// Counts values in stretches of equal width from `lower` to `upper` (see HistogramRequest), as many as `counts` (int32)
/// has elements.
bool count_values(const Array& values, const Array& counts, double lower, double upper,
                  const runtime::LaunchOptions& options = {});

}  // namespace weft::algorithms
