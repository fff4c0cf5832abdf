// Output of GPU threads: what they print and the record of a failed check, in page-locked memory.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// print and printf by their compiled format and where it wants the values (runtime/print_format.h).
void emit_gpu_print(Emitter& e, const ir::Op& op, const std::string& format, const std::vector<std::uint32_t>& offsets);
/// Writes the launch's error record unless another thread was first.
void emit_gpu_failure(Emitter& e, llvm::Value* site, llvm::Value* linear, llvm::Value* index, llvm::Value* extent);

}  // namespace weft::codegen
