// Launches: every thread once for all kinds of grids, limits, serial order, failed checks, stop, floating-point control.
#include "runtime/launch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "runtime/fp_control.h"
#include "runtime/scheduler.h"

#if defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define WEFT_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define WEFT_THREAD_SANITIZER 0
#endif

namespace weft::runtime {
namespace {

struct Limit {
  explicit Limit(int n) { set_thread_limit(n); }
  ~Limit() { set_thread_limit(0); }
};

// Kernels as a compiler would make them: C functions over a chunk.
void count_kernel(std::int64_t begin, std::int64_t end, const void* params, LaunchContext*) {
  auto* hits = *static_cast<std::uint8_t* const*>(params);
  for (std::int64_t i = begin; i < end; ++i) ++hits[i];
}
void empty_kernel(std::int64_t, std::int64_t, const void*, LaunchContext*) {}
void fail_kernel(std::int64_t begin, std::int64_t end, const void* params, LaunchContext* context) {
  const std::int64_t bad = *static_cast<const std::int64_t*>(params);
  for (std::int64_t i = begin; i < end; ++i)
    if (i >= bad) weft_rt_fail(context, 1, i, 12, 10);
}

KernelCode code_of(ChunkFn entry, float ns = 10, int lanes = 4) {
  KernelCode code;
  code.entry = entry;
  code.name = "k";
  code.lanes = lanes;
  code.ns_per_thread = ns;
  return code;
}

template <class F>
std::string launch_error(F f) {
  try {
    f();
  } catch (const LaunchError& e) {
    return e.what();
  }
  return "no error";
}

void call_kernel(std::int64_t begin, std::int64_t end, const void* params, LaunchContext*) {
  auto* calls = *static_cast<std::atomic<int>* const*>(params);
  calls->fetch_add(begin < end ? 1 : 0);
}
void sleep_kernel(std::int64_t, std::int64_t, const void*, LaunchContext*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Launch, whatWasShortRunsInOnePieceUntilItIsLongAgain) {
  const Limit scope(2);
  std::atomic<float> seen{0};
  std::atomic<int> calls{0};
  std::atomic<int>* params = &calls;
  KernelCode code = code_of(&call_kernel, 1e4f, 1);  // by its estimate 10 ms
  code.seen_ns = &seen;
  ASSERT_GT(plan_launch(code, 1000, 2, {}).chunks, 1);
  launch(code, &params, {1000});
  EXPECT_GT(calls.load(), 1);
  EXPECT_GT(seen.load(), 0.0f);
  for (int k = 0; k < 64 && seen.load() * 1000 > 10e3f; ++k) launch(code, &params, {1000});
  ASSERT_LT(seen.load() * 1000, 20e3f);
  calls = 0;
  launch(code, &params, {1000});
  EXPECT_EQ(calls.load(), 1);
  // Steady launches, and those whose chunks are given, go by the estimate.
  LaunchOptions steady;
  steady.steady = true;
  calls = 0;
  launch(code, &params, {1000}, steady);
  EXPECT_GT(calls.load(), 1);
  // What looks short and takes long is cut as well.
  std::atomic<float> long_ones{1e4f};
  KernelCode other = code_of(&call_kernel, 10, 1);
  other.seen_ns = &long_ones;
  ASSERT_EQ(plan_launch(other, 1000, 2, {}).chunks, 1);
  calls = 0;
  launch(other, &params, {1000});
  EXPECT_GT(calls.load(), 1);
  calls = 0;
  launch(other, &params, {1000}, steady);
  EXPECT_EQ(calls.load(), 1);
  // One long launch is enough to go by the cores again.
  code.entry = &sleep_kernel;
  launch(code, &params, {1000});
  code.entry = &call_kernel;
  calls = 0;
  launch(code, &params, {1000});
  EXPECT_GT(calls.load(), 1);
}

TEST(Launch, everyThreadRunsOnce) {
  const std::vector<std::vector<std::int64_t>> grids = {
      {1}, {2}, {63}, {64}, {65}, {1000003}, {7, 11}, {1, 1, 1, 1}, {3, 5, 7, 11}, {1000, 1, 333}, {2, 99991}};
  for (int limit : {0, 1, 2, 5}) {
    const Limit scope(limit);
    for (const auto& dims : grids)
      for (float ns : {0.1f, 10.0f, 1000.0f, 1e6f})
        for (int lanes : {1, 8}) {
          std::int64_t total = 1;
          for (auto d : dims) total *= d;
          if (double(total) * ns > 1e12) continue;
          std::vector<std::uint8_t> hits(static_cast<std::size_t>(total), 0);
          std::uint8_t* data = hits.data();
          EXPECT_TRUE(launch(code_of(count_kernel, ns, lanes), &data, dims));
          ASSERT_EQ(std::count(hits.begin(), hits.end(), 1), total);
        }
  }
}

/// Lets a few chunks in at a time.
struct FewAtATime final : ChunkGate {
  explicit FewAtATime(int chunks) : most(chunks) {}
  bool is_open() const noexcept override { return begun.fetch_add(1) < most; }
  void make_room() override {
    ++rounds;
    begun = 0;
  }
  const int most;
  mutable std::atomic<int> begun{0};
  int rounds = 0;
};

TEST(Launch, chunksThatTheGateHoldsBackRunLater) {
  for (const int limit : {1, 2, 5}) {
    const Limit scope(limit);
    for (const int few : {1, 7, 1000}) {
      std::vector<std::uint8_t> hits(100000, 0);
      std::uint8_t* data = hits.data();
      FewAtATime gate(few);
      LaunchOptions options;
      options.chunk_threads = 1000;
      options.gate = &gate;
      EXPECT_TRUE(launch(code_of(count_kernel), &data, {100000}, options));
      EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), 100000);
      // One thread alone is never held back: nobody else would make room.
      EXPECT_EQ(gate.rounds, limit == 1 ? 0 : (100 + few - 1) / few - 1);
    }
  }
}

