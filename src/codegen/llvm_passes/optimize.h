// LLVM's passes over an emitted module.
#pragma once
namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace weft::codegen {

/// The optimisation level for a module: the wished one, lowered for huge modules (see optimize.cpp).
int effective_level(const llvm::Module& module, int wished);

/// Runs the passes of a level; `linked` inlines native functions, `vectors` makes vectors of loops, `of_block` is a kernel whose
/// threads share memory.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level, bool linked, bool vectors = false,
              bool of_block = false);

}  // namespace weft::codegen
