// Atomic operations of native functions on GPUs. LLVM's NVPTX target has no code for fences, nor for all atomic loads (it
// ends the program at one), and forgets the order of the other operations; here they become what it can do.
#pragma once

namespace llvm {
class Module;
}

namespace weft::codegen {

/// Rewrites fences, atomic loads and stores, and puts fences around operations that have an order. Those of the prelude
/// have none, whatever clang wrote.
void lower_native_atomics(llvm::Module& module);

}  // namespace weft::codegen
