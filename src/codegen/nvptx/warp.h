// What threads of a warp and of a block know of each other: additions to one place, the size of the block.
#pragma once
#include "codegen/emitter.h"

namespace weft::codegen {

/// Adds values of every active thread to neighbouring scalars from an address on: summed over the warp first if all of it is
/// there and, unless that is `sure`, if it turns out that all its threads go to the same address.
void emit_warp_add(Emitter& e, ScalarKind kind, llvm::Value* address, llvm::ArrayRef<llvm::Value*> values, bool sure);
/// An atomic operation whose result nobody wants, on global memory: `red`, for ptxas makes slower code of `atom` when it
/// compiles for the driver's linker. False if there is none of this kind for such scalars.
bool emit_reduction(Emitter& e, ir::AtomicKind kind, ScalarKind scalar, llvm::Value* address, llvm::Value* value);
/// Whether it can be done for such scalars.
bool has_warp_add(ScalarKind kind);
/// How many threads the block has.
llvm::Value* threads_of_block(Emitter& e);

}  // namespace weft::codegen
