// Opening drivers: missing, old, broken, without devices; what devices say of themselves; errors by name.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/device.h"
#include "cuda/module.h"
#include "fake_driver.h"
#include "runtime/errors.h"

namespace weft::cuda {
namespace {

std::string problem_of(const OpenedDriver& driver) { return driver.problem; }

TEST(Driver, MissingLibraryIsNoErrorUntilAsked) {
  System system(open_driver("libweft_no_such_driver.so.1"));
  EXPECT_FALSE(system.available());
  EXPECT_EQ(system.device_count(), 0);
  EXPECT_NE(system.problem().find("libweft_no_such_driver.so.1 was not found"), std::string::npos);
  EXPECT_THROW(system.device(0), Unavailable);
  EXPECT_THROW(system.pinned(), Unavailable);
}

TEST(Driver, LibraryWithoutTheEntriesIsTooOld) {
  OpenedDriver driver = open_driver("libc.so.6");
  EXPECT_NE(driver.problem.find("lacks cuInit"), std::string::npos) << driver.problem;
}

TEST(Driver, OldVersion) {
  OpenedDriver fresh = fake::open();
  fake::state().version = 11020;
  EXPECT_NE(problem_of(use_driver(fresh.table)).find("supports CUDA 11.2, 11.4 or newer"), std::string::npos);
}

TEST(Driver, NoDevice) {
  OpenedDriver fresh = fake::open();
  fake::state().init_result = kErrorNoDevice;
  EXPECT_EQ(problem_of(use_driver(fresh.table)), "there is no CUDA device");
  fake::state().init_result = kSuccess;
  fake::state().devices = 0;
  EXPECT_EQ(problem_of(use_driver(fresh.table)), "there is no CUDA device");
  fake::state().init_result = 999;
  EXPECT_NE(problem_of(use_driver(fresh.table)).find("cuInit gave CUDA_ERROR_FAKE (as told)"), std::string::npos);
}

TEST(Driver, DeviceThatDoesNotAnswer) {
  OpenedDriver fresh = fake::open();
  fake::state().failing["device_attribute"] = 999;
  System system(fresh);
  EXPECT_FALSE(system.available());
  EXPECT_NE(system.problem().find("cuDeviceGetAttribute failed"), std::string::npos) << system.problem();
}

TEST(Device, Facts) {
  System system(fake::open());
  ASSERT_EQ(system.device_count(), 2);
  const DeviceFacts& facts = system.device(1).facts();
  EXPECT_EQ(facts.name, "Other Fake GPU");
  EXPECT_EQ(facts.arch, 90);
  EXPECT_EQ(facts.sm_count, 4);
  EXPECT_EQ(facts.uuid, "GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_EQ(facts.pci_bus_id, "00000000:0B:00.0");
  EXPECT_EQ(system.device(1).name(), "cuda:1");
  EXPECT_THROW(system.device(2), runtime::ArgumentError);
  EXPECT_THROW(system.device(-1), runtime::ArgumentError);
}

TEST(Device, ContextIsMadeOnFirstUseAndRestored) {
  System system(fake::open());
  EXPECT_FALSE(system.device(0).has_context());
  EXPECT_EQ(fake::state().count("primary_retain"), 0);
  {
    ContextScope scope(system.device(0));
  }
  {
    ContextScope scope(system.device(1));
    ContextHandle now = nullptr;
    system.api().context_get(&now);
    EXPECT_EQ(now, system.device(1).context());
  }
  ContextHandle now = nullptr;
  system.api().context_get(&now);
  EXPECT_EQ(now, system.device(0).context());
  EXPECT_EQ(fake::state().count("primary_retain"), 2);
}

TEST(Device, ForkedChildrenAreRefused) {
  System system(fake::open());
  {
    ContextScope scope(system.device(0));
  }
  EXPECT_FALSE(system.forked());
  const pid_t child = fork();
  if (child == 0) {
    int refused = 1;
    try {
      ContextScope scope(system.device(0));
    } catch (const Unavailable&) {
      refused = 0;
    }
    _exit(refused);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Device, FailedCallsAreNamed) {
  System system(fake::open());
  fake::state().failing["primary_retain"] = 999;
  try {
    ContextScope scope(system.device(0));
    FAIL();
  } catch (const DriverError& error) {
    EXPECT_EQ(error.call(), "cuDevicePrimaryCtxRetain");
    EXPECT_EQ(error.code(), 999);
    EXPECT_STREQ(error.what(), "cuDevicePrimaryCtxRetain failed: CUDA_ERROR_FAKE (as told)");
  }
  fake::state().failing.clear();
  EXPECT_NO_THROW(ContextScope(system.device(0)));
}

TEST(Device, PeersAreSwitched) {
  System system(fake::open());
  Device &a = system.device(0), &b = system.device(1);
  EXPECT_TRUE(a.can_access(b));
  EXPECT_FALSE(a.peer_enabled(b));
  a.enable_peer(b, true);
  EXPECT_TRUE(a.peer_enabled(b));
  fake::state().failing["peer_enable"] = kErrorPeerAccessAlreadyEnabled;
  EXPECT_NO_THROW(a.enable_peer(b, true));
  a.enable_peer(b, false);
  EXPECT_FALSE(a.peer_enabled(b));
  a.enable_pool_access(b, true);
  EXPECT_TRUE(a.pool_access_enabled(b));
  EXPECT_FALSE(b.pool_access_enabled(a));
}

TEST(Modules, CompileErrorsCarryTheLog) {
  System system(fake::open());
  Device& device = system.device(0);
  EXPECT_EQ(compile_ptx(device, "text", "k"), "machine code of text");
  fake::state().jit_accepts = false;
  try {
    compile_ptx(device, "text", "k");
    FAIL();
  } catch (const DriverError& error) {
    EXPECT_EQ(error.call(), "cuLinkAddData");
    EXPECT_NE(std::string(error.what()).find("'k' for Fake GPU (sm_90):\nptxas"), std::string::npos) << error.what();
  }
}

TEST(Modules, PrivateMemoryThatDoesNotFitIsTold) {
  System system(fake::open());
  Device& device = system.device(0);
  const ContextScope scope(device);
  const KernelCode code(device, std::span("image", 5), "k");
  fake::state().failing["launch"] = kErrorOutOfMemory;
  char arguments[8] = {};
  try {
    code.launch(device.stream()->handle(), 1, 32, arguments, sizeof arguments);
    FAIL();
  } catch (const runtime::OutOfMemory& error) {
    EXPECT_NE(std::string(error.what()).find("bytes of private memory for each thread: "), std::string::npos);
  }
  EXPECT_EQ(fake::state().count("launch"), 2) << "again, when the pool has given back what it held";
  EXPECT_EQ(fake::state().count("pool_trim"), 1);
  fake::state().failing.clear();
  EXPECT_NO_THROW(code.launch(device.stream()->handle(), 1, 32, arguments, sizeof arguments));
}

TEST(Modules, LoadedCodeIsUnloaded) {
  System system(fake::open());
  {
    KernelCode code(system.device(0), std::span("image", 5), "k");
    EXPECT_EQ(code.max_threads(), 512);
    EXPECT_EQ(fake::state().modules.size(), 1u);
    fake::state().failing["module_function"] = 500;
    EXPECT_THROW(KernelCode(system.device(0), std::span("image", 5), "k"), DriverError);
    EXPECT_EQ(fake::state().modules.size(), 1u);
  }
  EXPECT_EQ(fake::state().modules.size(), 0u);
}

TEST(Launch, BlocksThatFillTheRegisters) {
  for (int registers : {0, 16, 32, 40, 48, 64, 80, 128, 255, 512}) EXPECT_EQ(usual_block_size(registers, 1024), 256);
  for (int registers : {56, 65, 72, 88, 96, 168}) EXPECT_EQ(usual_block_size(registers, 1024), 128) << registers;
  EXPECT_EQ(usual_block_size(40, 64), 64);
  // Threads with a stack.
  EXPECT_EQ(usual_block_size(40, 1024, 248), 256);
  EXPECT_EQ(usual_block_size(40, 1024, 256), 128);
  EXPECT_EQ(usual_block_size(40, 64, 4096), 64);
}

TEST(Modules, Grids) {
  EXPECT_EQ(blocks_for(1, 256, 0), 1u);
  EXPECT_EQ(blocks_for(257, 256, 0), 2u);
  EXPECT_EQ(blocks_for(1000, 256, 3), 3u);
  EXPECT_EQ(blocks_for(INT64_MAX, 1, 0), unsigned(INT32_MAX));
}

}  // namespace
}  // namespace weft::cuda
