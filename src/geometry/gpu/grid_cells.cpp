// Points into cells on a CUDA device: a kernel finds and counts cells, prefix sums of the counts are the starts, and the
// radix sort puts the points there, by as many bits as the table needs.
#include "geometry/grid_cells.h"

#include "algorithms/gpu/gpu.h"
#include "algorithms/gpu/queue.h"
#include "geometry/gpu/grid_cells_ptx.h"

namespace weft::geometry {

namespace device_side = algorithms::gpu;

void sort_into_cells(cuda::Device& device, const CellsRequest& request) {
  if (request.count == 0) return;
  const cuda::ContextScope scope(device);
  const std::int64_t starts = request.cell_count() + 1;
  WEFT_CUDA(device.api(), set8_async, request.starts, 0, std::size_t(starts) * 4, device.stream()->handle());
  const bool ordered = request.order != 0;
  const algorithms::SortRequest sort{ScalarKind::u32,    4,
                                     request.cells,      request.numbers,
                                     request.pairs,      request.pairs + std::uint64_t(request.count) * 4,
                                     request.count,      0,
                                     request.cell_bits()};
  gpu::CellsArguments arguments{request.points,
                                request.order,
                                ordered ? request.cells : device_side::keys_of_numbers(sort),
                                request.numbers,
                                request.starts,
                                request.inverse_width,
                                std::uint32_t(request.count)};
  for (int axis = 0; axis < 3; ++axis) arguments.dims[axis] = request.dims[axis];
  const std::string name = "weft_find_cells_" + device_side::name_of(request.kind) + (ordered ? "_ordered" : "");
  device_side::queue(device, name, (request.count - 1) / gpu::kCellsBlock + 1, gpu::kCellsBlock, arguments,
                     [&] { return gpu::find_cells_ptx(name, request.kind, ordered); });
  device_side::scan(device, {ScalarKind::u32, request.starts, request.starts, 4, 4, starts, false});
  ordered ? device_side::sort(device, sort) : device_side::sort_numbers(device, sort);
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
