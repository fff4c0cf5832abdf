// Grids that a GPU builds by itself, byte for byte those of the host (volume/grid_build.h). The kernels are written in the kernel
// language, so the layer that compiles kernels brings them (driver/gpu_grids.cpp); without it the host builds and sends.
#pragma once
#include "cuda/device.h"
#include "runtime/array.h"
#include "volume/grid_build.h"

namespace weft::volume {

/// Points in a GPU's memory, packed: voxels (int32, three each) or places of the world (float32); with a mask, only those whose
/// integer in it is not zero.
struct DevicePoints {
  runtime::Array rows;
  runtime::Array mask;  // bytes, or none
  int mask_width = 0;   // bytes of an integer
  std::int64_t count() const { return rows.size() / 3; }
};

/// Points sorted by their places in the tree.
struct SortedPoints {
  std::int64_t count = 0;
  runtime::Array order, lows, highs;  // of the points' keys
  runtime::Array ranks;               // of each key's voxel, leaf, lower and upper node, from 1 on
  runtime::Array found;               // the first point that counts, and whether one lies in no voxel
};

/// A grid on a GPU with room for so much, and what it takes to build in it again.
struct DeviceGrid {
  GridType type = GridType::float32;
  bool whole_tiles = true;
  GridMap map;
  GridCounts room;
  GridOffsets offsets;
  runtime::Array memory;    // the grid, bytes
  runtime::Array places;    // room for the table of places
  runtime::Array state;     // what is known of the grid: kernels/volume_nodes.py
  runtime::Array plan;      // what builds need to know, in the form of kernels: offsets, sizes, room
  runtime::Array numbers;   // inverse matrix, translation, matrix
  runtime::Array head;      // bytes in front of the root's tiles
  runtime::Array patterns;  // what nodes without children are made of
};

class DeviceGrids {
 public:
  /// Queues the sort of points on the device's current stream.
  virtual SortedPoints sort(cuda::Device& device, const runtime::Array& numbers, bool whole_tiles,
                            const DevicePoints& points) = 0;
  /// Inverse matrix, translation and matrix of a map for kernels.
  virtual runtime::Array numbers_of(cuda::Device& device, const GridMap& map) = 0;
  /// How many nodes and voxels there are; waits for the device. ArgumentError for points that lie in no voxel.
  virtual GridCounts count(const SortedPoints& points, bool whole_tiles) = 0;
  /// A grid with room for so much, in which nothing was built yet. `exact`: the first build fills it to the last byte.
  virtual DeviceGrid reserve(cuda::Device& device, const GridPlan& plan, const GridCounts& room, bool exact) = 0;
  /// Queues the build; where there is not room enough nothing changes but the status, the first word of the state.
  virtual void build(cuda::Device& device, DeviceGrid& grid, const SortedPoints& points) = 0;
  /// Queues the update of what a volume's slot says of what is there.
  virtual void describe(cuda::Device& device, const DeviceGrid& grid, std::uint64_t slot) = 0;
  /// The tiles of a box, as points: their numbers along each axis.
  virtual runtime::Array tiles_of_box(cuda::Device& device, const std::array<std::int32_t, 3>& low,
                                      const std::array<std::int64_t, 3>& extent) = 0;
  /// What the state says of nodes and voxels; waits for the device.
  virtual GridCounts counts_there(const DeviceGrid& grid) = 0;

 protected:
  ~DeviceGrids() = default;
};

/// Those of the process; null: there are none.
DeviceGrids* device_grids();
void set_device_grids(DeviceGrids* grids);

/// Kernels count words in 31 bits.
inline constexpr std::uint64_t kMostDeviceBytes = std::uint64_t(INT32_MAX) * 4;
/// And numbers of points' coordinates.
inline constexpr std::int64_t kMostDevicePoints = INT32_MAX / 3;

}  // namespace weft::volume
