// The host is asked between chunks whether to stop: on the calling thread only, at intervals, and never by short launches.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/launch.h"
#include "runtime/scheduler.h"

namespace weft::runtime {
namespace {

std::atomic<int> chunks_run{0};

void slow_kernel(std::int64_t, std::int64_t, const void*, LaunchContext*) {
  ++chunks_run;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

struct Host {
  int asked = 0;
  int stop_at = 0;  // 0: never
  bool elsewhere = false;
  std::thread::id caller = std::this_thread::get_id();

  static bool interrupted(void* state) noexcept {
    auto& host = *static_cast<Host*>(state);
    host.elsewhere |= std::this_thread::get_id() != host.caller;
    return ++host.asked == host.stop_at;
  }
};

bool run(Host& host, std::int64_t threads, bool serial) {
  chunks_run = 0;
  KernelCode code;
  code.entry = slow_kernel;
  code.name = "slow";
  LaunchOptions options;
  options.serial = serial;
  options.chunk_threads = 1;
  options.interrupted = &Host::interrupted;
  options.interrupted_state = &host;
  return launch(code, nullptr, {threads}, options);
}

TEST(Interrupt, EndsALaunchBetweenChunks) {
  for (bool serial : {true, false}) {
    Host host;
    host.stop_at = 1;
    EXPECT_FALSE(run(host, 100000, serial));
    EXPECT_EQ(host.asked, 1);
    EXPECT_LT(chunks_run, 100000);
    EXPECT_FALSE(host.elsewhere);
  }
}

TEST(Interrupt, LaunchesGoOnWhenTheHostDoesNotMind) {
  Host host;
  EXPECT_TRUE(run(host, 40, true));
  EXPECT_EQ(chunks_run, 40);
  EXPECT_GE(host.asked, 2);   // 200 ms at least
  EXPECT_LE(host.asked, 40);  // not after every chunk, unless the machine is that slow
}

TEST(Interrupt, ShortLaunchesDoNotAsk) {
  Host host;
  EXPECT_TRUE(run(host, 1, true));
  EXPECT_EQ(host.asked, 0);
}

}  // namespace
}  // namespace weft::runtime
