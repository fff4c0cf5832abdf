// A grid of NanoVDB in memory: what its header says, and the check that makes it safe to walk. A tree has a root with a
// table of tiles, upper nodes of 32³ children, lower nodes of 16³, and leaves of 8³ voxels; links are offsets in bytes.
#pragma once
#include <array>
#include <vector>

#include "types/grid_layout.h"
#include "volume/grid_bytes.h"

namespace weft::volume {

/// Index space to world space: world = matrix · index + translation; matrices by rows.
struct GridMap {
  std::array<double, 9> matrix{};
  std::array<double, 9> inverse{};
  std::array<double, 3> translation{};
};

/// Data that a grid brings along ("blind data").
struct GridFeature {
  std::string name;
  GridType type = GridType::unknown;
  std::uint64_t at = 0;  // in the grid
  std::uint64_t values = 0;
  std::uint32_t value_bytes = 0;  // 0: not known
  std::uint32_t semantic = 0;
};

/// What is known of a grid that was checked. Offsets count from the grid's beginning.
struct GridFacts {
  std::uint64_t bytes = 0;
  GridType type = GridType::unknown;
  const GridLayout* layout = nullptr;   // null: kernels don't read such grids, and the tree was not looked at
  std::uint32_t number = 0, count = 1;  // of this grid, and of all of them, in what they came in
  std::string name;
  GridMap map;
  std::array<double, 3> voxel_size{};
  std::uint64_t root = 0, first_upper = 0, first_lower = 0, first_leaf = 0;
  std::uint32_t tiles = 0, uppers = 0, lowers = 0, leaves = 0;
  std::uint64_t active_voxels = 0;
  std::uint64_t voxels = 0;  // that have an index: active ones of an OnIndex grid; all voxels of leaves elsewhere
  std::vector<GridFeature> features;
};

/// Checks a grid: every offset, link and count. What passes can't lead anybody out of these bytes, and each node is reached
/// exactly once. Its cost is a pass over the topology, not over the values. Throws FormatError.
GridFacts check_grid(const GridBytes& bytes);

/// How many bytes the grid that begins here says it has; FormatError if it is none.
std::uint64_t stated_bytes(const GridBytes& bytes);

/// Lower corners of the leaves, in their order: three int32 each.
std::vector<std::int32_t> tile_corners(std::span<const std::byte> grid, const GridFacts& facts);
/// Voxels that have an index, by index (active ones of an OnIndex grid, all of each leaf elsewhere): three int32 each.
std::vector<std::int32_t> voxel_places(std::span<const std::byte> grid, const GridFacts& facts);

}  // namespace weft::volume
