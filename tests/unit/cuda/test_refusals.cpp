// A driver that refuses a call once: memory is given back later, captures end, other devices are there.
#include <gtest/gtest.h>

#include "cuda/graph.h"
#include "cuda/module.h"
#include "fake_driver.h"
#include "runtime/array.h"

namespace weft::cuda {
namespace {

runtime::Array floats(Device& device, std::int64_t count) {
  return runtime::Array::zeros(types::f32(), {count}, false, &device);
}

TEST(Refusals, MemoryIsGivenBackByTheNextAllocation) {
  System system(fake::open());
  Device& device = system.device(0);
  for (const char* call : {"memory_free_async", "context_set"}) {
    runtime::Array kept = floats(device, 8);
    const std::size_t before = fake::state().allocated;
    {
      runtime::Array lost = floats(device, 100);
      if (std::string(call) == "context_set") system.api().context_set(system.device(1).context());
      fake::state().failing[call] = 999;
    }
    EXPECT_GT(fake::state().allocated, before) << call;
    fake::state().failing.clear();
    runtime::Array next = floats(device, 8);
    next = {};
    EXPECT_EQ(fake::state().allocated, before) << call;
  }
}

TEST(Refusals, MemoryThatIsRefusedAgainWaitsOn) {
  System system(fake::open());
  Device& device = system.device(0);
  fake::state().failing["memory_free_async"] = 999;
  for (int i = 0; i < 3; ++i) floats(device, 100);
  const std::size_t lost = fake::state().allocated;
  EXPECT_GE(lost, 1200u);
  runtime::Array still = floats(device, 8);
  fake::state().failing.clear();
  still = floats(device, 8);
  still = {};
  EXPECT_EQ(fake::state().allocated, 0u);
}

TEST(Refusals, ACaptureEndsThoughTheContextCantBeSet) {
  System system(fake::open());
  Device& device = system.device(0);
  runtime::Array a = floats(device, 8);
  auto capture = std::make_unique<Capture>(device.stream(), false);
  a.fill_zero();
  system.api().context_set(system.device(1).context());
  fake::state().failing["context_set"] = 999;
  EXPECT_TRUE(capture->end());
  fake::state().failing.clear();
  EXPECT_FALSE(device.capture());
  EXPECT_FALSE(fake::state().capturing);
}

TEST(Refusals, OneDeviceThatCantBeAskedLeavesThoseBeforeIt) {
  OpenedDriver driver = fake::open();
  static decltype(DriverTable::device_name) plain;
  plain = driver.table.device_name;
  driver.table.device_name = [](char* name, int size, DeviceNumber d) -> Result {
    return d == 1 ? 999 : plain(name, size, d);
  };
  System system(driver);
  EXPECT_TRUE(system.available());
  EXPECT_EQ(system.device_count(), 1);
  EXPECT_NE(system.note().find("cuda:1 can't be asked what it is: cuDeviceGetName failed"), std::string::npos);
  driver.table.device_name = [](char*, int, DeviceNumber) -> Result { return 999; };
  System none(driver);
  EXPECT_FALSE(none.available());
  EXPECT_NE(none.problem().find("cuda:0 can't be asked what it is"), std::string::npos);
}

TEST(Refusals, AVersionThatIsNotTold) {
  DriverTable table = fake::open().table;
  table.driver_version = [](int*) -> Result { return 999; };
  const OpenedDriver opened = use_driver(table);
  EXPECT_EQ(opened.version, 0);
  EXPECT_NE(opened.problem.find("does not say its version: cuDriverGetVersion gave"), std::string::npos);
}

TEST(Refusals, AStreamThatIsCapturedIsNotAsked) {
  System system(fake::open());
  Device& device = system.device(0);
  const std::shared_ptr<Stream> stream = device.stream();
  Capture capture(stream, false);
  const int asked = fake::state().count("stream_query");
  EXPECT_THROW(stream->done(), runtime::ArgumentError);
  EXPECT_EQ(fake::state().count("stream_query"), asked);
  EXPECT_TRUE(capture.end());
  EXPECT_TRUE(stream->done());
}

}  // namespace
}  // namespace weft::cuda
