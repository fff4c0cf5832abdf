// Halves along the longest axis, and the power of two that boxes are measured in.
#include <algorithm>
#include <cmath>

#include "geometry/host/binary_tree.h"
#include "geometry/host/split.h"

namespace weft::geometry {

float area_scale(const Bounds& box) {
  float side = 0;
  for (int d = 0; d < 3; ++d) side = std::max(side, box.upper[d] * 0.5f - box.lower[d] * 0.5f);
  if (!(side > 0)) return 1;
  return std::ldexp(1.0f, std::clamp(-std::ilogb(side) - 1, -126, 120));
}

std::uint32_t split_at_median(std::span<Item> items, const SplitRules& rules) {
  const auto count = std::uint32_t(items.size());
  const std::uint32_t left = middle(count, rules.leaf_items);
  Bounds centres;
  for (const Item& item : items) centres.add_point(item.half_centre());
  int axis = 0;
  float longest = 0;
  for (int d = 0; d < 3; ++d) {
    const float side = centres.upper[d] - centres.lower[d];
    if (side > longest) {
      longest = side;
      axis = d;
    }
  }
  if (!(longest > 0)) return left;
  // Ties by number: which items go left is then a matter of the items alone.
  const auto before = [axis](const Item& a, const Item& b) {
    const float x = a.lower[axis] * 0.25f + a.upper[axis] * 0.25f, y = b.lower[axis] * 0.25f + b.upper[axis] * 0.25f;
    return x < y || (x == y && a.number < b.number);
  };
  std::nth_element(items.begin(), items.begin() + left, items.end(), before);
  return left;
}

}  // namespace weft::geometry
