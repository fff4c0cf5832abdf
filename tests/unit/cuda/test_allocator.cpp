// A program's own allocator: arrays come from it and go back to it behind all work, out of memory, captures.
#include <gtest/gtest.h>

#include "cuda/allocator.h"
#include "cuda/device.h"
#include "cuda/graph.h"
#include "fake_driver.h"
#include "runtime/array.h"

namespace weft::cuda {
namespace {

using runtime::Array;

struct Counting final : Allocator {
  explicit Counting(Device& device) : device(device) {}
  DevicePtr allocate(std::uint64_t bytes) override {
    if (bytes > limit) return 0;
    DevicePtr memory = 0;
    device.api().memory_allocate(&memory, bytes);
    given += bytes;
    ++calls;
    return memory;
  }
  void deallocate(DevicePtr memory, std::uint64_t bytes) noexcept override {
    device.api().memory_free(memory);
    given -= bytes;
  }
  Device& device;
  std::uint64_t limit = 1 << 20, given = 0;
  int calls = 0;
};

class Allocators : public testing::Test {
 protected:
  System system{fake::open()};
  Device& device = system.device(0);
  std::shared_ptr<Counting> own = std::make_shared<Counting>(device);
  void SetUp() override { device.set_allocator(own); }
  void TearDown() override { device.set_allocator(nullptr); }
};

TEST_F(Allocators, ArraysComeFromItAndGoBack) {
  {
    Array a = Array::zeros(types::f32(), {100}, true, &device);
    EXPECT_EQ(own->given, 800u);
    EXPECT_EQ(fake::state().count("memory_allocate_async"), 0);
    EXPECT_EQ(static_cast<const float*>(a.data())[99], 0.0f);
  }
  EXPECT_EQ(own->given, 0u);
}

TEST_F(Allocators, BlocksWaitForTheWork) {
  Array a = Array::empty(types::f32(), {100}, false, &device);
  fake::state().not_ready = 2;
  a = Array();
  EXPECT_EQ(own->given, 400u);
  Array b = Array::empty(types::f32(), {10}, false, &device);  // still busy
  EXPECT_EQ(own->given, 440u);
  Array c = Array::empty(types::f32(), {10}, false, &device);
  EXPECT_EQ(own->given, 80u);
}

TEST_F(Allocators, ArraysOutliveTheSetting) {
  Array a = Array::empty(types::f32(), {100}, false, &device);
  device.set_allocator(nullptr);
  Array b = Array::empty(types::f32(), {100}, false, &device);
  EXPECT_EQ(own->calls, 1);
  a = Array();
  b = Array();
  EXPECT_EQ(own->given, 0u);
  EXPECT_TRUE(fake::state().blocks.empty());
}

TEST_F(Allocators, OutOfMemoryIsTold) {
  own->limit = 64;
  try {
    Array::empty(types::f32(), {100}, false, &device);
    FAIL();
  } catch (const runtime::OutOfMemory& error) {
    EXPECT_EQ(error.bytes(), 400u);
    EXPECT_STREQ(error.what(), "the allocator that was set for cuda:0 has no memory for 400 bytes");
  }
  EXPECT_NO_THROW(Array::empty(types::f32(), {4}, false, &device));
}

TEST_F(Allocators, GraphsKeepWhatTheyTouch) {
  std::shared_ptr<Graph> graph;
  {
    Array before = Array::empty(types::f32(), {10}, false, &device);
    Capture capture(device.stream(), false);
    Array inside = Array::empty(types::f32(), {100}, false, &device);
    inside = Array();
    before = Array();
    EXPECT_EQ(own->given, 440u);
    graph = capture.end();
  }
  EXPECT_EQ(own->given, 440u);
  graph.reset();
  EXPECT_EQ(own->given, 0u);
}

}  // namespace
}  // namespace weft::cuda
