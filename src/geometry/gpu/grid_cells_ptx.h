// The kernel that finds the cells of points on a CUDA device, and the block of arguments that it takes.
#pragma once
#include <string>

#include "cuda/device.h"
#include "types/type.h"

namespace weft::geometry::gpu {

inline constexpr int kCellsBlock = 256;
/// Writes the cell and the number of each point, and adds it to its cell's count, which is zero before.
struct CellsArguments {
  cuda::DevicePtr points = 0, order = 0, cells = 0, numbers = 0, counts = 0;
  double inverse_width = 0;
  std::uint32_t count = 0;
  std::int32_t dims[3] = {};
};
/// `ordered`: points are taken in an order.
std::string find_cells_ptx(const std::string& name, ScalarKind kind, bool ordered);

}  // namespace weft::geometry::gpu
