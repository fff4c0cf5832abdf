// Objects under eight threads at once: launches, refits, rebuilds, other arrays and drops. What a launch finds is the mesh of
// one moment, and the thread sanitizer finds nothing (kernels run in the interpreter, too, whose reads it sees).
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "weft/geometry.h"
#include "weft/weft.h"

namespace weft {
namespace {

const char* kKernels = R"(
import warp as wp

@wp.kernel
def heights(mesh: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    x = 0.01 + 0.09 * float(i)
    hit = wp.mesh_query_ray(mesh, wp.vec3(x, 0.003, 10.0), wp.vec3(0.0, 0.0, -1.0), 100.0)
    out[i] = -1.0
    if hit.result:
        out[i] = 10.0 - hit.t
    near = wp.mesh_query_point(mesh, wp.vec3(x, 0.003, 9.0), 100.0)
    if not near.result:
        out[i] = -2.0

@wp.kernel
def count_boxes(tree: wp.uint64, out: wp.array(dtype=int)):
    n = int(0)
    for k in wp.bvh_query_aabb(tree, wp.vec3(-1.0), wp.vec3(100.0)):
        n += 1
    out[wp.tid()] = n

@wp.kernel
def count_points(grid: wp.uint64, out: wp.array(dtype=int)):
    n = int(0)
    for j in wp.hash_grid_query(grid, wp.vec3(1.0, 1.0, 1.0), 50.0):
        n += 1
    out[wp.tid()] = n
)";

constexpr int kSide = 12;

/// A flat sheet at a height.
Array sheet(float height) {
  Array made = Array::zeros("vec3", {kSide * kSide});
  const auto numbers = made.as<float>();
  for (int k = 0; k < kSide * kSide; ++k) {
    numbers[3 * std::size_t(k)] = float(k % kSide) * 0.1f;
    numbers[3 * std::size_t(k) + 1] = float(k / kSide) * 0.1f;
    numbers[3 * std::size_t(k) + 2] = height;
  }
  return made;
}

Array faces() {
  std::vector<std::int32_t> corners;
  for (int y = 0; y + 1 < kSide; ++y)
    for (int x = 0; x + 1 < kSide; ++x) {
      const int at = y * kSide + x;
      corners.insert(corners.end(), {at, at + 1, at + kSide, at + 1, at + kSide + 1, at + kSide});
    }
  return Array::from(corners);
}

class GeometryThreads : public testing::TestWithParam<bool> {
 protected:
  static Options options() {
    Options made;
    made.cache = false;
    made.interpret = GetParam();
    return made;
  }
  /// Runs each on a thread of its own, again and again, until the first one was run so many times.
  static void run(int times, const std::vector<std::function<void()>>& work) {
    std::atomic<bool> over{false};
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < work.size(); ++k)
      threads.emplace_back([&, k] {
        try {
          for (int i = 0; k == 0 ? i < times : !over; ++i) work[k]();
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
          ++failures;
        }
        if (k == 0) over = true;
      });
    for (std::thread& one : threads) one.join();
    EXPECT_EQ(failures, 0);
  }

  Program program = Program::compile(kKernels, "test.py", options());
};

TEST_P(GeometryThreads, LaunchesRefitsAndDrops) {
  const Array low = sheet(1), high = sheet(3), corners = faces();
  Mesh mesh(low, corners);
  Array lowers = sheet(0), uppers = sheet(1), points = sheet(2);
  Bvh tree(lowers, uppers);
  HashGrid grid(8, 8, 8);
  grid.build(points, 0.2);
  const auto look = [&] {
    Array out = Array::zeros("float32", {kSide - 2});
    program.kernel("heights").launch({kSide - 2}, mesh.id(), out);
    // One of the two sheets; between a change of points and the refit that is part of it nobody looks.
    for (const float height : out.read<float>())
      EXPECT_TRUE(std::abs(height - 1) < 1e-5f || std::abs(height - 3) < 1e-5f) << height;
  };
  const auto count = [&] {
    Array out = Array::zeros("int32", {2});
    program.kernel("count_boxes").launch({2}, tree.id(), out);
    EXPECT_EQ(out.read<int>()[0], kSide * kSide);
    program.kernel("count_points").launch({2}, grid.id(), out);
    EXPECT_EQ(out.read<int>()[0], kSide * kSide);
  };
  look();
  count();
  bool up = false;
  run(GetParam() ? 20 : 60, {
                                look,
                                look,
                                count,
                                [&] { mesh.set_points((up = !up) ? high : low); },
                                [&] { mesh.refit(); },
                                [&] { mesh.rebuild(); },
                                [&] {
                                  tree.refit();
                                  grid.build(points, 0.2);
                                  tree.rebuild();
                                },
                                [&] {  // objects come and go, and an id that is gone is refused
                                  std::uint64_t id = 0;
                                  Array out = Array::zeros("float32", {kSide - 2});
                                  {
                                    const Mesh other(low, corners);
                                    id = other.id();
                                    program.kernel("heights").launch({kSide - 2}, id, out);
                                  }
                                  EXPECT_NEAR(out.read<float>()[0], 1, 1e-5);
                                  EXPECT_THROW(program.kernel("heights").launch({1}, id, out), ArgumentError);
                                },
                            });
}

INSTANTIATE_TEST_SUITE_P(Both, GeometryThreads, testing::Values(false, true),
                         [](const auto& one) { return one.param ? "Interpreted" : "Compiled"; });

}  // namespace
}  // namespace weft
