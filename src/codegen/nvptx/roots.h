// Square roots of float32 on GPUs, their reciprocals, and quotients: the bits that sqrt.rn, rcp.rn and div.rn give, without
// their branches.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// The square root of a float32, rounded to nearest; for loops that are unrolled: elsewhere sqrt.rn takes fewer steps.
llvm::Value* emit_square_root(Emitter& e, llvm::Value* x);
/// 1/y for the result of emit_square_root, rounded to nearest; null for any other value.
llvm::Value* emit_root_reciprocal(Emitter& e, llvm::Value* y);
/// The root of a float32 and the quotient of two where they are tame (ir/tame.h): the bits of sqrt.rn and div.rn.
llvm::Value* emit_tame_root(Emitter& e, llvm::Value* x);
llvm::Value* emit_tame_quotient(Emitter& e, llvm::Value* x, llvm::Value* y);

}  // namespace weft::codegen
