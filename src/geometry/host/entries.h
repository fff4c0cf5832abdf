// Entries of leaves, and how they are filled from the input: copies of corners or boxes by the numbers that an entry holds
// already. Build and refit share this. What has no box gets what no walk can meet: corners that are not numbers, or an empty
// box.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "geometry/host/items.h"

namespace weft::geometry {

/// What corners are that are not there: all bits set.
inline constexpr float kNoCorner = std::bit_cast<float>(0xffffffffu);

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
    a = b = c = all4(kNoCorner);
    return false;
  }
  /// The corners of four faces, and the box around them, if nothing is special about any; places without a number get those
  /// of the first.
  bool plain_corners(const std::int32_t (&numbers)[4], Float4 (&a)[4], Float4 (&b)[4], Float4 (&c)[4],
                     Bounds& box) const {
    if (numbers[0] < 0) return false;
    const std::int32_t* index[4];
    std::uint32_t largest = 0;
#pragma GCC unroll 4  // not done at -O2 by itself, and then all of it goes through memory
    for (int k = 0; k < 4; ++k) {
      // An unused place follows used ones: the first one's corners change no box.
      index[k] = input_.indices + 3 * std::int64_t(numbers[k] < 0 ? numbers[0] : numbers[k]);
      for (int d = 0; d < 3; ++d) largest = std::max(largest, std::uint32_t(index[k][d]));
    }
    if (!point_.before_last(largest)) return false;
    Float4 sum = all4(0);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      a[k] = point_.inner(index[k][0]);
      b[k] = point_.inner(index[k][1]);
      c[k] = point_.inner(index[k][2]);
      box.lower = least(box.lower, least(least(a[k], b[k]), c[k]));
      box.upper = greatest(box.upper, greatest(greatest(a[k], b[k]), c[k]));
      sum += (a[k] + b[k]) + c[k];
    }
    // A sum that is finite has only finite terms; one that is not may be of large ones.
    if (!all_zero3(zero_if_finite(sum))) return false;
    return true;
  }
  /// Asks for what a block that is filled later will look up: first its faces' indices, then, with these, the points.
  void prefetch_indices(const FaceBlock& block) const {
    for (const std::int32_t number : block.numbers) __builtin_prefetch(indices_of(number));
  }
  void prefetch_points(const FaceBlock& block) const {
    for (const std::int32_t number : block.numbers)
      for (int d = 0; d < 3; ++d) point_.prefetch(indices_of(number)[d]);
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
  /// Those of the first face for none.
  const std::int32_t* indices_of(std::int32_t number) const {
    return input_.indices + 3 * std::int64_t(std::max(number, 0));
  }

  const TreeInput& input_;
  PointReader point_;
};

/// Transposes the corners of four faces into the rows of a block, where places without a number become NaN.
inline void store_rows(FaceBlock& block, int first, const Float4 (&corners)[4], Int4 unused) {
  Float4 a = corners[0], b = corners[1], c = corners[2], d = corners[3];
  transpose(a, b, c, d);
  store4(block.corners[first], Float4(Int4(a) | unused));
  store4(block.corners[first + 1], Float4(Int4(b) | unused));
  store4(block.corners[first + 2], Float4(Int4(c) | unused));
}

/// Fills an entry by its numbers and gives the box of what is in it. A call of its own: within a loop gcc 12 makes code of it
/// that takes a fifth longer.
[[gnu::noinline]] inline Bounds fill_entry(FaceBlock& block, const Source& source) {
  Float4 a[4], b[4], c[4];
  Bounds box;
  if (!source.plain_corners(block.numbers, a, b, c, box)) [[unlikely]] {
    box = {};
    for (int k = 0; k < 4; ++k)
      if (source.corners(block.numbers[k], a[k], b[k], c[k])) {
        box.add_point(a[k]);
        box.add_point(b[k]);
        box.add_point(c[k]);
      }
  }
  // Most leaves are not full, and which are can't be foreseen: all bits of their last places are set, without a branch.
  Int4 numbers;
  std::memcpy(&numbers, block.numbers, sizeof numbers);
  const Int4 unused = numbers < 0;
  store_rows(block, 0, a, unused);
  store_rows(block, 3, b, unused);
  store_rows(block, 6, c, unused);
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
