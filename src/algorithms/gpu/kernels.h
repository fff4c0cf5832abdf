// The kernels of the algorithms as PTX, and the argument blocks that they take. Kernels are made for a kind of numbers
// when it is first used, and kept for the device.
#pragma once
#include <cstdint>
#include <string>

#include "algorithms/gpu/tile_prefix.h"
#include "algorithms/requests.h"
#include "cuda/device.h"
#include "types/type.h"

namespace weft::algorithms::gpu {

using cuda::DevicePtr;

// ---- Sums ------------------------------------------------------------------------------------------------------------

/// Sums along the middle of (outer, length, inner) numbers: output o = (i, k) is the sum over l of (i, l, k). The length is
/// cut into parts of `chunk`; part p of output o goes to out[p * outputs + o].
struct SumArguments {
  DevicePtr a = 0, b = 0, out = 0;  // b: the second factors, of inner products
  std::int64_t outputs = 0, length = 0, inner = 0, parts = 0, chunk = 0;
};
inline constexpr int kSumBlock = 256;
/// A block per output and part (rows) or a thread (columns); sums of numbers `in`, or of products of two, stored as `out`.
std::string sum_ptx(const std::string& name, ScalarKind in, ScalarKind out, bool product, bool columns);

/// One sum, of `length` packed numbers of 4 or 8 bytes whose memory starts at a multiple of 16: block i takes tiles i,
/// i + blocks and so on, and writes out[i].
struct PackedSumArguments {
  DevicePtr a = 0, b = 0, out = 0;
  std::int64_t length = 0;
};
/// A block of it: its threads, and how many loads of 128 bits each has under way.
struct SumShape {
  int threads = 256, loads = 4;
};
inline int sum_tile(const SumShape& shape, ScalarKind kind) {
  return shape.threads * shape.loads * vector_length(number_text(kind));
}
std::string sum_packed_ptx(const std::string& name, ScalarKind kind, bool product, const SumShape& shape);

// ---- Prefix sums -----------------------------------------------------------------------------------------------------

/// Prefix sums; strides in bytes.
struct ScanArguments {
  DevicePtr in = 0, out = 0;
  std::int64_t in_stride = 0, out_stride = 0, count = 0;
  TilePrefixes prefixes;
};
inline constexpr int kScanPrefixes = 40;  // where they are in the arguments

/// A block of a scan: its threads, and how many bytes of sums each has in registers.
struct ScanShape {
  int threads = 256, bytes = 64, resident = 0;
};
inline int scan_items(const ScanShape& shape, ScalarKind kind) { return shape.bytes / number_text(kind).sum_bytes; }
/// Prefix sums of one number of each element by blocks of this shape; `scan` chooses one.
void scan_by(cuda::Device& device, const ScanRequest& request, const ScanShape& shape);
/// `packed`: the numbers have 4 or 8 bytes, follow each other, and start at multiples of 16 bytes.
std::string scan_ptx(const std::string& name, ScalarKind kind, bool inclusive, bool packed, const ScanShape& shape);

// ---- Sorts -----------------------------------------------------------------------------------------------------------

/// Counts digits of the keys, as unsigned numbers of the same order: of (key >> begin_bit) & mask, from the lowest one up.
/// counts[256 * pass + digit] are zero before; then they become the places of the first key with the digit.
struct SortCountArguments {
  DevicePtr keys = 0, counts = 0;
  std::int64_t count = 0;
  std::uint32_t begin_bit = 0, unused = 0;
  std::uint64_t mask = 0;
};
inline constexpr int kSortCountBlock = 256, kSortCountTile = 8 * kSortCountBlock;
std::string sort_count_ptx(const std::string& name, ScalarKind key, int passes);
/// A block of 256 threads for each pass.
std::string sort_places_ptx(const std::string& name);

/// One pass by the digit (key >> shift) & mask. `states` has a word for each tile and digit, all zero; `next_states`, if it
/// is not 0, is made zero for the next pass. `started` (32 bits, zero) counts tiles.
struct SortPassArguments {
  DevicePtr keys = 0, values = 0, keys_out = 0, values_out = 0;
  DevicePtr places = 0, states = 0, started = 0;
  std::int64_t count = 0;
  std::uint32_t shift = 0, mask = 0;
  DevicePtr next_states = 0;
};
/// A block of a pass: its threads, at least 256, and how many pairs each has. `wide_states`: words of 8 bytes instead of 4,
/// for 2^30 pairs and more.
struct SortShape {
  int threads = 384, items = 16;
  bool values_early = true, wide_states = false;
  int resident = 0;
  bool numbered = false;      // the values of a pass are the numbers of its pairs, and are not read
  bool values_alone = false;  // a pass writes no keys
};
/// A sort by blocks of this shape; `sort` chooses one. Of numbers: as `sort_numbers` does.
void sort_by(cuda::Device& device, const SortRequest& request, const SortShape& shape, bool of_numbers = false);
/// Values have 4 or 8 bytes, or there are none (0).
std::string sort_pass_ptx(const std::string& name, ScalarKind key, int value_bytes, const SortShape& shape);

// ---- Sorts within segments -------------------------------------------------------------------------------------------

inline constexpr int kSegmentsBlock = 256;
/// Adds 1 to the marks (32 bits, `count` of them) where segments begin and where they end; a thread each.
struct SegmentMarksArguments {
  DevicePtr begins = 0, ends = 0, marks = 0;
  std::int64_t segments = 0;
  std::uint32_t count = 0, unused = 0;
};
std::string segment_marks_ptx(const std::string& name);
/// Joins the numbers of stretches, the upper 32 bits, and keys as unsigned numbers of the same order; or takes the keys
/// `back` from there.
struct SegmentKeysArguments {
  DevicePtr keys = 0, numbers = 0, joined = 0;
  std::int64_t count = 0;
};
std::string segment_keys_ptx(const std::string& name, ScalarKind key, bool back);

// ---- Orders ----------------------------------------------------------------------------------------------------------

inline constexpr int kOrderBlock = 256;
/// to[i] = i.
struct CountUpArguments {
  DevicePtr to = 0;
  std::uint32_t count = 0, unused = 0;
};
std::string count_up_ptx(const std::string& name);
/// Element i of `to`, which is packed, is element order[i] (32 bits) of `from`; elements have so many units of 1, 2, 4 or 8
/// bytes, and a thread moves one.
struct GatherArguments {
  DevicePtr to = 0, from = 0, order = 0;
  std::int64_t count = 0, from_stride = 0, units = 0;
};
std::string gather_ptx(const std::string& name, int unit_bytes);

// ---- Runs ------------------------------------------------------------------------------------------------------------

inline constexpr int kRunsBlock = 256, kRunsTile = 16 * kRunsBlock;
/// Writes each run's value and, where `lengths` are asked for, start; the number of runs (32 bits); a start behind the last
/// run.
struct RunsArguments {
  DevicePtr values = 0, run_values = 0, starts = 0, run_count = 0;
  std::int64_t count = 0;
  TilePrefixes prefixes;
};
inline constexpr int kRunsPrefixes = 40;  // where they are in the arguments
std::string runs_ptx(const std::string& name, ScalarKind kind, bool lengths);
struct RunLengthsArguments {
  DevicePtr starts = 0, lengths = 0, run_count = 0;
};
std::string run_lengths_ptx(const std::string& name);

// ---- Histograms ------------------------------------------------------------------------------------------------------

inline constexpr int kHistogramBlock = 256, kHistogramSharedBins = 8192;
/// Adds to counts (32 bits), which are zero before. `shared`: there are few enough bins for shared memory.
struct HistogramArguments {
  DevicePtr values = 0, counts = 0;
  std::int64_t count = 0, bins = 0;
  double lower = 0, upper = 0;
};
std::string histogram_ptx(const std::string& name, ScalarKind kind, bool shared);

}  // namespace weft::algorithms::gpu
