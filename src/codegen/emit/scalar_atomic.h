// Atomic read-modify-write of one scalar at one address. Relaxed ordering. Float min and max follow the IR's rule for NaN,
// which no native instruction does, so they are compare-and-swap loops. cas compares bits.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

inline constexpr auto kAtomicOrder = llvm::AtomicOrdering::Monotonic;

struct ScalarAtomic {
  ir::AtomicKind kind;
  ScalarKind scalar;
  llvm::Value *at, *value;
  llvm::Value* expected;  // cas
};

/// The plain operation that a read-modify-write applies.
ir::OpCode plain_op(ir::AtomicKind kind);
/// Gives the old value. `alone`: no other thread takes part.
llvm::Value* emit_scalar_atomic(Emitter& e, const ScalarAtomic& atomic, bool alone);
/// Reads, computes and swaps until nobody came between; `first` is what was read, in bits. A minimum or maximum that changes
/// nothing writes nothing: most don't, and threads that only read don't wait for each other. Gives the old value.
llvm::Value* swap_until_done(Emitter& e, const ScalarAtomic& atomic, llvm::Value* first);

}  // namespace weft::codegen
