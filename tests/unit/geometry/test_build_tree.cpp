// Trees of every constructor and layout over inputs of every kind: what they must be, whatever is in the input, and the same
// bytes for every number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "runtime/errors.h"
#include "runtime/scheduler.h"
#include "tree_checks.h"

namespace weft::geometry::test {
namespace {

constexpr Constructor kConstructors[] = {Constructor::best, Constructor::sah, Constructor::median, Constructor::lbvh};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

class BuildTree : public testing::Test {
 protected:
  ~BuildTree() override { runtime::set_thread_limit(0); }

  /// Builds by every constructor in both layouts and checks the trees.
  static void check_all(const Scene& scene, const std::string& what) {
    for (Constructor constructor : kConstructors)
      for (bool wide : {true, false}) {
        const HostTree tree = build_tree(scene.input(), {.constructor = constructor}, wide, nullptr);
        ASSERT_EQ(check_tree(tree, scene.input()), "")
            << what << ", constructor " << int(constructor) << (wide ? ", wide" : ", narrow");
      }
  }
};

TEST_F(BuildTree, EverySizeOfFacesAndBoxes) {
  for (bool of_faces : {true, false}) {
    for (std::uint32_t count = 0; count <= 100; ++count)
      check_all(random_scene(count, of_faces, count), std::to_string(count));
    for (std::uint32_t count : {1000u, 50000u}) check_all(random_scene(count, of_faces, count), std::to_string(count));
  }
  check_all(wavy_sphere(100, 150), "sphere");
}

TEST_F(BuildTree, Groups) {
  for (bool of_faces : {true, false}) {
    for (std::uint32_t count : {1u, 2u, 3u, 5u, 9u, 30u, 100u, 1000u})
      for (std::uint32_t groups : {1u, 2u, 3u, 7u, 100u}) {
        Scene scene = random_scene(count, of_faces, count);
        add_groups(scene, groups, groups);
        check_all(scene, std::to_string(count) + " in " + std::to_string(groups) + " groups");
      }
    for (std::uint32_t groups : {2u, 20000u}) {
      Scene scene = random_scene(40000, of_faces, 40000);
      add_groups(scene, groups, groups);
      check_all(scene, "many in " + std::to_string(groups) + " groups");
    }
  }
}

TEST_F(BuildTree, OneGroupIsTheWholeTree) {
  Scene scene = random_scene(3000, true, 1);
  scene.groups.assign(3000, 42);
  for (bool wide : {true, false}) {
    const HostTree tree = build_tree(scene.input(), {}, wide, nullptr);
    ASSERT_EQ(tree.group_count, 1u);
    EXPECT_EQ(tree.groups.as<GroupRoot>()[1].group, 42);
    EXPECT_EQ(tree.groups.as<GroupRoot>()[1].root, 0);
  }
}

TEST_F(BuildTree, OneLeafHasARootWithOneChild) {
  for (bool wide : {true, false}) {
    const Scene scene = random_scene(wide ? 4 : 2, true, 1);
    const HostTree tree = build_tree(scene.input(), {}, wide, nullptr);
    EXPECT_EQ(tree.node_count, 1u);
    EXPECT_EQ(tree.entry_count, wide ? 1u : 2u);
  }
}

TEST_F(BuildTree, FacesWithBadIndicesAreLeftOut) {
  Scene scene = random_scene(3000, true, 2);
  scene.indices[3 * 70 + 1] = -1;
  scene.indices[3 * 71 + 2] = 9000;  // one past the last point
  scene.indices[std::size_t{3} * 2999] = std::numeric_limits<std::int32_t>::max();
  check_all(scene, "bad indices");
  TreeFacts facts;
  build_tree(scene.input(), {}, true, &facts);
  EXPECT_EQ(facts.bad_face, 70);
  add_groups(scene, 20, 1);
  check_all(scene, "bad indices, groups");
  for (std::int32_t& index : scene.indices) index = 1 << 30;
  check_all(scene, "bad indices alone");
}

TEST_F(BuildTree, MeshWithoutPoints) {
  Scene scene;
  scene.indices = {0, 1, 2, 0, 0, 0};
  check_all(scene, "no points");
  TreeFacts facts;
  build_tree(scene.input(), {}, true, &facts);
  EXPECT_EQ(facts.bad_face, 0);
  EXPECT_EQ(facts.mean_edge, 0.0f);
}

TEST_F(BuildTree, WhatIsNotFiniteKeepsAPlaceWithoutABox) {
  for (std::uint32_t count : {1u, 3u, 7u, 500u, 9000u})
    for (std::uint32_t every : {1u, 2u, 10u}) {
      Scene faces = random_scene(count, true, 3), boxes = random_scene(count, false, 4);
      const float odd[] = {kNan, kInf, -kInf};
      for (std::uint32_t i = 0; i < count; i += every) {
        faces.points[9 * i + i % 9] = odd[i % 3];
        if (i % 4 == 3)
          boxes.uppers[3 * i + 1] = boxes.lowers[3 * i + 1] - 0.01f;
        else
          (i % 2 ? boxes.lowers : boxes.uppers)[3 * i + i % 3] = odd[i % 3];
      }
      check_all(faces, "faces");
      check_all(boxes, "boxes");
      add_groups(faces, 5, 3);
      add_groups(boxes, 50, 3);
      check_all(faces, "faces in groups");
      check_all(boxes, "boxes in groups");
    }
}

/// The depth that stacks of kernels rely on, whatever the input.
TEST_F(BuildTree, DepthIsBounded) {
  std::vector<std::pair<std::string, Scene>> scenes;
  const std::uint32_t count = 30000;
  Scene equal;
  equal.points = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  for (std::uint32_t i = 0; i < count; ++i) equal.indices.insert(equal.indices.end(), {0, 1, 2});
  scenes.emplace_back("duplicates", equal);
  Scene centred, powers, needles, clustered;
  centred.of_faces = powers.of_faces = needles.of_faces = clustered.of_faces = false;
  std::mt19937_64 random(5);
  for (std::uint32_t i = 0; i < count; ++i)
    for (int d = 0; d < 3; ++d) {
      centred.lowers.push_back(-float(i));
      centred.uppers.push_back(float(i));
      // Halving distances are what areas and curves split one by one.
      powers.lowers.push_back(std::ldexp(1.0f, -int(i % 250) + 120));
      powers.uppers.push_back(powers.lowers.back());
      needles.lowers.push_back(d == 0 ? float(i) : -1e6f);
      needles.uppers.push_back(d == 0 ? float(i) : 1e6f);
      clustered.lowers.push_back(i < 10 ? float(i) * 1e6f : float(random() % 1000) * 1e-6f);
      clustered.uppers.push_back(clustered.lowers.back());
    }
  scenes.emplace_back("equal centres", centred);
  scenes.emplace_back("powers", powers);
  scenes.emplace_back("needles", needles);
  scenes.emplace_back("clustered", clustered);
  for (const auto& [name, scene] : scenes) check_all(scene, name);
}

TEST_F(BuildTree, HugeAndTinyCoordinates) {
  for (float scale : {3e38f, 1e38f, 1e-20f, 1e-38f, 1e-44f})
    for (bool of_faces : {true, false}) {
      Scene scene = random_scene(5000, of_faces, 6);
      for (auto* values : {&scene.points, &scene.lowers, &scene.uppers})
        for (float& v : *values) v = (std::min(v, 1.0f) - 0.5f) * 2 * scale;
      check_all(scene, std::to_string(scale));
    }
}

TEST_F(BuildTree, SameBytesForEveryNumberOfThreads) {
  Scene sphere = wavy_sphere(100, 150), boxes = random_scene(20000, false, 7);
  for (std::size_t i = 0; i < boxes.lowers.size(); i += 999) boxes.lowers[i] = kNan;
  Scene grouped = sphere;
  add_groups(grouped, 9, 8);
  const auto check = [](const Scene& scene, Constructor constructor, bool wide) {
    const TreeOptions options{.constructor = constructor, .moments = scene.of_faces};
    runtime::set_thread_limit(1);
    TreeFacts facts;
    const HostTree one = build_tree(scene.input(), options, wide, &facts);
    for (int threads : {1, 2, 4}) {
      runtime::set_thread_limit(threads);
      TreeFacts again;
      EXPECT_TRUE(same_bytes(one, build_tree(scene.input(), options, wide, &again))) << int(constructor) << threads;
      EXPECT_EQ(facts.mean_edge, again.mean_edge);
    }
  };
  for (const Scene* scene : {&sphere, &boxes, &grouped})
    for (Constructor constructor : kConstructors)
      for (bool wide : {true, false}) check(*scene, constructor, wide);
  check(wavy_sphere(300, 300), Constructor::best, true);  // sorted in several chunks
}

#if defined(__x86_64__)
// A word behind three numbers that goes through arithmetic as a subnormal float takes Intel's processors a hundred cycles each
// time. The processor keeps a note of the first one.
TEST_F(BuildTree, NoSubnormalsWhereTheInputHasNone) {
  constexpr unsigned kStatus = 0x3f, kSubnormal = 0x02;
  runtime::set_thread_limit(1);
  for (bool of_faces : {true, false}) {
    Scene scene = random_scene(3000, of_faces, 3);
    for (Constructor constructor : kConstructors)
      for (bool wide : {true, false}) {
        _mm_setcsr(_mm_getcsr() & ~kStatus);
        HostTree tree = build_tree(scene.input(), {.constructor = constructor}, wide, nullptr);
        EXPECT_EQ(_mm_getcsr() & kSubnormal, 0u) << int(constructor) << wide << of_faces;
        _mm_setcsr(_mm_getcsr() & ~kStatus);
        refit_tree(tree, scene.input());
        EXPECT_EQ(_mm_getcsr() & kSubnormal, 0u) << int(constructor) << wide << of_faces;
      }
  }
}
#endif

/// Items crowd in one cell of the first grid, and of the grid within that.
TEST_F(BuildTree, CrowdedCells) {
  Scene scene = random_scene(40000, false, 10);
  for (std::size_t i = 3; i < scene.lowers.size(); ++i) {
    const float scale = i < 10000 ? 1e-3f : 1e-6f;
    scene.lowers[i] *= scale;
    scene.uppers[i] *= scale;
  }
  check_all(scene, "crowded");
}

TEST_F(BuildTree, LeafSizeIsAHint) {
  const Scene scene = random_scene(3000, true, 9);
  for (std::uint32_t leaf_size : {1u, 2u, 3u, 4u, 5u, 8u, 31u, 1000000u})
    for (bool wide : {true, false}) {
      const HostTree tree = build_tree(scene.input(), {.leaf_size = leaf_size}, wide, nullptr);
      EXPECT_EQ(check_tree(tree, scene.input()), "") << leaf_size;
    }
}

TEST_F(BuildTree, MeanEdge) {
  Scene scene = wavy_sphere(50, 60);
  const auto expected = [&] {
    double sum = 0;
    std::size_t edges = 0;
    for (std::size_t f = 0; f < scene.indices.size(); f += 3)
      for (std::size_t k = 0; k < 3; ++k) {
        const float* a = &scene.points[3 * std::size_t(scene.indices[f + k])];
        const float* b = &scene.points[3 * std::size_t(scene.indices[f + (k + 1) % 3])];
        sum += std::hypot(double(b[0]) - double(a[0]), double(b[1]) - double(a[1]), double(b[2]) - double(a[2]));
        ++edges;
      }
    return sum / double(edges);
  };
  for (float scale : {1.0f, 1e-25f, 1e30f}) {
    Scene base = wavy_sphere(50, 60);
    for (std::size_t i = 0; i < base.points.size(); ++i) scene.points[i] = base.points[i] * scale;
    TreeFacts facts;
    build_tree(scene.input(), {}, true, &facts);
    EXPECT_NEAR(double(facts.mean_edge) / expected(), 1, 1e-6) << scale;
    EXPECT_EQ(facts.bad_face, -1);
  }
}

TEST_F(BuildTree, TooManyItems) {
  Scene scene = random_scene(1, true, 1);
  TreeInput input = scene.input();
  input.count = kMaxItems + 1;
  EXPECT_THROW(build_tree(input, {}, true, nullptr), runtime::ArgumentError);
}

}  // namespace
}  // namespace weft::geometry::test
