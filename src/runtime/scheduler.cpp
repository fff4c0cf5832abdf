// How many threads, which form, and what a fork does to both.
#include "runtime/scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/scheduler_forms.h"
#include "support/hot.h"

namespace weft::runtime {
namespace {

constexpr int kMaxThreads = 4096;
constexpr int kLooks = 1000, kYields = 100;  // at whether others are done, before going to sleep

std::atomic<int> limit{0};
std::atomic<int> default_count{0};  // 0: not yet asked
std::atomic<bool> tbb_used{false};
std::atomic<bool> tbb_lost{false};  // in a child of a process that had used oneTBB: its workers are gone

int ask_default_count() {
  if (const char* text = std::getenv("WEFT_NUM_THREADS")) {
    int value = 0;
    const char* end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, value);
    if (error == std::errc() && rest == end && value > 0) return std::min(value, kMaxThreads);
  }
  return std::clamp(available_cpus(), 1, kMaxThreads);
}

/// Calls of parallel_chunks that are under way. Each has a thread of its own, its caller, who works: several threads of a
/// program, or chunks that call again, share the cores instead of asking for all of them once more.
std::atomic<int> callers{0};

/// Cores that threads keep busy which are in no call (TakenCore).
std::atomic<int> taken_cores{0};

struct Caller {
  const int others = std::max(callers.fetch_add(1, std::memory_order_relaxed), 0);
  Caller() = default;
  ~Caller() { callers.fetch_sub(1, std::memory_order_relaxed); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;
};

/// Workers that calls out of regions of OpenMP have been lent, all together.
std::atomic<int> lent_workers{0};

/// What such a call gets of the cores that its region leaves: the regions' other threads may call, too.
class LentWorkers {
 public:
  LentWorkers() = default;
  ~LentWorkers() {
    if (count_ > 0) lent_workers.fetch_sub(count_, std::memory_order_relaxed);
  }
  LentWorkers(const LentWorkers&) = delete;
  LentWorkers& operator=(const LentWorkers&) = delete;

  /// How many threads, the caller included, a call has that could use so many.
  int limit(int threads) noexcept {
    const int region = detail::threads_of_region();
    if (region == 1) return threads;
    const int left = std::max(thread_count() - region, 0), wanted = std::min(threads - 1, left);
    if (wanted == 0) return 1;
    const int before = std::max(lent_workers.fetch_add(wanted, std::memory_order_relaxed), 0);
    count_ = std::clamp(left - before, 0, wanted);
    if (count_ < wanted) lent_workers.fetch_sub(wanted - count_, std::memory_order_relaxed);
    return 1 + count_;
  }

 private:
  int count_ = 0;
};

/// Whether several threads have called at the same time of late. Then calls take what oneTBB has left, and the team, which
/// would be one call's alone, rests.
class Crowd {
 public:
  bool is_there(bool now) noexcept {
    constexpr std::int64_t kLasts = 2'000'000;  // ns
    const std::int64_t until = until_.load(std::memory_order_relaxed);
    if (!now && until == 0) return false;
    const std::int64_t time = std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
    if (now) {
      until_.store(time + kLasts, std::memory_order_relaxed);
      return true;
    }
    if (time < until) return true;
    until_.store(0, std::memory_order_relaxed);
    return false;
  }

 private:
  std::atomic<std::int64_t> until_{0};
};
[[maybe_unused]] Crowd crowd;  // only oneTBB has a team

#ifdef WEFT_SCHEDULER_TBB
/// Chunks of a call, and how long the shortest of those took that the caller ran: nothing else says what work there was, where
/// threads may have to wait for a core.
struct Watched {
  using Clock = std::chrono::steady_clock;

  const ChunkBody body;
  void* const state;
  const WaitBody wait;
  const std::thread::id caller = std::this_thread::get_id();
  Clock::duration least = Clock::duration::max();

