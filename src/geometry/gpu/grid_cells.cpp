// Points into cells on a CUDA device: a kernel finds and counts cells, and prefix sums of the counts are the starts. Then
// each point goes to its place in its cell and each cell is put in order; or, where cells are full or points are taken in an
// order, the radix sort does it, by as many bits as the table needs.
#include "geometry/grid_cells.h"

#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/queue.h"
#include "geometry/gpu/grid_cells_ptx.h"

namespace weft::geometry {

namespace device_side = algorithms::gpu;

namespace {

constexpr std::int64_t kFullCells = 64;  // points a cell, on average, beyond which a sort is the shorter way

gpu::CellsArguments arguments_of(const CellsRequest& request, Address cells) {
  gpu::CellsArguments arguments{request.points,
                                request.order,
                                cells,
                                request.numbers,
                                request.starts,
                                request.inverse_width,
                                std::uint32_t(request.count)};
  for (int axis = 0; axis < 3; ++axis) arguments.dims[axis] = request.dims[axis];
  return arguments;
}

std::int64_t blocks_of(const CellsRequest& request) { return (request.count - 1) / gpu::kCellsTile + 1; }

void scan_counts(cuda::Device& device, const CellsRequest& request) {
  device_side::scan(device, {ScalarKind::u32, request.starts, request.starts, 4, 4, request.cell_count() + 1, false});
}

void sort_by_cells(cuda::Device& device, const CellsRequest& request) {
  const bool ordered = request.order != 0;
  const algorithms::SortRequest sort{ScalarKind::u32,    4,
                                     request.cells,      request.numbers,
                                     request.pairs,      request.pairs + std::uint64_t(request.count) * 4,
                                     request.count,      0,
                                     request.cell_bits()};
  const std::string name = "weft_find_cells_" + device_side::name_of(request.kind) + (ordered ? "_ordered" : "");
  device_side::queue(device, name, blocks_of(request), gpu::kCellsBlock,
                     arguments_of(request, ordered ? request.cells : device_side::keys_of_numbers(sort)), [&] {
                       return gpu::find_cells_ptx(name, request.kind,
                                                  ordered ? gpu::CellsFor::ordered_sort : gpu::CellsFor::sort);
                     });
  scan_counts(device, request);
  ordered ? device_side::sort(device, sort) : device_side::sort_numbers(device, sort);
}

/// Counts give every point a place in its cell, in whatever order they come; then cells are put in order.
void place_in_cells(cuda::Device& device, const CellsRequest& request) {
  gpu::CellsArguments find = arguments_of(request, request.cells);
  find.ranks = request.pairs;
  find.crowds = request.starts + std::uint64_t(request.cell_count() + 1) * 4;
  const std::string name = "weft_find_places_" + device_side::name_of(request.kind);
  device_side::queue(device, name, blocks_of(request), gpu::kCellsBlock, find,
                     [&] { return gpu::find_cells_ptx(name, request.kind, gpu::CellsFor::places); });
  scan_counts(device, request);
  const gpu::PlacesArguments places{find.cells,
                                    find.ranks,
                                    request.starts,
                                    request.pairs + std::uint64_t(request.count) * 4,
                                    request.numbers,
                                    find.crowds,
                                    std::uint32_t(request.count),
                                    std::uint32_t(std::bit_width(std::uint64_t(request.count - 1)))};
  const auto queue = [&](const char* name, std::int64_t blocks, int block, std::string (*text)(const std::string&)) {
    device_side::queue(device, name, blocks, block, places, [&] { return text(name); });
  };
  queue("weft_place_points", blocks_of(request), gpu::kCellsBlock, gpu::place_points_ptx);
  queue("weft_order_cells", blocks_of(request), gpu::kCellsBlock, gpu::order_cells_ptx);
  if (request.count > CellsRequest::kCrowd)
    queue("weft_order_crowds", device.facts().sm_count, gpu::kCrowdsBlock, gpu::order_crowds_ptx);
}

}  // namespace

void sort_into_cells(cuda::Device& device, const CellsRequest& request) {
  if (request.count == 0) return;
  const cuda::ContextScope scope(device);
  const bool places = !request.order && request.count <= kFullCells * request.cell_count();
  const std::int64_t zeros = request.cell_count() + (places ? 2 : 1);  // the counts, and how many cells are crowded
  WEFT_CUDA(device.api(), set8_async, request.starts, 0, std::size_t(zeros) * 4, device.stream()->handle());
  places ? place_in_cells(device, request) : sort_by_cells(device, request);
}

void order_by_group(cuda::Device& device, const GroupsRequest& request) {
  if (request.count == 0) return;
  const cuda::ContextScope scope(device);
  WEFT_CUDA(device.api(), copy_async, request.sorted, request.groups, std::size_t(request.count) * 4,
            device.stream()->handle());
  device_side::count_up(device, request.order, request.count);
  device_side::sort(device, {ScalarKind::i32, 4, request.sorted, request.order, request.spare_sorted,
                             request.spare_order, request.count, 0, 32});
}

void gather_groups(cuda::Device& device, Address groups, Address numbers, Address sorted, std::int64_t count) {
  device_side::gather(device, {sorted, groups, numbers, count, 4, 4});
}

}  // namespace weft::geometry
