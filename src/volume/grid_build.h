// New grids: topologies from lists of voxels or tiles, on the host. The same points, in whatever order and however often
// they come, give the same bytes.
#pragma once
#include <optional>

#include "runtime/array.h"
#include "volume/grid.h"

namespace weft::volume {

/// How many nodes and active voxels a grid has, or has room for.
struct GridCounts {
  std::uint64_t voxels = 0, leaves = 0, lowers = 0, uppers = 0;
};

/// Why there is no grid: which room was too small, or points that lie in no voxel; bits.
enum GridStatus : std::uint32_t {
  kGridBuilt = 0,
  kTooManyLeaves = 1,
  kTooManyLowers = 2,
  kTooManyUppers = 4,
  kTooManyVoxels = 8,
  kBadPoints = 16,
};

/// What a new grid is to be like.
struct GridPlan {
  GridType type = GridType::float32;
  GridMap map;
  std::span<const std::byte> background;  // a value of the type; empty for index grids
  bool whole_tiles = true;                // points stand for their tiles of 8³ voxels, all of them active
  std::optional<GridCounts> room;         // reserves memory for so many, so that grids of the same room have one size
};

/// Where the parts of a grid with so much room begin, in bytes.
struct GridOffsets {
  std::uint64_t root = 0, tiles = 0, uppers = 0, lowers = 0, leaves = 0, bytes = 0;
};
GridOffsets grid_offsets(const GridLayout& layout, const GridCounts& room);

/// How large a voxel is in the world.
std::array<double, 3> voxel_size_of(const GridMap& map);

/// Header, tree and root of a grid without voxels: its bytes in front of the root's tiles.
std::vector<std::byte> grid_head(const GridPlan& plan, const GridOffsets& offsets);

/// Voxels have coordinates below this, of either sign.
inline constexpr double kMostIndex = 2147483647;
inline constexpr char kBadPlaces[] = "the points of a Volume must be finite, with voxels that int32 can number";

/// The voxels that places of the world lie in, three numbers each; ArgumentError for places that lie in none.
std::vector<std::int32_t> voxels_of_places(const GridMap& map, std::span<const float> places);

/// Which room is too small; bits of GridStatus.
std::uint32_t status_of(const GridCounts& counts, const GridCounts& room);
/// ArgumentError for more tiles than indices of 32 bits reach.
void check_tiles(std::uint64_t tiles);

/// A map from its matrix and translation; ArgumentError where the matrix can't be inverted.
GridMap grid_map(const std::array<double, 9>& matrix, const std::array<double, 3>& translation);

/// The grid of these voxels (three int32 each), as uint8 on the host. Values are the background. Throws ArgumentError for
/// more voxels than indices of 32 bits reach, OutOfMemory.
runtime::Array build_grid(const GridPlan& plan, std::span<const std::int32_t> points);
/// The same within the plan's room: if that is too small, `status` says so, and there is no array.
runtime::Array build_grid_within(const GridPlan& plan, std::span<const std::int32_t> points, std::uint32_t& status);

}  // namespace weft::volume