  static void run(void* raw, std::int64_t chunk) noexcept {
    auto& self = *static_cast<Watched*>(raw);
    if (std::this_thread::get_id() != self.caller) return self.body(self.state, chunk);
    const Clock::time_point start = Clock::now();
    self.body(self.state, chunk);
    self.least = std::min(self.least, Clock::now() - start);
  }
  static void ask(void* raw) noexcept {
    auto& self = *static_cast<Watched*>(raw);
    self.wait(self.state);
  }
};

/// On the team, or on OpenMP's threads where the team has to wait for theirs; false, and nothing was done, if neither can.
bool run_watched(std::int64_t count, ChunkBody body, void* state, WaitBody wait, int parts, int threads) noexcept {
  Watched watched{body, state, wait};
  const Watched::Clock::time_point start = Watched::Clock::now();
  detail::ChunkQueue queue{count, &Watched::run, &watched, wait ? &Watched::ask : nullptr, parts, false};
  // OpenMP's threads come all or not at all.
  const bool by_guest =
      threads == detail::tbb_max_threads() && detail::openmp_is_wanted() && detail::run_on_openmp(queue);
  if (!by_guest && !detail::run_on_team(queue, threads)) return false;
  if (watched.least != Watched::Clock::duration::max())
    detail::tell_call({by_guest, Watched::Clock::now() - start, watched.least, count, threads});
  return true;
}
#endif

void after_fork_child() {
  callers.store(0, std::memory_order_relaxed);  // other threads' calls are not in here
  taken_cores.store(0, std::memory_order_relaxed);
  lent_workers.store(0, std::memory_order_relaxed);
  detail::pool_after_fork_child();
  default_count.store(0, std::memory_order_relaxed);
  if (tbb_used.load(std::memory_order_relaxed)) tbb_lost.store(true, std::memory_order_relaxed);
}

// Registered when the library is loaded: handlers must stand before the first fork that follows a launch.
[[maybe_unused]] const int fork_handlers =
    pthread_atfork(detail::pool_before_fork, detail::pool_after_fork_parent, after_fork_child);

}  // namespace

namespace {
thread_local int part_of_chunk = 0;
}

int current_part() noexcept { return part_of_chunk; }

void detail::PartScope::tell(std::int64_t part) noexcept { part_of_chunk = int(part); }

void detail::ChunkQueue::finish() noexcept {
  if (done.fetch_add(1, std::memory_order_acq_rel) + 1 < count) return;
  {
    std::lock_guard lock(mutex);
  }  // whoever looks at `done` under the lock sees it, or waits already
  finished.notify_one();
}

void detail::ChunkQueue::await() noexcept {
  if (!wait) return;
  const auto all_done = [&] { return done.load(std::memory_order_acquire) >= count; };
  // The others are usually about to end: sleeping and waking costs more than they still need.
  for (int look = 0; look < kLooks + kYields; ++look) {
    if (all_done()) return;
    if (look < kLooks)
      relax();
    else
      std::this_thread::yield();
  }
  for (std::unique_lock lock(mutex); !finished.wait_for(lock, kWaitInterval, all_done);) {
    lock.unlock();
    wait(state);
    lock.lock();
  }
}

TakenCore::TakenCore() noexcept { taken_cores.fetch_add(1, std::memory_order_relaxed); }
TakenCore::~TakenCore() { taken_cores.fetch_sub(1, std::memory_order_relaxed); }

void set_thread_limit(int n) { limit.store(std::clamp(n, 0, kMaxThreads), std::memory_order_relaxed); }

int thread_limit() { return limit.load(std::memory_order_relaxed); }

WEFT_HOT int thread_count() {
  if (const int set = limit.load(std::memory_order_relaxed)) return set;
  int count = default_count.load(std::memory_order_relaxed);
  if (count == 0) {
    count = ask_default_count();
    default_count.store(count, std::memory_order_relaxed);
  }
  return count;
}

SchedulerForm scheduler_form() {
#ifdef WEFT_SCHEDULER_TBB
  // Someone who asks for more threads than processors (a test, mostly) gets them from the pool.
  if (!tbb_lost.load(std::memory_order_relaxed) && thread_count() <= detail::tbb_max_threads())
    return SchedulerForm::tbb;
#endif
  return SchedulerForm::threads;
}

bool threads_are_awake(int threads) {
#ifdef WEFT_SCHEDULER_TBB
  return callers.load(std::memory_order_relaxed) == 0 && scheduler_form() == SchedulerForm::tbb &&
         detail::team_is_awake(threads);
#else
  return false;
#endif
}

void parallel_chunks(std::int64_t count, ChunkBody body, void* state, int max_threads, WaitBody wait, ChunkOrder order,
                     bool brief) {
  int threads = thread_count();
  const Caller caller;
  threads = std::max(threads - caller.others - std::max(taken_cores.load(std::memory_order_relaxed), 0), 1);
  if (max_threads > 0) threads = std::min(threads, max_threads);
  if (std::int64_t(threads) > count) threads = int(std::max<std::int64_t>(count, 1));
  LentWorkers lent;
  if (threads > 1) threads = lent.limit(threads);
  if (threads == 1) {
    for (std::int64_t chunk = 0; chunk < count; ++chunk) body(state, chunk);
    return;
  }
  const int parts = order == ChunkOrder::apart ? threads : 1;
#ifdef WEFT_SCHEDULER_TBB
  if (scheduler_form() == SchedulerForm::tbb) {
    tbb_used.store(true, std::memory_order_relaxed);
    if (!crowd.is_there(caller.others > 0)) {
      if (brief || detail::is_in_tbb_task()) {
        detail::ChunkQueue queue{count, body, state, wait, parts, brief};
        if (detail::run_on_team(queue, threads)) return;
      } else if (run_watched(count, body, state, wait, parts, threads)) {
        return;
      }
    }
    detail::ChunkQueue queue{count, body, state, wait, parts, brief};
    return detail::run_on_tbb(queue, threads);
  }
#endif
  detail::ChunkQueue queue{count, body, state, wait, parts, brief};
  detail::run_on_threads(queue, threads);
}

}  // namespace weft::runtime
