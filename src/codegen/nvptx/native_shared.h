// Variables that C++ of native functions calls __shared__: memory of a block. C++ takes their addresses as any others, so clang
// compiles them as plain variables of a section, and this moves them to the address space of shared memory.
#pragma once
#include <llvm/IR/Module.h>

namespace weft::codegen {

void place_shared_variables(llvm::Module& module);

}  // namespace weft::codegen
