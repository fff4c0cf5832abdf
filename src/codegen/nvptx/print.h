// What GPU threads and the host tell each other in page-locked memory: what is printed, the record of a failed check, and
// whether to stop.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// print and printf by their compiled format and where it wants the values (runtime/print_format.h).
void emit_gpu_print(Emitter& e, const ir::Op& op, const std::string& format, const std::vector<std::uint32_t>& offsets);
/// Writes the launch's error record unless another thread was first.
void emit_gpu_failure(Emitter& e, llvm::Value* site, llvm::Value* linear, llvm::Value* index, llvm::Value* extent);

/// False once the launch is to stop; launches that can't be stopped have no flag.
llvm::Value* emit_gpu_running(Emitter& e);

}  // namespace weft::codegen
