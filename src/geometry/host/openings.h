// Which nodes of a binary tree stay nodes when they are gathered into wide ones, so that a line meets as few of those as can
// be: the sum of their surfaces is the least (Ylitie, Karras and Laine 2017, by dynamic programming). Beside opening the
// largest child first this saves a third of the nodes and a twentieth of the visits.
#pragma once
#include <cstdint>

#include "geometry/host/binary_tree.h"

namespace weft::geometry {

class Openings {
 public:
  /// Decides for the tree below a slot, by all threads. Keeps its decisions in `work.spare`, which nobody else may need.
  Openings(const Workspace& work, std::uint32_t root_slot);

  /// Calls f(slot) for the children of the wide node that the one at `slot`, no leaf, becomes; from left to right.
  template <class F>
  void each_child(std::uint32_t slot, const F& f) const {
    open(slot, kWide, f);
  }

 private:
  struct Costs;
  Costs decide(std::uint32_t slot);
  Costs decide_node(std::uint32_t slot, const Costs& left, const Costs& right);

  /// Of at most so many nodes that stand for a node, how many stand for its left child: three bits each, from two nodes on.
  /// Above them, a bit for every number that is not worth more than one less; one means that the node stands for itself.
  static constexpr std::uint32_t kSameShift = 21;
  static std::uint32_t left_share(std::uint32_t word, std::uint32_t number) { return word >> (3 * (number - 2)) & 7; }

  template <class F>
  void open(std::uint32_t slot, std::uint32_t number, const F& f) const {
    const std::uint32_t left = nodes_[slot].first, share = left_share(words_[slot], number);
    descend(left, share, f);
    descend(left + 1, number - share, f);
  }
  template <class F>
  void descend(std::uint32_t slot, std::uint32_t number, const F& f) const {
    if (number > 1 && !nodes_[slot].leaf()) {
      while (number > 1 && (words_[slot] >> kSameShift >> number & 1) != 0) --number;
      if (number > 1) return open(slot, number, f);
    }
    f(slot);
  }

  const BinaryNode* nodes_;
  std::uint32_t* words_;  // of each slot that is no leaf
  float scale_;
};

}  // namespace weft::geometry
