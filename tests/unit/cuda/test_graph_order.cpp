// What is captured stands behind what touches the same memory, and beside everything else.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/module.h"
#include "cuda/system.h"
#include "fake_driver.h"

namespace weft::cuda {
namespace {

using runtime::ByteRange;

class GraphOrders : public testing::Test {
 protected:
  System system{fake::open()};
  Device& device = system.device(0);
  ContextScope scope{device};
  KernelCode code{device, std::span("image", 5), "k"};

  void launch() {
    char arguments[8] = {};
    code.launch(device.stream()->handle(), 1, 32, arguments, sizeof arguments);
  }
  /// A node that says what it touches; its number.
  std::size_t node(std::vector<ByteRange> read, std::vector<ByteRange> written) {
    const OrderedWork order(device, device.stream()->handle(), [&] { return Touched{read, written}; });
    launch();
    return fake::state().nodes.size() - 1;
  }
  std::size_t silent() {
    launch();
    return fake::state().nodes.size() - 1;
  }
  /// The nodes that one is right behind.
  static std::set<std::size_t> behind(std::size_t number) {
    std::set<std::size_t> out;
    for (const GraphNodeHandle handle : fake::state().nodes[number].behind)
      for (std::size_t k = 0; k < fake::state().nodes.size(); ++k)
        if (fake::state().nodes[k].handle == handle) out.insert(k);
    return out;
  }
  using Set = std::set<std::size_t>;
  ByteRange a{100, 200}, b{200, 300}, c{300, 400}, a_end{199, 200};
};

TEST_F(GraphOrders, ReadersFollowWritersAndWritersReaders) {
  Capture capture(device.stream(), false);
  const auto makes_a = node({}, {a}), makes_b = node({}, {b});
  EXPECT_EQ(behind(makes_a), Set{});
  EXPECT_EQ(behind(makes_b), Set{});
  const auto reads_a = node({a}, {c}), reads_end = node({a_end, b}, {}), reads_c = node({c}, {});
  EXPECT_EQ(behind(reads_a), Set{makes_a});
  EXPECT_EQ(behind(reads_end), (Set{makes_a, makes_b}));
  EXPECT_EQ(behind(reads_c), Set{reads_a});
  const auto writes_a = node({}, {a});
  EXPECT_EQ(behind(writes_a), (Set{reads_a, reads_end})) << "the first writer is behind both";
  EXPECT_EQ(behind(node({b}, {})), Set{makes_b}) << "readers don't wait for each other";
  EXPECT_NE(capture.end(), nullptr);
}

TEST_F(GraphOrders, WorkThatSaysNothingIsBehindAllAndInFrontOfAll) {
  Capture capture(device.stream(), false);
  const auto one = node({}, {a}), two = node({}, {b});
  const auto between = silent();
  EXPECT_EQ(behind(between), (Set{one, two}));
  const auto three = node({}, {c}), four = node({a}, {});
  EXPECT_EQ(behind(three), Set{between});
  EXPECT_EQ(behind(four), Set{between});
  const auto more = silent();
  EXPECT_EQ(behind(more), (Set{three, four}));
  EXPECT_EQ(behind(silent()), Set{more});
  capture.end();
}

TEST_F(GraphOrders, BranchesAreSuchWork) {
  runtime::Array value = runtime::Array::zeros(types::i32(), {1}, false, &device);
  const auto at = reinterpret_cast<DevicePtr>(value.data());
  Capture capture(device.stream(), false);
  const auto one = node({}, {a}), two = node({}, {b});
  capture.begin_branch(capture.condition(at, false), at, false);
  const auto setter = two + 1, branch = two + 2;
  EXPECT_EQ(behind(setter), (Set{one, two}));
  EXPECT_EQ(behind(branch), Set{setter});
  const auto inside = node({}, {a}), beside = node({}, {c}), after = node({a}, {});
  EXPECT_EQ(behind(inside), Set{});
  EXPECT_EQ(behind(beside), Set{});
  EXPECT_EQ(behind(after), Set{inside});
  EXPECT_EQ(fake::state().nodes[after].graph, fake::state().nodes[branch].body);
  capture.end_branch();
  EXPECT_EQ(behind(node({}, {c})), Set{branch});
  capture.end();
}

TEST_F(GraphOrders, WhoDoesNotKnowSaysNothing) {
  Capture capture(device.stream(), false);
  const auto one = node({}, {a}), two = node({}, {b});
  {
    const OrderedWork order(device, device.stream()->handle(), [] { return std::optional<Touched>(); });
    EXPECT_EQ(behind(silent()), (Set{one, two}));
  }
  EXPECT_EQ(behind(node({}, {c})), Set{two + 1});
  capture.end();
}

TEST_F(GraphOrders, NothingCapturedChangesNothing) {
  Capture capture(device.stream(), false);
  const auto one = node({}, {a}), two = node({}, {b});
  {
    const OrderedWork order(device, device.stream()->handle(), [this] { return Touched{{a}, {}}; });
  }
  EXPECT_EQ(behind(silent()), (Set{one, two}));
  capture.end();
}

TEST_F(GraphOrders, SettingsAndOtherStreamsKeepTheOrderOfTheStream) {
  Capture capture(device.stream(), false);
  const auto one = node({}, {a});
  System::want_parallel_graphs(false);
  const auto two = node({}, {b});
  System::want_parallel_graphs(true);
  EXPECT_EQ(behind(two), Set{one});
  int asked = 0;
  auto work = [&](StreamHandle stream) { const OrderedWork order(device, stream, [&] { return ++asked, Touched{}; }); };
  work(nullptr);
  EXPECT_EQ(asked, 0);
  work(device.stream()->handle());
  EXPECT_EQ(asked, 1);
  capture.end();
  work(device.stream()->handle());
  EXPECT_EQ(asked, 1) << "what is not captured is asked nothing";
}

TEST_F(GraphOrders, DriversThatRefuseGetTheOrderOfTheStream) {
  Capture capture(device.stream(), false);
  const auto one = node({}, {a});
  fake::state().failing["capture_continue"] = 801;
  const auto two = node({}, {b});
  fake::state().failing.clear();
  EXPECT_EQ(behind(two), Set{one});
  EXPECT_EQ(behind(node({}, {c})), Set{two});
  EXPECT_NE(capture.end(), nullptr);
}

TEST_F(GraphOrders, AGraphWhoseOrderIsLostIsNone) {
  Capture capture(device.stream(), false);
  node({}, {a});
  {
    const OrderedWork order(device, device.stream()->handle(), [this] { return Touched{{}, {b}}; });
    launch();
    fake::state().failing["capture_continue"] = 801;
  }
  fake::state().failing.clear();
  EXPECT_THROW(capture.end(), runtime::Error);
  EXPECT_EQ(device.capture(), nullptr);
}

/// Whether one node comes behind another one, over others or not.
bool follows(std::size_t later, std::size_t earlier, const std::vector<std::set<std::size_t>>& before) {
  return before[later].contains(earlier);
}

bool meet(const std::vector<ByteRange>& a, const std::vector<ByteRange>& b) {
  return std::any_of(a.begin(), a.end(), [&](const ByteRange& one) {
    return std::any_of(b.begin(), b.end(), [&](const ByteRange& other) { return one.intersects(other); });
  });
}

TEST_F(GraphOrders, AnyProgramKeepsItsConflictsAndNoOthers) {
  std::mt19937 chance(7);
  for (int round = 0; round < 20; ++round) {
    Capture capture(device.stream(), false);
    const std::size_t first = fake::state().nodes.size(), count = 400;  // more than are compared at a time
    std::vector<Touched> touched;
    auto ranges = [&](std::size_t most) {
      std::vector<ByteRange> out;
      for (std::size_t k = chance() % (most + 1); k > 0; --k) {
        const std::uintptr_t lo = 1 + chance() % 1000;
        out.push_back({lo, lo + 1 + chance() % 30});
      }
      return out;
    };
    for (std::size_t k = 0; k < count; ++k) {
      touched.push_back({ranges(3), ranges(2)});
      node(touched.back().read, touched.back().written);
    }
    std::vector<std::set<std::size_t>> before(count);
    for (std::size_t k = 0; k < count; ++k)
      for (const std::size_t at : behind(first + k)) {
        before[k].insert(at - first);
        before[k].insert(before[at - first].begin(), before[at - first].end());
      }
    std::size_t free = 0;
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t j = 0; j < k; ++j) {
        if (meet(touched[k].written, touched[j].written) || meet(touched[k].written, touched[j].read) ||
            meet(touched[k].read, touched[j].written)) {
          ASSERT_TRUE(follows(k, j, before)) << j << " " << k;
        }
        free += !follows(k, j, before);
      }
    EXPECT_GT(free, 100u);
    EXPECT_NE(capture.end(), nullptr);
  }
}

}  // namespace
}  // namespace weft::cuda
