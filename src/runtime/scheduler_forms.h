// The forms behind runtime/scheduler.h. Private to the scheduler's own files.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "runtime/scheduler.h"
#include "support/relax.h"

namespace weft::runtime::detail {

/// What current_part() says, while this lives and was told.
class PartScope {
 public:
  PartScope() = default;
  ~PartScope() { tell(0); }
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;
  static void tell(std::int64_t part) noexcept;
};

/// Work that several threads share: each takes the next chunk until none is left.
struct ChunkQueue {
  std::int64_t count;
  ChunkBody body;
  void* state;
  WaitBody wait = nullptr;
  std::int64_t parts = 1;  // stretches of chunks that are begun at the same time; see ChunkOrder
  bool brief = false;      // see parallel_chunks
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> done{0};  // counted only for those who wait
  std::mutex mutex{};
  std::condition_variable finished{};

  void drain() noexcept {
    const PartScope scope;
    for (;;) {
      // Checked before the addition, so that the counter stays near `count` however often drain() is called.
      if (next.load(std::memory_order_relaxed) >= count) return;
      const std::int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= count) return;
      if (parts > 1) PartScope::tell(part_of(chunk));
      body(state, place(chunk));
      if (wait) finish();
    }
  }

  /// On the thread that called, behind its drain: waits until every chunk is done, and calls `wait` meanwhile. The queue
  /// must outlive every drain.
  void await() noexcept;

 private:
  void finish() noexcept;

  /// The k-th chunk that is taken: the first of each part, then the second of each. Those behind the last part stay last.
  std::int64_t place(std::int64_t k) const noexcept {
    if (parts <= 1) return k;
    const std::int64_t each = count / parts;
    return k < each * parts ? k % parts * each + k / parts : k;
  }
  std::int64_t part_of(std::int64_t k) const noexcept { return k < count / parts * parts ? k % parts : parts - 1; }
};

/// Drains the queue on the calling thread and up to threads − 1 others, then awaits the rest; returns when all chunks
/// are done.
void run_on_threads(ChunkQueue& queue, int threads) noexcept;
/// Threads that the OpenMP regions around the calling thread keep busy, itself included; 1: it is in none.
int threads_of_region() noexcept;
#ifdef WEFT_SCHEDULER_TBB
void run_on_tbb(ChunkQueue& queue, int threads) noexcept;
/// Whether the calling thread is in a task of oneTBB, of a program's loop most likely: threads that it misses are at work there.
bool is_in_tbb_task() noexcept;
/// The most threads that oneTBB would use: it starts no more than there are processors.
int tbb_max_threads();
/// The same by workers that stay awake between calls; false, and nothing was done, while they work for another call.
bool run_on_team(ChunkQueue& queue, int threads) noexcept;
/// Whether so many threads would begin at once.
bool team_is_awake(int threads) noexcept;
/// The same by the threads of an OpenMP that the program has loaded; false, and nothing was done, if that can't be.
bool run_on_openmp(ChunkQueue& queue) noexcept;
/// Whether calls of late say that this is quicker than the team.
bool openmp_is_wanted() noexcept;
/// What a call took, on the team or by OpenMP's threads.
struct CallTimes {
  bool by_guest;                              // OpenMP's
  std::chrono::steady_clock::duration wall;   // from begin to end
  std::chrono::steady_clock::duration least;  // the shortest chunk that the caller ran
  std::int64_t count;                         // of chunks
  int threads;
};
void tell_call(const CallTimes& call) noexcept;
#endif

/// Fork handlers of the thread pool: between them no other thread changes it; the child starts without one.
void pool_before_fork();
void pool_after_fork_parent();
void pool_after_fork_child();

}  // namespace weft::runtime::detail
