// The scheduler: every chunk once, nested and from many threads, exceptions, limits, quotas, forks; both forms.
#include "runtime/scheduler.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/scheduler_forms.h"

#if defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define WEFT_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define WEFT_THREAD_SANITIZER 0
#endif

// In a forked child the parent's threads are gone, and what they held looks like a leak to the leak checker, which asks
// this function at exit whether it should look at all.
static int in_forked_child = 0;
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return in_forked_child; }

namespace weft::runtime {
namespace {

/// Sets the thread limit for one test.
struct Limit {
  explicit Limit(int n) { set_thread_limit(n); }
  ~Limit() { set_thread_limit(0); }
};

void count_all(std::int64_t count) {
  std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
  parallel_for(count, [&](std::int64_t i) { hits[std::size_t(i)].fetch_add(1); });
  for (auto& h : hits) ASSERT_EQ(h.load(), 1);
}

TEST(Scheduler, runsEveryChunkOnce) {
  for (int limit : {0, 1, 2, 3, 8}) {
    const Limit scope(limit);
    for (std::int64_t count : {0, 1, 2, 3, 7, 100, 10000}) count_all(count);
  }
}

TEST(Scheduler, serialRunsInOrderOnTheCallingThread) {
  const Limit scope(1);
  std::vector<std::int64_t> order;
  const auto caller = std::this_thread::get_id();
  parallel_for(100, [&](std::int64_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(i);
  });
  ASSERT_EQ(order.size(), 100u);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[std::size_t(i)], i);
}

TEST(Scheduler, partsAreBegunAtTheSameTime) {
  std::vector<std::int64_t> order;
  detail::ChunkQueue queue{
      10, [](void* s, std::int64_t i) noexcept { static_cast<std::vector<std::int64_t>*>(s)->push_back(i); }, &order,
      nullptr, 4};
  queue.drain();
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 2, 4, 6, 1, 3, 5, 7, 8, 9}));
}

TEST(Scheduler, chunksKnowTheirPart) {
  for (int limit : {1, 2, 3, 8}) {
    const Limit scope(limit);
    struct Seen {
      std::atomic<int> parts[96] = {};
    } seen;
    parallel_chunks(
        96, [](void* raw, std::int64_t i) noexcept { static_cast<Seen*>(raw)->parts[i] = current_part() + 1; }, &seen,
        0, nullptr, ChunkOrder::apart);
    for (int i = 0; i < 96; ++i) EXPECT_EQ(seen.parts[i] - 1, i * limit / 96) << limit;
    EXPECT_EQ(current_part(), 0);
  }
}

