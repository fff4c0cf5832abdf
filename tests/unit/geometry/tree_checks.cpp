// Checks from the root down, with counters that every node and leaf must agree with.
#include "tree_checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numbers>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>

namespace weft::geometry::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Box {
  float low[3] = {kInf, kInf, kInf}, high[3] = {-kInf, -kInf, -kInf};
  bool operator==(const Box&) const = default;
  bool empty() const { return *this == Box{}; }
  void add(const Box& other) {
    for (int d = 0; d < 3; ++d) {
      low[d] = std::min(low[d], other.low[d]);
      high[d] = std::max(high[d], other.high[d]);
    }
  }
};

/// A node or an entry whatever its layout.
struct NodeView {
  std::vector<Box> boxes;
  std::vector<std::uint32_t> children;
  std::uint32_t parent = 0, escape = 0;
  std::int64_t count = -1;
};
struct PlaceView {
  std::int32_t number;
  std::vector<float> values;  // nine of a face, six of a box
};

template <class Node>
NodeView view_of(const Node& node) {
  NodeView view;
  constexpr std::size_t width = sizeof node.children / 4;
  for (std::size_t k = 0; k < width; ++k) {
    Box box;
    for (int d = 0; d < 3; ++d) {
      box.low[d] = node.planes[d][k];
      box.high[d] = node.planes[3 + d][k];
    }
    view.boxes.push_back(box);
    view.children.push_back(node.children[k]);
  }
  view.parent = node.parent;
  view.escape = node.escape;
  if constexpr (width == kWide) {
    view.count = node.count;
    for (std::uint32_t word : node.reserved)
      if (word != 0) throw std::runtime_error("reserved words that are not zero");
  }
  return view;
}

NodeView node_of(const HostTree& tree, std::uint32_t n) {
  return tree.wide ? view_of(tree.nodes.as<WideNode>()[n]) : view_of(tree.nodes.as<NarrowNode>()[n]);
}

std::vector<PlaceView> places_of(const HostTree& tree, std::uint32_t entry) {
  std::vector<PlaceView> places;
  const auto block = [&](const auto& from, int rows, const auto& values) {
    for (std::uint32_t k = 0; k < kBlock; ++k) {
      PlaceView place{from.numbers[k], {}};
      for (int r = 0; r < rows; ++r) place.values.push_back(values[r][k]);
      places.push_back(place);
    }
  };
  if (tree.wide && tree.of_faces) {
    const FaceBlock& from = tree.leaves.as<FaceBlock>()[entry];
    block(from, 9, from.corners);
  } else if (tree.wide) {
    const BoxBlock& from = tree.leaves.as<BoxBlock>()[entry];
    block(from, 6, from.planes);
  } else if (tree.of_faces) {
    const NarrowFace& from = tree.leaves.as<NarrowFace>()[entry];
    PlaceView place{from.number, {}};
    for (const float* corner : {from.x0, from.x1, from.x2}) place.values.insert(place.values.end(), corner, corner + 3);
    if (from.reserved1 != 0 || from.reserved2 != 0) throw std::runtime_error("reserved words that are not zero");
    places.push_back(place);
  } else {
    const NarrowBox& from = tree.leaves.as<NarrowBox>()[entry];
    PlaceView place{from.number, {}};
    for (const float* corner : {from.lower, from.upper}) place.values.insert(place.values.end(), corner, corner + 3);
    if (from.reserved != 0) throw std::runtime_error("reserved words that are not zero");
    places.push_back(place);
  }
  return places;
}

bool usable(const TreeInput& input, std::uint32_t item) {
  if (!input.of_faces()) return true;
  for (int k = 0; k < 3; ++k) {
    const std::int64_t index = input.indices[3 * std::size_t(item) + std::size_t(k)];
    if (index < 0 || std::uint64_t(index) >= input.point_count) return false;
  }
  return true;
}

/// What a leaf must hold of an item, and its box.
std::vector<float> expected_values(const TreeInput& input, std::int32_t number, Box& box) {
  std::vector<float> values;
  if (input.of_faces()) {
    if (number >= 0)
      for (int k = 0; k < 3; ++k) {
        const float* p = input.points + 3 * std::int64_t(input.indices[3 * std::int64_t(number) + k]);
        values.insert(values.end(), p, p + 3);
      }
    const bool finite = std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
    if (number < 0 || !finite) return std::vector<float>(9, std::numeric_limits<float>::quiet_NaN());
    for (int k = 0; k < 3; ++k) {
      Box corner;
      for (int d = 0; d < 3; ++d) corner.low[d] = corner.high[d] = values[std::size_t(3 * k + d)];
      box.add(corner);
    }
    return values;
  }
  if (number >= 0) {
    const float* low = input.lowers + 3 * std::int64_t(number);
    const float* high = input.uppers + 3 * std::int64_t(number);
    bool fine = true;
    for (int d = 0; d < 3; ++d) fine &= std::isfinite(low[d]) && std::isfinite(high[d]) && low[d] <= high[d];
    if (fine) {
      std::copy_n(low, 3, box.low);
      std::copy_n(high, 3, box.high);
    }
  }
  values.assign(box.low, box.low + 3);
  values.insert(values.end(), box.high, box.high + 3);
  return values;
}

