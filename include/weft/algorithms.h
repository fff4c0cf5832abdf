// Algorithms on whole arrays, from C++: sums, prefix sums, sorts, runs of equal values, histograms.
//
//   weft::Array keys = weft::Array::from<int>({3, 1, 2}), values = weft::Array::from<float>({30, 10, 20});
//   weft::sort_pairs(keys, values);
//   double total = weft::sum(values);
//
// They use all threads; results have the same bytes for every number of threads. Arrays of several dimensions count as
// their flat memory and must be contiguous. All of them work where the arrays lie, on the CPU or on one CUDA device.
// Arguments that don't fit are ArgumentErrors.
#pragma once
#include <weft/weft.h>

namespace weft {

/// The sum of all numbers of an array, components of vectors and matrices included; of integers, modulo 2^32 or 2^64. The
/// sum is taken in the array's own kind of numbers (of 16-bit floats, in float32).
double sum(const Array& values);
/// The sum of the products of the numbers of two arrays of one type and size.
double inner(const Array& a, const Array& b);

/// Writes prefix sums to an array of the same type and size; components of vectors and matrices each for themselves.
/// Exclusive ones start with zero. The two may be one array.
void scan(const Array& in, const Array& out, bool inclusive = true);

/// Sorts keys (int32, uint32, int64, uint64, float32, float64), ascending, in place. −0 comes before 0; not-a-numbers lie
/// outside of the infinities, by their sign.
void sort(const Array& keys);
/// The same with as many values, elements of any type, that go with their keys; stable.
/// Of the keys, as unsigned numbers of the same order, the bits from begin_bit to end_bit (−1: the last) decide.
void sort_pairs(const Array& keys, const Array& values, int begin_bit = 0, int end_bit = -1);

/// Writes the value and the length (int32) of each run of equal values to arrays that have room for as many; gives how many
/// there are.
std::int64_t encode_runs(const Array& values, const Array& run_values, const Array& run_lengths);
/// Writes each run's value only: of sorted values, the unique ones. The two may be one array.
std::int64_t unique(const Array& values, const Array& run_values);
/// Counts values in stretches of equal width from `lower` to `upper`, the latter not included, as many as `counts` (int32)
/// has elements. Values outside are counted nowhere.
void histogram(const Array& values, const Array& counts, double lower, double upper);

}  // namespace weft
