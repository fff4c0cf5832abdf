// Goes from an address to those that are made of it.
#include "codegen/nvptx/aligned_rows.h"

#include <algorithm>

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Local.h>

namespace weft::codegen {
namespace {

/// The alignment of addresses where a block uses them: what an assumption says may hold in one branch and not in the other.
class Alignments {
 public:
  Alignments(const llvm::DataLayout& layout, llvm::AssumptionCache& assumed, llvm::DominatorTree& tree)
      : layout_(layout), assumed_(assumed), tree_(tree) {}

  void begin_block() { known_.clear(); }

  llvm::Align of(llvm::Value* address, const llvm::Instruction& at) {
    if (const auto found = known_.find(address); found != known_.end()) return found->second;
    const auto* sum = llvm::dyn_cast<llvm::GetElementPtrInst>(address);
    const llvm::Align made = sum && !sum->getType()->isVectorTy()
                                 ? of_sum(*llvm::cast<llvm::GEPOperator>(sum), at)
                                 : llvm::getKnownAlignment(address, layout_, &at, &assumed_, &tree_);
    known_[address] = made;
    return made;
  }

 private:
  llvm::Align of_sum(const llvm::GEPOperator& sum, const llvm::Instruction& at) {
    llvm::Align least = of(const_cast<llvm::Value*>(sum.getPointerOperand()), at);
    const unsigned bits = layout_.getIndexTypeSizeInBits(sum.getType());
    llvm::MapVector<llvm::Value*, llvm::APInt> terms;
    llvm::APInt constant(bits, 0);
    if (!sum.collectOffset(layout_, bits, terms, constant)) return llvm::Align();
    const auto take = [&](unsigned zeros) { least = std::min(least, llvm::Align(1ull << std::min(zeros, 16u))); };
    take(constant.countr_zero());
    for (const auto& [term, scale] : terms) {
      const llvm::KnownBits known = llvm::computeKnownBits(term, layout_, 0, &assumed_, &at, &tree_);
      take(known.countMinTrailingZeros() + scale.countr_zero());
    }
    return least;
  }

  const llvm::DataLayout& layout_;
  llvm::AssumptionCache& assumed_;
  llvm::DominatorTree& tree_;
  llvm::DenseMap<llvm::Value*, llvm::Align> known_;
};

}  // namespace

llvm::PreservedAnalyses AlignedRowsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  Alignments alignments(function.getParent()->getDataLayout(), analyses.getResult<llvm::AssumptionAnalysis>(function),
                        analyses.getResult<llvm::DominatorTreeAnalysis>(function));
  for (llvm::BasicBlock& block : function) {
    alignments.begin_block();
    for (llvm::Instruction& at : block) {
      llvm::Value* const address = llvm::getPointerOperand(&at);
      if (!address || !llvm::isa<llvm::GetElementPtrInst>(address)) continue;
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&at))
        load->setAlignment(std::max(load->getAlign(), alignments.of(address, at)));
      else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&at))
        store->setAlignment(std::max(store->getAlign(), alignments.of(address, at)));
    }
  }
  return llvm::PreservedAnalyses::all();
}

}  // namespace weft::codegen
