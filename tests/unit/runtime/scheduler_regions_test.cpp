// Calls from inside of other libraries' loops: regions of OpenMP (GNU's and LLVM's library, by their own entry, without a compiler's
// help), loops and arenas of oneTBB. Nothing works on more threads than the cores that are left, and results are right.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/scheduler.h"
#include "runtime/scheduler_forms.h"

#ifdef WEFT_SCHEDULER_TBB
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define WEFT_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define WEFT_THREAD_SANITIZER 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#define WEFT_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define WEFT_ADDRESS_SANITIZER 0
#endif

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

struct Limit {
  explicit Limit(int n) { set_thread_limit(n); }
  ~Limit() { set_thread_limit(0); }
};

/// How many threads are at work at once. One that works within its own work is one.
class Crew {
 public:
  void work(const std::function<void()>& what) {
    thread_local int depth = 0;
    if (depth++ == 0) {
      const int here = ++now_;
      for (int most = most_; most < here && !most_.compare_exchange_weak(most, here);) {
      }
    }
    what();
    if (--depth == 0) --now_;
  }
  int most() const { return most_; }

 private:
  std::atomic<int> now_{0}, most_{0};
};

void spend(std::chrono::microseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;)
    std::this_thread::yield();
}

/// One call of 12 chunks; false if some chunk did not run once.
bool call(Crew& crew, std::atomic<int>* elsewhere = nullptr) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> hits[12] = {};
  parallel_for(12, [&](std::int64_t i) {
    crew.work([&] {
      ++hits[i];
      if (elsewhere) *elsewhere += std::this_thread::get_id() != caller;
      spend(10us);
    });
  });
  for (const auto& one : hits)
    if (one != 1) return false;
  return true;
}

#if !WEFT_THREAD_SANITIZER  // which knows nothing of OpenMP's barriers
using Parallel = void (*)(void (*)(void*), void*, unsigned threads, unsigned flags);

/// What begins a region of a library; null where the machine does not have it.
Parallel regions_of(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<Parallel>(dlsym(library, "GOMP_parallel")) : nullptr;
}

/// Runs body(0 … threads − 1) on the threads of a region; numbers are given out as threads come.
void in_region(Parallel parallel, unsigned threads, const std::function<void(int)>& body) {
  struct Region {
    const std::function<void(int)>& body;
    std::atomic<int> next{0};
  } region{body};
  parallel(
      [](void* raw) {
        auto& r = *static_cast<Region*>(raw);
        r.body(r.next++);
      },
      &region, threads, 0);
}

TEST(SchedulerRegions, allThreadsOfAnOpenMpRegionCallAtOnce) {
  const Parallel parallel = regions_of("libgomp.so.1");
  if (!parallel) GTEST_SKIP() << "no libgomp.so.1";
  const Limit cores(4);
  for (int threads : {2, 3, 4, 6}) {
    Crew crew;
    std::atomic<int> right{0}, elsewhere{0};
    in_region(parallel, unsigned(threads), [&](int) {
      for (int round = 0; round < 20; ++round) right += call(crew, &elsewhere);
    });
    EXPECT_EQ(right, threads * 20);
    EXPECT_LE(crew.most(), std::max(threads, 4)) << threads;
    if (threads >= 4) EXPECT_EQ(elsewhere, 0);  // every core has a thread of the region
  }
}

TEST(SchedulerRegions, oneThreadCallsWhileTheOthersOfAnOpenMpRegionCompute) {
  const Parallel parallel = regions_of("libgomp.so.1");
  if (!parallel) GTEST_SKIP() << "no libgomp.so.1";
  const Limit cores(4);
  for (int threads : {2, 3, 4, 5}) {
    Crew crew;
    std::atomic<int> right{0}, elsewhere{0};
    std::atomic<bool> done{false};
    in_region(parallel, unsigned(threads), [&](int number) {
      if (number > 0)
        return crew.work([&] {
          while (!done) spend(10us);
        });
      for (int round = 0; round < 40; ++round) right += call(crew, &elsewhere);
      done = true;
    });
    EXPECT_EQ(right, 40);
    EXPECT_LE(crew.most(), std::max(threads, 4)) << threads;
    if (threads >= 4) EXPECT_EQ(elsewhere, 0);
    if (threads == 2) EXPECT_GT(elsewhere, 0);  // two cores are left
  }
}

