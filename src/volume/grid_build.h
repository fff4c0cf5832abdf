// New grids: topologies from lists of voxels or tiles, on the host. The same points, in whatever order and however often
// they come, give the same bytes.
#pragma once
#include "runtime/array.h"
#include "volume/grid.h"

namespace weft::volume {

/// What a new grid is to be like.
struct GridPlan {
  GridType type = GridType::float32;
  GridMap map;
  std::span<const std::byte> background;  // a value of the type; empty for index grids
  bool whole_tiles = true;                // points stand for their tiles of 8³ voxels, all of them active
};

/// A map from its matrix and translation; ArgumentError where the matrix can't be inverted.
GridMap grid_map(const std::array<double, 9>& matrix, const std::array<double, 3>& translation);

/// The grid of these voxels (three int32 each), as uint8 on the host. Values are the background. Throws ArgumentError for
/// more voxels than indices of 32 bits reach, OutOfMemory.
runtime::Array build_grid(const GridPlan& plan, std::span<const std::int32_t> points);

}  // namespace weft::volume
