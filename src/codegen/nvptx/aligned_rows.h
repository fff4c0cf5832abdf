// How loads and stores that share an address are aligned. LLVM looks six operations deep, from each of them anew: of rows that
// a thread writes, the first one's alignment is found, and the others, which are so many strides further, lie deeper.
#pragma once
#include <llvm/IR/PassManager.h>

namespace weft::codegen {

struct AlignedRowsPass : llvm::PassInfoMixin<AlignedRowsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weft::codegen
