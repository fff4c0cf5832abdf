// What generated CPU code and the launcher agree on: the chunk function's signature, the launch context it reads, and
// the helpers it calls by name. Plain C layouts, known to codegen by offset; change kAbiVersion with them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "types/type.h"

namespace weft::runtime {

inline constexpr std::uint32_t kAbiVersion = 3;

/// Turns of loops that generated code runs before it calls weft_rt_turns: rarely enough to cost nothing, often enough
/// for turns of some microseconds.
inline constexpr std::int32_t kTurnsBetweenQuestions = 4096;

/// The first failed check of a launch. `state` goes 0 → 1 (being written) → 2 (complete) by compare-and-swap.
struct ErrorRecord {
  std::atomic<std::int32_t> state{0};
  std::int32_t site = 0;  // index into the kernel's table of check sites
  std::int64_t thread[kMaxRank] = {0, 0, 0, 0};
  std::int64_t index = 0;
  std::int64_t extent = 0;
};

struct PrintBuffer;  // collects what threads print; runtime/print_buffer.h

struct LaunchContext;
}  // namespace weft::runtime

extern "C" {
/// Asks whether the launch goes on. Gives the turns of loops until the next question; 0: leave the kernel at once.
std::int32_t weft_rt_turns(weft::runtime::LaunchContext* context);
}

namespace weft::runtime {

/// Where kernels on the CPU find which objects live (geometry/object_table.h); 0 while there never was one.
inline std::atomic<std::uint64_t> object_table{0};

/// Shared by all chunks of one launch; generated code reads dims and stop, and passes the pointer to helpers.
struct LaunchContext {
  std::int64_t dims[kMaxRank] = {1, 1, 1, 1};  // launch extents, outermost first; 1 beyond the rank
  std::int32_t rank = 1;
  std::int32_t serial = 0;            // 1: threads run in increasing order on one thread
  std::atomic<std::int32_t> stop{0};  // set to make loops and later chunks end
  std::int32_t reserved = 0;
  ErrorRecord* error = nullptr;
  PrintBuffer* print = nullptr;
  void (*ask)(void* state) = nullptr;  // asks the host whether to stop (runtime/stopping.h); null: nobody is asked
  void* ask_state = nullptr;
  /// Called from here, not by name: code that needs no symbols from outside is linked much faster.
  std::int32_t (*turns)(LaunchContext*) = &weft_rt_turns;
  std::uint64_t objects = object_table.load(std::memory_order_relaxed);
};
static_assert(offsetof(LaunchContext, dims) == 0 && offsetof(LaunchContext, stop) == 40 &&
                  offsetof(LaunchContext, error) == 48 && offsetof(LaunchContext, turns) == 80 &&
                  offsetof(LaunchContext, objects) == 88,
              "generated code knows these offsets");

/// Runs the threads with linear indices begin … end−1. `params` is the parameter block (ParamLayout).
using ChunkFn = void (*)(std::int64_t begin, std::int64_t end, const void* params, LaunchContext* context);

}  // namespace weft::runtime

extern "C" {
/// Records a failed check; keeps the first. `linear` is the thread's linear index. Never throws.
void weft_rt_fail(weft::runtime::LaunchContext* context, std::int32_t site, std::int64_t linear, std::int64_t index,
                  std::int64_t extent);
/// Prints one operation's output for one thread. `format` is the compiled form of print/printf: see print_buffer.h.
/// `values` holds the operands' bytes in C layout, one after the other, each 8-byte aligned.
void weft_rt_print(weft::runtime::LaunchContext* context, const char* format, std::int64_t linear, const void* values);
/// wp.breakpoint(): stops in a debugger, if there is one.
void weft_rt_breakpoint(weft::runtime::LaunchContext* context);
}
