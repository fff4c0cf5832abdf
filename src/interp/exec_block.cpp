// What the threads of a block say to each other. Without blocks a thread is a block, and a warp, of its own.
#include <algorithm>
#include <cstring>

#include "interp/executor.h"
#include "runtime/block_threads.h"
#include "support/check.h"

namespace weft::interp {

using ir::OpCode;

int Executor::threads_of_block() const {
  if (!block_) return 1;
  std::int64_t total = 1;
  for (int d = 0; d < context_.rank; ++d) total *= context_.dims[d];
  return int(std::min<std::int64_t>(block_, total - linear_ / block_ * block_));  // the last one may lack some
}

void Executor::among_threads(const ir::Op& op) {
  constexpr unsigned kWarp = 32;
  switch (op.code) {
    case OpCode::block_dim: return set_bits(op.result(), std::uint64_t(threads_of_block()));
    case OpCode::block_thread: return set_bits(op.result(), std::uint64_t(thread_of_block()));
    case OpCode::barrier:
      if (block_) weft_rt_barrier();
      return;
    case OpCode::tally: {
      const bool flag = bits(op.operand(0)) != 0;
      return set_bits(op.result(), std::uint64_t(block_ ? weft_rt_tally(flag) : flag));
    }
    case OpCode::warp_sync:
      if (block_) weft_rt_vote(std::uint32_t(bits(op.operand(0))), 0);
      return;
    case OpCode::warp: return set_bits(op.result(), block_ ? weft_rt_warp() : 1);
    case OpCode::lane: return set_bits(op.result(), unsigned(thread_of_block()) % kWarp);
    case OpCode::vote: {
      const bool flag = bits(op.operand(1)) != 0;
      return set_bits(op.result(), block_ ? weft_rt_vote(std::uint32_t(bits(op.operand(0))), flag) : flag);
    }
    case OpCode::shuffle: {
      const std::uint64_t own = bits(op.operand(1));
      const auto mask = std::uint32_t(bits(op.operand(0))), from = std::uint32_t(bits(op.operand(2)));
      return set_bits(op.result(), block_ ? weft_rt_shuffle(mask, own, from) : own);
    }
    default: WEFT_UNREACHABLE("not among threads");  // safe: execute() asks for these
  }
}

/// Each thread clears elements of its own.
void Executor::block_local(const ir::Op& op, std::byte* memory, std::size_t element, std::size_t bytes) {
  if (op.imm & ir::kRaw) return;
  const std::size_t step = std::size_t(threads_of_block()) * element;
  for (std::size_t k = std::size_t(thread_of_block()) * element; element && k < bytes; k += step)
    std::memset(memory + k, 0, element);
}

}  // namespace weft::interp
