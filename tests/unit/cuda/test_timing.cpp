// Work between events, and what the driver says of kernels.
#include <gtest/gtest.h>

#include "cuda/graph.h"
#include "cuda/module.h"
#include "fake_driver.h"
#include "runtime/array.h"

namespace weft::cuda {
namespace {

TEST(Timings, NothingIsMeasuredUnlessAsked) {
  System system(fake::open());
  Device& device = system.device(0);
  runtime::Array a = runtime::Array::zeros(types::f32(), {8}, false, &device);
  EXPECT_EQ(fake::state().count("event_create"), 0);
  EXPECT_TRUE(system.timing().end().empty());
}

TEST(Timings, KindsAreFiltered) {
  System system(fake::open());
  Device& device = system.device(0);
  system.timing().begin(kTimeFill);
  runtime::Array a = runtime::Array::zeros(types::f32(), {8}, false, &device);
  runtime::Array b = runtime::Array::zeros(types::f32(), {8}, false, &device);
  b.assign(a);
  auto found = system.timing().end();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "memset");
  EXPECT_EQ(found[0].device, &device);
  EXPECT_EQ(found[0].kind, kTimeFill);
  EXPECT_EQ(found[0].milliseconds, 1.5f);
  system.timing().begin(kTimeCopy | kTimeBuiltin);
  b.assign(a);
  a.assign(runtime::Array::zeros(types::f32(), {8}));
  runtime::Array::zeros(types::f32(), {8}).assign(a);
  found = system.timing().end();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].name, "memcpy DtoD");
  EXPECT_EQ(found[1].name, "memcpy HtoD");
  EXPECT_EQ(found[2].name, "memcpy DtoH");
}

TEST(Timings, RangesAreNested) {
  System system(fake::open());
  Device& device = system.device(0);
  runtime::Array a = runtime::Array::zeros(types::f32(), {8}, false, &device),
                 b = runtime::Array::zeros(types::f32(), {8}, false, &device);
  system.timing().begin(kTimeCopy);
  b.assign(a);
  system.timing().begin(kTimeFill);
  b.assign(a);
  float zero = 0;
  b.fill(&zero);
  EXPECT_EQ(system.timing().end().size(), 1u);
  b.fill(&zero);
  EXPECT_EQ(system.timing().end().size(), 2u);
  b.assign(a);
  EXPECT_TRUE(system.timing().end().empty());
}

TEST(Timings, CapturesAreNotMeasuredButGraphsAre) {
  System system(fake::open());
  Device& device = system.device(0);
  runtime::Array a = runtime::Array::zeros(types::f32(), {8}, false, &device),
                 b = runtime::Array::zeros(types::f32(), {8}, false, &device);
  system.timing().begin(~0u);
  Capture capture(device.stream(), false);
  b.assign(a);
  const std::shared_ptr<Graph> graph = capture.end();
  graph->launch(*device.stream());
  const auto found = system.timing().end();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "graph");
}

TEST(Timings, ADriverThatFailsSpoilsNothing) {
  System system(fake::open());
  Device& device = system.device(0);
  runtime::Array a = runtime::Array::zeros(types::f32(), {8}, false, &device),
                 b = runtime::Array::zeros(types::f32(), {8}, false, &device);
  system.timing().begin(~0u);
  fake::state().failing["event_create"] = 999;
  EXPECT_THROW(b.assign(a), DriverError);
  fake::state().failing.clear();
  b.assign(a);
  fake::state().failing["event_elapsed"] = 999;
  EXPECT_THROW(system.timing().end(), DriverError);
  fake::state().failing.clear();
  EXPECT_TRUE(system.timing().end().empty());
  EXPECT_TRUE(fake::state().events.empty());
}

TEST(KernelFacts, BlocksAndClusters) {
  System system(fake::open());
  const KernelCode code(system.device(0), std::span("image", 5), "k");
  EXPECT_EQ(code.entry(), "k");
  EXPECT_EQ(code.best_block(), std::pair(384, 8));
  EXPECT_EQ(code.largest_cluster(256, 0), 8);
  EXPECT_EQ(code.largest_cluster(512, 0), 1);
  fake::state().failing["occupancy_clusters"] = 999;
  EXPECT_EQ(code.largest_cluster(256, 0), 1);
  fake::state().failing = {{"function_set_attribute", 999}};
  EXPECT_EQ(code.largest_cluster(256, 0), 1);
  fake::state().failing = {{"occupancy_block", 999}};
  EXPECT_THROW(code.best_block(), DriverError);
  fake::state().failing.clear();
}

}  // namespace
}  // namespace weft::cuda
