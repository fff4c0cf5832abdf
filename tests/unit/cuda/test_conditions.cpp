// Conditions and graphs inside captures: which nodes there are, in which order, whatever fails on the way.
#include <gtest/gtest.h>

#include <cstring>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/module.h"
#include "cuda/system.h"
#include "fake_driver.h"
#include "runtime/array.h"

namespace weft::cuda {
namespace {

class Conditions : public testing::Test {
 protected:
  System system{fake::open()};
  Device& device = system.device(0);
  runtime::Array value = runtime::Array::zeros(types::i32(), {1}, false, &device);
  DevicePtr at = reinterpret_cast<DevicePtr>(value.data());

  static const fake::State::Node* find(const std::string& kind) {
    for (const auto& node : fake::state().nodes)
      if (node.kind == kind) return &node;
    return nullptr;
  }
};

constexpr const char* kSetter = "set_graph_condition";

TEST_F(Conditions, ABranchIsAGraphBehindItsCondition) {
  Capture capture(device.stream(), false);
  const GraphHandle outer = fake::state().capture_graph;
  const ConditionHandle condition = capture.condition(at, true);
  capture.begin_branch(condition, at, false);
  const GraphHandle inner = fake::state().capture_graph;
  EXPECT_NE(inner, outer);
  capture.end_branch();
  EXPECT_EQ(fake::state().capture_graph, outer);
  const auto *setter = find(kSetter), *branch = find("if");
  ASSERT_TRUE(setter && branch);
  EXPECT_EQ(setter->graph, outer);
  EXPECT_EQ(branch->condition, condition);
  EXPECT_EQ(branch->behind, std::vector{setter->handle});
  EXPECT_EQ(branch->body, inner);
  EXPECT_EQ(fake::state().leaves, std::vector{branch->handle});  // what follows comes behind it
  std::uint64_t arguments[3];
  std::memcpy(arguments, fake::state().launches.back().arguments.data(), sizeof arguments);
  EXPECT_EQ(arguments[0], condition);
  EXPECT_EQ(arguments[1], at);
  EXPECT_EQ(std::uint32_t(arguments[2]), 1u);
  auto graph = capture.end();
  EXPECT_EQ(graph->handle(), outer);
}

TEST_F(Conditions, ALoopDecidesAgainAtTheEndOfItsBody) {
  Capture capture(device.stream(), false);
  capture.begin_branch(capture.condition(at, false), at, true);
  const GraphHandle body = fake::state().capture_graph;
  capture.end_branch();
  EXPECT_EQ(fake::state().nodes.back().kind, kSetter);
  EXPECT_EQ(fake::state().nodes.back().graph, body);
  EXPECT_TRUE(find("while"));
  EXPECT_NE(capture.end(), nullptr);
}

TEST_F(Conditions, BranchesInBranches) {
  Capture capture(device.stream(), false);
  const GraphHandle outer = fake::state().capture_graph;
  capture.begin_branch(capture.condition(at, false), at, true);
  const GraphHandle body = fake::state().capture_graph;
  capture.begin_branch(capture.condition(at, false), at, false);
  EXPECT_NE(fake::state().capture_graph, body);
  EXPECT_EQ(find("if")->graph, body);
  capture.end_branch();
  EXPECT_EQ(fake::state().capture_graph, body);
  capture.end_branch();
  EXPECT_EQ(capture.end()->handle(), outer);
}

TEST_F(Conditions, GraphsBecomePartsOfGraphs) {
  std::shared_ptr<Graph> inner;
  {
    Capture capture(device.stream(), false);
    inner = capture.end();
  }
  const std::weak_ptr<Graph> kept = inner;
  Capture capture(device.stream(), false);
  capture.add(inner);
  EXPECT_EQ(fake::state().leaves, std::vector{find("child")->handle});
  inner.reset();
  auto graph = capture.end();
  EXPECT_FALSE(kept.expired());
  graph.reset();
  EXPECT_TRUE(kept.expired());
}

TEST_F(Conditions, GraphsWithConditionsCanNotBeParts) {
  std::shared_ptr<Graph> inner;
  {
    Capture capture(device.stream(), false);
    capture.begin_branch(capture.condition(at, false), at, false);
    capture.end_branch();
    inner = capture.end();
  }
  Capture capture(device.stream(), false);
  try {
    capture.add(inner);
    FAIL();
  } catch (const DriverError& error) {
    EXPECT_NE(std::string(error.what()).find("a graph that holds conditions"), std::string::npos);
  }
}

TEST_F(Conditions, GraphsCanBeWritten) {
  Capture capture(device.stream(), false);
  auto graph = capture.end();
  EXPECT_NO_THROW(graph->write_dot("graph.dot", true));
  fake::state().failing["graph_dot"] = kErrorInvalidValue;
  EXPECT_THROW(graph->write_dot("nowhere/graph.dot", false), DriverError);
}

TEST_F(Conditions, OldDriversSaySo) {
  value = runtime::Array();  // goes back to the driver that gave it
  OpenedDriver old = fake::open();
  old.version = 12030;
  System system(old);
  Device& device = system.device(0);
  Capture capture(device.stream(), false);
  try {
    capture.condition(at, false);
    FAIL();
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()).find("need a driver of CUDA 12.4 or newer, this one is of CUDA 12.3"),
              std::string::npos);
  }
  EXPECT_NE(capture.end(), nullptr);
}

