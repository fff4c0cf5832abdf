// Moments for winding numbers against sums over the faces below each child, in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tree_checks.h"

namespace weft::geometry::test {
namespace {

/// Finite faces in a leaf or in the subtree of a node.
template <class Node, class Entry>
void faces_below(const HostTree& tree, std::uint32_t word, std::vector<std::int32_t>& out) {
  if (is_leaf(word)) {
    for (std::uint32_t e = 0; e < leaf_entries(word); ++e) {
      const Entry& entry = tree.leaves.as<Entry>()[leaf_first(word) + e];
      if constexpr (std::is_same_v<Entry, FaceBlock>) {
        for (std::uint32_t k = 0; k < kBlock; ++k)
          if (!std::isnan(entry.corners[0][k])) out.push_back(entry.numbers[k]);
      } else if (!std::isnan(entry.x0[0])) {
        out.push_back(entry.number);
      }
    }
    return;
  }
  for (std::uint32_t n = word; n < tree.nodes.as<Node>()[word].escape; ++n)
    for (std::uint32_t child : tree.nodes.as<Node>()[n].children)
      if (is_leaf(child)) faces_below<Node, Entry>(tree, child, out);
}

/// What the rows of a child should be around a centre, and how large the terms are that were added up.
struct Direct {
  double normal[3] = {}, first[9] = {}, second[18] = {};
  double area = 0, weighted[3] = {};
};

Direct sum_directly(const Scene& scene, const std::vector<std::int32_t>& faces, const double centre[3]) {
  constexpr int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  Direct sum;
  for (std::int32_t face : faces) {
    double x[3][3];
    for (int c = 0; c < 3; ++c)
      for (int d = 0; d < 3; ++d)
        x[c][d] = double(scene.points[std::size_t(3 * scene.indices[std::size_t(3 * face + c)] + d)]) - centre[d];
    double n[3];
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      n[i] = 0.5 * ((x[1][j] - x[0][j]) * (x[2][k] - x[0][k]) - (x[1][k] - x[0][k]) * (x[2][j] - x[0][j]));
    }
    const double area = std::hypot(n[0], n[1], n[2]);
    sum.area += area;
    // The midpoints of edges integrate polynomials of second degree exactly.
    double mid[3][3];
    for (int e = 0; e < 3; ++e)
      for (int d = 0; d < 3; ++d) mid[e][d] = 0.5 * (x[e][d] + x[(e + 1) % 3][d]);
    for (int d = 0; d < 3; ++d) sum.weighted[d] += area * (mid[0][d] + mid[1][d] + mid[2][d]) / 3;
    for (int i = 0; i < 3; ++i) {
      sum.normal[i] += n[i];
      for (int e = 0; e < 3; ++e) {
        for (int j = 0; j < 3; ++j) sum.first[3 * i + j] += n[i] * mid[e][j] / 3;
        for (int p = 0; p < 6; ++p) sum.second[6 * i + p] += n[i] * mid[e][pairs[p][0]] * mid[e][pairs[p][1]] / 3;
      }
    }
  }
  return sum;
}

template <class Node, class Entry, class Rows>
void check_moments(const HostTree& tree, const Scene& scene) {
  for (std::uint32_t n = 0; n < tree.node_count; ++n) {
    const Node& node = tree.nodes.as<Node>()[n];
    const Rows& rows = tree.moments.as<Rows>()[n];
    constexpr std::uint32_t width = sizeof node.children / 4;
    for (std::uint32_t k = 0; k < width; ++k) {
      std::vector<std::int32_t> faces;
      if (node.children[k] != 0) faces_below<Node, Entry>(tree, node.children[k], faces);
      if (faces.empty()) {
        for (const auto& row : rows.rows) ASSERT_EQ(row[k], 0.0f);
        continue;
      }
      const double centre[3] = {double(rows.rows[0][k]), double(rows.rows[1][k]), double(rows.rows[2][k])};
      const double radius = double(rows.rows[3][k]);
      double far = 0;
      for (int corner = 0; corner < 8; ++corner) {
        double squares = 0;
        for (int d = 0; d < 3; ++d)
          squares += std::pow(double(node.planes[(corner >> d & 1) * 3 + d][k]) - centre[d], 2);
        far = std::max(far, std::sqrt(squares));
      }
      ASSERT_GE(radius, far);
      ASSERT_LE(radius, far * (1 + 1e-6));
      const Direct direct = sum_directly(scene, faces, centre);
      // The centre is the centroid of the area, as far as floats go; the middle of the box where there is no area.
      for (int d = 0; d < 3; ++d) {
        if (direct.area > 0)
          ASSERT_NEAR(direct.weighted[d] / direct.area, 0, 1e-6 * (radius + std::abs(centre[d])));
        else
          ASSERT_NEAR(centre[d], 0.5 * (double(node.planes[d][k]) + double(node.planes[3 + d][k])),
                      1e-6 * (radius + std::abs(centre[d])));
      }
      const double unit = direct.area;
      std::uint32_t row = 4;
      for (double v : direct.normal) ASSERT_NEAR(double(rows.rows[row++][k]), v, 1e-6 * unit);
      for (double v : direct.first) ASSERT_NEAR(double(rows.rows[row++][k]), v, 1e-6 * unit * radius);
      for (double v : direct.second) ASSERT_NEAR(double(rows.rows[row++][k]), v, 1e-6 * unit * radius * radius);
    }
  }
}

void check_both(const Scene& scene) {
  for (bool wide : {true, false}) {
    const HostTree tree = build_tree(scene.input(), {.moments = true}, wide, nullptr);
    if (wide)
      check_moments<WideNode, FaceBlock, WideMoments>(tree, scene);
    else
      check_moments<NarrowNode, NarrowFace, NarrowMoments>(tree, scene);
  }
}

TEST(Moments, AreSumsOverFaces) {
  check_both(random_scene(1, true, 1));
  check_both(random_scene(3, true, 1));
  check_both(random_scene(2000, true, 2));
  check_both(wavy_sphere(60, 80));
}

TEST(Moments, FacesWithoutAreaOrNumbersGiveNothing) {
  Scene scene = random_scene(500, true, 3);
  for (std::size_t i = 0; i < 500; i += 7) scene.points[9 * i + 4] = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 1; i < 500; i += 5) scene.indices[3 * i + 1] = scene.indices[3 * i];
  check_both(scene);
  Scene flat;
  flat.points = {0, 0, 0, 1, 0, 0, 2, 0, 0};
  flat.indices = {0, 1, 2, 0, 1, 2};
  check_both(flat);
}