TEST(Launch, aStoppedLaunchLeavesWhatTheGateHoldsBack) {
  const Limit scope(2);
  FewAtATime gate(1);
  LaunchOptions options;
  options.chunk_threads = 10;
  options.gate = &gate;
  const std::int64_t bad = 0;
  const CheckSite sites[2];
  KernelCode code = code_of(fail_kernel);
  code.check_sites = sites;
  EXPECT_THROW(launch(code, &bad, {100000}, options), KernelError);
  EXPECT_LE(gate.rounds, 2);
}

TEST(Launch, zeroExtentsDoNothing) {
  const KernelCode code = code_of([](std::int64_t, std::int64_t, const void*, LaunchContext*) { FAIL(); });
  EXPECT_TRUE(launch(code, nullptr, {0}));
  EXPECT_TRUE(launch(code, nullptr, {1000, 0, 3}));
  KernelCode unread = code;
  unread.tid_dims_read = 0;
  EXPECT_TRUE(launch(unread, nullptr, {INT64_MAX, INT64_MAX, 0}));
}

TEST(Launch, badSizesAreErrorsWithACure) {
  KernelCode code = code_of(empty_kernel);
  const auto with = [&](std::vector<std::int64_t> dims) { return launch_error([&] { launch(code, nullptr, dims); }); };
  EXPECT_EQ(with({}), "kernel 'k': can't launch over (): a launch has 1 to 4 dimensions");
  EXPECT_NE(with({1, 1, 1, 1, 1}).find("1 to 4 dimensions"), std::string::npos);
  EXPECT_EQ(with({4, -1}),
            "kernel 'k': can't launch over (4, -1): dimension 1 is negative; extents must be non-negative");
  EXPECT_EQ(with({2147483648}),
            "kernel 'k': can't launch over (2147483648,): the kernel reads tid() in dimension 0, an int32 that ends at "
            "2147483647; split the launch into a second dimension");
  code.tid_dims_read = 0b10;
  EXPECT_NE(with({3, 2147483648}).find("dimension 1"), std::string::npos);
  EXPECT_NE(with({INT64_MAX, 2}).find("more than 2^63-1 threads"), std::string::npos);
  EXPECT_EQ(launch_size(code, std::vector<std::int64_t>{std::int64_t(1) << 40, 3}), 3 * (std::int64_t(1) << 40));
}

