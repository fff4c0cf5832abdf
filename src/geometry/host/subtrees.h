// A finished tree cut for work from the leaves up: some hundred subtrees, which are ranges of nodes, and the top above them.
// The cut depends on the tree alone.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "geometry/host/parallel.h"
#include "geometry/tree.h"

namespace weft::geometry {

struct SubtreeCut {
  struct Range {
    std::uint32_t first, last;  // nodes, the last one not included
    std::uint32_t last_root;    // of the last of its subtrees
  };
  std::vector<Range> ranges;
  std::vector<std::uint32_t> top;  // ascending
};

template <class Node>
SubtreeCut cut_subtrees(const Node* nodes, std::uint32_t count) {
  const std::uint32_t grain = std::max(count / 512, 64u);
  SubtreeCut cut;
  // In depth-first order a node is followed by its subtree: going on behind a subtree meets every node of the top.
  for (std::uint32_t n = 0; n < count;) {
    if (nodes[n].escape - n <= grain) {
      // Small neighbours go together; nodes in between belong to the top, so they have to be adjacent.
      if (!cut.ranges.empty() && cut.ranges.back().last == n && nodes[n].escape - cut.ranges.back().first <= grain)
        cut.ranges.back() = {cut.ranges.back().first, nodes[n].escape, n};
      else
        cut.ranges.push_back({n, nodes[n].escape, n});
      n = nodes[n].escape;
    } else {
      cut.top.push_back(n++);
    }
  }
  return cut;
}

/// Calls f(node number) for every node, children before their parents, by all threads.
template <class Node, class F>
void from_leaves_up(const Node* nodes, std::uint32_t count, const F& f) {
  const SubtreeCut cut = cut_subtrees(nodes, count);
  in_parallel(std::int64_t(cut.ranges.size()), [&](std::int64_t i) {
    const SubtreeCut::Range& range = cut.ranges[std::size_t(i)];
    for (std::uint32_t n = range.last; n-- > range.first;) f(n);
  });
  for (auto n = cut.top.rbegin(); n != cut.top.rend(); ++n) f(*n);
}

}  // namespace weft::geometry
