// The kernels of the algorithms as PTX, and the argument blocks that they take. Kernels are made for a kind of numbers
// when it is first used, and kept by the device.
#pragma once
#include <cstdint>
#include <string>

#include "cuda/driver_types.h"
#include "types/type.h"

namespace weft::algorithms::gpu {

using cuda::DevicePtr;

/// Sums along the middle of (outer, length, inner) numbers: output o = (i, k) is the sum over l of (i, l, k). The length is
/// cut into parts of `chunk`; part p of output o goes to out[p * outputs + o].
struct SumArguments {
  DevicePtr a = 0, b = 0, out = 0;  // b: the second factors, of inner products
  std::int64_t outputs = 0, length = 0, inner = 0, parts = 0, chunk = 0;
};

/// Prefix sums; strides in bytes. `sums` has a number per tile.
struct ScanArguments {
  DevicePtr in = 0, out = 0, sums = 0;
  std::int64_t in_stride = 0, out_stride = 0, count = 0;
};

/// One pass of a sort by a digit of 8 bits: (key >> shift) & mask, of the key as an unsigned number of the same order.
/// counts[digit * tiles + tile] are how many keys of a tile have the digit, then where the first one goes.
struct SortArguments {
  DevicePtr keys = 0, values = 0, keys_out = 0, values_out = 0, counts = 0;
  std::int64_t count = 0;
  std::uint32_t tiles = 0, shift = 0, mask = 0, unused = 0;
};

/// A block per output and part (rows) or a thread (columns); sums of numbers `in`, or of products of two, stored as `out`.
std::string sum_ptx(const std::string& name, ScalarKind in, ScalarKind out, bool product, bool columns);
/// The same for one output: the sum of `length` packed numbers (float32, float64) whose memory starts at a multiple of 16
/// bytes, by 128-bit loads. `chunk` is a multiple of 4.
std::string sum_packed_ptx(const std::string& name, ScalarKind in, ScalarKind out, bool product);
/// The sum of each tile; prefix sums of sums by one block, exclusive and in place; prefix sums of each tile. `packed`: the
/// numbers have 4 or 8 bytes, follow each other, and start at multiples of 16 bytes.
std::string scan_sums_ptx(const std::string& name, ScalarKind kind, bool packed);
std::string scan_spine_ptx(const std::string& name, ScalarKind sum);
std::string scan_apply_ptx(const std::string& name, ScalarKind kind, bool inclusive, bool packed);
/// How many keys of each tile have each digit; keys and values (of 4 or 8 bytes) to their places.
std::string sort_count_ptx(const std::string& name, ScalarKind key);
std::string sort_move_ptx(const std::string& name, ScalarKind key, int value_bytes);

}  // namespace weft::algorithms::gpu
