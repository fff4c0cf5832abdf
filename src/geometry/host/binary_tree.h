// The tree as it is built, of two children a node, before it is laid out for a device. All nodes of a tree over n items fit
// into 2n slots without anybody counting: a split between items m−1 and m puts its two children into slots 2m and 2m + 1, and
// as every place between items is split at most once, parts of the tree can be built in any order, on any thread.
#pragma once
#include <bit>
#include <cstdint>

#include "geometry/host/items.h"

namespace weft::geometry {

struct alignas(32) BinaryNode {
  float lower[3];
  std::uint32_t first;  // leaf: the first item; else: the slot of the left child, the right one's is next
  float upper[3];
  std::uint32_t info;

  static constexpr std::uint32_t kLeaf = 1u << 31, kGroupRoot = 1u << 30;
  bool leaf() const { return (info & kLeaf) != 0; }
  bool group_root() const { return (info & kGroupRoot) != 0; }
  std::uint32_t count() const { return info & (kGroupRoot - 1); }  // items below
  Bounds bounds() const { return {load3(lower), load3(upper)}; }
};
static_assert(sizeof(BinaryNode) == 32);

/// What a build works on, and the rules it keeps.
struct Workspace {
  Item* items = nullptr;        // in the end, leaves are runs of them
  Item* spare = nullptr;        // as many, for sorts
  BinaryNode* nodes = nullptr;  // two slots for each item
  std::uint32_t leaf_items = 1;
  bool blocks = false;  // leaves are tested in blocks of kBlock, which is what splits should save
};

inline BinaryNode make_leaf(const Item* items, std::uint32_t begin, std::uint32_t end) {
  Bounds box;
  for (std::uint32_t i = begin; i < end; ++i) box.add(items[i].bounds());
  BinaryNode node;
  store4(node.lower, box.lower);
  store4(node.upper, box.upper);
  node.first = begin;
  node.info = BinaryNode::kLeaf | (end - begin);
  return node;
}

/// The parent of the two nodes at a slot.
inline BinaryNode join(const BinaryNode* nodes, std::uint32_t slot) {
  const BinaryNode &left = nodes[slot], &right = nodes[slot + 1];
  BinaryNode node;
  store4(node.lower, least(load3(left.lower), load3(right.lower)));
  store4(node.upper, greatest(load3(left.upper), load3(right.upper)));
  node.first = slot;
  node.info = left.count() + right.count();
  return node;
}

/// Levels of splits that so many things need at least, until none is left with more than `at_most`.
inline std::uint32_t levels_needed(std::uint32_t things, std::uint32_t at_most) {
  const std::uint32_t leaves = (things + at_most - 1) / at_most;
  return leaves <= 1 ? 0 : std::uint32_t(std::bit_width(leaves - 1));
}

/// Where to split for halves of full leaves: each needs one level less than the whole.
inline std::uint32_t middle(std::uint32_t count, std::uint32_t at_most) {
  const std::uint32_t leaves = (count + at_most - 1) / at_most;
  return (leaves + 1) / 2 * at_most;
}

}  // namespace weft::geometry
