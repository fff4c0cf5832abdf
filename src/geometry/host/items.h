// What a tree is built over, whatever the input was: boxes with the numbers of their faces or boxes. Items that have no
// box (corners that are not finite, inverted boxes) are kept apart: they get places in leaves, for a later refit.
#pragma once
#include <algorithm>
#include <cstdint>

#include "geometry/host/build_tree.h"
#include "geometry/host/lanes.h"

namespace weft::geometry {

/// A box, ready for loads of four floats; the words behind the corners are below 2^29.
struct alignas(32) Item {
  float lower[3];
  std::uint32_t number;
  float upper[3];
  std::uint32_t weight;  // for what it counts when splits are compared

  Bounds bounds() const { return {load3(lower), load3(upper)}; }
  /// Half of the centre, which can't overflow, nor can differences of two of them.
  Float4 half_centre() const { return load3(lower) * 0.25f + load3(upper) * 0.25f; }
};
static_assert(sizeof(Item) == 32);

inline Item make_item(const Bounds& bounds, std::uint32_t number, std::uint32_t weight) {
  Item item;
  store4(item.lower, bounds.lower);
  store4(item.upper, bounds.upper);
  item.number = number;
  item.weight = weight;
  return item;
}

/// Points of the input as four lanes, the last of which is anything.
class PointReader {
 public:
  /// Indices reach no further than 2^31 points; with that as the count, one comparison is enough.
  explicit PointReader(const TreeInput& input)
      : points_(input.points), count_(std::min(input.point_count, std::uint64_t(1) << 31)) {}
  bool has(std::int32_t index) const { return std::uint32_t(index) < count_; }
  Float4 operator()(std::int32_t index) const {
    const float* p = points_ + 3 * std::int64_t(index);
    if (std::uint64_t(index) + 1 < count_) [[likely]]  // the last one has nothing behind it
      return load4(p);
    return Float4{p[0], p[1], p[2], 0};
  }

  /// Points that have others behind them: they can be read without looking.
  bool before_last(std::uint32_t index) const { return std::uint64_t(index) + 1 < count_; }
  Float4 inner(std::int32_t index) const { return load4(points_ + 3 * std::int64_t(index)); }
  /// A hint, for any index.
  void prefetch(std::int32_t index) const {
    const auto first = reinterpret_cast<std::uintptr_t>(points_);
    __builtin_prefetch(reinterpret_cast<const void*>(first + sizeof(float) * 3 * std::uint64_t(std::uint32_t(index))));
  }

 private:
  const float* points_;
  std::uint64_t count_;
};

/// A zero for each of x, y, z that is finite, NaN for others; sums of these are zero if all of them are.
inline Float4 zero_if_finite(Float4 v) { return v * 0.0f; }
inline bool all_zero3(Float4 v) { return v[0] + v[1] + v[2] == 0; }

/// How many items were read: `finite` have boxes, `apart` have none.
struct ItemCounts {
  std::uint32_t finite = 0, apart = 0;
};
/// Reads the input's items into `into`, which has room for all: those with boxes by number, then those apart by number. Faces
/// with indices outside of the points are left out.
ItemCounts read_items(const TreeInput& input, Item* into);

/// Passes over the faces in the order of their numbers: the first one with a bad index, and the mean length of edges, which
/// hence does not depend on the tree.
TreeFacts survey_faces(const TreeInput& input);

}  // namespace weft::geometry
