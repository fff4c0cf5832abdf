// Minima over all components of a vector, written component by component, as one operation: processors have an instruction
// for it, and LLVM's pass that finds such trees (SLP) is not among ours.
#pragma once

namespace llvm {
class Module;
}

namespace weft::codegen {

/// Replaces trees of minima of unsigned integers whose leaves are the components of one vector, each once.
void find_reductions(llvm::Module& module);

}  // namespace weft::codegen