#if defined(WEFT_SCHEDULER_TBB) && !WEFT_THREAD_SANITIZER
TEST(Scheduler, slowCallsTryTheThreadsOfAnOpenMpThatIsLoaded) {
  void* library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library || thread_count() < 2) GTEST_SKIP() << "no OpenMP to try, or one processor";
  using namespace std::chrono_literals;
  // Earlier tests may have had slow calls while there was no OpenMP: it is looked for once a second.
  std::this_thread::sleep_for(1100ms);
  const auto tell = [](bool by_guest, std::chrono::nanoseconds wall) {
    detail::tell_call({by_guest, wall, 10us, 64, 2});
  };
  std::thread([&] {  // one that has no threads of OpenMP's gets new ones, and is not to have them again
    for (int k = 0; k < 3; ++k) tell(false, 10ms);
    ASSERT_TRUE(detail::openmp_is_wanted());
    detail::ChunkQueue queue{8, [](void*, std::int64_t) noexcept {}, nullptr};
    ASSERT_TRUE(detail::run_on_openmp(queue));
    EXPECT_FALSE(detail::openmp_is_wanted());
    tell(false, 10ms);
    EXPECT_FALSE(detail::openmp_is_wanted());
    EXPECT_FALSE(detail::run_on_openmp(queue));
  })
      .join();
  for (int k = 0; k < 3; ++k) tell(false, 1us);

  using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
  const auto parallel = reinterpret_cast<Parallel>(dlsym(library, "GOMP_parallel"));
  ASSERT_NE(parallel, nullptr);
  parallel([](void*) {}, nullptr, 0, 0);  // as a program that computes by OpenMP
  for (int k = 0; k < 3; ++k) {
    EXPECT_FALSE(detail::openmp_is_wanted());
    tell(false, 10ms);
  }
  ASSERT_TRUE(detail::openmp_is_wanted());
  std::vector<std::atomic<int>> hits(1000);
  detail::ChunkQueue queue{1000,
                           [](void* raw, std::int64_t i) noexcept {
                             ++(*static_cast<std::vector<std::atomic<int>>*>(raw))[std::size_t(i)];
                             count_all(3);  // calls within chunks
                           },
                           &hits};
  ASSERT_TRUE(detail::run_on_openmp(queue));
  for (const auto& h : hits) ASSERT_EQ(h.load(), 1);
  for (int k = 0; k < 6; ++k) tell(true, 400us);  // better than the team
  EXPECT_TRUE(detail::openmp_is_wanted());
  for (int k = 0; k < 300; ++k) tell(true, 400us);
  EXPECT_FALSE(detail::openmp_is_wanted());  // the team is tried again
  for (int k = 0; k < 3; ++k) tell(false, 10ms);
  EXPECT_TRUE(detail::openmp_is_wanted());
  for (int k = 0; k < 6; ++k) tell(true, 9ms);  // hardly better
  EXPECT_FALSE(detail::openmp_is_wanted());
  for (int k = 0; k < 3; ++k) tell(false, 10ms);
  EXPECT_FALSE(detail::openmp_is_wanted());  // and not again so soon
}
#endif

