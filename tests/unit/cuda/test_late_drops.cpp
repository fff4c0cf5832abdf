// What is dropped while the device may still use it: graphs, code, blocks of allocators. Nobody waits for the device, and
// all of it goes when the device is done.
#include <gtest/gtest.h>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/module.h"
#include "fake_driver.h"
#include "runtime/array.h"

namespace weft::cuda {
namespace {

using runtime::Array;

class Drops : public testing::Test {
 protected:
  std::shared_ptr<Graph> graph_with_memory() {
    Capture capture(device.stream(), false);
    Array inside = Array::zeros(types::f32(), {10}, false, &device);
    inside = Array();
    return capture.end();
  }
  int waits() const {
    return fake::state().count("stream_synchronize") + fake::state().count("context_synchronize") +
           fake::state().count("event_synchronize");
  }
  void allocate() { Array::empty(types::f32(), {10}, false, &device); }

  System system{fake::open()};
  Device& device = system.device(0);
  std::shared_ptr<Stream> current = device.stream();
};

TEST_F(Drops, GraphsDoNotWait) {
  std::shared_ptr<Graph> graph = graph_with_memory();
  graph->launch(*device.stream());
  const int before = waits();
  fake::state().not_ready = 2;
  graph.reset();
  EXPECT_TRUE(fake::state().graphs.empty());
  EXPECT_EQ(fake::state().blocks.size(), 1u) << "a run is under way";
  allocate();
  EXPECT_EQ(fake::state().blocks.size(), 1u);
  allocate();
  EXPECT_TRUE(fake::state().blocks.empty());
  EXPECT_EQ(waits(), before);
}

TEST_F(Drops, GraphsThatNeverRanGoAtOnce) {
  std::shared_ptr<Graph> graph = graph_with_memory();
  fake::state().not_ready = 1;
  graph.reset();
  EXPECT_TRUE(fake::state().blocks.empty());
}

TEST_F(Drops, CodeDoesNotWait) {  // nor whoever comes by, as long as there is any work: the driver would wait for it
  auto code = std::make_unique<KernelCode>(device, std::span("image", 5), "k");
  const int before = waits();
  fake::state().not_ready = 2;
  code.reset();
  EXPECT_EQ(fake::state().modules.size(), 1u);
  allocate();
  EXPECT_EQ(fake::state().modules.size(), 1u);
  allocate();
  EXPECT_TRUE(fake::state().modules.empty());
  EXPECT_EQ(waits(), before);
}

TEST_F(Drops, LoadingWaitsAnyway) {
  auto code = std::make_unique<KernelCode>(device, std::span("image", 5), "k");
  fake::state().not_ready = 1;
  code.reset();
  EXPECT_EQ(fake::state().modules.size(), 1u);
  code = std::make_unique<KernelCode>(device, std::span("image", 5), "k");
  EXPECT_EQ(fake::state().modules.size(), 1u) << "the other one";
}

TEST_F(Drops, GraphsWithConditionsGoWhenTheDeviceIsIdle) {
  Array value = Array::zeros(types::i32(), {1}, false, &device);
  Capture capture(device.stream(), false);
  const auto at = reinterpret_cast<DevicePtr>(value.data());
  const ConditionHandle condition = capture.condition(at, false);
  capture.begin_branch(condition, at, true);
  capture.end_branch();
  std::shared_ptr<Graph> graph = capture.end();
  graph->launch(*device.stream());
  const int before = waits();
  const std::size_t graphs = fake::state().graphs.size();
  fake::state().not_ready = 1;
  graph.reset();
  EXPECT_EQ(fake::state().graphs.size(), graphs);
  allocate();
  EXPECT_LT(fake::state().graphs.size(), graphs);
  EXPECT_EQ(waits(), before);
}

TEST_F(Drops, PageLockedMemoryDoesNotWait) {
  auto memory = system.pinned().allocate(100, false);
  fake::state().calls.clear();
  fake::state().not_ready = 2;
  memory.reset();
  EXPECT_EQ(fake::state().count("host_free"), 0);
  allocate();
  EXPECT_EQ(fake::state().count("host_free"), 0);
  allocate();
  EXPECT_EQ(fake::state().count("host_free"), 1);
  EXPECT_EQ(waits(), 0);
}

TEST_F(Drops, NotTooMuchIsHeldBack) {
  fake::state().not_ready = INT32_MAX;
  auto large = system.pinned().allocate(std::uint64_t(65) << 20, false), small = system.pinned().allocate(8, false);
  small.reset();
  EXPECT_EQ(fake::state().count("host_free"), 0);
  large.reset();
  EXPECT_EQ(fake::state().count("host_free"), 2);
  for (int i = 0; i < 1000; ++i) device.keep_until_idle(std::make_shared<int>(i));
  EXPECT_GE(fake::state().count("context_synchronize"), 4);
  small = system.pinned().allocate(8, false);
  small.reset();
  fake::state().failing["host_allocate"] = kErrorOutOfMemory;
  EXPECT_THROW(system.pinned().allocate(8, false), runtime::OutOfMemory);
  EXPECT_EQ(fake::state().count("host_free"), 3);
}

TEST_F(Drops, SynchronisingDropsAllOfIt) {
  std::weak_ptr<int> things[2];
  fake::state().not_ready = 100;
  for (int i = 0; i < 2; ++i) {
    auto thing = std::make_shared<int>(i);
    things[i] = thing;
    i ? device.keep_until_done(std::move(thing)) : device.keep_until_idle(std::move(thing));
    EXPECT_FALSE(things[i].expired());
  }
  fake::state().not_ready = 0;
  device.synchronize();
  EXPECT_TRUE(things[0].expired() && things[1].expired());
  EXPECT_TRUE(fake::state().events.empty()) << "nor are events left";
}

TEST_F(Drops, CapturesPutItOff) {
  std::weak_ptr<int> things[2];
  auto drop = [&](int i) {
    auto thing = std::make_shared<int>(i);
    things[i] = thing;
    i ? device.keep_until_done(std::move(thing)) : device.keep_until_idle(std::move(thing));
    EXPECT_FALSE(things[i].expired());
  };
  auto gone = [&] { return things[0].expired() && things[1].expired(); };
  const int marks = fake::state().count("event_record");
  {
    Capture capture(device.stream(), false);
    drop(0), drop(1);
    allocate();
    EXPECT_FALSE(things[0].expired() || things[1].expired());
    EXPECT_EQ(fake::state().count("event_record"), marks) << "events on a captured stream would be nodes";
    capture.end();
  }
  EXPECT_TRUE(gone());
  fake::state().foreign_capture = true;  // of another library
  const int later = fake::state().count("event_record");
  drop(0), drop(1);
  EXPECT_FALSE(things[0].expired() || things[1].expired());
  EXPECT_EQ(fake::state().count("event_record"), later);
  fake::state().foreign_capture = false;
  allocate();
  EXPECT_TRUE(gone());
}

TEST_F(Drops, MemoryDroppedWhileAnotherLibraryCaptures) {
  auto other = device.make_stream(0);
  Array array = Array::empty(types::f32(), {10}, false, &device);
  fake::state().foreign_capture = true;
  const int marks = fake::state().count("event_record");
  array = Array();
  EXPECT_EQ(fake::state().blocks.size(), 1u);
  EXPECT_EQ(fake::state().count("event_record"), marks) << "the stream would become part of the graph";
  fake::state().foreign_capture = false;
  allocate();
  EXPECT_TRUE(fake::state().blocks.empty());
}

TEST_F(Drops, StreamsThatWereLostAreWaitedFor) {
  auto drop = [&] {
    const int before = fake::state().count("context_synchronize");
    device.keep_until_done(std::make_shared<int>(1));
    return fake::state().count("context_synchronize") - before;
  };
  const auto handle = reinterpret_cast<StreamHandle>(std::uintptr_t(64));
  EXPECT_EQ(drop(), 0);
  device.adopt_stream(handle).reset();
  EXPECT_EQ(drop(), 0) << "nothing of ours was queued there";
  device.adopt_stream(handle)->use();  // its owner may have destroyed it, and kernels still run there
  EXPECT_EQ(drop(), 1);
  EXPECT_EQ(drop(), 0);
  auto left = device.adopt_stream(handle);
  left->use();
  left->leave();
  left.reset();
  device.null_stream()->use();
  EXPECT_EQ(drop(), 0);
}

TEST_F(Drops, ADriverThatRefusesIsWaitedFor) {
  for (const char* call : {"event_create", "event_record", "stream_wait", "event_query"}) {
    SCOPED_TRACE(call);
    auto thing = std::make_shared<int>(1);
    const std::weak_ptr<int> seen = thing;
    const int before = fake::state().count("context_synchronize");
    fake::state().failing[call] = 999;
    device.keep_until_done(std::move(thing));
    fake::state().failing.clear();
    EXPECT_TRUE(seen.expired());
    EXPECT_EQ(fake::state().count("context_synchronize"), before + 1);
  }
}

TEST_F(Drops, NothingIsLeftWithTheDevice) {
  {
    System other(fake::open());
    Device& gone = other.device(0);
    Capture capture(gone.stream(), false);
    gone.keep_for_capture(std::make_shared<KernelCode>(gone, std::span("image", 5), "k"));
    std::shared_ptr<Graph> graph = capture.end();
    graph->launch(*gone.stream());
    fake::state().not_ready = 1;
    graph.reset();
    EXPECT_EQ(fake::state().modules.size(), 1u);
  }
  EXPECT_TRUE(fake::state().modules.empty());
}

TEST_F(Drops, MemoryForACaptureStandsBehindNoStream) {
  auto other = device.make_stream(0);
  allocate();  // given back behind both streams
  EXPECT_FALSE(fake::state().behind_others.empty());
  Capture capture(device.stream(), false);
  Array inside = Array::zeros(types::f32(), {10}, false, &device);
  EXPECT_EQ(fake::state().stalls, 0);
}

}  // namespace
}  // namespace weft::cuda
