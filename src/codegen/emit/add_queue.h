// Additions that wait. Adding to memory lane by lane keeps a processor's window full of additions that wait for the group's
// results, so that the next group can't begin. Additions to arrays that a worker has to itself, and that nobody reads, are
// therefore written down for some groups and made up in one go.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>

#include "codegen/emit/emitter.h"

namespace weft::codegen {

class AddQueue {
 public:
  /// Whether the additions of an operation can wait: to an array that the kernel only adds to (analysis/private_sums.h), at
  /// most once for a group.
  static bool takes(const Emitter& e, const ir::Op& op);
  /// Writes down an addition of all lanes.
  void put(Emitter& e, const TypeParts& info, const Parts& values, llvm::Value* pointers, std::uint32_t offset);
  /// Makes up for what is written down, if the queue is full or `last` (i1) holds.
  void flush(Emitter& e, llvm::Value* last);
  bool empty() const { return entries_.empty(); }

 private:
  /// Neighbouring parts that are added at once, and where they are kept.
  struct Piece {
    ScalarKind scalar;
    int count;
    std::uint32_t offset;
    llvm::AllocaInst* kept;
  };
  struct Entry {
    llvm::AllocaInst *pointers, *groups;
    llvm::SmallVector<Piece, 4> pieces;
  };
  llvm::SmallVector<Entry, 2> entries_;
};

}  // namespace weft::codegen
