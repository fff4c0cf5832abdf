// What every tree must be, checked from its bytes: order, links, counts, boxes, copies, groups; and inputs to build over.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "geometry/host/build_tree.h"

namespace weft::geometry::test {

/// Arrays that a tree is built over.
struct Scene {
  std::vector<float> points;
  std::vector<std::int32_t> indices;
  std::vector<float> lowers, uppers;
  std::vector<std::int32_t> groups;
  bool of_faces = true;

  TreeInput input() const;
  std::uint32_t count() const;
};

/// Small triangles, or boxes around them, at random places in the unit cube.
Scene random_scene(std::uint32_t count, bool of_faces, std::uint64_t seed);
/// A sphere with waves on it, of 2·rings·segments faces less those at the poles that would have no area.
Scene wavy_sphere(std::uint32_t rings, std::uint32_t segments);
/// Groups for each item, so many of them, some negative.
void add_groups(Scene& scene, std::uint32_t count, std::uint64_t seed);

/// The empty text if a tree is what it should be over its input; else what is wrong with it. `depth`, if there is one, takes
/// how many nodes lie above each other.
std::string check_tree(const HostTree& tree, const TreeInput& input, std::uint32_t* depth = nullptr);

/// Whether two trees have the same bytes in all their parts.
bool same_bytes(const HostTree& a, const HostTree& b);

}  // namespace weft::geometry::test
