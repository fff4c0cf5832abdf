// The oneTBB form: one arena per thread count in use, never destroyed; each call is isolated, so a thread that waits for
// its own chunks never picks up unrelated work (a compile task, an outer launch) in the meantime.
#ifdef WEFT_SCHEDULER_TBB
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/scheduler_forms.h"

namespace weft::runtime::detail {
namespace {

/// Places for threads of the program beside oneTBB's own. One that finds none would sleep until another thread has done
/// its work, and could not be interrupted.
constexpr int kCallers = 64;

tbb::task_arena& arena_of(int threads) {
  static std::mutex mutex;
  static auto& arenas = *new std::map<int, std::unique_ptr<tbb::task_arena>>;
  std::lock_guard lock(mutex);
  auto& arena = arenas[threads];
  if (!arena) arena = std::make_unique<tbb::task_arena>(threads - 1 + kCallers, kCallers);
  return *arena;
}

}  // namespace

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
    arena_of(thread_count()).execute([&] {
      tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, threads, work, tbb::simple_partitioner()); });
    });
  } catch (...) {
    // oneTBB could not get memory or threads. parallel_for has ended, so what is left is ours.
    queue.drain();
  }
}

}  // namespace weft::runtime::detail
#endif
