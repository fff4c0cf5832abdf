// Products of two 32-bit numbers with 64 bits, which a GPU has one instruction for: an index times a stride, the upper half
// of a quotient. The back end knows them by the extensions of both factors, but sees one basic block at a time, and extensions
// of strides and extents stand at the beginning of a kernel (passes of its own take them back there). So the instruction is
// named.
#pragma once
#include <llvm/IR/PassManager.h>

namespace weft::codegen {

struct NarrowProductsPass : llvm::PassInfoMixin<NarrowProductsPass> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weft::codegen
