// Ways to part a run of items in two. Each reorders the items so that the left ones come first, and says how many those are;
// neither side is ever empty. `levels` is how deep the subtree may become: a split that would leave too few of them for one
// side is replaced by the one in the middle.
#pragma once
#include <cstdint>
#include <span>

#include "geometry/host/items.h"

namespace weft::geometry {

struct SplitRules {
  std::uint32_t leaf_items = 1;  // a leaf holds so many; what is split has more
  bool blocks = false;           // costs count blocks of four, not items
};

/// By the least sum of surface times content (Goldsmith and Salmon; Wald 2007 for bins): bins on all axes, or every split of
/// a few items.
std::uint32_t split_by_area(std::span<Item> items, const SplitRules& rules, std::uint32_t levels);

/// In the middle of the axis along which the centres reach farthest; equal centres in the order they have.
std::uint32_t split_at_median(std::span<Item> items, const SplitRules& rules);

}  // namespace weft::geometry
