// Refits: a tree over moved input must be what its topology makes of that input.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "runtime/scheduler.h"
#include "tree_checks.h"

namespace weft::geometry::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class RefitTree : public testing::TestWithParam<bool> {
 protected:
  ~RefitTree() override { runtime::set_thread_limit(0); }
  bool wide() const { return GetParam(); }
};

TEST_P(RefitTree, UnmovedInputGivesTheSameTree) {
  for (bool of_faces : {true, false}) {
    Scene scene = random_scene(20000, of_faces, 1);
    add_groups(scene, 7, 1);
    const TreeOptions options{.moments = of_faces};
    TreeFacts facts;
    const HostTree tree = build_tree(scene.input(), options, wide(), &facts);
    HostTree again = build_tree(scene.input(), options, wide(), nullptr);
    const TreeFacts refitted = refit_tree(again, scene.input());
    EXPECT_TRUE(same_bytes(tree, again));
    EXPECT_EQ(facts.mean_edge, refitted.mean_edge);
  }
}

TEST_P(RefitTree, MovedInput) {
  for (bool of_faces : {true, false})
    for (std::uint32_t count : {0u, 1u, 5u, 100u, 30000u}) {
      Scene scene = random_scene(count, of_faces, 2);
      HostTree tree = build_tree(scene.input(), {.moments = of_faces}, wide(), nullptr);
      const Scene moved = random_scene(count, of_faces, 3);
      refit_tree(tree, moved.input());
      EXPECT_EQ(check_tree(tree, moved.input()), "") << count;
    }
}

TEST_P(RefitTree, WhatIsNotFiniteLeavesAndReturns) {
  for (bool of_faces : {true, false}) {
    const Scene whole = random_scene(5000, of_faces, 4);
    Scene broken = whole;
    std::mt19937_64 random(5);
    for (auto* values : {&broken.points, &broken.lowers})
      for (float& v : *values)
        if (random() % 30 == 0) v = kNan;
    HostTree tree = build_tree(broken.input(), {.moments = of_faces}, wide(), nullptr);
    EXPECT_EQ(check_tree(tree, broken.input()), "");
    refit_tree(tree, whole.input());
    EXPECT_EQ(check_tree(tree, whole.input()), "");
    refit_tree(tree, broken.input());
    EXPECT_EQ(check_tree(tree, broken.input()), "");
    Scene nothing = whole;
    for (auto* values : {&nothing.points, &nothing.lowers})
      for (float& v : *values) v = kNan;
    refit_tree(tree, nothing.input());
    EXPECT_EQ(check_tree(tree, nothing.input()), "");
  }
}

TEST_P(RefitTree, BadFacesStayOut) {
  Scene scene = random_scene(1000, true, 6);
  scene.indices[3 * 17] = -7;
  HostTree tree = build_tree(scene.input(), {}, wide(), nullptr);
  EXPECT_EQ(refit_tree(tree, scene.input()).bad_face, 17);
  EXPECT_EQ(check_tree(tree, scene.input()), "");
}

TEST_P(RefitTree, SameBytesForEveryNumberOfThreads) {
  const Scene scene = wavy_sphere(100, 150);
  Scene moved = scene;
  for (float& v : moved.points) v = v * v * 3 - v;
  const TreeOptions options{.moments = true};
  runtime::set_thread_limit(1);
  HostTree one = build_tree(scene.input(), options, wide(), nullptr);
  const TreeFacts facts = refit_tree(one, moved.input());
  for (int threads : {2, 4}) {
    runtime::set_thread_limit(threads);
    HostTree tree = build_tree(scene.input(), options, wide(), nullptr);
    EXPECT_EQ(refit_tree(tree, moved.input()).mean_edge, facts.mean_edge);
    EXPECT_TRUE(same_bytes(one, tree));
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, RefitTree, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Wide" : "Narrow"; });

}  // namespace
}  // namespace weft::geometry::test
