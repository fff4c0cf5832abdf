// Boxes and copies anew for a tree that keeps its topology.
#include <memory>

#include "geometry/host/build_tree.h"
#include "geometry/host/entries.h"
#include "geometry/host/moments.h"
#include "geometry/host/subtrees.h"
#include "runtime/fp_control.h"

namespace weft::geometry {
namespace {

/// A box, without the default values that would be written before it.
struct Box {
  Float4 lower, upper;
};

template <class L>
class Refit {
  using Node = typename L::Node;
  using Entry = typename L::Entry;

 public:
  Refit(const HostTree& tree, const TreeInput& input)
      : nodes_(tree.nodes.as<Node>()),
        node_count_(tree.node_count),
        entries_(tree.leaves.as<Entry>()),
        entry_count_(tree.entry_count),
        source_(input),
        around_(std::make_unique_for_overwrite<Box[]>(tree.node_count)) {}

  void run() {
    const SubtreeCut cut = cut_subtrees(nodes_, node_count_);
    in_parallel(std::int64_t(cut.ranges.size()), [&](std::int64_t i) { subtree(cut.ranges[std::size_t(i)]); });
    for (auto n = cut.top.rbegin(); n != cut.top.rend(); ++n) node(*n, nullptr, 0);
  }

 private:
  /// Entries of a range of nodes lie side by side: they are filled in the order of memory, then boxes go up.
  void subtree(const SubtreeCut::Range& range) {
    const std::uint32_t first = first_entry(range.first), last = end_of_entries(range.last_root);
    const auto boxes = std::make_unique_for_overwrite<Box[]>(last - first);
    for (std::uint32_t e = first; e < last; ++e) {
      if constexpr (std::is_same_v<Entry, FaceBlock>) {
        source_.prefetch_indices(entries_[std::min(e + 2 * kAhead, entry_count_ - 1)]);
        source_.prefetch_points(entries_[std::min(e + kAhead / 2, entry_count_ - 1)]);
      }
      const Bounds box = fill_entry(entries_[e], source_);
      boxes[e - first] = {box.lower, box.upper};
    }
    for (std::uint32_t n = range.last; n-- > range.first;) node(n, boxes.get(), first);
  }

  /// The children's boxes, and the one around them. `boxes` are those of entries from `first` on; null: they are to be made.
  void node(std::uint32_t number, const Box* boxes, std::uint32_t first) {
    Node& node = nodes_[number];
    prefetch(number);
    Bounds whole;
    for (std::uint32_t k = 0; k < kWidth<Node>; ++k) {
      const std::uint32_t child = node.children[k];
      if (child == 0) break;  // used ones come first, and nobody's child is the root
      Bounds box;
      if (!is_leaf(child)) {
        box = {around_[child].lower, around_[child].upper};
      } else {
        const std::uint32_t begin = leaf_first(child), end = begin + leaf_entries(child);
        for (std::uint32_t e = begin; e < end; ++e)
          box.add(boxes ? Bounds{boxes[e - first].lower, boxes[e - first].upper} : fill_entry(entries_[e], source_));
      }
      set_planes(node, k, box);
      whole.add(box);
    }
    around_[number] = {whole.lower, whole.upper};
  }

  /// Asks for a node that comes up soon: they are gone through backwards, which processors don't expect.
  void prefetch(std::uint32_t number) const {
    const auto* lines = reinterpret_cast<const char*>(&nodes_[number - std::min(number, kAhead / 2)]);
    for (std::size_t at = 0; at < sizeof(Node); at += 64) __builtin_prefetch(lines + at, 1);
  }

  std::uint32_t first_entry(std::uint32_t number) const {
    std::uint32_t word = number;
    while (!is_leaf(word)) word = nodes_[word].children[0];
    return leaf_first(word);
  }
  std::uint32_t end_of_entries(std::uint32_t number) const {
    std::uint32_t word = number;
    while (!is_leaf(word)) {
      const auto& children = nodes_[word].children;
      std::uint32_t last = kWidth<Node> - 1;
      while (children[last] == 0) --last;
      word = children[last];
    }
    return leaf_first(word) + leaf_entries(word);
  }

  static constexpr std::uint32_t kAhead = 8;
  Node* const nodes_;
  const std::uint32_t node_count_;
  Entry* const entries_;
  const std::uint32_t entry_count_;
  const Source source_;
  const std::unique_ptr<Box[]> around_;  // each node, for its parent
};

}  // namespace

TreeFacts refit_tree(HostTree& tree, const TreeInput& input) {
  const runtime::FpControlScope defaults;
  if (tree.node_count > 0)
    with_layout(tree.wide, tree.of_faces, [&](auto layout) { Refit<decltype(layout)>(tree, input).run(); });
  if (tree.moments.memory) compute_moments(tree);
  return survey_faces(input);
}

}  // namespace weft::geometry
