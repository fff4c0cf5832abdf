// Streams, events, waiting and its interruption, failed checks of kernels, graphs and what they keep.
#include <gtest/gtest.h>

#include <algorithm>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "fake_driver.h"
#include "runtime/array.h"
#include "runtime/launch.h"

namespace weft::cuda {
namespace {

class Streams : public testing::Test {
 protected:
  System system{fake::open()};
  Device& device = system.device(0);
};

TEST_F(Streams, CurrentStreamIsMadeOnce) {
  auto first = device.stream();
  EXPECT_EQ(first, device.stream());
  auto other = device.make_stream(-1);
  device.set_stream(other);
  EXPECT_EQ(device.stream(), other);
  EXPECT_THROW(device.set_stream(system.device(1).make_stream(0)), runtime::ArgumentError);
}

TEST_F(Streams, MemoryWaitsForTheWorkOfStreamsThatAreGone) {
  auto current = device.stream();
  auto calls_of = [&](auto&& action) {
    fake::state().calls.clear();
    action();
    return fake::state().calls;
  };
  auto has = [](const std::vector<std::string>& calls, const char* name) {
    return std::find(calls.begin(), calls.end(), name) != calls.end();
  };
  auto block = [&] { return device.allocate(64, false); };
  auto first = block(), second = block(), third = block();
  EXPECT_FALSE(has(calls_of([&] { first.reset(); }), "stream_wait")) << "with one stream it is freed there";
  auto other = device.make_stream(0);
  EXPECT_TRUE(has(calls_of([&] { other.reset(); }), "stream_wait")) << "the side stream waits for what was queued";
  fake::state().not_ready = 1;  // that still runs
  EXPECT_FALSE(device.idle());
  fake::state().not_ready = 1;
  std::vector<std::string> calls = calls_of([&] { second.reset(); });
  EXPECT_TRUE(has(calls, "stream_wait") && calls.back() == "memory_free_async");
  calls = calls_of([&] { third.reset(); });  // it is done
  EXPECT_FALSE(has(calls, "stream_wait"));
  EXPECT_EQ(fake::state().blocks.size(), 0u);

  auto foreign = device.adopt_stream(reinterpret_cast<StreamHandle>(std::uintptr_t(64)));
  EXPECT_TRUE(has(calls_of([&] { foreign->leave(); }), "stream_wait"));
  EXPECT_FALSE(has(calls_of([&] { foreign.reset(); }), "stream_wait")) << "its owner may have destroyed it";
  auto legacy = device.adopt_stream(nullptr);
  EXPECT_FALSE(has(calls_of([&] { legacy->leave(); }), "stream_wait")) << "our streams wait for it anyway";
  EXPECT_FALSE(has(calls_of([&] { current->leave(); }), "stream_wait")) << "ours see to it when they go";
}

TEST_F(Streams, WaitsUntilTheWorkIsDone) {
  auto stream = device.stream();
  fake::state().not_ready = 1;
  EXPECT_FALSE(stream->done());
  fake::state().not_ready = 5;
  stream->synchronize();
  EXPECT_EQ(fake::state().not_ready, 0);
  Event event(device, true);
  stream->record(event);
  fake::state().not_ready = 2;
  event.synchronize();
  EXPECT_FLOAT_EQ(event.elapsed_since(event), 1.5f);
}

TEST_F(Streams, WaitsCanBeInterrupted) {
  fake::state().not_ready = INT32_MAX;
  system.set_interrupt([]() noexcept { return true; });
  EXPECT_THROW(device.stream()->synchronize(), Interrupted);
  fake::state().not_ready = 0;
  EXPECT_NO_THROW(device.stream()->synchronize());
}

TEST_F(Streams, WaitsForStreamsThatAreGoneCanBeInterrupted) {
  auto current = device.stream();
  device.make_stream(0).reset();
  fake::state().not_ready = INT32_MAX;
  current.reset();
  system.set_interrupt([]() noexcept { return true; });
  EXPECT_THROW(device.synchronize(), Interrupted);
  fake::state().not_ready = 0;
  EXPECT_NO_THROW(device.synchronize());
}

TEST_F(Streams, BrokenContextIsExplained) {
  auto stream = device.stream();
  fake::state().failing["stream_query"] = 700;
  try {
    stream->synchronize();
    FAIL();
  } catch (const DriverError& error) {
    EXPECT_EQ(error.call(), "cuStreamQuery");
    EXPECT_NE(std::string(error.what()).find("wp.config.mode = \"debug\""), std::string::npos);
  }
}

TEST_F(Streams, FailedChecksAreRaisedOnceBySynchronisation) {
  auto stream = device.stream();
  const runtime::CheckSite site{runtime::CheckSiteKind::bounds, "x", "k.py", 3, 5, "k"};
  CheckSlot* slot = device.checks().watch({"k", 1, {&site, 1}, nullptr}, stream->handle());
  ASSERT_NE(slot, nullptr);
  stream->synchronize();  // nothing failed
  slot = device.checks().watch({"k", 1, {&site, 1}, nullptr}, stream->handle());
  slot->record.thread[0] = 17;
  slot->record.index = 20;
  slot->record.extent = 18;
  slot->record.state = 2;
  try {
    stream->synchronize();
    FAIL();
  } catch (const runtime::KernelError& error) {
    EXPECT_STREQ(error.what(), "kernel 'k', k.py:3:5, thread (17,): index 20 is out of bounds for 'x' with extent 18");
  }
  EXPECT_NO_THROW(device.synchronize());
}

TEST_F(Streams, ManyWatchedLaunchesReuseSlots) {
  auto stream = device.stream();
  for (int i = 0; i < 5000; ++i) ASSERT_NE(device.checks().watch({"k", 1, {}, nullptr}, stream->handle()), nullptr);
}

TEST_F(Streams, GraphsKeepTheirMemory) {
  std::shared_ptr<Graph> graph;
  {
    Capture capture(device.stream(), false);
    EXPECT_EQ(device.capture(), &capture);
    runtime::Array inside = runtime::Array::zeros(types::f32(), {10}, false, &device);
    graph = capture.end();
  }
  EXPECT_EQ(device.capture(), nullptr);
  EXPECT_EQ(fake::state().blocks.size(), 1u);
  graph->launch(*device.stream());
  graph->launch(*device.stream());
  EXPECT_EQ(fake::state().count("graph_instantiate"), 1);
  EXPECT_EQ(fake::state().count("graph_launch"), 2);
  graph.reset();
  EXPECT_TRUE(fake::state().blocks.empty());
  EXPECT_TRUE(fake::state().graphs.empty());
}

TEST_F(Streams, MemoryDroppedWhileCapturingIsGivenBackAfterwards) {
  runtime::Array before = runtime::Array::zeros(types::f32(), {10}, false, &device);
  Capture capture(device.stream(), false);
  before = runtime::Array();
  EXPECT_EQ(fake::state().blocks.size(), 1u);
  capture.end();
  EXPECT_TRUE(fake::state().blocks.empty());
}

TEST_F(Streams, CapturesRefuseWaitsAndEachOther) {
  Capture capture(device.stream(), false);
  EXPECT_THROW(Capture(device.stream(), false), runtime::ArgumentError);
  EXPECT_THROW(device.stream()->synchronize(), runtime::ArgumentError);
  EXPECT_THROW(device.synchronize(), runtime::ArgumentError);
  EXPECT_NO_THROW(Capture(system.device(1).stream(), false));
  capture.end();
  EXPECT_THROW(capture.end(), runtime::ArgumentError);
  EXPECT_NO_THROW(device.synchronize());
}

TEST_F(Streams, BrokenCapturesLeaveTheDeviceUsable) {
  {
    Capture capture(device.stream(), false);
    fake::state().failing["capture_end"] = 901;
    EXPECT_THROW(capture.end(), DriverError);
  }
  fake::state().failing.clear();
  fake::state().failing["capture_begin"] = 901;
  EXPECT_THROW(Capture(device.stream(), false), DriverError);
  fake::state().failing.clear();
  EXPECT_EQ(device.capture(), nullptr);
  Capture again(device.stream(), false);
  EXPECT_NE(again.end(), nullptr);
}

TEST_F(Streams, SlotsOfGraphsStayTheirs) {
  std::shared_ptr<Graph> graph;
  CheckSlot* slot = nullptr;
  {
    Capture capture(device.stream(), false);
    slot = device.checks().watch({"k", 1, {}, nullptr}, device.stream()->handle());
    graph = capture.end();
  }
  device.synchronize();
  for (int replay = 0; replay < 2; ++replay) {
    slot->record.state = 2;
    EXPECT_THROW(device.synchronize(), runtime::KernelError);
  }
  graph.reset();
  EXPECT_NO_THROW(device.synchronize());
}

}  // namespace
}  // namespace weft::cuda
