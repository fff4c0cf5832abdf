// Which functions of a GPU kernel's module LLVM is to inline. A call costs a GPU dozens of instructions and holds registers
// back, so more is inlined than on the CPU (passes/inline_calls.h); here, behind the passes that fuse arithmetic, so that
// results stay the same.
#pragma once
#include <llvm/IR/Module.h>

namespace weft::codegen {

/// Marks functions whose bodies, in all places that call them, come to little.
void mark_inlined_functions(llvm::Module& module);

}  // namespace weft::codegen
