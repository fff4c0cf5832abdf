// The host is asked whether to stop: on the calling thread only, at intervals, between pieces of chunks, inside of
// kernels and while that thread waits; never by short launches.
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

// Loops of generated code ask like this.
void endless_kernel(std::int64_t, std::int64_t, const void*, LaunchContext* context) {
  ++chunks_run;
  while (weft_rt_turns(context) > 0) {
  }
}

TEST(Interrupt, IsSeenInsideOfKernels) {
  for (std::int64_t threads : {1, 1000})
    for (bool serial : {true, false}) {
      Host host;
      host.stop_at = 2;
      chunks_run = 0;
      KernelCode code;
      code.entry = endless_kernel;
      code.name = "endless";
      LaunchOptions options{.serial = serial};
      options.chunk_threads = 1;
      options.interrupted = &Host::interrupted;
      options.interrupted_state = &host;
      EXPECT_FALSE(launch(code, nullptr, {threads}, options));
      EXPECT_EQ(host.asked, 2);
      EXPECT_FALSE(host.elsewhere);
      EXPECT_LE(chunks_run, thread_count());
    }
}

TEST(Interrupt, IsSeenFromOutside) {
  KernelCode code;
  code.entry = endless_kernel;
  code.name = "endless";
  LaunchContext context;
  LaunchOptions options;
  options.context = &context;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    context.stop = 1;
  });
  EXPECT_FALSE(launch(code, nullptr, {1}, options));
  other.join();
}

// The calling thread is done at once; the others never.
void uneven_kernel(std::int64_t, std::int64_t, const void* caller, LaunchContext* context) {
  if (std::this_thread::get_id() != *static_cast<const std::thread::id*>(caller)) {
    ++chunks_run;
    while (weft_rt_turns(context) > 0) {
    }
  } else {
    while (chunks_run == 0) std::this_thread::yield();
  }
}

TEST(Interrupt, IsAskedForWhileTheCallerWaits) {
  const std::thread::id caller = std::this_thread::get_id();
  set_thread_limit(2);
  Host host;
  host.stop_at = 3;
  chunks_run = 0;
  KernelCode code;
  code.entry = uneven_kernel;
  code.name = "uneven";
  LaunchOptions options;
  options.chunk_threads = 1;
  options.interrupted = &Host::interrupted;
  options.interrupted_state = &host;
  EXPECT_FALSE(launch(code, &caller, {3}, options));
  EXPECT_EQ(host.asked, 3);
  EXPECT_FALSE(host.elsewhere);
  set_thread_limit(0);
}

// Notes how many threads each call runs, in order.
std::vector<std::int64_t> sizes;
void noting_kernel(std::int64_t begin, std::int64_t end, const void*, LaunchContext*) { sizes.push_back(end - begin); }

TEST(Interrupt, ForeignCodeBeginsWithOneThread) {
  for (bool opaque : {true, false}) {
    sizes.clear();
    Host host;
    KernelCode code;
    code.entry = noting_kernel;
    code.name = "noting";
    code.opaque = opaque;
    code.ns_per_thread = 100;
    LaunchOptions options{.serial = true};
    options.interrupted = &Host::interrupted;
    options.interrupted_state = &host;
    EXPECT_TRUE(launch(code, nullptr, {100'000}, options));
    std::int64_t sum = 0;
    for (std::int64_t n : sizes) sum += n;
    EXPECT_EQ(sum, 100'000);
    EXPECT_EQ(sizes[0] == 1, opaque);
    EXPECT_EQ(sizes[1] == 2, opaque);
    // Short ones are not cut, unless nobody knows that they are.
    sizes.clear();
    EXPECT_TRUE(launch(code, nullptr, {100}, options));
    EXPECT_EQ(sizes.size() == 1, !opaque);
  }
}

}  // namespace
}  // namespace weft::runtime
