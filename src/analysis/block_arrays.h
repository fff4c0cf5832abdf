// Arrays of a launch by which threads of a block hand numbers to each other: those that a kernel with tiles writes and touches
// elsewhere, too. What one tile operation stores another one may load, element by element by other threads, so such arrays are
// waited for like memory of the block (passes/block_barriers.h).
#pragma once
#include "analysis/alias.h"
#include "analysis/block_threads.h"
#include "analysis/effects.h"
#include "ir/ir.h"

namespace weft::analysis {

class BlockArrays {
 public:
  BlockArrays(const ir::Function& kernel, const BlockThreads& threads);

  bool empty() const { return !watched_; }
  struct Touched {
    BaseMask read, written;
    BaseMask exact;  // of these: what the operation itself names; others may lie in the same memory
  };
  Touched touched(const ir::Op& op) const;

  /// Whose the element is that an access goes to. Own: the last index is a number that is the same for all threads, and something
  /// that is the thread's own number modulo the block's size. Two own elements of an array with the same `from` are never those of
  /// two threads.
  struct Place {
    bool own = false;
    const ir::Value* from = nullptr;
  };
  Place place(const ir::Op& access) const;

 private:
  const BlockThreads& threads_;
  mutable Effects effects_;
  const Alias alias_;
  BaseMask locals_ = 0, watched_ = 0;
};

}  // namespace weft::analysis
