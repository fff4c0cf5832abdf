// What threads of a warp and of a block do together: additions to one place. And the size of the block.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// LLVM's number for the memory that the threads of a block share.
inline constexpr unsigned kSharedSpace = 3;

/// Adds values of every active thread to neighbouring scalars from an address on: summed over the warp first if all of it is
/// there and, unless that is `sure`, if it turns out that all its threads go to the same address. `in_block`: memory of the block.
void emit_warp_add(Emitter& e, ScalarKind kind, llvm::Value* address, llvm::ArrayRef<llvm::Value*> values, bool sure,
                   bool in_block = false);

/// Sums that threads have kept to themselves, and where they go.
struct PlaceSum {
  ScalarKind kind;
  llvm::Value* address;
  llvm::Value* wanted;  // null: always
  llvm::SmallVector<llvm::Value*, 4> values;
};
/// Adds up such sums of a whole block, which must be here, by way of shared memory: one thread then adds each number. Blocks
/// whose last warp has gaps add by warps.
void emit_block_add(Emitter& e, llvm::ArrayRef<PlaceSum> sums);

/// An atomic operation whose result nobody wants, on global memory: `red`, for ptxas makes slower code of `atom` when it
/// compiles for the driver's linker. False if there is none of this kind for such scalars.
bool emit_reduction(Emitter& e, ir::AtomicKind kind, ScalarKind scalar, llvm::Value* address, llvm::Value* value);
/// Whether a type is numbers of one kind side by side, each in a part of its own.
bool is_row_of_scalars(const TypeParts& info);
/// Whether it can be done for such scalars.
bool has_warp_add(ScalarKind kind);
/// Which threads of the warp are here, which one this is, what they say, what one has (ops warp, lane, vote, shuffle).
llvm::Value* emit_among_lanes(Emitter& e, ir::OpCode code, llvm::ArrayRef<llvm::Value*> operands);
/// How many threads the block has.
llvm::Value* threads_of_block(Emitter& e);

}  // namespace weft::codegen