TEST(Launch, planHasSensibleChunks) {
  const LaunchOptions options;
  for (int threads : {1, 2, 16, 128})
    for (float ns : {0.0f, 0.3f, 5.0f, 1e3f, 1e7f})
      for (std::int64_t total : {std::int64_t(0), std::int64_t(1), std::int64_t(1000), std::int64_t(1) << 24,
                                 std::int64_t(1) << 40, std::int64_t(INT64_MAX)}) {
        const KernelCode code = code_of(empty_kernel, ns, 8);
        const LaunchPlan plan = plan_launch(code, total, threads, options);
        ASSERT_EQ(plan.total, total);
        if (total == 0) continue;
        ASSERT_GE(plan.chunks, 1);
        ASSERT_LT((plan.chunks - 1) * plan.chunk_threads, total);
        ASSERT_GE((static_cast<unsigned __int128>(plan.chunks) * std::uint64_t(plan.chunk_threads)),
                  std::uint64_t(total));
        if (plan.chunks > 1) {
          ASSERT_EQ(plan.chunk_threads % 16, 0);
          ASSERT_GE(double(plan.chunk_threads) * std::max(double(ns), 1e-3), 20e3);
        }
      }
  // The saxpy of the benchmark: enough chunks for two threads, none of them tiny.
  const LaunchPlan saxpy = plan_launch(code_of(empty_kernel, 0.5f, 8), std::int64_t(1) << 24, 2, options);
  EXPECT_GE(saxpy.chunks, 8);
  EXPECT_LE(saxpy.chunks, 64);
  // Few heavy threads, as many as a simulation has worlds: there is a chunk for everybody, however wide the vectors are.
  for (int lanes : {1, 4, 16, 32}) {
    const LaunchPlan worlds = plan_launch(code_of(empty_kernel, 2e3f, lanes), 2048, 16, options);
    EXPECT_GE(worlds.chunks, 16) << lanes;
    EXPECT_EQ(worlds.chunks % 16, 0) << lanes;
    EXPECT_EQ(worlds.chunk_threads % lanes, 0) << lanes;
  }
  // Where there are but a few chunks for each, each has as many: 27 of them would keep sixteen waiting for eleven.
  EXPECT_EQ(plan_launch(code_of(empty_kernel, 100, 1), 5400, 16, options).chunks, 16);
}

TEST(Launch, contextTellsDimsAndMode) {
  static std::int64_t dims[kMaxRank];
  static std::int32_t rank, serial;
  const KernelCode code = code_of([](std::int64_t, std::int64_t, const void*, LaunchContext* c) {
    std::memcpy(dims, c->dims, sizeof dims);
    rank = c->rank;
    serial = c->serial;
  });
  launch(code, nullptr, {2, 3}, {.serial = true});
  EXPECT_EQ(dims[0], 2);
  EXPECT_EQ(dims[1], 3);
  EXPECT_EQ(dims[2], 1);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(serial, 1);
}

TEST(Launch, serialRunsInIncreasingOrderHere) {
  static std::vector<std::int64_t> begins;
  begins.clear();
  const KernelCode code =
      code_of([](std::int64_t begin, std::int64_t, const void*, LaunchContext*) { begins.push_back(begin); });
  launch(code, nullptr, {1000}, {.serial = true, .chunk_threads = 7});
  ASSERT_EQ(begins.size(), 143u);
  EXPECT_TRUE(std::is_sorted(begins.begin(), begins.end()));
}

