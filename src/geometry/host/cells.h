// Cells of a grid along a Morton curve, of as many bits as asked for, dealt to the axes so that cells come out about cubic.
#pragma once
#include <cstdint>

#include "geometry/host/lanes.h"

namespace weft::geometry {

/// Which cell a half centre (items.h) falls into. Equal centres fall into equal cells.
class CellMap {
 public:
  /// For centres within `centres`, with `bits` altogether, 63 at most.
  CellMap(const Bounds& centres, int bits);
  /// The cell along each axis.
  Int4 operator()(Float4 half_centre) const { return __builtin_convertvector((half_centre - base_) * scale_, Int4); }
  /// The key of a cell: bits of the axes mixed in the order in which space is halved.
  std::uint64_t key(Int4 cell) const;
  int bits(int axis) const { return bits_[axis]; }

 private:
  Float4 base_, scale_;
  int total_;
  int bits_[3] = {};
  std::uint8_t axes_[63];  // of each bit of a key, from the highest
};

}  // namespace weft::geometry