TEST(Scheduler, takenCoresAreLeftAlone) {
  const Limit scope(2);
  const TakenCore core;
  const auto caller = std::this_thread::get_id();
  parallel_for(100, [&](std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(Scheduler, callsThatFollowEachOtherRunEveryChunkOnce) {
  // Workers look out for the next call: it must find them whole, whatever the last one was.
  for (int limit : {2, 0}) {
    const Limit scope(limit);
    for (int round = 0; round < 4000; ++round) {
      const std::int64_t count = 1 + round % 37;
      std::atomic<std::int64_t> sum{0};
      struct State {
        std::atomic<std::int64_t>* sum;
        std::atomic<int> hits[37] = {};
      } state{&sum};
      parallel_chunks(
          count,
          [](void* raw, std::int64_t i) noexcept {
            auto& s = *static_cast<State*>(raw);
            s.hits[i].fetch_add(1, std::memory_order_relaxed);
            s.sum->fetch_add(i + 1, std::memory_order_relaxed);
          },
          &state, round % 5, nullptr, round % 2 ? ChunkOrder::apart : ChunkOrder::rising);
      ASSERT_EQ(sum.load(), count * (count + 1) / 2);
      for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(state.hits[i].load(), 1);
      if (round % 400 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // they have gone to sleep
    }
  }
}

TEST(Scheduler, othersTakeWhatALateThreadLeaves) {
  // The first chunk of one part waits for all other chunks: whoever is free does the rest of that part.
  const Limit scope(2);
  struct State {
    std::atomic<int> done{0};
  } state;
  parallel_chunks(
      16,
      [](void* raw, std::int64_t i) noexcept {
        auto& s = *static_cast<State*>(raw);
        if (i == 8)
          while (s.done.load() < 15) std::this_thread::yield();
        s.done.fetch_add(1);
      },
      &state, 0, nullptr, ChunkOrder::apart);
  EXPECT_EQ(state.done.load(), 16);
}

TEST(Scheduler, exceptionsArriveAtTheCallerAfterAllChunksEnded) {
  for (int limit : {1, 4}) {
    const Limit scope(limit);
    std::atomic<int> inside{0};
    try {
      parallel_for(1000, [&](std::int64_t i) {
        ++inside;
        if (i == 17) {
          --inside;
          throw std::runtime_error("seventeen");
        }
        --inside;
      });
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "seventeen");
      EXPECT_EQ(inside.load(), 0);
    }
    count_all(100);
  }
}

TEST(Scheduler, nestedCallsFromManyThreads) {
  for (int limit : {2, 4}) {
    const Limit scope(limit);
    std::atomic<std::int64_t> sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round)
          parallel_for(8, [&](std::int64_t) {
            parallel_for(8, [&](std::int64_t) { parallel_for(4, [&](std::int64_t) { sum.fetch_add(1); }); });
          });
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(sum.load(), 8 * 20 * 8 * 8 * 4);
  }
}

TEST(Scheduler, callsWithinCallsAskForNoFurtherThreads) {
  const Limit two(2);
  std::atomic<int> elsewhere{0}, ran{0};
  parallel_for(4, [&](std::int64_t) {
    const std::thread::id here = std::this_thread::get_id();
    parallel_for(8, [&](std::int64_t) {
      ++ran;
      elsewhere += std::this_thread::get_id() != here;
    });
  });
  EXPECT_EQ(ran, 32);
  EXPECT_EQ(elsewhere, 0);  // both cores have work
}

TEST(Scheduler, callsOfManyThreadsShareTheCores) {
  const Limit three(3);
  std::atomic<int> inside{0}, most{0}, ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        parallel_for(6, [&](std::int64_t) {
          const int now = ++inside;
          for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          ++ran;
          std::this_thread::yield();
          --inside;
        });
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 3 * 50 * 6);
  EXPECT_LE(most, 3 + 2 + 1);  // 3, 2 and 1 at most, by how many were there first; each for all would be 9
}

TEST(Scheduler, threadFormUnderContention) {
  std::atomic<std::int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        detail::ChunkQueue queue{
            50, [](void* s, std::int64_t i) noexcept { static_cast<std::atomic<std::int64_t>*>(s)->fetch_add(i); },
            &sum};
        detail::run_on_threads(queue, 1 + round % 5);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum.load(), 6 * 200 * (49 * 50 / 2));
}

TEST(Scheduler, threadFormNested) {
  std::atomic<std::int64_t> sum{0};
  detail::ChunkQueue outer{
      16,
      [](void* s, std::int64_t) noexcept {
        detail::ChunkQueue inner{
            16, [](void* t, std::int64_t) noexcept { static_cast<std::atomic<std::int64_t>*>(t)->fetch_add(1); }, s};
        detail::run_on_threads(inner, 4);
      },
      &sum};
  detail::run_on_threads(outer, 4);
  EXPECT_EQ(sum.load(), 256);
}

TEST(Scheduler, threadFormUsesSeveralThreadsAtOnce) {
  // Each chunk waits for the other: one thread alone would never end.
  std::atomic<int> arrived{0};
  detail::ChunkQueue queue{2,
                           [](void* s, std::int64_t) noexcept {
                             auto& n = *static_cast<std::atomic<int>*>(s);
                             n.fetch_add(1);
                             while (n.load() < 2) std::this_thread::yield();
                           },
                           &arrived};
  detail::run_on_threads(queue, 2);
  EXPECT_EQ(arrived.load(), 2);
}

int run_in_child(const std::function<int()>& f) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    _exit(f());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

constexpr bool kThreadSanitizer = WEFT_THREAD_SANITIZER;

int sum_in_parallel() {
  std::atomic<std::int64_t> sum{0};
  parallel_for(1000, [&](std::int64_t i) { sum.fetch_add(i); });
  return sum.load() == 499500 ? 0 : 1;
}

