// Nodes of N children out of nodes of two. First it is planned who becomes a node, by all threads, one for each of some
// hundred subtrees; then subtrees know their sizes, hence where they begin, and all write at once. The order is depth-first,
// in nodes and in leaves.
#include "geometry/host/lay_out.h"

#include <algorithm>
#include <optional>

#include "geometry/host/entries.h"
#include "geometry/host/openings.h"
#include "geometry/host/parallel.h"
#include "runtime/allocator.h"

namespace weft::geometry {
namespace {

/// The children of a node to be: slots of binary nodes.
template <std::uint32_t N>
struct Pick {
  std::uint32_t count = 0;
  std::uint32_t slots[N] = {};
};

constexpr std::uint32_t kRootSlot = 0;  // no split uses slots 0 and 1

/// A subtree that one thread plans and writes.
template <std::uint32_t N>
struct Subtree {
  std::uint32_t slot = kRootSlot;  // of its root
  std::vector<Pick<N>> picks;      // of its nodes, depth first
  std::uint32_t entries = 0;
  std::uint32_t first_node = 0, first_entry = 0, parent = kNoParent;
};

constexpr std::uint32_t kAlone = 4096;  // items of a tree that is not worth several threads

template <class L>
class LayOut {
  using Node = typename L::Node;
  using Entry = typename L::Entry;
  static constexpr std::uint32_t N = kWidth<Node>;

 public:
  LayOut(const Workspace& work, const TreeInput& input, const std::vector<std::int32_t>& groups, HostTree& tree)
      : work_(work), input_(input), groups_(groups), tree_(tree) {}

  void run(const BinaryNode& root) {
    work_.nodes[kRootSlot] = root;
    if (root.count() > kAlone) grain_ = std::max<std::uint32_t>(kAlone / 4, root.count() / 512);
    if constexpr (N == kWide) openings_.emplace(work_, kRootSlot);
    plan(kRootSlot, top_);
    in_parallel(std::int64_t(subtrees_.size()),
                [&](std::int64_t i) { plan(subtrees_[std::size_t(i)].slot, subtrees_[std::size_t(i)]); });
    std::uint64_t nodes = top_.picks.size(), entries = top_.entries;
    for (const Subtree<N>& subtree : subtrees_) {
      nodes += subtree.picks.size();
      entries += subtree.entries;
    }
    tree_.node_count = std::uint32_t(nodes);
    tree_.entry_count = std::uint32_t(entries);
    tree_.nodes = part(nodes * sizeof(Node));
    tree_.leaves = part(entries * sizeof(Entry));
    tree_.group_count = std::uint32_t(groups_.size());
    if (!groups_.empty()) {
      tree_.groups = part((groups_.size() + 1) * sizeof(GroupRoot));
      auto* table = tree_.groups.as<GroupRoot>();
      table[0] = {std::int32_t(groups_.size()), 0};
      for (std::size_t g = 0; g < groups_.size(); ++g) table[g + 1] = {groups_[g], -1};
    }

    Writer(*this, top_).write(kRootSlot, kNoParent);
    in_parallel(std::int64_t(subtrees_.size()), [&](std::int64_t i) {
      const Subtree<N>& subtree = subtrees_[std::size_t(i)];
      Writer(*this, subtree).write(subtree.slot, subtree.parent);
    });
  }

 private:
  static TreePart part(std::uint64_t bytes) {
    if (bytes == 0) return {};
    return {runtime::host_buffer(bytes, false), bytes};
  }

  static bool becomes_node(const BinaryNode& node) { return !node.leaf() || node.group_root(); }
  /// Whether a child of the top is the root of a subtree that is planned and written apart.
  bool apart(const BinaryNode& node) const { return node.count() <= grain_; }

  Pick<N> pick_children(std::uint32_t slot) const {
    const BinaryNode& node = work_.nodes[slot];
    Pick<N> pick;
    const auto take = [&](std::uint32_t child) { pick.slots[pick.count++] = child; };
    if (node.leaf()) {
      take(slot);
    } else if constexpr (N == kWide) {
      openings_->each_child(slot, take);
    } else {
      take(node.first);
      take(node.first + 1);
    }
    return pick;
  }