TEST(SchedulerRegions, regionsWithinRegionsCountByTheirThreads) {
  const Parallel parallel = regions_of("libgomp.so.1");
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!parallel || !library) GTEST_SKIP() << "no libgomp.so.1";
  const auto levels = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_max_active_levels"));
  ASSERT_NE(levels, nullptr);
  EXPECT_EQ(detail::threads_of_region(), 1);
  levels(2);
  in_region(parallel, 2, [&](int) {
    EXPECT_EQ(detail::threads_of_region(), 2);
    in_region(parallel, 3, [&](int) { EXPECT_EQ(detail::threads_of_region(), 6); });
  });
  levels(1);
  in_region(parallel, 2, [&](int) {
    in_region(parallel, 3, [&](int) { EXPECT_EQ(detail::threads_of_region(), 2); });  // which has one thread
  });
  EXPECT_EQ(detail::threads_of_region(), 1);
}

TEST(SchedulerRegions, furtherThreadsOfAnLlvmRegionLeaveCoresToEachOther) {
  if (WEFT_ADDRESS_SANITIZER) GTEST_SKIP() << "the search for leaks can't stop the threads that this library keeps";
  const Parallel parallel = regions_of("libomp.so.5");
  if (!parallel) GTEST_SKIP() << "no libomp.so.5";
  const Limit cores(4);
  std::atomic<int> seen{0}, right{0}, elsewhere{0};
  Crew crew;
  const std::thread::id first = std::this_thread::get_id();
  in_region(parallel, 4, [&](int) {
    if (std::this_thread::get_id() == first) return;  // the program's own, of which nothing is asked
    seen += detail::threads_of_region();
    right += call(crew, &elsewhere);
  });
  EXPECT_EQ(seen, 3 * 4);
  EXPECT_EQ(right, 3);
  EXPECT_EQ(elsewhere, 0);
}

TEST(SchedulerRegions, behindARegionCallsHaveAllCoresAgain) {
  if (const Parallel parallel = regions_of("libgomp.so.1")) in_region(parallel, 4, [](int) {});
  const Limit cores(2);
  std::atomic<int> arrived{0};
  parallel_for(2, [&](std::int64_t) {  // each waits for the other
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}
#endif

#ifdef WEFT_SCHEDULER_TBB
TEST(SchedulerRegions, loopsOfOneTbbAndCallsInsideShareItsThreads) {
  const int cores = tbb::info::default_concurrency();
  Crew crew;
  std::atomic<int> right{0};
  for (int round = 0; round < 5; ++round) {
    tbb::parallel_for(0, 40, [&](int) {  // all call
      crew.work([&] { right += call(crew); });
    });
    tbb::parallel_for(0, 40, [&](int i) {  // some do, the others compute
      crew.work([&] {
        if (i % 8 == 0)
          right += call(crew);
        else
          spend(50us);
      });
    });
  }
  EXPECT_EQ(right, 5 * 45);
  EXPECT_LE(crew.most(), cores);
}

TEST(SchedulerRegions, callsInAnArenaOfOneTbbStartNoThreadsOfTheirOwn) {
  const int cores = tbb::info::default_concurrency();
  Crew crew;
  std::atomic<int> right{0};
  tbb::task_arena arena(std::max(cores / 2, 1));
  arena.execute([&] {
    tbb::parallel_for(0, 40, [&](int i) {
      crew.work([&] {
        if (i % 2 == 0)
          right += call(crew);
        else
          spend(50us);
      });
    });
  });
  EXPECT_EQ(right, 20);
  EXPECT_LE(crew.most(), cores);
}
#endif

}  // namespace
}  // namespace weft::runtime
