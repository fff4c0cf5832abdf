// Code for several devices, tried with two ordinals of the fake driver: kernels, streams, memory and contexts of each stay
// its own, and copies between them wait for both.
#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/algorithms.h"
#include "cuda/device.h"
#include "fake_driver.h"
#include "runtime/array.h"

namespace weft::cuda {
namespace {

using runtime::Array;

class TwoDevices : public testing::Test {
 protected:
  System system{fake::open()};
  Device &first = system.device(0), &second = system.device(1);

  static ContextHandle current(Device& device) {
    ContextHandle context = nullptr;
    device.api().context_get(&context);
    return context;
  }
  static Array counting(Device& device, std::int64_t n) {
    Array host = Array::empty(types::i32(), {n});
    std::iota(host.span<std::int32_t>().begin(), host.span<std::int32_t>().end(), 0);
    Array made = Array::empty(types::i32(), {n}, false, &device);
    made.assign(host);
    return made;
  }
  static DevicePtr at(const Array& array) { return reinterpret_cast<DevicePtr>(array.data()); }
};

TEST_F(TwoDevices, HaveNamesContextsAndStreamsOfTheirOwn) {
  EXPECT_EQ(first.name(), "cuda:0");
  EXPECT_EQ(second.name(), "cuda:1");
  EXPECT_NE(first.context(), second.context());
  EXPECT_NE(first.stream()->handle(), second.stream()->handle());
  EXPECT_NE(first.facts().uuid, second.facts().uuid);
}

TEST_F(TwoDevices, KernelsAreLoadedOnEach) {
  Array a = counting(first, 100), b = counting(second, 100);
  algorithms::gpu::scan(first, {ScalarKind::i32, at(a), at(a), 4, 4, 100, true});
  const int loads = fake::state().count("module_load");
  algorithms::gpu::scan(second, {ScalarKind::i32, at(b), at(b), 4, 4, 100, true});
  EXPECT_EQ(fake::state().count("module_load"), 2 * loads);
  algorithms::gpu::scan(second, {ScalarKind::i32, at(b), at(b), 4, 4, 100, true});
  EXPECT_EQ(fake::state().count("module_load"), 2 * loads);
}

TEST_F(TwoDevices, TheContextOfBeforeIsRestored) {
  ContextScope outer(first);
  {
    Array b = Array::zeros(types::f32(), {10}, false, &second);
    EXPECT_EQ(current(first), first.context());
  }
  EXPECT_EQ(current(first), first.context());
}

TEST_F(TwoDevices, CopiesWaitForBothStreams) {
  Array a = counting(first, 8);
  Array b = Array::zeros(types::i32(), {8}, false, &second);
  const int waits = fake::state().count("stream_wait");
  b.assign(a);
  EXPECT_EQ(fake::state().count("copy_peer_async"), 1);
  EXPECT_EQ(fake::state().count("stream_wait"), waits + 2);
  Array host = Array::empty(types::i32(), {8});
  host.assign(b);
  EXPECT_EQ(host.at<std::int32_t>(7), 7);
}

TEST_F(TwoDevices, StridedCopiesArePackedOnTheWay) {
  Array a = counting(first, 12), b = Array::zeros(types::i32(), {12}, false, &second);
  b.slice(0, 0, 12, 3).assign(a.slice(0, 1, 9, 2));
  Array host = Array::empty(types::i32(), {12});
  host.assign(b);
  EXPECT_EQ(host.at<std::int32_t>(3), 3);
  EXPECT_EQ(host.at<std::int32_t>(9), 7);
  EXPECT_EQ(host.at<std::int32_t>(10), 0);
}

TEST_F(TwoDevices, AFailureOfOneLeavesTheOtherAlone) {
  fake::state().failing["launch"] = 700;
  Array a = counting(first, 10);
  EXPECT_THROW(algorithms::gpu::scan(first, {ScalarKind::i32, at(a), at(a), 4, 4, 10, true}), DriverError);
  fake::state().failing.clear();
  Array b = counting(second, 10);
  EXPECT_NO_THROW(algorithms::gpu::scan(second, {ScalarKind::i32, at(b), at(b), 4, 4, 10, true}));
}

TEST_F(TwoDevices, ThereIsNoThird) {
  EXPECT_THROW(system.device(2), runtime::ArgumentError);
  EXPECT_EQ(system.device_count(), 2);
}

}  // namespace
}  // namespace weft::cuda
