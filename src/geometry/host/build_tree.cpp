// A build from the input to the finished tree: items, groups, a binary tree over them, its layout, moments.
#include "geometry/host/build_tree.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "algorithms/host/host.h"
#include "geometry/host/grow.h"
#include "geometry/host/lay_out.h"
#include "geometry/host/moments.h"
#include "geometry/host/parallel.h"
#include "runtime/allocator.h"
#include "runtime/errors.h"

namespace weft::geometry {
namespace {

/// Levels of a binary tree: the node that a group of one leaf gets for itself is one more.
constexpr std::uint32_t kLevels = kMaxDepth - 1;
constexpr std::uint32_t kSpareLevels = 8;  // for the tree over groups to be of use for areas
constexpr std::uint64_t kChunk = 16384;

/// Items of a group, or of everything: first those with boxes, then those apart.
struct Run {
  std::uint32_t begin, border, end;
  std::int32_t group = 0;
  bool in_spare = false;  // those with boxes are in Workspace::spare so far
  std::uint32_t levels(std::uint32_t leaf_items) const {
    const bool both = begin < border && border < end;
    return both + std::max(levels_needed(border - begin, leaf_items), levels_needed(end - border, leaf_items));
  }
};

/// Sorts items by group, those apart behind the others, each by number. `counts` are what read_items() gave.
std::vector<Run> sort_by_groups(const Workspace& work, const TreeInput& input, const ItemCounts& counts) {
  const std::uint32_t count = counts.finite + counts.apart;
  std::vector<std::uint64_t> keys(count), spare_keys(count);
  std::vector<std::uint32_t> order(count), spare_order(count);
  in_chunks(count, kChunk, [&](std::size_t, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) {
      work.spare[i] = work.items[i];
      const auto group = std::uint32_t(input.groups[work.items[i].number]) ^ 0x80000000u;
      keys[i] = std::uint64_t(group) << 1 | std::uint64_t(i >= counts.finite);
      order[i] = std::uint32_t(i);
    }
  });
  algorithms::SortRequest request;
  request.key = ScalarKind::u64;
  request.keys = algorithms::address_of(keys.data());
  request.values = algorithms::address_of(order.data());
  request.spare_keys = algorithms::address_of(spare_keys.data());
  request.spare_values = algorithms::address_of(spare_order.data());
  request.count = count;
  request.end_bit = 33;
  algorithms::host::sort(request);
  in_chunks(count, kChunk, [&](std::size_t, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t i = first; i < last; ++i) work.items[i] = work.spare[order[i]];
  });
  std::vector<Run> runs;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i == 0 || keys[i] >> 1 != keys[i - 1] >> 1)
      runs.push_back({i, i, i, std::int32_t(std::uint32_t(keys[i] >> 1) ^ 0x80000000u)});
    runs.back().end = i + 1;
    if ((keys[i] & 1) == 0) runs.back().border = i + 1;
  }
  return runs;
}

BinaryNode grow_run(const Workspace& work, const Run& run, Constructor constructor, std::uint32_t levels) {
  const auto with_boxes = [&](std::uint32_t below) {
    switch (constructor) {
      case Constructor::best:
        return run.in_spare ? grow_best_from_spare(work, run.begin, run.border, below)
                            : grow_best(work, run.begin, run.border, below);
      case Constructor::sah: return grow_by_area(work, run.begin, run.border, below);
      case Constructor::median: return grow_by_median(work, run.begin, run.border, below);
      case Constructor::lbvh: return grow_by_order(work, run.begin, run.border, below);
    }
    return BinaryNode{};
  };
  if (run.border == run.end) return with_boxes(levels);
  if (run.border == run.begin) return grow_by_halves(work, run.begin, run.end, levels);
  const std::uint32_t slot = 2 * run.border;
  work.nodes[slot] = with_boxes(levels - 1);
  work.nodes[slot + 1] = grow_by_halves(work, run.border, run.end, levels - 1);
  return join(work.nodes, slot);
}