TEST_F(Conditions, ForeignCapturesAreLeftAlone) {
  Capture capture(device.stream(), true);
  EXPECT_THROW(capture.condition(at, false), runtime::ArgumentError);
}

TEST_F(Conditions, WhateverFailsTheCaptureCanBeEnded) {
  for (const char* call : {"capture_info", "graph_condition", "launch", "graph_add_node", "capture_begin_into"}) {
    {
      Capture capture(device.stream(), false);
      fake::state().failing[call] = 1;
      EXPECT_THROW(
          {
            capture.begin_branch(capture.condition(at, false), at, false);
            capture.end_branch();
          },
          runtime::Error)
          << call;
      fake::state().failing.clear();
    }
    EXPECT_EQ(device.capture(), nullptr) << call;
    Capture again(device.stream(), false);
    EXPECT_NO_THROW(again.end()) << call;
  }
}

TEST_F(Conditions, ABrokenBodyLeavesTheGraphAroundItOpen) {
  Capture capture(device.stream(), false);
  capture.begin_branch(capture.condition(at, false), at, true);
  fake::state().failing["launch"] = 901;
  EXPECT_THROW(capture.end_branch(), DriverError);
  fake::state().failing.clear();
  EXPECT_NE(capture.end(), nullptr);
  EXPECT_THROW(capture.end_branch(), runtime::ArgumentError);
}

TEST_F(Conditions, ACaptureCanNotEndInsideABranch) {
  {
    Capture capture(device.stream(), false);
    capture.begin_branch(capture.condition(at, false), at, false);
    EXPECT_THROW(capture.end(), runtime::ArgumentError);
  }
  EXPECT_EQ(device.capture(), nullptr);
  EXPECT_FALSE(fake::state().capturing);
}

TEST_F(Conditions, KernelsOfGraphsThatWaitMayStartEarly) {
  const ContextScope scope(device);
  const KernelCode waits(device, std::span("image", 5), "k", CodeTraits{0, true}),
      plain(device, std::span("image", 5), "k");
  char arguments[8] = {};
  auto early = [&](const KernelCode& code, unsigned blocks = 3) {
    const int before = fake::state().early_launches;
    code.launch(device.stream()->handle(), blocks, 32, arguments, sizeof arguments);
    EXPECT_EQ(fake::state().launches.back().grid, blocks);
    return fake::state().early_launches - before;
  };
  EXPECT_EQ(early(waits), 0) << "one launch after the other";
  {
    Capture capture(device.stream(), false);
    EXPECT_EQ(early(waits), 0) << "behind nothing";
    EXPECT_EQ(early(waits), 1);
    EXPECT_EQ(early(waits, unsigned(device.facts().sm_count) + 1), 0) << "more blocks than multiprocessors";
    EXPECT_EQ(early(plain), 0) << "its code does not wait";
    System::want_early_starts(false);
    EXPECT_EQ(early(waits), 0);
    System::want_early_starts(true);
    EXPECT_NE(capture.end(), nullptr);
  }
  fake::state().foreign_capture = true;
  {
    Capture capture(device.stream(), true);
    EXPECT_EQ(early(waits), 0) << "whose graph it is, may ask for its edges";
    capture.end();
  }
  fake::state().foreign_capture = false;
}

TEST(EarlyStarts, NeedADriverThatKnowsThemInGraphs) {
  OpenedDriver older = fake::open();
  older.version = 12020;
  const System system(std::move(older));
  EXPECT_FALSE(system.early_starts());
}

}  // namespace
}  // namespace weft::cuda
