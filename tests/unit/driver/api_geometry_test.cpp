// Meshes, trees of boxes, hash grids and volumes of the public header: queries, changes, graphs, gradients, what is refused.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "weft/geometry.h"
#include "weft/weft.h"

namespace weft {
namespace {

const char* kKernels = R"(
import warp as wp

@wp.kernel
def heights(mesh: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, wp.vec3(0.25, 0.25, 10.0), wp.vec3(0.0, 0.0, -1.0), 100.0)
    out[i] = -1.0
    if hit.result:
        out[i] = 10.0 - hit.t

@wp.kernel
def speeds(mesh: wp.uint64, out: wp.array(dtype=float)):
    out[wp.tid()] = wp.mesh_get_velocity(mesh, 0)[2]

@wp.kernel
def met(tree: wp.uint64, x: float, out: wp.array(dtype=int)):
    for k in wp.bvh_query_aabb(tree, wp.vec3(x), wp.vec3(x + 0.1)):
        out[k] += 1

@wp.kernel
def move(points: wp.array(dtype=wp.vec3), by: wp.vec3):
    i = wp.tid()
    points[i] = points[i] + by

@wp.kernel
def near(grid: wp.uint64, points: wp.array(dtype=wp.vec3), far: float, out: wp.array(dtype=int)):
    i = wp.tid()
    n = int(0)
    for j in wp.hash_grid_query(grid, points[i], far):
        if wp.length(points[i] - points[j]) <= far:
            n += 1
    out[i] = n

@wp.kernel
def of_group(grid: wp.uint64, group: int, out: wp.array(dtype=int)):
    for j in wp.hash_grid_query(grid, wp.vec3d(), wp.float64(100.0), group):
        out[j] = 1

@wp.kernel
def spread(grid: wp.uint64, points: wp.array(dtype=wp.vec3), total: wp.array(dtype=float)):
    i = wp.tid()
    for j in wp.hash_grid_query(grid, points[i], 1.5):
        away = wp.length_sq(points[i] - points[j])
        if away < 2.25:
            wp.atomic_add(total, 0, away)

@wp.kernel
def voxels(volume: wp.uint64, indexed: wp.uint64, out: wp.array(dtype=float)):
    wp.volume_store_f(volume, 1, 2, 3, 5.0)
    out[0] = wp.volume_sample_f(volume, wp.vec3(1.5, 2.0, 3.0), wp.Volume.LINEAR)
    out[1] = wp.volume_lookup_f(volume, 100, 0, 0)
    out[2] = float(wp.volume_lookup_index(indexed, 9, 0, 0))
    out[3] = wp.volume_index_to_world(volume, wp.vec3(1.0, 2.0, 3.0))[2]
)";

class ApiGeometry : public testing::Test {
 protected:
  static Array vectors(const std::vector<float>& numbers) {
    Array made = Array::zeros("vec3", {std::int64_t(numbers.size() / 3)});
    std::copy(numbers.begin(), numbers.end(), made.as<float>().begin());
    return made;
  }
  static Options quick() {
    Options options;
    options.cache = false;
    return options;
  }
  void lift(const Array& points, float by) {
    const float step[3] = {0, 0, by};
    program.kernel("move").launch({points.size()}, points, Argument("vec3", step));
  }
  std::vector<int> neighbours(const HashGrid& grid, const Array& points, float far) {
    Array out = Array::zeros("int32", {points.size()});
    program.kernel("near").launch({points.size()}, grid.id(), points, far, out);
    return out.read<int>();
  }

