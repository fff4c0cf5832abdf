// LLVM's code generator: from an optimised module to bytes.
#pragma once
#include <string>

#include <llvm/Support/CodeGen.h>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace weft::codegen {

/// Writes the module as an object file or as assembly. `level` is the effective one (optimize.h): below 2 the machine
/// scheduler is left out.
std::string write_machine_code(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                               int level);

}  // namespace weft::codegen
