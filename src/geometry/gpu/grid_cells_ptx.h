// The kernels that bring points into cells on a CUDA device, and the blocks of arguments that they take.
#pragma once
#include <string>

#include "cuda/device.h"
#include "types/type.h"

namespace weft::geometry::gpu {

inline constexpr int kCellsBlock = 256;
inline constexpr int kCellsTile = 4 * kCellsBlock;  // points of a block
/// Writes the cell of each point, and adds it to its cell's count, which is zero before.
struct CellsArguments {
  cuda::DevicePtr points = 0, order = 0, cells = 0, numbers = 0, counts = 0;
  double inverse_width = 0;
  std::uint32_t count = 0;
  std::int32_t dims[3] = {};
  cuda::DevicePtr ranks = 0, crowds = 0;
};
enum class CellsFor {
  sort,          // by cells
  ordered_sort,  // points are taken in an order; their numbers are written, too
  places,  // also how many of its cell came before each point, in no particular order, and which cells are crowded:
           // crowds[0], zero before, how many, then their numbers
};
std::string find_cells_ptx(const std::string& name, ScalarKind kind, CellsFor purpose);

/// Of all points: their cells, and how many of the cell came before; where the points of cells begin; the points by cells, in
/// any order within each (`mixed`) and by number (`numbers`); crowded cells, as above.
struct PlacesArguments {
  cuda::DevicePtr cells = 0, ranks = 0, starts = 0, mixed = 0, numbers = 0, crowds = 0;
  std::uint32_t count = 0;
  std::uint32_t bits = 0;  // that numbers of points have
};
/// Fills `mixed`.
std::string place_points_ptx(const std::string& name);
/// Fills `numbers`, but for crowded cells: each point counts those of its cell that come before it.
std::string order_cells_ptx(const std::string& name);
/// Fills it for crowded cells: blocks take one after the other, and sort bit by bit. Uses `ranks` as scratch.
inline constexpr int kCrowdsBlock = 512;
std::string order_crowds_ptx(const std::string& name);

}  // namespace weft::geometry::gpu
