// Grows a binary tree over a run of items by splitting it again and again, alone or by all threads. The split is a function
// (begin, end, levels) that reorders the items from begin to end and says how many go left; see split.h.
#pragma once
#include <cstdint>
#include <vector>

#include "geometry/host/binary_tree.h"
#include "geometry/host/parallel.h"

namespace weft::geometry {

/// The root of the tree over items begin … end−1; everything below it lies in its slots. Its depth is at most `levels`.
template <class Split>
BinaryNode grow(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels,
                const Split& split) {
  if (end - begin <= work.leaf_items) return make_leaf(work.items, begin, end);
  const std::uint32_t border = begin + split(begin, end, levels), slot = 2 * border;
  work.nodes[slot] = grow(work, begin, border, levels - 1, split);
  work.nodes[slot + 1] = grow(work, border, end, levels - 1, split);
  return join(work.nodes, slot);
}

/// The same by all threads: large runs are split side by side, in rounds, until there is enough to do for everybody.
template <class Split>
BinaryNode grow_in_parallel(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels,
                            const Split& split) {
  const std::uint32_t grain = std::max<std::uint32_t>(8192, (end - begin) / 256);
  if (end - begin <= grain) return grow(work, begin, end, levels, split);
  struct Run {
    std::uint32_t begin, end, levels, slot;
  };
  constexpr std::uint32_t kRoot = 0xffffffffu;
  std::vector<Run> large{{begin, end, levels, kRoot}}, small, parents;
  while (!large.empty()) {
    std::vector<std::uint32_t> borders(large.size());
    in_parallel(std::int64_t(large.size()), [&](std::int64_t i) {
      const Run& run = large[std::size_t(i)];
      borders[std::size_t(i)] = run.begin + split(run.begin, run.end, run.levels);
    });
    std::vector<Run> next;
    for (std::size_t i = 0; i < large.size(); ++i) {
      const Run run = large[i];
      const std::uint32_t border = borders[i];
      parents.push_back({border, border, run.levels, run.slot});
      const Run halves[2] = {{run.begin, border, run.levels - 1, 2 * border},
                             {border, run.end, run.levels - 1, 2 * border + 1}};
      for (const Run& half : halves) (half.end - half.begin > grain ? next : small).push_back(half);
    }
    large = std::move(next);
  }
  in_parallel(std::int64_t(small.size()), [&](std::int64_t i) {
    const Run& run = small[std::size_t(i)];
    work.nodes[run.slot] = grow(work, run.begin, run.end, run.levels, split);
  });
  BinaryNode root{};
  for (auto run = parents.rbegin(); run != parents.rend(); ++run) {
    const BinaryNode node = join(work.nodes, 2 * run->begin);
    if (run->slot == kRoot)
      root = node;
    else
      work.nodes[run->slot] = node;
  }
  return root;
}

/// A tree over the roots of trees that lie side by side, by surface areas; takes no more than `levels`. `begins` says where
/// the items of each begin: the slots of the places between them are free.
BinaryNode grow_over_roots(const Workspace& work, const std::vector<BinaryNode>& roots,
                           const std::vector<std::uint32_t>& begins, std::uint32_t levels);

/// The constructors: trees over the items begin … end−1, all of which have boxes, of depth `levels` at most. Long runs are
/// worked on by all threads, short ones by the one that calls.
BinaryNode grow_best(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels);
/// The same with items that are in `spare` so far, more than kShortRun of them.
BinaryNode grow_best_from_spare(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels);
BinaryNode grow_by_area(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels);
BinaryNode grow_by_median(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels);
BinaryNode grow_by_order(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels);

/// Halves of the order that items have: for those without boxes.
BinaryNode grow_by_halves(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels);

/// Runs up to this length are not worth several threads.
inline constexpr std::uint32_t kShortRun = 4096;

}  // namespace weft::geometry
