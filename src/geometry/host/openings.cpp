// The decisions, from the leaves up. A subtree costs, with at most i nodes standing for it, what the best way to share i
// among its two children costs; or, alone, its own surface and the best way to have eight below it.
#include "geometry/host/openings.h"

#include <vector>

#include "geometry/host/parallel.h"

namespace weft::geometry {

/// The surface of all wide nodes in and below a node that has 1, 2 … 7 nodes standing for it, or fewer.
struct Openings::Costs {
  float of[kWide];  // the first is not used
};

Openings::Costs Openings::decide_node(std::uint32_t slot, const Costs& left, const Costs& right) {
  const BinaryNode& node = nodes_[slot];
  float shared[kWide + 1];
  std::uint32_t word = 0;
  for (std::uint32_t number = 2; number <= kWide; ++number) {
    float best = left.of[1] + right.of[number - 1];
    std::uint32_t share = 1;
    for (std::uint32_t k = 2; k < number; ++k) {
      const float sum = left.of[k] + right.of[number - k];
      share = sum < best ? k : share;
      best = sum < best ? sum : best;
    }
    shared[number] = best;
    word |= share << (3 * (number - 2));
  }
  Costs costs;
  const bool empty = !(node.lower[0] <= node.upper[0]);
  costs.of[1] = shared[kWide] + (empty ? 0 : scaled_area(load3(node.lower), load3(node.upper), scale_));
  for (std::uint32_t number = 2; number < kWide; ++number) {
    // A group's root is one node, whatever that costs.
    const bool same = node.group_root() || !(shared[number] < costs.of[number - 1]);
    costs.of[number] = same ? costs.of[number - 1] : shared[number];
    word |= std::uint32_t(same) << (kSameShift + number);
  }
  words_[slot] = word;
  return costs;
}

Openings::Costs Openings::decide(std::uint32_t slot) {
  const BinaryNode& node = nodes_[slot];
  if (node.leaf()) return {};  // costs the same in any case
  const Costs left = decide(node.first), right = decide(node.first + 1);
  return decide_node(slot, left, right);
}

Openings::Openings(const Workspace& work, std::uint32_t root_slot)
    : nodes_(work.nodes),
      words_(reinterpret_cast<std::uint32_t*>(work.spare)),
      scale_(area_scale(work.nodes[root_slot].bounds())) {
  const std::uint32_t grain = std::max<std::uint32_t>(4096, nodes_[root_slot].count() / 512);
  // The top, parents before children; where it ends, subtrees that threads take.
  std::vector<std::uint32_t> top, subtrees;
  const auto sort_in = [&](std::uint32_t slot) {
    (nodes_[slot].count() > grain && !nodes_[slot].leaf() ? top : subtrees).push_back(slot);
  };
  sort_in(root_slot);
  for (std::size_t i = 0; i < top.size(); ++i) {
    const std::uint32_t left = nodes_[top[i]].first;
    sort_in(left);
    sort_in(left + 1);
  }
  std::vector<Costs> subtree_costs(subtrees.size()), top_costs(top.size());
  in_parallel(std::int64_t(subtrees.size()),
              [&](std::int64_t i) { subtree_costs[std::size_t(i)] = decide(subtrees[std::size_t(i)]); });
  // Backwards, the children of a node are the last two that were not taken yet, of the list that each was put in.
  std::size_t next_top = top.size(), next_subtree = subtrees.size();
  const auto take = [&](std::uint32_t slot) -> const Costs& {
    if (next_subtree > 0 && subtrees[next_subtree - 1] == slot) return subtree_costs[--next_subtree];
    return top_costs[--next_top];
  };
  for (std::size_t i = top.size(); i-- > 0;) {
    const std::uint32_t left = nodes_[top[i]].first;
    const Costs& right_costs = take(left + 1);
    const Costs& left_costs = take(left);
    top_costs[i] = decide_node(top[i], left_costs, right_costs);
  }
}

}  // namespace weft::geometry
