// Volumes whose grids a GPU builds: what the host knows of them, and how they are built again.
#include "runtime/errors.h"
#include "volume/grid_format.h"
#include "volume/volume.h"

namespace weft::volume {

using runtime::Array;

namespace {

DeviceGrids* brought = nullptr;

void count_nodes(GridFacts& facts, const GridCounts& counts) {
  facts.leaves = std::uint32_t(counts.leaves);
  facts.lowers = std::uint32_t(counts.lowers);
  facts.uppers = facts.tiles = std::uint32_t(counts.uppers);
  facts.active_voxels = counts.voxels;
  facts.voxels = is_on_index_grid(facts.type) ? counts.voxels : counts.leaves * node::kVoxels;
}

/// Of a grid without voxels.
GridFacts facts_of(const DeviceGrid& grid) {
  GridFacts out;
  out.bytes = grid.offsets.bytes;
  out.type = grid.type;
  out.layout = grid_layout(grid.type);
  out.map = grid.map;
  out.voxel_size = voxel_size_of(grid.map);
  out.root = grid.offsets.root;
  out.first_upper = grid.offsets.uppers;
  out.first_lower = grid.offsets.lowers;
  out.first_leaf = grid.offsets.leaves;
  return out;
}

}  // namespace

DeviceGrids* device_grids() { return brought; }
void set_device_grids(DeviceGrids* grids) { brought = grids; }

bool Volume::builds_there(const cuda::Device* device, const GridPlan& plan, std::int64_t points) {
  if (!device || !device_grids() || points > kMostDevicePoints) return false;
  return !plan.room || grid_offsets(*grid_layout(plan.type), *plan.room).bytes <= kMostDeviceBytes;
}

std::shared_ptr<Volume> Volume::build_there(cuda::Device& device, const GridPlan& plan, const DevicePoints& points,
                                            std::uint32_t& status) {
  DeviceGrids& grids = *device_grids();
  SortedPoints sorted = grids.sort(device, grids.numbers_of(device, plan.map), plan.whole_tiles, points);
  const GridCounts counts = grids.count(sorted, plan.whole_tiles);
  check_tiles(counts.leaves);
  const GridCounts room = plan.room.value_or(counts);
  status = status_of(counts, room);
  if (grid_offsets(*grid_layout(plan.type), room).bytes > kMostDeviceBytes) return nullptr;
  DeviceGrid grid = grids.reserve(device, plan, room, !plan.room);
  if (status != kGridBuilt)
    sorted = grids.sort(device, grid.numbers, plan.whole_tiles, {points.rows.slice(0, 0, 0), {}, 0});
  grids.build(device, grid, sorted);
  const auto out = publish(std::make_shared<Volume>(std::move(grid)));
  if (status == kGridBuilt) count_nodes(out->facts_, counts);
  return out;
}

Volume::Volume(DeviceGrid grid)
    : Object(HandleKind::volume, dynamic_cast<cuda::Device*>(grid.memory.space())),
      memory_(grid.memory),
      facts_(facts_of(grid)),
      there_(std::move(grid)) {
  describe();
  describe_there();
}

void Volume::describe_there() { device_grids()->describe(*device(), *there_, id()); }

void Volume::rebuild(const DevicePoints& points) {
  DeviceGrids& grids = *device_grids();
  leave_to_pins();
  grids.build(*device(), *there_, grids.sort(*device(), there_->numbers, there_->whole_tiles, points));
  rebuilt_ = true;
  next_generation();
  describe_there();
}

GridFacts Volume::facts_now() const {
  GridFacts out = facts_;
  if (rebuilt_) count_nodes(out, device_grids()->counts_there(*there_));
  return out;
}

}  // namespace weft::volume
