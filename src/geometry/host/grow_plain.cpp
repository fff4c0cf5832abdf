// Constructors that are a rule for splits and nothing else, and the tree over roots.
#include "geometry/host/grow.h"
#include "geometry/host/split.h"

namespace weft::geometry {
namespace {

SplitRules rules_of(const Workspace& work) { return {work.leaf_items, work.blocks}; }

/// A part of the tree over roots: items stand for roots, by number.
BinaryNode over_roots(std::span<Item> items, std::uint32_t begin, const Workspace& work,
                      const std::vector<BinaryNode>& roots, const std::vector<std::uint32_t>& begins,
                      std::uint32_t levels) {
  if (items.size() == 1) return roots[items[0].number];
  const std::uint32_t left = split_by_area(items, {1, false}, levels);
  const std::uint32_t slot = 2 * begins[begin + left];
  work.nodes[slot] = over_roots(items.first(left), begin, work, roots, begins, levels - 1);
  work.nodes[slot + 1] = over_roots(items.subspan(left), begin + left, work, roots, begins, levels - 1);
  return join(work.nodes, slot);
}

}  // namespace

BinaryNode grow_over_roots(const Workspace& work, const std::vector<BinaryNode>& roots,
                           const std::vector<std::uint32_t>& begins, std::uint32_t levels) {
  // Trees without a box take part as the point where the whole begins: anywhere would do.
  Bounds whole;
  for (const BinaryNode& root : roots) whole.add(root.bounds());
  if (!(whole.lower[0] <= whole.upper[0])) whole = {all4(0), all4(0)};
  std::vector<Item> items(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const BinaryNode& root = roots[i];
    const Bounds box = root.lower[0] <= root.upper[0] ? root.bounds() : Bounds{whole.lower, whole.lower};
    items[i] = make_item(box, std::uint32_t(i), root.count());
  }
  return over_roots(items, 0, work, roots, begins, levels);
}

BinaryNode grow_by_area(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels) {
  const auto split = [&, rules = rules_of(work)](std::uint32_t first, std::uint32_t last, std::uint32_t below) {
    return split_by_area({work.items + first, work.items + last}, rules, below);
  };
  return end - begin <= kShortRun ? grow(work, begin, end, levels, split)
                                  : grow_in_parallel(work, begin, end, levels, split);
}

BinaryNode grow_by_median(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels) {
  const auto split = [&, rules = rules_of(work)](std::uint32_t first, std::uint32_t last, std::uint32_t) {
    return split_at_median({work.items + first, work.items + last}, rules);
  };
  return end - begin <= kShortRun ? grow(work, begin, end, levels, split)
                                  : grow_in_parallel(work, begin, end, levels, split);
}

BinaryNode grow_by_halves(const Workspace& work, std::uint32_t begin, std::uint32_t end, std::uint32_t levels) {
  return grow(work, begin, end, levels, [&](std::uint32_t first, std::uint32_t last, std::uint32_t) {
    return middle(last - first, work.leaf_items);
  });
}

}  // namespace weft::geometry
