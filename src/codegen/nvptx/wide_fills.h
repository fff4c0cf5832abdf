// Fills and copies of constant size on a GPU. The back end makes a loop of single bytes of those of 128 bytes and more;
// private arrays, which begin as zeros, are often so large.
#pragma once
#include <llvm/IR/PassManager.h>

namespace weft::codegen {

/// Late, so that arrays that can live in registers do so first.
struct WideFillsPass : llvm::PassInfoMixin<WideFillsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weft::codegen
