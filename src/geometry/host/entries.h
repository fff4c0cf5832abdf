// Entries of leaves, and how they are filled from the input: copies of corners or boxes by the numbers that an entry holds
// already. Build and refit share this. What has no box gets what no walk can meet: corners that are not numbers, or an empty
// box.
#pragma once
#include <cstdint>
#include <limits>

#include "geometry/host/items.h"

namespace weft::geometry {

/// Transposes four rows of four.
inline void transpose(Float4& a, Float4& b, Float4& c, Float4& d) {
  const Float4 ac0 = __builtin_shufflevector(a, c, 0, 4, 1, 5), bd0 = __builtin_shufflevector(b, d, 0, 4, 1, 5);
  const Float4 ac1 = __builtin_shufflevector(a, c, 2, 6, 3, 7), bd1 = __builtin_shufflevector(b, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ac0, bd0, 0, 4, 1, 5);
  b = __builtin_shufflevector(ac0, bd0, 2, 6, 3, 7);
  c = __builtin_shufflevector(ac1, bd1, 0, 4, 1, 5);
  d = __builtin_shufflevector(ac1, bd1, 2, 6, 3, 7);
}

/// A face or a box as it stands in the input, or as nothing.
class Source {
 public:
  explicit Source(const TreeInput& input) : input_(input), point_(input) {}
  /// The corners of a face; false and NaN if it has none that are finite.
  bool corners(std::int32_t number, Float4& a, Float4& b, Float4& c) const {
    if (number >= 0) [[likely]] {
      const std::int32_t* index = input_.indices + 3 * std::int64_t(number);
      if (point_.has(index[0]) && point_.has(index[1]) && point_.has(index[2])) [[likely]] {
        a = point_(index[0]);
        b = point_(index[1]);
        c = point_(index[2]);
        if (all_zero3(zero_if_finite(a) + zero_if_finite(b) + zero_if_finite(c))) [[likely]]
          return true;
      }
    }
    a = b = c = all4(std::numeric_limits<float>::quiet_NaN());
    return false;
  }
  Bounds box(std::int32_t number) const {
    if (number < 0) return {};
    const float* low = input_.lowers + 3 * std::int64_t(number);
    const float* high = input_.uppers + 3 * std::int64_t(number);
    const Float4 lower{low[0], low[1], low[2], 0}, upper{high[0], high[1], high[2], 0};
    if (!(low[0] <= high[0] && low[1] <= high[1] && low[2] <= high[2])) return {};
    if (!all_zero3(zero_if_finite(lower) + zero_if_finite(upper))) return {};
    return {lower, upper};
  }

 private:
  const TreeInput& input_;
  PointReader point_;
};

/// Fills an entry by its numbers and gives the box of what is in it.
inline Bounds fill_entry(FaceBlock& block, const Source& source) {
  Float4 a[4], b[4], c[4];
  Bounds box;
  for (int k = 0; k < 4; ++k)
    if (source.corners(block.numbers[k], a[k], b[k], c[k])) {
      box.add_point(a[k]);
      box.add_point(b[k]);
      box.add_point(c[k]);
    }
  const auto rows = [&](int first, Float4* corner) {
    transpose(corner[0], corner[1], corner[2], corner[3]);
    for (int d = 0; d < 3; ++d) store4(block.corners[first + d], corner[d]);
  };
  rows(0, a);
  rows(3, b);
  rows(6, c);
  return box;
}

inline Bounds fill_entry(BoxBlock& block, const Source& source) {
  Bounds whole;
  for (int k = 0; k < 4; ++k) {
    const Bounds box = source.box(block.numbers[k]);
    whole.add(box);
    for (int d = 0; d < 3; ++d) {
      block.planes[kLowerX + d][k] = box.lower[d];
      block.planes[kUpperX + d][k] = box.upper[d];
    }
  }
  return whole;
}

inline Bounds fill_entry(NarrowFace& face, const Source& source) {
  Float4 a, b, c;
  Bounds box;
  if (source.corners(face.number, a, b, c)) {
    box.add_point(a);
    box.add_point(b);
    box.add_point(c);
  }
  for (int d = 0; d < 3; ++d) {
    face.x0[d] = a[d];
    face.x1[d] = b[d];
    face.x2[d] = c[d];
  }
  return box;
}

inline Bounds fill_entry(NarrowBox& entry, const Source& source) {
  const Bounds box = source.box(entry.number);
  for (int d = 0; d < 3; ++d) {
    entry.lower[d] = box.lower[d];
    entry.upper[d] = box.upper[d];
  }
  return box;
}

/// Gives an entry its numbers, from up to so many items; says how many it took.
template <class Block>
  requires requires(Block block) { block.numbers; }
std::uint32_t number_entry(Block& block, const Item* items, std::uint32_t count) {
  for (std::uint32_t k = 0; k < kBlock; ++k) block.numbers[k] = k < count ? std::int32_t(items[k].number) : -1;
  return std::min(count, kBlock);
}
inline std::uint32_t number_entry(NarrowFace& face, const Item* items, std::uint32_t) {
  face.number = std::int32_t(items[0].number);
  face.reserved1 = face.reserved2 = 0;
  return 1;
}
inline std::uint32_t number_entry(NarrowBox& box, const Item* items, std::uint32_t) {
  box.number = std::int32_t(items[0].number);
  box.reserved = 0;
  return 1;
}

/// The structs of a tree: its nodes, its entries, its moments.
template <bool kIsWide, bool kOfFaces>
struct Layout;
template <>
struct Layout<true, true> {
  using Node = WideNode;
  using Entry = FaceBlock;
};
template <>
struct Layout<true, false> {
  using Node = WideNode;
  using Entry = BoxBlock;
};
template <>
struct Layout<false, true> {
  using Node = NarrowNode;
  using Entry = NarrowFace;
};
template <>
struct Layout<false, false> {
  using Node = NarrowNode;
  using Entry = NarrowBox;
};
/// Children of a node, items of an entry.
template <class Node>
inline constexpr std::uint32_t kWidth = sizeof(Node::children) / sizeof(std::uint32_t);
template <class Node>
inline constexpr std::uint32_t kEntryItems = kWidth<Node> == kWide ? kBlock : 1;

/// Calls f with the layout of a tree.
template <class F>
auto with_layout(bool wide, bool of_faces, const F& f) {
  if (wide) return of_faces ? f(Layout<true, true>{}) : f(Layout<true, false>{});
  return of_faces ? f(Layout<false, true>{}) : f(Layout<false, false>{});
}

template <class Node>
void set_planes(Node& node, std::uint32_t slot, const Bounds& box) {
  for (int d = 0; d < 3; ++d) {
    node.planes[kLowerX + d][slot] = box.lower[d];
    node.planes[kUpperX + d][slot] = box.upper[d];
  }
}

}  // namespace weft::geometry