/// Trees of all groups, each with its root marked, and the tree over them.
BinaryNode grow_groups(const Workspace& work, const std::vector<Run>& runs, Constructor constructor) {
  std::uint32_t below = 0;
  for (const Run& run : runs) below = std::max(below, run.levels(work.leaf_items));
  const std::uint32_t above = levels_needed(std::uint32_t(runs.size()), 1);
  const std::uint32_t above_levels = std::min(above + (runs.size() > 1 ? kSpareLevels : 0), kLevels - below);
  std::vector<BinaryNode> roots(runs.size());
  std::vector<std::uint32_t> begins(runs.size());
  const auto grow_one = [&](std::size_t r) {
    roots[r] = grow_run(work, runs[r], constructor, kLevels - above_levels);
    roots[r].info |= BinaryNode::kGroupRoot;
    begins[r] = runs[r].begin;
  };
  // Short ones side by side, as many in a piece as make it worth one; long ones by all threads, one after another.
  std::vector<std::size_t> pieces{0};
  std::uint32_t held = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const std::uint32_t size = runs[r].end - runs[r].begin;
    if (held + size > kShortRun && held > 0) {
      pieces.push_back(r);
      held = 0;
    }
    held += size;
  }
  pieces.push_back(runs.size());
  const auto is_long = [&](std::size_t r) { return runs[r].end - runs[r].begin > 4 * kShortRun; };
  in_parallel(std::int64_t(pieces.size() - 1), [&](std::int64_t p) {
    for (std::size_t r = pieces[std::size_t(p)]; r < pieces[std::size_t(p) + 1]; ++r)
      if (!is_long(r)) grow_one(r);
  });
  for (std::size_t r = 0; r < runs.size(); ++r)
    if (is_long(r)) grow_one(r);
  return grow_over_roots(work, roots, begins, above_levels);
}

/// Items of a leaf: the hint, within what a leaf can hold.
std::uint32_t leaf_items(const TreeOptions& options, bool wide) {
  if (wide) return std::clamp((options.leaf_size + kBlock - 1) / kBlock, 1u, kMaxLeafEntries) * kBlock;
  return options.leaf_size == 0 ? 4 : std::min(options.leaf_size, kMaxLeafEntries);
}

HostTree build(const TreeInput& input, const TreeOptions& options, bool wide) {
  HostTree tree;
  tree.wide = wide;
  tree.of_faces = input.of_faces();
  tree.item_count = input.count;
  if (input.count == 0) return tree;

  const std::uint64_t count = input.count;
  const auto items = runtime::host_buffer(count * sizeof(Item), false);
  const auto spare = runtime::host_buffer(count * sizeof(Item), false);
  const auto nodes = runtime::host_buffer(2 * count * sizeof(BinaryNode), false);
  const Workspace work{static_cast<Item*>(items.get()), static_cast<Item*>(spare.get()),
                       static_cast<BinaryNode*>(nodes.get()), leaf_items(options, wide), wide};
  // A sort that moves all items anyway takes them from where they are read to.
  const bool moves = options.constructor == Constructor::best && !input.groups;
  const ItemCounts counts = read_items(input, moves ? work.spare : work.items);
  const std::uint32_t in_tree = counts.finite + counts.apart;
  if (in_tree == 0) return tree;

  std::vector<std::int32_t> groups;
  BinaryNode root;
  if (input.groups) {
    const std::vector<Run> runs = sort_by_groups(work, input, counts);
    for (const Run& run : runs) groups.push_back(run.group);
    root = grow_groups(work, runs, options.constructor);
  } else {
    Run run{0, counts.finite, in_tree};
    if (moves) {
      run.in_spare = counts.finite > kShortRun;
      const std::uint32_t first = run.in_spare ? counts.finite : 0;
      std::copy(work.spare + first, work.spare + in_tree, work.items + first);
    }
    root = grow_run(work, run, options.constructor, kLevels);
  }
  lay_out(root, work, input, groups, tree);
  if (options.moments && tree.of_faces) {
    const std::uint64_t bytes = moment_bytes(tree);
    tree.moments = {runtime::host_buffer(bytes, false), bytes};
    compute_moments(tree);
  }
  return tree;
}

}  // namespace

HostTree build_tree(const TreeInput& input, const TreeOptions& options, bool wide, TreeFacts* facts) {
  if (input.count > kMaxItems)
    throw runtime::ArgumentError("a tree holds at most " + std::to_string(kMaxItems) + " faces or boxes, there are " +
                                 std::to_string(input.count));
  const runtime::FpControlScope defaults;
  try {
    HostTree tree = build(input, options, wide);
    if (facts) *facts = survey_faces(input);
    return tree;
  } catch (const std::bad_alloc&) {
    const std::uint64_t bytes = std::uint64_t(input.count) * (2 * sizeof(Item) + 2 * sizeof(BinaryNode));
    throw runtime::OutOfMemory(
        bytes, "out of memory while a tree over " + std::to_string(input.count) + " faces or boxes was built");
  }
}

}  // namespace weft::geometry
