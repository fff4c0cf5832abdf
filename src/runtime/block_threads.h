// Blocks of several threads on the CPU (wp.config.enable_cpu_blocks, docs/design/tiles.md): the threads of a block take turns on
// one thread of the system, and wait for each other at barriers, votes and shuffles. Blocks run side by side as chunks do.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/kernel_abi.h"

namespace weft::runtime {

/// What a block's threads need.
struct BlockNeeds {
  std::int32_t threads = 1;
  std::int64_t shared_bytes = 0;  // memory of the block
  std::int64_t stack_bytes = 0;   // private memory of a thread, beside what every function takes
};

/// Runs body(state, linear) for the threads begin … end−1, block by block; blocks begin at multiples of their size.
void run_blocks(std::int64_t begin, std::int64_t end, const BlockNeeds& needs, LaunchContext* context,
                void (*body)(void* state, std::int64_t linear), void* state) noexcept;

}  // namespace weft::runtime

extern "C" {
/// Runs the threads begin … end−1 of a kernel whose blocks have several; `thread` runs those of a range, one after another.
void weft_rt_blocks(std::int64_t begin, std::int64_t end, const void* params, weft::runtime::LaunchContext* context,
                    weft::runtime::ChunkFn thread, std::int32_t threads, std::int64_t shared_bytes,
                    std::int64_t stack_bytes);
/// Waits for the threads of the block that have not left. A thread that is a block of its own waits for nobody.
void weft_rt_barrier();
/// The same; gives how many of them have the flag.
std::int32_t weft_rt_tally(std::int32_t flag);
/// The thread's number in its block, and how many there are.
std::int32_t weft_rt_thread();
std::int32_t weft_rt_threads();
/// The memory that they share.
void* weft_rt_block_memory();
/// The threads of the caller's warp that have not left, as bits.
std::uint32_t weft_rt_warp();
/// Which of the threads in `mask` have the flag.
std::uint32_t weft_rt_vote(std::uint32_t mask, std::int32_t flag);
/// What the thread `lane` of the warp has.
std::uint64_t weft_rt_shuffle(std::uint32_t mask, std::uint64_t value, std::uint32_t lane);
}
