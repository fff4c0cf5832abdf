// Contexts of other libraries as devices, one GPU under several numbers, and memory and events of other processes.
#include <gtest/gtest.h>

#include <cstring>

#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/ipc.h"
#include "cuda/module.h"
#include "fake_driver.h"
#include "runtime/array.h"

namespace weft::cuda {
namespace {

/// Contexts of the fake driver: 0x10 · (GPU + 1) is primary; others of a GPU are 0x100 further each.
ContextHandle context(int gpu, int number) {
  return reinterpret_cast<ContextHandle>(std::uintptr_t(0x10 * (gpu + 1) + 0x100 * number));
}

class Contexts : public testing::Test {
 protected:
  System system{fake::open()};
  Device& device = system.device(0);
};

TEST_F(Contexts, PrimaryContextsAreTheGpus) {
  EXPECT_EQ(&system.adopt_context(context(0, 0)), &system.device(0));
  EXPECT_EQ(&system.adopt_context(context(1, 0)), &system.device(1));
  EXPECT_EQ(system.device_count(), 2);
}

TEST_F(Contexts, AnotherContextIsADeviceOfItsOwn) {
  Device& other = system.adopt_context(context(1, 1));
  EXPECT_EQ(other.ordinal(), 2);
  EXPECT_EQ(other.number(), 1);
  EXPECT_FALSE(other.is_primary());
  EXPECT_EQ(other.context(), context(1, 1));
  EXPECT_EQ(&system.device(2), &other);
  EXPECT_EQ(&system.adopt_context(context(1, 1)), &other);
  EXPECT_EQ(system.device_count(), 2);
  EXPECT_THROW(system.device(3), runtime::ArgumentError);
  EXPECT_EQ(other.facts().name, system.device(1).facts().name);
  EXPECT_EQ(fake::state().count("primary_retain"), 1);  // compared with the GPU's own, which was never a copy of it
}

TEST_F(Contexts, TheCurrentContextIsTakenAndRestored) {
  system.api().context_set(nullptr);
  EXPECT_THROW(system.adopt_context(nullptr), runtime::ArgumentError);
  system.api().context_set(context(0, 3));
  Device& other = system.adopt_context(nullptr);
  EXPECT_EQ(other.context(), context(0, 3));
  ContextHandle now = nullptr;
  system.api().context_get(&now);
  EXPECT_EQ(now, context(0, 3));
  system.adopt_context(context(1, 0));
  system.api().context_get(&now);
  EXPECT_EQ(now, context(0, 3));
}

TEST_F(Contexts, HandlesThatAreNoneAreErrors) {
  fake::state().failing["context_device"] = kErrorInvalidContext;
  EXPECT_THROW(system.adopt_context(context(0, 1)), DriverError);
  fake::state().failing.clear();
  fake::state().failing["context_set"] = kErrorInvalidContext;
  EXPECT_THROW(system.adopt_context(context(0, 1)), DriverError);
}

TEST_F(Contexts, ThereIsALimit) {
  for (int k = 1; k < kMaxDevices - 1; ++k) system.adopt_context(context(0, k));
  EXPECT_THROW(system.adopt_context(context(0, kMaxDevices)), runtime::ArgumentError);
  EXPECT_NO_THROW(system.adopt_context(context(0, 5)));
}

TEST_F(Contexts, OneGpuUnderTwoNumbersExchangesMemory) {
  Device& other = system.adopt_context(context(0, 1));
  EXPECT_FALSE(device.can_access(other));
  EXPECT_FALSE(device.peer_enabled(other));
  runtime::Array here = runtime::Array::empty(types::i32(), {8}, false, &device);
  runtime::Array there = runtime::Array::empty(types::i32(), {4, 2}, false, &other);
  const std::int32_t seven = 7;
  here.fill(&seven);
  there.transpose().assign(here.reshape({2, 4}));  // packed on the way
  EXPECT_EQ(fake::state().count("copy_peer_async"), 1);
  const runtime::Array host = runtime::Array::empty(types::i32(), {4, 2});
  host.assign(there);
  EXPECT_EQ(host.at<std::int32_t>(3, 1), 7);
  other.synchronize();
}

TEST_F(Contexts, CapturesOfTwoContextsAreApart) {
  Device& other = system.adopt_context(context(0, 1));
  Capture first(device.stream(), false);
  EXPECT_EQ(other.capture(), nullptr);
  EXPECT_NO_THROW(other.synchronize());
  first.end();
}

class Sharing : public Contexts {};

TEST_F(Sharing, MemoryIsOpenedOnceAndClosed) {
  device.enable_pool(false);
  const runtime::Array a = runtime::Array::zeros(types::f32(), {4}, false, &device);
  const IpcHandle handle = share_memory(device, reinterpret_cast<DevicePtr>(a.data()));
  auto first = open_memory(device, handle), second = open_memory(device, handle);
  EXPECT_EQ(first.get(), a.data());
  EXPECT_EQ(first.get(), second.get());
  EXPECT_EQ(fake::state().count("memory_from_ipc"), 1);
  first.reset();
  EXPECT_EQ(fake::state().count("memory_close_ipc"), 0);
  second.reset();
  EXPECT_EQ(fake::state().count("memory_close_ipc"), 1);
  open_memory(device, handle);
  EXPECT_EQ(fake::state().count("memory_from_ipc"), 2);
}

TEST_F(Sharing, MemoryOfPoolsSaysHow) {
  const runtime::Array a = runtime::Array::zeros(types::f32(), {4}, false, &device);
  fake::state().failing["memory_to_ipc"] = kErrorInvalidValue;
  try {
    share_memory(device, reinterpret_cast<DevicePtr>(a.data()));
    FAIL();
  } catch (const DriverError& error) {
    EXPECT_NE(std::string(error.what()).find("wp.ScopedMempool(device, False)"), std::string::npos);
  }
}

TEST_F(Sharing, MemoryDroppedWhileCapturingGoesWithTheGraph) {
  device.enable_pool(false);
  const runtime::Array a = runtime::Array::zeros(types::f32(), {4}, false, &device);
  auto memory = open_memory(device, share_memory(device, reinterpret_cast<DevicePtr>(a.data())));
  Capture capture(device.stream(), false);
  memory.reset();
  EXPECT_EQ(fake::state().count("memory_close_ipc"), 0);
  auto graph = capture.end();
  graph.reset();
  EXPECT_EQ(fake::state().count("memory_close_ipc"), 1);
}

TEST_F(Sharing, Events) {
  const Event event(device, false, true);
  const IpcHandle handle = share_event(event);
  {
    auto opened = open_event(system.device(1), handle);
    EXPECT_EQ(opened->handle(), event.handle());
  }
  for (const char* call : {"event_to_ipc", "event_from_ipc", "memory_from_ipc"}) fake::state().failing[call] = 1;
  EXPECT_THROW(share_event(event), DriverError);
  EXPECT_THROW(open_event(device, handle), DriverError);
  EXPECT_THROW(open_memory(device, handle), DriverError);
}

}  // namespace
}  // namespace weft::cuda