TEST(Launch, failedChecksBecomeKernelErrors) {
  const CheckSite sites[] = {{CheckSiteKind::assertion, "x > 0", "a.py", 3, 5, "k"},
                             {CheckSiteKind::bounds, "values", "a.py", 7, 12, "helper"}};
  KernelCode code = code_of(fail_kernel, 100);
  code.check_sites = sites;
  for (int limit : {1, 4}) {
    const Limit scope(limit);
    std::int64_t bad = 41;
    try {
      launch(code, &bad, {10, 20});
      FAIL();
    } catch (const KernelError& e) {
      EXPECT_STREQ(e.what(),
                   "kernel 'k', a.py:7:12, in function 'helper', thread (2, 1): index 12 is out of bounds for 'values' "
                   "with extent 10");
      EXPECT_EQ(e.details().kernel, "k");
      EXPECT_EQ(e.details().line, 7);
      EXPECT_EQ(e.details().thread[0], 2);
      EXPECT_EQ(e.details().thread[1], 1);
      EXPECT_EQ(e.details().index, 12);
      EXPECT_EQ(e.details().extent, 10);
    }
    bad = 0;
    EXPECT_THROW(launch(code, &bad, {100000}), KernelError);  // many at once: one wins
    bad = 1000;
    EXPECT_TRUE(launch(code, &bad, {1000}));
  }
  code.check_sites = {};
  std::int64_t bad = 0;
  EXPECT_THROW(launch(code, &bad, {1}), KernelError);
}

TEST(Launch, messagesForEveryKindOfCheck) {
  const auto text = [](CheckSite site, std::int64_t index = 0, std::int64_t extent = 0) -> std::string {
    ErrorRecord record;
    record.thread[0] = 5;
    record.state = 2;
    record.index = index;
    record.extent = extent;
    try {
      throw_if_failed(record, "k", 1, std::span(&site, 1));
    } catch (const KernelError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(text({CheckSiteKind::assertion, "n < 4", "a.py", 3, 5, "k"}),
            "kernel 'k', a.py:3:5, thread (5,): assertion failed: n < 4");
  EXPECT_EQ(text({CheckSiteKind::divide_by_zero, "a // b", "", 3, 0, ""}),
            "kernel 'k', line 3, thread (5,): integer division by zero in 'a // b'");
  EXPECT_EQ(text({CheckSiteKind::not_finite, "", "", 0, 0, ""}), "kernel 'k', thread (5,): a value is not finite");
  EXPECT_EQ(text({CheckSiteKind::not_finite, "x", "", 0, 0, ""}), "kernel 'k', thread (5,): 'x' is not finite");
  EXPECT_EQ(text({CheckSiteKind::not_finite, "x[{}, {}]", "", 0, 0, ""}, 3, -4),
            "kernel 'k', thread (5,): 'x[3, -4]' is not finite");
  EXPECT_EQ(text({CheckSiteKind::not_finite, "x[{}, {}, {}]", "", 0, 0, ""}, std::int64_t(7) << 32 | 0xffffffff, 9),
            "kernel 'k', thread (5,): 'x[-1, 7, 9]' is not finite");
  ErrorRecord halfway;
  halfway.state = 1;
  EXPECT_NO_THROW(throw_if_failed(halfway, "k", 1, {}));
}

TEST(Launch, stopSkipsLaterChunks) {
  static std::atomic<std::int64_t> ran{0};
  const KernelCode code = code_of([](std::int64_t begin, std::int64_t end, const void*, LaunchContext* c) {
    ran += end - begin;
    c->stop.store(1);
  });
  for (int limit : {1, 4}) {
    const Limit scope(limit);
    ran = 0;
    LaunchContext context;
    EXPECT_FALSE(launch(code, nullptr, {100000}, {.chunk_threads = 10, .context = &context}));
    EXPECT_LT(ran.load(), 100000);
    ran = 0;
    EXPECT_FALSE(launch(code, nullptr, {100000}, {.context = &context}));  // still set: nothing runs
    EXPECT_EQ(ran.load(), 0);
  }
}

TEST(Launch, stopFromAnotherThread) {
  LaunchContext context;
  const KernelCode code = code_of([](std::int64_t, std::int64_t, const void*, LaunchContext* c) {
    while (!c->stop.load()) std::this_thread::yield();  // as a debug loop would
  });
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    context.stop.store(1);
  });
  EXPECT_FALSE(launch(code, nullptr, {1000}, {.chunk_threads = 10, .context = &context}));
  other.join();
}

