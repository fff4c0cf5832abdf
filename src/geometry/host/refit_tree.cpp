// Boxes and copies anew for a tree that keeps its topology.
#include "geometry/host/build_tree.h"
#include "geometry/host/entries.h"
#include "geometry/host/moments.h"
#include "geometry/host/subtrees.h"
#include "runtime/fp_control.h"

namespace weft::geometry {
namespace {

/// The box around all children; empty ones do not count.
template <class Node>
Bounds bounds_of(const Node& node) {
  Bounds box;
  for (int d = 0; d < 3; ++d) {
    float lower = node.planes[kLowerX + d][0], upper = node.planes[kUpperX + d][0];
    if constexpr (kWidth<Node> == kWide) {
      const Float4 low = least(load4(&node.planes[kLowerX + d][0]), load4(&node.planes[kLowerX + d][4]));
      const Float4 high = greatest(load4(&node.planes[kUpperX + d][0]), load4(&node.planes[kUpperX + d][4]));
      const Float4 low2 = least(low, __builtin_shufflevector(low, low, 2, 3, 2, 3));
      const Float4 high2 = greatest(high, __builtin_shufflevector(high, high, 2, 3, 2, 3));
      lower = low2[0] < low2[1] ? low2[0] : low2[1];
      upper = high2[0] > high2[1] ? high2[0] : high2[1];
    } else {
      lower = std::min(lower, node.planes[kLowerX + d][1]);
      upper = std::max(upper, node.planes[kUpperX + d][1]);
    }
    box.lower[d] = lower;
    box.upper[d] = upper;
  }
  return box;
}

template <class L>
void refit(const HostTree& tree, const TreeInput& input) {
  using Node = typename L::Node;
  auto* nodes = tree.nodes.as<Node>();
  auto* entries = tree.leaves.as<typename L::Entry>();
  const Source source(input);
  from_leaves_up(nodes, tree.node_count, [&](std::uint32_t n) {
    Node& node = nodes[n];
    for (std::uint32_t k = 0; k < kWidth<Node>; ++k) {
      const std::uint32_t child = node.children[k];
      if (child == 0) break;  // used ones come first, and nobody's child is the root
      Bounds box;
      if (is_leaf(child)) {
        auto* entry = entries + leaf_first(child);
        for (std::uint32_t e = 0; e < leaf_entries(child); ++e) box.add(fill_entry(entry[e], source));
      } else {
        box = bounds_of(nodes[child]);
      }
      set_planes(node, k, box);
    }
  });
}

}  // namespace

TreeFacts refit_tree(HostTree& tree, const TreeInput& input) {
  const runtime::FpControlScope defaults;
  if (tree.node_count > 0)
    with_layout(tree.wide, tree.of_faces, [&](auto layout) { refit<decltype(layout)>(tree, input); });
  if (tree.moments.memory) compute_moments(tree);
  return survey_faces(input);
}

}  // namespace weft::geometry
