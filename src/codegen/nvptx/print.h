// Output of GPU threads: vprintf and the error record in global memory.
#pragma once
#include "codegen/emitter.h"

namespace weft::codegen {

/// print and printf through the device's vprintf.
void emit_gpu_print(Emitter& e, const ir::Op& op);
/// Writes the launch's error record unless another thread was first.
void emit_gpu_failure(Emitter& e, llvm::Value* site, llvm::Value* linear, llvm::Value* index, llvm::Value* extent);

}  // namespace weft::codegen