  Program program = Program::compile(kKernels, "test.py", quick());
};

TEST_F(ApiGeometry, MeshesFollowTheirPoints) {
  Array points = vectors({0, 0, 0, 1, 0, 0, 0, 1, 0}), out = Array::zeros("float32", {1});
  Mesh mesh(points, Array::from<std::int32_t>({0, 1, 2}));
  const auto height = [&] {
    program.kernel("heights").launch({1}, mesh.id(), out);
    return out.as<float>()[0];
  };
  EXPECT_EQ(height(), 0.0f);
  lift(points, 2);
  mesh.refit();
  EXPECT_EQ(height(), 2.0f);
  lift(points, 1);
  mesh.rebuild();
  EXPECT_EQ(height(), 3.0f);
  mesh.set_points(vectors({0, 0, 5, 1, 0, 5, 0, 1, 5}));
  EXPECT_EQ(height(), 5.0f);
  EXPECT_THROW(Mesh(points, Array::from<std::int32_t>({0, 1, 3})), ArgumentError);
  EXPECT_THROW(Mesh(Array(), Array::from<std::int32_t>({0, 1, 2})), ArgumentError);
}

TEST_F(ApiGeometry, TreesFollowTheirBoxes) {
  Array lowers = vectors({0, 0, 0, 2, 2, 2}), uppers = vectors({1, 1, 1, 3, 3, 3}), out = Array::zeros("int32", {2});
  Bvh tree(lowers, uppers);
  program.kernel("met").launch({1}, tree.id(), 2.5, out);
  EXPECT_EQ(out.read<int>(), (std::vector<int>{0, 1}));
  lowers.as<float>()[3] = lowers.as<float>()[4] = lowers.as<float>()[5] = 2.75f;
  tree.refit();
  program.kernel("met").launch({1}, tree.id(), 2.5, out);
  EXPECT_EQ(out.read<int>(), (std::vector<int>{0, 1}));
  tree.rebuild();
  program.kernel("met").launch({1}, tree.id(), 2.7, out);
  EXPECT_EQ(out.read<int>(), (std::vector<int>{0, 2}));
  EXPECT_THROW(Bvh(lowers, vectors({1, 1, 1})), ArgumentError);
}

TEST_F(ApiGeometry, VolumesAreSampledAndSaved) {
  const std::int32_t places[] = {0, 0, 0, 9, 0, 0};
  Volume volume = Volume::of_tiles(places, 0.5, 1.0f), indexed = Volume::of_voxels(places, 0.5);
  EXPECT_EQ(volume.tiles(), 2);
  EXPECT_EQ(volume.voxels(), 1024);
  EXPECT_EQ(indexed.voxels(), 2);
  Array out = Array::zeros("float32", {4});
  program.kernel("voxels").launch({1}, volume.id(), indexed.id(), out);
  EXPECT_EQ(out.read<float>(), (std::vector<float>{3, 1, 1, 1.5f}));
  const std::string path =
      (std::filesystem::temp_directory_path() / ("weft_api_" + std::to_string(::getpid()))).string();
  for (const bool zip : {false, true}) {
    volume.save(path, zip);
    EXPECT_EQ(Volume::load(path).grid().read<std::uint8_t>(), volume.grid().read<std::uint8_t>());
  }
  EXPECT_THROW(Volume::load(path, {}, 1), ArgumentError);
  std::filesystem::remove(path);
  EXPECT_THROW(Volume::load(path), Error);
  EXPECT_THROW(Volume::from_file({}), Error);
  EXPECT_THROW(Volume(Array::zeros("uint8", {4096})), Error);
  EXPECT_THROW(Volume{Array()}, ArgumentError);
}

TEST_F(ApiGeometry, HashGridsFindNeighbours) {
  std::vector<float> numbers;
  for (int i = 0; i < 60; ++i) numbers.insert(numbers.end(), {0.5f * float(i) - 10, -0.25f, 3});
  Array points = vectors(numbers);
  HashGrid grid(8, 8, 8);
  EXPECT_EQ(neighbours(grid, points, 1)[30], 0);  // nothing was built
  grid.reserve(100);
  grid.build(points, 1);
  std::vector<int> found = neighbours(grid, points, 1);
  EXPECT_EQ(found[0], 3);
  EXPECT_EQ(found[1], 4);
  EXPECT_EQ(found[30], 5);
  grid.build(points.reshape({6, 10}).slice(1, 0, 10, 2), 1);  // every other point, under new numbers
  Array out = Array::zeros("int32", {60});
  program.kernel("near").launch({30}, grid.id(), points.slice(0, 0, 60, 2), 1.0, out);
  EXPECT_EQ(out.as<int>()[15], 3);
}

TEST_F(ApiGeometry, HashGridsWithGroupsAndOfDoubles) {
  Array points = Array::zeros("vec3d", {4}), groups = Array::from<std::int32_t>({7, -1, 7, 0});
  Array out = Array::zeros("int32", {4});
  HashGrid grid(4, 4, 4, {}, "float64");
  EXPECT_FALSE(grid.device().is_cuda());
  grid.build(points, 0.5, groups);
  program.kernel("of_group").launch({1}, grid.id(), 7, out);
  EXPECT_EQ(out.read<int>(), (std::vector<int>{1, 0, 1, 0}));
}

TEST_F(ApiGeometry, ChangesBecomePartOfGraphs) {
  Array points = vectors({0, 0, 0, 1, 0, 0, 0, 1, 0}), height = Array::zeros("float32", {1});
  Array apart = vectors({0, 0, 0, 0, 0, 3}), counts = Array::zeros("int32", {2});
  Mesh mesh(points, Array::from<std::int32_t>({0, 1, 2}));
  const float closer[3] = {0, 0, -1};
  Graph graph;
  {
    HashGrid grid(4, 4, 4);  // the graph keeps it
    graph = Graph::capture({}, [&] {
      lift(points, 1);
      mesh.refit();
      program.kernel("heights").launch({1}, mesh.id(), height);
      program.kernel("move").launch({1}, apart.slice(0, 1, 2), Argument("vec3", closer));
      grid.build(apart, 1.5);
      program.kernel("near").launch({2}, grid.id(), apart, 1.5, counts);
    });
  }
  graph.launch();
  EXPECT_EQ(height.as<float>()[0], 1.0f);
  EXPECT_EQ(counts.as<int>()[0], 1);
  graph.launch();
  EXPECT_EQ(height.as<float>()[0], 2.0f);
  EXPECT_EQ(counts.as<int>()[0], 2);
}

TEST_F(ApiGeometry, OtherArraysOfAMeshBecomePartOfGraphs) {
  Array points = vectors({0, 0, 0, 1, 0, 0, 0, 1, 0}), height = Array::zeros("float32", {1});
  Mesh mesh(points, Array::from<std::int32_t>({0, 1, 2}));
  Array higher = vectors({0, 0, 4, 1, 0, 4, 0, 1, 4}), speeds = vectors({0, 0, 1, 0, 0, 1, 0, 0, 1});
  Array speed = Array::zeros("float32", {1});
  const Graph graph = Graph::capture({}, [&] {
    mesh.set_points(higher);
    mesh.set_velocities(speeds);
    program.kernel("heights").launch({1}, mesh.id(), height);
    program.kernel("speeds").launch({1}, mesh.id(), speed);
  });
  program.kernel("heights").launch({1}, mesh.id(), height);
  program.kernel("speeds").launch({1}, mesh.id(), speed);
  EXPECT_EQ(height.as<float>()[0], 0.0f);  // nothing has run
  EXPECT_EQ(speed.as<float>()[0], 0.0f);
  graph.launch();
  EXPECT_EQ(height.as<float>()[0], 4.0f);
  EXPECT_EQ(speed.as<float>()[0], 1.0f);
  mesh.set_points(points);
  program.kernel("heights").launch({1}, mesh.id(), height);
  EXPECT_EQ(height.as<float>()[0], 0.0f);
  graph.launch();
  EXPECT_EQ(height.as<float>()[0], 4.0f);
  EXPECT_THROW(Graph::capture({}, [&] { mesh.set_points(vectors({0, 0, 0})); }), ArgumentError);
  EXPECT_THROW(Graph::capture({}, [&] { mesh.set_velocities(vectors({0, 0, 0})); }), ArgumentError);
}

TEST_F(ApiGeometry, TapesGoBackThroughBuilds) {
  Array points = vectors({0, 0, 0, 1, 0, 0, 5, 0, 0}), total = Array::zeros("float32", {1});
  points.set_requires_grad(true);
  total.set_requires_grad(true);
  HashGrid grid(8, 8, 8);
  Tape tape;
  tape.record([&] {
    grid.build(points, 1.5);
    program.kernel("spread").launch({3}, grid.id(), points, total);
    grid.build(vectors({9, 9, 9}), 1.5);  // the tape goes back through the neighbours of before
  });
  EXPECT_EQ(total.as<float>()[0], 2.0f);
  tape.backward(total);
  EXPECT_EQ(points.grad().read<float>(), (std::vector<float>{-4, 0, 0, 4, 0, 0, 0, 0, 0}));
}

TEST_F(ApiGeometry, WhatHashGridsRefuse) {
  EXPECT_THROW(HashGrid(0, 4, 4), ArgumentError);
  EXPECT_THROW(HashGrid(4096, 4096, 4096), ArgumentError);
  EXPECT_THROW(HashGrid(4, 4, 4, {}, "int32"), ArgumentError);
  HashGrid grid(4, 4, 4);
  Array points = Array::zeros("vec3", {3});
  EXPECT_THROW(grid.build(points, 0), ArgumentError);
  EXPECT_THROW(grid.build(Array(), 1), ArgumentError);
  EXPECT_THROW(grid.build(Array::zeros("vec3d", {3}), 1), ArgumentError);
  EXPECT_THROW(grid.build(points, 1, Array::zeros("int32", {2})), ArgumentError);
  EXPECT_THROW(grid.reserve(-1), ArgumentError);
  EXPECT_THROW(Graph::capture({}, [&] { grid.build(points, -1); }), ArgumentError);
  Array out = Array::zeros("float32", {1});
  EXPECT_THROW(program.kernel("heights").launch({1}, grid.id(), out), ArgumentError);
}

}  // namespace
}  // namespace weft