TEST(Launch, floatingPointControlIsDefaultInsideAndRestoredOutside) {
  static std::atomic<int> wrong{0};
  wrong = 0;
  const KernelCode code = code_of([](std::int64_t, std::int64_t, const void*, LaunchContext*) {
    volatile float tiny = std::numeric_limits<float>::min();
    if ((read_fp_control() & kFpControlMask) != kFpControlDefault || tiny / 2 == 0) ++wrong;
  });
#if defined(__x86_64__)
  const std::uint64_t odd = 0x1f80 | 0x8040 | 0x6000;  // flush to zero, denormals are zero, round toward zero
#else
  const std::uint64_t odd = (std::uint64_t(1) << 24) | (std::uint64_t(3) << 22);
#endif
  const std::uint64_t before = read_fp_control();
  write_fp_control(odd);
  launch(code, nullptr, {10});
  launch(code, nullptr, {100000}, {.chunk_threads = 100});
  const std::uint64_t after = read_fp_control();
  write_fp_control(before);
  EXPECT_EQ(after & kFpControlMask, odd & kFpControlMask);
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Launch, printsInThreadOrderWhenSerialAndByChunkOtherwise) {
  static const std::string format = compile_print_format("", std::vector{types::i64()});
  // Two statements, four lanes at a time.
  const KernelCode code = code_of([](std::int64_t begin, std::int64_t end, const void*, LaunchContext* c) {
    for (std::int64_t i = begin; i < end; i += 4)
      for (int statement = 0; statement < 2; ++statement)
        for (std::int64_t lane = i; lane < std::min(end, i + 4); ++lane) {
          const std::int64_t value = lane * 10 + statement;
          weft_rt_print(c, format.c_str(), lane, &value);
        }
  });
  std::string out;
  const PrintSink sink = [&](std::string_view text) { out += text; };
  launch(code, nullptr, {3, 2}, {.serial = true, .print_sink = &sink});
  EXPECT_EQ(out, "0\n1\n10\n11\n20\n21\n30\n31\n40\n41\n50\n51\n");
  const Limit scope(4);
  for (int round = 0; round < 10; ++round) {
    out.clear();
    launch(code, nullptr, {8}, {.chunk_threads = 4, .print_sink = &sink});
    EXPECT_EQ(out, "0\n10\n20\n30\n1\n11\n21\n31\n40\n50\n60\n70\n41\n51\n61\n71\n");
  }
}

TEST(Launch, fromManyThreadsAtOnce) {
  const Limit scope(2);
  std::vector<std::thread> threads;
  std::atomic<int> bad{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 30; ++round) {
        std::vector<std::uint8_t> hits(20011, 0);
        std::uint8_t* data = hits.data();
        launch(code_of(count_kernel), &data, {20011}, {.chunk_threads = 64});
        if (std::count(hits.begin(), hits.end(), 1) != 20011) ++bad;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(bad.load(), 0);
}

TEST(Launch, inAForkedChildAfterLaunchesInTheParent) {
#if WEFT_THREAD_SANITIZER
  GTEST_SKIP() << "the thread sanitizer does not follow threads started after a fork";
#endif
  const Limit scope(2);
  const auto good = [] {
    std::vector<std::uint8_t> hits(100003, 0);
    std::uint8_t* data = hits.data();
    launch(code_of(count_kernel), &data, {100003}, {.chunk_threads = 100});
    return std::count(hits.begin(), hits.end(), 1) == 100003;
  };
  ASSERT_TRUE(good());
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    bool all = true;
    for (int i = 0; i < 20; ++i) all &= good();
    _exit(all ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(good());
}

}  // namespace
}  // namespace weft::runtime
