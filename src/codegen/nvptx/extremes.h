// Minimum and maximum of float32 by the GPU's own instructions. These order zeros by sign, where the IR gives the second of
// two equal operands; all else (a NaN is ignored) is the same.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// The least or most of two numbers, or vectors of them: one instruction where zeros of both signs can't
/// meet, else two or three.
llvm::Value* emit_float_extreme(Emitter& e, bool most, llvm::Value* x, llvm::Value* y);

}  // namespace weft::codegen
