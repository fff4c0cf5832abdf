// Floats to integers by the GPU's own conversions, which keep to the range of the result as the IR wants it; LLVM's
// saturating conversion guards a plain one with six more instructions.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// Of float32 or float64, one number or a vector; NaN gives 0.
llvm::Value* emit_float_to_int(Emitter& e, llvm::Value* v, ScalarKind to);

}  // namespace weft::codegen
