// The host is asked between pieces of chunks whether to stop: on the calling thread only, at intervals, and never by
// short launches.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

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

// Far slower than its estimate says, as kernels with long loops are: chunks of many threads must not run to their end.
void misjudged_kernel(std::int64_t begin, std::int64_t end, const void* hits, LaunchContext*) {
  chunks_run += int(end - begin);
  if (const auto* seen = static_cast<std::atomic<int>* const*>(hits))
    for (std::int64_t i = begin; i < end; ++i) ++(*seen)[i];
  std::this_thread::sleep_for(std::chrono::microseconds(10 * (end - begin)));
}

TEST(Interrupt, EndsALaunchWhoseChunksTakeLong) {
  for (bool serial : {true, false}) {
    Host host;
    host.stop_at = 1;
    chunks_run = 0;
    KernelCode code;
    code.entry = misjudged_kernel;
    code.name = "misjudged";
    code.ns_per_thread = 10;
    LaunchOptions options{.serial = serial};
    options.interrupted = &Host::interrupted;
    options.interrupted_state = &host;
    EXPECT_FALSE(launch(code, nullptr, {10'000'000}, options));  // 100 s to its end
    EXPECT_LT(chunks_run, 1'000'000);
    EXPECT_FALSE(host.elsewhere);
  }
}

TEST(Interrupt, PiecesCoverEveryThreadOnce) {
  for (bool serial : {true, false}) {
    std::vector<std::atomic<int>> hits(30'011);
    std::atomic<int>* data = hits.data();
    Host host;
    KernelCode code;
    code.entry = misjudged_kernel;
    code.name = "misjudged";
    code.lanes = 8;
    code.ns_per_thread = 10;
    LaunchOptions options{.serial = serial};
    options.interrupted = &Host::interrupted;
    options.interrupted_state = &host;
    EXPECT_TRUE(launch(code, &data, {std::int64_t(hits.size())}, options));
    for (const std::atomic<int>& n : hits) ASSERT_EQ(n, 1);
  }
}

TEST(Interrupt, ShortLaunchesDoNotAsk) {
  Host host;
  EXPECT_TRUE(run(host, 1, true));
  EXPECT_EQ(host.asked, 0);
}

}  // namespace
}  // namespace weft::runtime