TEST(Scheduler, forkedChildrenStartAfresh) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer does not follow threads started after a fork";
  const Limit scope(2);
  EXPECT_EQ(sum_in_parallel(), 0);
  // While other threads keep the scheduler busy, so that the fork meets locked locks.
  std::atomic<bool> end{false};
  std::vector<std::thread> busy;
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&] {
      while (!end.load()) sum_in_parallel();
    });
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(run_in_child([] {
                if (scheduler_form() != SchedulerForm::threads) return 2;
                for (int i = 0; i < 10; ++i)
                  if (sum_in_parallel()) return 1;
                // A grandchild, too.
                return run_in_child([] { return sum_in_parallel(); });
              }),
              0);
  }
  end = true;
  for (auto& thread : busy) thread.join();
  EXPECT_EQ(sum_in_parallel(), 0);
}

TEST(Scheduler, aForkedChildCanExitNormally) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer does not follow threads started after a fork";
  const Limit scope(2);
  sum_in_parallel();
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    in_forked_child = 1;
    std::exit(sum_in_parallel());  // runs destructors of every library
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ThreadCount, limitEnvironmentAndAffinity) {
  set_thread_limit(5);
  EXPECT_EQ(thread_count(), 5);
  EXPECT_EQ(thread_limit(), 5);
  set_thread_limit(-3);
  EXPECT_EQ(thread_limit(), 0);
  EXPECT_GE(thread_count(), 1);
  EXPECT_LE(available_cpus(), std::max(1, int(std::thread::hardware_concurrency())));
  const auto count_with = [](const char* value) {
    return run_in_child([=] {
      setenv("WEFT_NUM_THREADS", value, 1);
      return thread_count();
    });
  };
  const int available = available_cpus();
  EXPECT_EQ(count_with("3"), 3);
  EXPECT_EQ(count_with("1"), 1);
  for (const char* bad : {"0", "-2", "many", "", "3x", "99999999999999"}) EXPECT_EQ(count_with(bad), available) << bad;
  EXPECT_EQ(run_in_child([] {
              cpu_set_t set;
              sched_getaffinity(0, sizeof set, &set);
              for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
                if (CPU_ISSET(cpu, &set)) {
                  CPU_ZERO(&set);
                  CPU_SET(cpu, &set);
                  break;
                }
              sched_setaffinity(0, sizeof set, &set);
              return available_cpus();
            }),
            1);
}

TEST(ThreadCount, controlGroupQuotas) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("weft_cgroup_" + std::to_string(getpid()));
  const auto write = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  const auto quota = [&](const std::string& lines) {
    write("self", lines);
    return cgroup_cpu_quota((root / "self").string(), (root / "cg").string());
  };
  EXPECT_EQ(cgroup_cpu_quota((root / "nowhere").string(), root.string()), 0);
  write("cg/cpu.max", "max 100000\n");
  write("cg/a/cpu.max", "250000 100000\n");
  write("cg/a/b/cpu.max", "max 100000\n");
  write("cg/a/c/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/\n"), 0);
  EXPECT_EQ(quota("0::/a/b\n"), 3);  // an ancestor's 2.5, rounded up
  EXPECT_EQ(quota("0::/a/c\n"), 1);
  EXPECT_EQ(quota("0::/not/mounted\n"), 0);
  write("cg/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("cg/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("cg/cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
  write("cg/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("7:cpuset:/x\n4:cpu,cpuacct:/job\n"), 2);
  EXPECT_EQ(quota("4:cpu,cpuacct:/\n"), 0);
  for (const char* junk : {"", "\n", ":", "::", "0:", "0::", "0::relative", "garbage\n::::\n"})
    EXPECT_EQ(quota(junk), 0);
  write("cg/cpu.max", "nonsense");
  EXPECT_EQ(quota("0::/\n"), 0);
  write("cg/cpu.max", "100 0");
  EXPECT_EQ(quota("0::/\n"), 0);
  fs::remove_all(root);
}

}  // namespace
}  // namespace weft::runtime
