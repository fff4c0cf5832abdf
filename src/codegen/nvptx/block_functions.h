// Functions on tiles that GPUs have code of their own for (ir/block_functions.h).
#pragma once
#include <vector>

#include "codegen/emit/emitter.h"
#include "ir/block_functions.h"

namespace weft::codegen {

/// A product by fragments: fused multiply-adds, or units of a warp (block_product.cpp).
void emit_block_product(Emitter& e, const ir::Op& call);
/// A product of tiles in panels by groups of four warps, added to a thread's sums (group_product.cpp).
void emit_group_product(Emitter& e, const ir::Op& call, std::vector<llvm::Value*>& sums);
/// What this thread wrote so far is there for the units of groups, behind the next barrier.
void emit_panel_fence(Emitter& e);
/// Rows of an array into a tile, 16 bytes at a time (block_copy.cpp).
void emit_block_copy(Emitter& e, const ir::Op& call);

/// Where the threads of a block have their memory, as the memory's own space knows it, so many bytes behind its start.
llvm::Value* block_place(Emitter& e, llvm::Value* memory, llvm::Value* bytes);
/// Bytes as rows have them that lie so.
llvm::Value* swizzled(Emitter& e, llvm::Value* bytes, const ir::Swizzle& how);
/// Whether the GPU has units for 16-bit numbers with float32 sums, and copies that run by themselves.
bool has_units(const Emitter& e);

}  // namespace weft::codegen
