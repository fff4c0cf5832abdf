// What kernels find in one load instead of a walk: for each place of 8³ voxels in the box around all leaves of a grid, where the leaf
// lies, or the value that stands for all of its voxels.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "volume/grid.h"

namespace weft::volume {

/// Without extent if the grid has no leaf, or if the table would be large beside it; then kernels walk. There is a first entry all the
/// same: kernels read it for voxels outside of the box, and make nothing of it.
struct PlaceTable {
  static constexpr std::int32_t kNowhere = 1 << 29;               // no voxel lies there
  std::array<std::int32_t, 3> low{kNowhere, kNowhere, kNowhere};  // corner of the first place, divided by 8
  std::array<std::uint32_t, 3> extent{};  // in places, with one more on each side than there are leaves
  std::vector<std::uint32_t> entries;     // z fastest: a leaf's offset in words, or a value's and kOneValue
};

/// Marks an entry whose voxels share one value.
inline constexpr std::uint32_t kOneValue = std::uint32_t(1) << 31;

/// How many places the table of a grid of so many bytes may have.
std::uint64_t most_places(std::uint64_t grid_bytes);

/// The table of a grid that was checked.
PlaceTable place_table(std::span<const std::byte> grid, const GridFacts& facts);

}  // namespace weft::volume
