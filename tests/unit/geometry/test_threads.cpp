// Objects under eight threads: readers that do what a launch does, holding the object shared, beside refits, rebuilds, other
// arrays, gradients that come and go, and objects that are made and dropped. Readers walk the tree here, in code that the thread
// sanitizer sees.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <shared_mutex>
#include <thread>

#include "geometry/hash_grid.h"
#include "geometry/mesh.h"

namespace weft::geometry::test {
namespace {

using runtime::Array;

constexpr int kSide = 20, kFaces = 2 * (kSide - 1) * (kSide - 1);
constexpr int kRounds = 200;

/// A flat sheet at a height.
Array sheet(float height) {
  Array made = Array::empty(types::vec(types::f32(), 3), {kSide * kSide});
  auto* numbers = static_cast<float*>(made.data());
  for (int k = 0; k < kSide * kSide; ++k) {
    *numbers++ = float(k % kSide);
    *numbers++ = float(k / kSide);
    *numbers++ = height;
  }
  return made;
}

Array faces() {
  Array made = Array::empty(types::i32(), {3 * kFaces});
  auto* corner = static_cast<std::int32_t*>(made.data());
  for (int y = 0; y + 1 < kSide; ++y)
    for (int x = 0; x + 1 < kSide; ++x) {
      const int at = y * kSide + x;
      for (int k : {at, at + 1, at + kSide, at + 1, at + kSide + 1, at + kSide}) *corner++ = k;
    }
  return made;
}

/// What a kernel would see: faces in leaves, all at one height, which is that of the points in the descriptor.
void look(std::uint64_t id) {
  const FoundObject found = find_object(id);
  ASSERT_TRUE(found.object);
  const std::shared_lock lock(found.object->in_use());
  const auto* mesh = reinterpret_cast<const MeshDescriptor*>(id);
  const auto* nodes = reinterpret_cast<const WideNode*>(mesh->tree.nodes);
  const auto* blocks = reinterpret_cast<const FaceBlock*>(mesh->tree.leaves);
  const float height = static_cast<const float*>(mesh->points.data)[2];
  int seen = 0;
  for (std::uint32_t n = 0; n < mesh->tree.node_count; ++n)
    for (std::uint32_t k = 0; k < nodes[n].count; ++k) {
      ASSERT_EQ(nodes[n].planes[kLowerZ][k], height);
      const std::uint32_t word = nodes[n].children[k];
      if (!is_leaf(word)) continue;
      for (std::uint32_t e = 0; e < leaf_entries(word); ++e)
        for (std::uint32_t place = 0; place < kBlock; ++place) {
          const FaceBlock& block = blocks[leaf_first(word) + e];
          if (block.numbers[place] < 0) continue;
          ASSERT_EQ(block.corners[2][place], height);
          ++seen;
        }
    }
  ASSERT_EQ(seen, kFaces);
}

/// Runs each on a thread of its own, again and again, until the first one was run so many times.
void run(int times, const std::vector<std::function<void()>>& work) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < work.size(); ++k)
    threads.emplace_back([&, k] {
      for (int i = 0; k == 0 ? i < times : !over; ++i) work[k]();
      if (k == 0) over = true;
    });
  for (std::thread& one : threads) one.join();
}

TEST(Threads, LookRefitRebuildAndDrop) {
  const std::size_t before = living_objects();
  {
    const Array low = sheet(1), high = sheet(3), corners = faces();
    Array program_points = low;  // the program's own handle, whose gradient comes and goes
    const std::shared_ptr<Mesh> mesh = Mesh::make(low, corners, {}, {}, {});
    mesh->use_handles(&program_points, nullptr);
    bool up = false, moving = false;
    run(kRounds, {
                     [&] { look(mesh->id()); },
                     [&] { look(mesh->id()); },
                     [&] { mesh->set_points((up = !up) ? high : low); },
                     [&] { mesh->refit(); },
                     [&] { mesh->rebuild(Constructor::median); },
                     [&] { mesh->set_velocities((moving = !moving) ? low : Array()); },
                     [&] { mesh->refresh_gradients(); },
                     [&] {  // comes and goes; its id is then nobody's
                       std::uint64_t id = 0;
                       {
                         const std::shared_ptr<Mesh> other = Mesh::make(low, corners, {}, {}, {});
                         id = other->id();
                         look(id);
                         EXPECT_EQ(find_object(id + kMeshTree).kind, HandleKind::bvh);
                       }
                       EXPECT_FALSE(find_object(id).object);  // slots are reused late
                     },
                 });
  }
  EXPECT_EQ(living_objects(), before);
}

TEST(Threads, PinsKeepWhatTheySaw) {
  const Array low = sheet(1), high = sheet(3), corners = faces();
  const std::shared_ptr<Mesh> mesh = Mesh::make(low, corners, {}, {}, {});
  bool up = false;
  const auto pinned = [&] {
    const std::shared_ptr<Pin> pin = mesh->pin();
    for (int k = 0; k < 5; ++k) look(pin->id());
  };
  run(kRounds, {pinned, pinned, [&] { look(mesh->id()); }, [&] { look(mesh->id()); },
                [&] { mesh->set_points((up = !up) ? high : low); }, [&] { mesh->refit(); }, [&] { mesh->rebuild({}); },
                [&] { Mesh::make(low, corners, {}, {}, {}); }});
}

TEST(Threads, GridsAndTrees) {
  const Array points = sheet(2), uppers = sheet(4);
  const std::shared_ptr<Bvh> tree = Bvh::make(points, uppers, {}, {});
  const std::shared_ptr<HashGrid> grid = HashGrid::make({8, 8, 8}, ScalarKind::f32, nullptr);
  grid->build(points, 0.5, nullptr);
  const auto count = [&] {
    {
      const std::shared_lock lock(grid->in_use());
      const auto* cells = reinterpret_cast<const GridDescriptor*>(grid->id());
      ASSERT_EQ(cells->point_count, std::uint32_t(kSide * kSide));
      ASSERT_EQ(reinterpret_cast<const std::uint32_t*>(cells->starts)[8 * 8 * 8], std::uint32_t(kSide * kSide));
    }
    const std::shared_lock lock(tree->in_use());
    const auto* head = reinterpret_cast<const TreeDescriptor*>(tree->id());
    ASSERT_EQ(reinterpret_cast<const WideNode*>(head->nodes)[0].planes[kUpperZ][0], 4.0f);
  };
  const auto make = [&] { HashGrid::make({4, 4, 4}, ScalarKind::f32, nullptr)->build(points, 1.0, nullptr); };
  run(kRounds, {count, count, count, [&] { tree->refit(); }, [&] { tree->rebuild(Constructor::lbvh); },
                [&] { grid->build(points, 0.5, nullptr); }, make, [&] { tree->set_boxes(points, uppers); }});
}

}  // namespace
}  // namespace weft::geometry::test
