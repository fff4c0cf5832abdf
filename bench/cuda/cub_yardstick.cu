// What CUB makes of the calls that bench/python/cub.py measures, as a library of plain functions: sorts of keys and of
// pairs, prefix sums, sums, runs. Called without scratch memory, each says how much it needs.
#include <cub/cub.cuh>

#include <cstdint>

namespace {

template <class Key, class Value>
int sort(void* scratch, size_t* bytes, const void* keys, const void* values, void* keys_out, void* values_out,
         int count, cudaStream_t stream) {
  if (!values)
    return cub::DeviceRadixSort::SortKeys(scratch, *bytes, static_cast<const Key*>(keys), static_cast<Key*>(keys_out),
                                          count, 0, int(sizeof(Key)) * 8, stream);
  return cub::DeviceRadixSort::SortPairs(scratch, *bytes, static_cast<const Key*>(keys), static_cast<Key*>(keys_out),
                                         static_cast<const Value*>(values), static_cast<Value*>(values_out), count, 0,
                                         int(sizeof(Key)) * 8, stream);
}

}  // namespace

#define SORT(NAME, KEY, VALUE)                                                                                       \
  extern "C" int cub_sort_##NAME(void* scratch, size_t* bytes, const void* keys, const void* values, void* keys_out, \
                                 void* values_out, int count, cudaStream_t stream) {                                 \
    return sort<KEY, VALUE>(scratch, bytes, keys, values, keys_out, values_out, count, stream);                      \
  }
SORT(uint32, uint32_t, uint32_t)
SORT(float32, float, uint32_t)
SORT(uint32_wide, uint32_t, uint64_t)
SORT(uint64, uint64_t, uint32_t)
SORT(uint64_wide, uint64_t, uint64_t)

#define SCAN(NAME, TYPE)                                                                                         \
  extern "C" int cub_scan_##NAME(void* scratch, size_t* bytes, const void* in, void* out, int count,             \
                                 cudaStream_t stream) {                                                          \
    return cub::DeviceScan::InclusiveSum(scratch, *bytes, static_cast<const TYPE*>(in), static_cast<TYPE*>(out), \
                                         count, stream);                                                         \
  }                                                                                                              \
  extern "C" int cub_sum_##NAME(void* scratch, size_t* bytes, const void* in, void* out, int count,              \
                                cudaStream_t stream) {                                                           \
    return cub::DeviceReduce::Sum(scratch, *bytes, static_cast<const TYPE*>(in), static_cast<TYPE*>(out), count, \
                                  stream);                                                                       \
  }
SCAN(int32, int32_t)
SCAN(float32, float)

extern "C" int cub_runs_int32(void* scratch, size_t* bytes, const void* in, void* values, void* lengths, void* runs,
                              int count, cudaStream_t stream) {
  return cub::DeviceRunLengthEncode::Encode(scratch, *bytes, static_cast<const int32_t*>(in),
                                            static_cast<int32_t*>(values), static_cast<int32_t*>(lengths),
                                            static_cast<int32_t*>(runs), int(count), stream);
}
