// Elementary functions by other means than the library's own bodies: the GPU's approximations where fast_math allows
// them, NVIDIA's libdevice where it was asked for.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// The function of scalars of f32 or f64, or of the lanes of vectors; null if the library's own body is to be used.
llvm::Value* emit_gpu_function(Emitter& e, ir::OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands);

}  // namespace weft::codegen
