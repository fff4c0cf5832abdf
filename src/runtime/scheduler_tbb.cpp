// The oneTBB form: an arena per call, kept for the next one; each call is isolated, so a thread that waits for
// its own chunks never picks up unrelated work (a compile task, an outer launch) in the meantime.
#ifdef WEFT_SCHEDULER_TBB
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "runtime/scheduler_forms.h"

namespace weft::runtime::detail {
namespace {

/// An arena for one call. Two calls never share one: the second could find no place in it, and would sleep until another
/// thread has done its work, deaf to interrupts. The one used last is taken first, since its workers may still be there.
class Lease {
 public:
  explicit Lease(int threads) : threads_(threads) {
    std::lock_guard lock(mutex());
    auto& list = unused()[threads];
    if (list.empty()) {
      arena_ = std::make_unique<tbb::task_arena>(threads);
    } else {
      arena_ = std::move(list.back());
      list.pop_back();
    }
  }
  ~Lease() {
    std::lock_guard lock(mutex());
    try {
      unused()[threads_].push_back(std::move(arena_));
    } catch (const std::bad_alloc&) {  // then it ends here
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  tbb::task_arena& arena() { return *arena_; }

 private:
  // Never destroyed, as threads may outlive static destructors.
  static std::mutex& mutex() {
    static auto& only = *new std::mutex;
    return only;
  }
  static std::map<int, std::vector<std::unique_ptr<tbb::task_arena>>>& unused() {
    static auto& only = *new std::map<int, std::vector<std::unique_ptr<tbb::task_arena>>>;
    return only;
  }

  const int threads_;
  std::unique_ptr<tbb::task_arena> arena_;
};

}  // namespace

bool is_in_tbb_task() noexcept {
  try {
    return tbb::task::current_context() != nullptr;
  } catch (...) {  // no memory
    return false;
  }
}

int tbb_max_threads() {
  static const int count = tbb::info::default_concurrency();
  return count;
}

void run_on_tbb(ChunkQueue& queue, int threads) noexcept {
  const std::thread::id caller = std::this_thread::get_id();
  const auto work = [&](int) {
    queue.drain();
    if (std::this_thread::get_id() == caller) queue.await();
  };
  try {
    // The arena is that of the process's thread count; a call that wants fewer threads has fewer drains in it.
    Lease lease(thread_count());
    lease.arena().execute([&] {
      tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, threads, work, tbb::simple_partitioner()); });
    });
  } catch (...) {
    // oneTBB could not get memory or threads. parallel_for has ended, so what is left is ours.
    queue.drain();
  }
}

}  // namespace weft::runtime::detail
#endif
