// Atomic operations for which GPUs have ways of their own. (Additions of threads that meet: warp.h.)
#pragma once
#include "codegen/emit/emitter.h"
#include "codegen/emit/scalar_atomic.h"

namespace weft::codegen {

/// A minimum or maximum of floats whose old value nobody wants; false for all else, and for halves.
bool emit_extreme_reduction(Emitter& e, const ScalarAtomic& atomic);
/// An operation on memory that may be the thread's own, where atomic operations don't reach: the address tells.
llvm::Value* emit_atomic_anywhere(Emitter& e, const ScalarAtomic& atomic);
/// A sum that a thread keeps to itself: adds the lanes' values, one after the other, a slot for each number.
void add_to_sum(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> slots);

}  // namespace weft::codegen
