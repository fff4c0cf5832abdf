// Sums, prefix sums and sorting on a device, queued on its current stream; nothing waits for the host, and all of it can be
// captured. Numbers are packed unless strides say otherwise. The caller keeps the arrays.
#pragma once
#include "cuda/device.h"

namespace weft::cuda {

/// Numbers of (outer, length, inner) elements, summed over the middle into (outer, inner) of the same kind. With `b`, sums
/// of products of two. float16, bfloat16, float32, float64; 16-bit floats are summed in float32.
struct SumRequest {
  ScalarKind kind = ScalarKind::f32;
  DevicePtr a = 0, b = 0, out = 0;
  std::int64_t outer = 1, length = 0, inner = 1;
};
void sum(Device& device, const SumRequest& request);

/// Prefix sums of `count` numbers; strides in bytes. In place is fine where the strides are equal. int32, uint32, int64,
/// uint64, float16, float32, float64.
struct ScanRequest {
  ScalarKind kind = ScalarKind::f32;
  DevicePtr in = 0, out = 0;
  std::int64_t in_stride = 0, out_stride = 0, count = 0;
  bool inclusive = true;
};
void scan(Device& device, const ScanRequest& request);

/// Sorts `count` keys (int32, uint32, int64, uint64, float32, float64) with values of 4 or 8 bytes, ascending and stable by
/// the bits from begin_bit to end_bit of the keys as unsigned numbers of their order. `spare_keys` and `spare_values` are
/// scratch of the same size.
struct SortRequest {
  ScalarKind key = ScalarKind::i32;
  int value_bytes = 4;
  DevicePtr keys = 0, values = 0, spare_keys = 0, spare_values = 0;
  std::int64_t count = 0;
  int begin_bit = 0, end_bit = 32;
};
void sort(Device& device, const SortRequest& request);

}  // namespace weft::cuda