  void plan(std::uint32_t slot, Subtree<N>& subtree) {
    const Pick<N> pick = pick_children(slot);
    subtree.picks.push_back(pick);
    for (std::uint32_t k = 0; k < pick.count; ++k) {
      const BinaryNode& child = work_.nodes[pick.slots[k]];
      if (!becomes_node(child) || pick.slots[k] == slot)
        subtree.entries += entries_of(child);
      else if (&subtree == &top_ && apart(child))
        subtrees_.emplace_back().slot = pick.slots[k];
      else
        plan(pick.slots[k], subtree);
    }
  }
  static std::uint32_t entries_of(const BinaryNode& leaf) {
    return (leaf.count() + kEntryItems<Node> - 1) / kEntryItems<Node>;
  }

  /// Writes a planned subtree: the plan's picks, in their order.
  class Writer {
   public:
    Writer(LayOut& all, const Subtree<N>& subtree)
        : all_(all),
          subtree_(subtree),
          nodes_(all.tree_.nodes.template as<Node>()),
          entries_(all.tree_.leaves.template as<Entry>()),
          source_(all.input_),
          next_node_(subtree.first_node),
          next_entry_(subtree.first_entry) {}

    void write(std::uint32_t slot, std::uint32_t parent) {
      const BinaryNode& from = all_.work_.nodes[slot];
      const std::uint32_t number = next_node_++;
      const Pick<N>& pick = subtree_.picks[next_pick_++];
      if (from.group_root()) all_.note_group(from, number);
      Node node{};
      node.parent = parent;
      if constexpr (N == kWide) node.count = pick.count;
      for (std::uint32_t k = 0; k < N; ++k) set_planes(node, k, Bounds{});
      for (std::uint32_t k = 0; k < pick.count; ++k) {
        const BinaryNode& child = all_.work_.nodes[pick.slots[k]];
        set_planes(node, k, child.bounds());
        if (!becomes_node(child) || pick.slots[k] == slot) {
          node.children[k] = write_leaf(child);
        } else {
          node.children[k] = next_node_;
          const std::uint32_t place = number * N + k;
          if (&subtree_ == &all_.top_ && all_.apart(child))
            hand_over(place);
          else
            write(pick.slots[k], place);
        }
      }
      node.escape = next_node_;
      nodes_[number] = node;
    }

   private:
    std::uint32_t write_leaf(const BinaryNode& leaf) {
      const std::uint32_t first = next_entry_, count = leaf.count();
      for (std::uint32_t done = 0; done < count;) {
        Entry& entry = entries_[next_entry_++];
        done += number_entry(entry, all_.work_.items + leaf.first + done, count - done);
        fill_entry(entry, source_);
      }
      return leaf_word(first, next_entry_ - first);
    }
    /// Leaves room for the next subtree.
    void hand_over(std::uint32_t parent) {
      Subtree<N>& subtree = all_.subtrees_[next_subtree_++];
      subtree.first_node = next_node_;
      subtree.first_entry = next_entry_;
      subtree.parent = parent;
      next_node_ += std::uint32_t(subtree.picks.size());
      next_entry_ += subtree.entries;
    }

    LayOut& all_;
    const Subtree<N>& subtree_;
    Node* const nodes_;
    Entry* const entries_;
    const Source source_;
    std::uint32_t next_node_, next_entry_, next_pick_ = 0;
    std::size_t next_subtree_ = 0;
  };

  /// Enters the root of the group that a node's items belong to.
  void note_group(const BinaryNode& node, std::uint32_t number) {
    const BinaryNode* first = &node;
    while (!first->leaf()) first = &work_.nodes[first->first];
    const std::int32_t group = input_.groups[work_.items[first->first].number];
    const auto at = std::lower_bound(groups_.begin(), groups_.end(), group) - groups_.begin();
    tree_.groups.as<GroupRoot>()[at + 1].root = std::int32_t(number);
  }

  const Workspace& work_;
  const TreeInput& input_;
  const std::vector<std::int32_t>& groups_;
  HostTree& tree_;
  std::uint32_t grain_ = 0;           // items of a subtree that is written apart
  std::optional<Openings> openings_;  // of wide trees
  Subtree<N> top_;
  std::vector<Subtree<N>> subtrees_;
};

}  // namespace

void lay_out(const BinaryNode& root, const Workspace& work, const TreeInput& input,
             const std::vector<std::int32_t>& groups, HostTree& tree) {
  with_layout(tree.wide, tree.of_faces,
              [&](auto layout) { LayOut<decltype(layout)>(work, input, groups, tree).run(root); });
}

}  // namespace weft::geometry