class Checker {
 public:
  Checker(const HostTree& tree, const TreeInput& input) : tree_(tree), input_(input), seen_(input.count) {}

  void run() {
    std::uint32_t items = 0;
    for (std::uint32_t i = 0; i < input_.count; ++i) items += usable(input_, i);
    want(tree_.item_count == input_.count, "item_count");
    if (items == 0) {
      want(tree_.node_count == 0 && tree_.entry_count == 0 && tree_.group_count == 0, "an empty tree that has parts");
      return;
    }
    want(tree_.node_count > 0, "no nodes");
    descend(0, kNoParent, 1);
    want(next_node_ == tree_.node_count, "node_count");
    want(next_entry_ == tree_.entry_count, "entry_count");
    for (std::uint32_t i = 0; i < input_.count; ++i)
      want(seen_[i] == (usable(input_, i) ? 1 : 0),
           "item " + std::to_string(i) + " is in leaves " + std::to_string(seen_[i]) + " times");
    check_groups();
  }
  std::uint32_t depth() const { return depth_; }

 private:
  static void want(bool fine, const std::string& what) {
    if (!fine) throw std::runtime_error(what);
  }

  Box descend(std::uint32_t number, std::uint32_t parent, std::uint32_t depth) {
    const std::string name = "node " + std::to_string(number) + ": ";
    want(number == next_node_++ && number < tree_.node_count, name + "not in depth-first order");
    depth_ = std::max(depth_, depth);
    want(depth <= kMaxDepth, name + "too deep");
    const NodeView node = node_of(tree_, number);
    want(node.parent == parent, name + "parent");
    const std::size_t width = node.children.size();
    std::size_t used = 0;
    while (used < width && node.children[used] != 0) ++used;
    want(used > 0, name + "no children");
    want(node.count < 0 || node.count == std::int64_t(used), name + "count");
    for (std::size_t k = used; k < width; ++k)
      want(node.children[k] == 0 && node.boxes[k].empty(), name + "an empty child that is not");
    Box whole;
    for (std::size_t k = 0; k < used; ++k) {
      const std::uint32_t word = node.children[k];
      const Box box = is_leaf(word) ? leaf(word) : descend(word, std::uint32_t(number * width + k), depth + 1);
      want(box == node.boxes[k], name + "the box of child " + std::to_string(k));
      whole.add(box);
    }
    want(node.escape == next_node_, name + "escape");
    return whole;
  }

  Box leaf(std::uint32_t word) {
    want(leaf_first(word) == next_entry_, "a leaf that is not in the order of leaves");
    Box whole;
    bool ended = false;
    for (std::uint32_t e = 0; e < leaf_entries(word); ++e) {
      want(next_entry_ < tree_.entry_count, "an entry past the last");
      for (const PlaceView& place : places_of(tree_, next_entry_)) {
        want(place.number >= -1 && place.number < std::int64_t(input_.count), "a number out of range");
        want(!ended || place.number < 0, "a place behind an unused one");
        ended = place.number < 0;
        if (!ended) ++seen_[std::size_t(place.number)];
        Box box;
        const std::vector<float> values = expected_values(input_, place.number, box);
        for (std::size_t k = 0; k < values.size(); ++k)
          want(place.values[k] == values[k] || (std::isnan(place.values[k]) && std::isnan(values[k])),
               "the copy of item " + std::to_string(place.number));
        whole.add(box);
      }
      ++next_entry_;
    }
    return whole;
  }

  void numbers_below(std::uint32_t number, std::vector<std::int32_t>& out) const {
    for (std::uint32_t n = number; n < node_of(tree_, number).escape; ++n)
      for (std::uint32_t word : node_of(tree_, n).children)
        if (is_leaf(word))
          for (std::uint32_t e = 0; e < leaf_entries(word); ++e)
            for (const PlaceView& place : places_of(tree_, leaf_first(word) + e))
              if (place.number >= 0) out.push_back(place.number);
  }

