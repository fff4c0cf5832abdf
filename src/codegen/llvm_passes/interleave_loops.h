// Long straight loops over the elements of tiles: several vectors go side by side.
#pragma once
#include <llvm/IR/PassManager.h>

namespace weft::codegen {

/// Tells LLVM's vectoriser how many vectors a turn of a loop is to have. By itself it takes one where a turn is long, for long
/// turns are seldom short of work; but a map of an elementary function is one chain of operations that wait for each other.
class InterleaveLoopsPass : public llvm::PassInfoMixin<InterleaveLoopsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weft::codegen
