// Launching finished code over a grid of 1 to 4 dimensions: checks the dimensions, cuts the grid into chunks, runs them
// on the scheduler or, when they are small, on the calling thread, and turns a failed check into a KernelError after the
// join. Nothing is allocated and no lock is taken on the way of a small launch that prints nothing.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "runtime/check_site.h"
#include "runtime/errors.h"
#include "runtime/kernel_abi.h"
#include "runtime/print_buffer.h"

namespace weft::runtime {

/// How long a launch runs between two questions of LaunchOptions::interrupted.
inline constexpr std::chrono::milliseconds kAskInterval{50};

/// A kernel ready to run. What it points to belongs to the owner of the code.
struct KernelCode {
  ChunkFn entry = nullptr;
  std::string_view name;  // for messages
  int lanes = 1;          // threads that one step of the entry covers
  int block = 0;          // threads that work together, and are run by one call of the entry; 0: each for itself
  std::uint32_t tid_dims_read = 0xf;      // bit k: the kernel reads tid k, which is an int32
  float ns_per_thread = 10;               // estimated cost of one thread; decides chunk sizes
  std::atomic<float>* seen_ns = nullptr;  // what a thread took in launches that don't look short; null: nobody notes it
  bool opaque = false;                    // runs foreign code: nobody knows how long, and nothing inside of it asks
  bool loops = true;                      // has loops, which nobody knows either, but they ask
  std::span<const CheckSite> check_sites;  // by site number
};

/// Holds chunks of a launch back while there is no room for what they would leave behind.
class ChunkGate {
 public:
  /// Whether another chunk may begin now; asked by the thread that would run it.
  virtual bool is_open() const noexcept = 0;
  /// Makes room, while no chunk runs, because some were held back.
  virtual void make_room() = 0;

 protected:
  ~ChunkGate() = default;
};

struct LaunchOptions {
  bool serial = false;                    // threads in increasing order on the calling thread
  bool descending = false;                // with serial: in decreasing order, as adjoints undo what threads did
  bool steady = false;                    // what one call of the entry covers does not depend on how fast it runs
  int max_threads = 0;                    // 0: thread_count()
  std::int64_t chunk_threads = 0;         // threads per chunk; 0: chosen from the cost
  const PrintSink* print_sink = nullptr;  // null: the process's sink (set_print_sink)
  /// Storage for the context that outlives the launch, so that another thread or a signal handler can set its `stop`:
  /// chunks that have not begun are skipped, those that have leave their kernel from the next loop. The caller clears
  /// `stop` before the next use. Null: the context lives on the stack.
  LaunchContext* context = nullptr;
  /// Asked every now and then (kAskInterval) on the calling thread only, also from inside of the kernel's loops, whether
  /// to stop; true ends the launch as `stop` does. Null: nobody asks.
  bool (*interrupted)(void* state) noexcept = nullptr;
  void* interrupted_state = nullptr;
  ChunkGate* gate = nullptr;  // null: chunks begin when a thread is free
};

/// How a launch is cut: chunks of `chunk_threads` consecutive threads, the last one shorter.
struct LaunchPlan {
  std::int64_t total = 0;
  std::int64_t chunk_threads = 0;
  std::int64_t chunks = 0;
  bool is_short = false;  // by its estimate: not worth two threads, nor a question on the way
  bool is_brief = false;  // worth several threads only because they are awake
};

/// The number of threads of a grid. Throws LaunchError for a rank outside 1…4, a negative extent, a total over 2^63−1,
/// or an extent over 2^31−1 in a dimension that the kernel reads.
std::int64_t launch_size(const KernelCode& code, std::span<const std::int64_t> dims);

/// What a launch of so many threads takes by what launches before took, ns; 0: nobody knows. Estimates count all branches of a
/// kernel, and are ten times too high where most threads leave early.
double seen_cost(const KernelCode& code, double total);

/// Chunks for a grid of `total` threads on `threads` workers. They go by the estimate alone: the same every time.
LaunchPlan plan_launch(const KernelCode& code, std::int64_t total, int threads, const LaunchOptions& options);

/// Runs the kernel and waits for it. Returns false when `stop` was set from outside before the end. Throws LaunchError
/// and KernelError.
bool launch(const KernelCode& code, const void* params, std::span<const std::int64_t> dims,
            const LaunchOptions& options = {});
inline bool launch(const KernelCode& code, const void* params, std::initializer_list<std::int64_t> dims,
                   const LaunchOptions& options = {}) {
  return launch(code, params, std::span(dims.begin(), dims.size()), options);
}

/// Coordinates of a thread from its linear index, innermost dimension fastest.
void unravel(std::int64_t linear, const std::int64_t dims[kMaxRank], int rank, std::int64_t out[kMaxRank]);

/// Throws the KernelError that a complete record describes; returns when nothing failed. Executors other than the
/// launcher (the interpreter) use it too.
void throw_if_failed(const ErrorRecord& record, std::string_view kernel, int rank, std::span<const CheckSite> sites);

}  // namespace weft::runtime
