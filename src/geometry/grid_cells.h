// Points into the cells of a table that space is wrapped around: what a hash grid is built of, on the CPU or on a CUDA
// device. Kernels (src/stdlib/hash_grid.py) find a place's cell by the same steps: a product with the cells' inverse width,
// in float32 or, where the points are float64, in that; floor; int32, which saturates, not-a-numbers 0; the remainder by the
// table's extent that is not negative.
#pragma once
#include <bit>
#include <cstdint>

#include "algorithms/requests.h"
#include "cuda/device.h"
#include "runtime/launch.h"

namespace weft::geometry {

using algorithms::Address;

/// Sorts points, three packed numbers each (float16, float32, float64), by (cell, place in the order they are taken in). The
/// cell of (x, y, z) is (z · dims[1] + y) · dims[0] + x.
struct CellsRequest {
  ScalarKind kind = ScalarKind::f32;
  Address points = 0;
  std::int64_t count = 0;
  std::int32_t dims[3] = {1, 1, 1};
  double inverse_width = 1;
  Address order = 0;   // int32: the numbers of points in the order they are taken in; 0: 0, 1, 2, …
  Address starts = 0;  // takes uint32, a number more than cells: where each cell's points begin; room for `starts_room`
  Address numbers = 0;  // takes int32: the numbers of points, sorted
  Address cells = 0;    // scratch, uint32, of `count`
  Address pairs = 0;    // scratch, uint64, of `count`

  std::int64_t cell_count() const { return std::int64_t(dims[0]) * dims[1] * dims[2]; }
  /// Numbers of memory behind `starts`: a device notes there how many cells are crowded, and which.
  static std::int64_t starts_room(std::int64_t cells, std::int64_t points) { return cells + 2 + points / kCrowd; }
  static constexpr int kCrowd = 512;  // cells with more points are crowded
  /// Bits that cells' numbers have.
  int cell_bits() const { return int(std::bit_width(std::uint64_t(cell_count() - 1))); }
};

/// On the CPU, by several threads; the result is the same for every number of them. False when the host wanted to stop.
bool sort_into_cells(const CellsRequest& request, const runtime::LaunchOptions& options = {});
/// On a device, queued on its current stream. Can be captured.
void sort_into_cells(cuda::Device& device, const CellsRequest& request);

/// Orders points by their groups (int32), stable: `order` takes the numbers, `sorted` is scratch of the same size, and so
/// are the two spare ones.
struct GroupsRequest {
  Address groups = 0, order = 0, sorted = 0, spare_order = 0, spare_sorted = 0;
  std::int64_t count = 0;
};
bool order_by_group(const GroupsRequest& request, const runtime::LaunchOptions& options = {});
void order_by_group(cuda::Device& device, const GroupsRequest& request);
/// sorted[i] = groups[numbers[i]]; all int32.
bool gather_groups(Address groups, Address numbers, Address sorted, std::int64_t count,
                   const runtime::LaunchOptions& options = {});
void gather_groups(cuda::Device& device, Address groups, Address numbers, Address sorted, std::int64_t count);

}  // namespace weft::geometry
