// How bits are dealt to axes: each halves the axis along which cells are longest.
#include "geometry/host/cells.h"

#include <algorithm>

namespace weft::geometry {

CellMap::CellMap(const Bounds& centres, int bits) : base_(centres.lower), scale_(all4(0)), total_(bits) {
  float sides[3];
  base_[3] = 0;
  for (int d = 0; d < 3; ++d) {
    sides[d] = centres.upper[d] - centres.lower[d];
    if (!(sides[d] > 1e-36f)) sides[d] = 0;  // too small to be divided by
  }
  float left[3] = {sides[0], sides[1], sides[2]};
  for (int b = 0; b < bits; ++b) {
    int axis = 0;
    for (int d = 1; d < 3; ++d)
      // 21 bits are what a float's digits are good for.
      if (bits_[axis] >= 21 || (bits_[d] < 21 && left[d] > left[axis])) axis = d;
    axes_[b] = std::uint8_t(axis);
    ++bits_[axis];
    left[axis] *= 0.5f;
  }
  for (int d = 0; d < 3; ++d)
    if (sides[d] > 0) scale_[d] = std::min(float(1 << bits_[d]) * 0.999999f / sides[d], 3e38f);
}

std::uint64_t CellMap::key(Int4 cell) const {
  int left[3] = {bits_[0], bits_[1], bits_[2]};
  std::uint64_t key = 0;
  for (int b = 0; b < total_; ++b) {
    const int axis = axes_[b];
    key = key << 1 | (std::uint64_t(cell[axis]) >> --left[axis] & 1);
  }
  return key;
}

}  // namespace weft::geometry
