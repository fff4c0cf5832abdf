// The one place that runs work on several threads. Two forms stand behind it: oneTBB, and a plain pool of std::thread
// that thread-sanitizer builds use and that a forked child falls back to (oneTBB's workers do not survive a fork). The
// form is chosen at run time; callers can't tell. Nested calls and calls from any number of threads are safe: the
// calling thread always works itself, and waits only for chunks that someone is running. In a region of OpenMP a call has
// the cores that the region's other threads leave, in a loop of oneTBB the workers that are free.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <type_traits>

namespace weft::runtime {

/// Runs one chunk. Must not throw.
using ChunkBody = void (*)(void* state, std::int64_t chunk) noexcept;

/// What a thread does while it waits for others; it should be short.
using WaitBody = void (*)(void* state) noexcept;

/// In which order several threads take chunks. Neither is a promise.
enum class ChunkOrder {
  rising,  // the next one, whoever asks
  apart,   // each thread those of its own part of the range, then what others left: calls over the same data one after
           // another find it in the caches of the same cores
};

/// Runs body(state, 0 … count−1), each once, on up to thread_count() threads; returns when all are done. With one
/// thread, or one chunk: in increasing order on the calling thread. `max_threads` lowers the number for this call; 0
/// does not. `wait`, if there is one, is called on the calling thread every kWaitInterval while it has nothing else to
/// do but others have. `brief` work is shared out because others are awake anyway, and keeps them awake no longer.
void parallel_chunks(std::int64_t count, ChunkBody body, void* state, int max_threads = 0, WaitBody wait = nullptr,
                     ChunkOrder order = ChunkOrder::rising, bool brief = false);
inline constexpr std::chrono::milliseconds kWaitInterval{25};

/// The part (ChunkOrder::apart: 0 … threads − 1) that the chunk belongs to which this thread runs; 0 outside of such calls.
int current_part() noexcept;

/// Runs f(0 … count−1) likewise. The first exception is thrown on the calling thread after all chunks ended; once one
/// was thrown, chunks that have not begun are skipped.
template <class F>
void parallel_for(std::int64_t count, F&& f, int max_threads = 0, ChunkOrder order = ChunkOrder::rising);

/// How many threads work together: 0 = all that the machine gives us, 1 = serial. Overrides WEFT_NUM_THREADS. Takes
/// effect for later calls.
void set_thread_limit(int limit);
int thread_limit();

/// Threads that a call uses: the limit if set, else WEFT_NUM_THREADS, else available_cpus(). At least 1.
int thread_count();

/// Processors this process may use: the smaller of its affinity mask and its cgroup's quota, rounded up.
int available_cpus();

/// The quota of this process's control groups (version 1 and 2) in processors, rounded up; 0 when there is none. Paths
/// are parameters for tests.
int cgroup_cpu_quota(const std::string& proc_self_cgroup = "/proc/self/cgroup",
                     const std::string& cgroup_root = "/sys/fs/cgroup");

/// Whether so many threads would begin at once, without being woken: then even work of a few microseconds is worth them.
bool threads_are_awake(int threads);

/// A core that a thread of ours outside of calls keeps busy for long, as one does that compiles: calls take one thread fewer while
/// this lives, so that on two cores neither waits for the other.
class TakenCore {
 public:
  TakenCore() noexcept;
  ~TakenCore();
  TakenCore(const TakenCore&) = delete;
  TakenCore& operator=(const TakenCore&) = delete;
};

enum class SchedulerForm { tbb, threads };
/// The form that the next call uses.
SchedulerForm scheduler_form();

template <class F>
void parallel_for(std::int64_t count, F&& f, int max_threads, ChunkOrder order) {
  struct State {
    std::remove_reference_t<F>* f;
    std::mutex mutex;
    std::exception_ptr error;
    std::atomic<bool> failed{false};  // read by all, which costs nothing while nobody writes
  } state{&f, {}, nullptr};
  parallel_chunks(
      count,
      [](void* raw, std::int64_t chunk) noexcept {
        auto& s = *static_cast<State*>(raw);
        if (s.failed.load(std::memory_order_relaxed)) return;
        try {
          (*s.f)(chunk);
        } catch (...) {
          std::lock_guard lock(s.mutex);
          if (!s.error) s.error = std::current_exception();
          s.failed.store(true, std::memory_order_relaxed);
        }
      },
      &state, max_threads, nullptr, order);
  if (state.error) std::rethrow_exception(state.error);
}

}  // namespace weft::runtime