  void check_groups() {
    if (!input_.groups) return want(tree_.group_count == 0 && !tree_.groups.memory, "a table without groups");
    std::map<std::int32_t, std::set<std::int32_t>> groups;
    for (std::uint32_t i = 0; i < input_.count; ++i)
      if (usable(input_, i)) groups[input_.groups[i]].insert(std::int32_t(i));
    want(tree_.group_count == groups.size(), "group_count");
    const auto* row = tree_.groups.as<GroupRoot>();
    want(row->group == std::int32_t(groups.size()), "the length of the table of groups");
    ++row;
    for (const auto& [group, members] : groups) {
      want(row->group == group, "groups out of order");
      want(row->root >= 0 && row->root < std::int64_t(tree_.node_count), "a group without a root");
      std::vector<std::int32_t> below;
      numbers_below(std::uint32_t(row->root), below);
      want(std::set<std::int32_t>(below.begin(), below.end()) == members && below.size() == members.size(),
           "group " + std::to_string(group) + " has others below its root");
      ++row;
    }
  }

  const HostTree& tree_;
  const TreeInput& input_;
  std::vector<int> seen_;
  std::uint32_t next_node_ = 0, next_entry_ = 0, depth_ = 0;
};

}  // namespace

TreeInput Scene::input() const {
  TreeInput input;
  if (of_faces) {
    // An empty mesh has arrays all the same.
    static const float no_points[3] = {};
    static const std::int32_t no_indices[3] = {};
    input.points = points.empty() ? no_points : points.data();
    input.point_count = points.size() / 3;
    input.indices = indices.empty() ? no_indices : indices.data();
  } else {
    static const float none[3] = {};
    input.lowers = lowers.empty() ? none : lowers.data();
    input.uppers = uppers.empty() ? none : uppers.data();
  }
  input.count = count();
  input.groups = groups.empty() ? nullptr : groups.data();
  return input;
}

std::uint32_t Scene::count() const { return std::uint32_t((of_faces ? indices.size() : lowers.size()) / 3); }

Scene random_scene(std::uint32_t count, bool of_faces, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> place(0, 1), size(0, 0.05f);
  Scene scene;
  scene.of_faces = of_faces;
  for (std::uint32_t i = 0; i < count; ++i) {
    const float at[3] = {place(random), place(random), place(random)};
    if (of_faces) {
      for (int k = 0; k < 3; ++k) {
        for (float x : at) scene.points.push_back(x + size(random));
        scene.indices.push_back(std::int32_t(3 * i) + k);
      }
    } else {
      for (float x : at) {
        scene.lowers.push_back(x);
        scene.uppers.push_back(x + size(random));
      }
    }
  }
  return scene;
}

Scene wavy_sphere(std::uint32_t rings, std::uint32_t segments) {
  Scene scene;
  for (std::uint32_t r = 0; r <= rings; ++r)
    for (std::uint32_t s = 0; s < segments; ++s) {
      const double theta = std::numbers::pi * r / rings, phi = 2 * std::numbers::pi * s / segments;
      const double radius = 1 + 0.1 * std::sin(5 * theta) * std::cos(7 * phi) * std::sin(theta);
      scene.points.push_back(float(radius * std::sin(theta) * std::cos(phi)));
      scene.points.push_back(float(radius * std::sin(theta) * std::sin(phi)));
      scene.points.push_back(float(radius * std::cos(theta)));
    }
  const auto point = [&](std::uint32_t r, std::uint32_t s) { return std::int32_t(r * segments + s % segments); };
  for (std::uint32_t r = 0; r < rings; ++r)
    for (std::uint32_t s = 0; s < segments; ++s) {
      if (r > 0) scene.indices.insert(scene.indices.end(), {point(r, s), point(r + 1, s), point(r, s + 1)});
      if (r + 1 < rings)
        scene.indices.insert(scene.indices.end(), {point(r, s + 1), point(r + 1, s), point(r + 1, s + 1)});
    }
  return scene;
}

void add_groups(Scene& scene, std::uint32_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  scene.groups.resize(scene.count());
  for (std::int32_t& group : scene.groups) group = std::int32_t(random() % count) * 3 - 5;
}

std::string check_tree(const HostTree& tree, const TreeInput& input, std::uint32_t* depth) {
  try {
    Checker checker(tree, input);
    checker.run();
    if (depth) *depth = checker.depth();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

bool same_bytes(const HostTree& a, const HostTree& b) {
  const auto same = [](const TreePart& x, const TreePart& y) {
    return x.bytes == y.bytes && (x.bytes == 0 || std::memcmp(x.memory.get(), y.memory.get(), x.bytes) == 0);
  };
  return a.node_count == b.node_count && a.entry_count == b.entry_count && a.group_count == b.group_count &&
         a.item_count == b.item_count && same(a.nodes, b.nodes) && same(a.leaves, b.leaves) &&
         same(a.moments, b.moments) && same(a.groups, b.groups);
}

}  // namespace weft::geometry::test