TEST(Moments, AreThereOnlyIfAskedFor) {
  const Scene scene = random_scene(100, true, 4), boxes = random_scene(100, false, 4);
  EXPECT_FALSE(build_tree(scene.input(), {}, true, nullptr).moments.memory);
  EXPECT_FALSE(build_tree(boxes.input(), {.moments = true}, true, nullptr).moments.memory);
}

TEST(Moments, FollowARefit) {
  const Scene scene = random_scene(3000, true, 5), moved = random_scene(3000, true, 6);
  HostTree tree = build_tree(scene.input(), {.moments = true}, true, nullptr);
  refit_tree(tree, moved.input());
  check_moments<WideNode, FaceBlock, WideMoments>(tree, moved);
}

/// All area vectors of a closed surface cancel.
TEST(Moments, OfAClosedMesh) {
  const Scene scene = wavy_sphere(60, 80);
  const HostTree tree = build_tree(scene.input(), {.moments = true}, true, nullptr);
  const auto& rows = *tree.moments.as<WideMoments>();
  for (std::uint32_t row = 4; row < 7; ++row) {
    double sum = 0;
    for (float v : rows.rows[row]) sum += double(v);
    EXPECT_NEAR(sum, 0, 1e-5);
  }
}

}  // namespace
}  // namespace weft::geometry::test
