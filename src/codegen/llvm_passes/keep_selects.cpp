// A frozen comparison is no longer a pattern to LLVM's instruction selection, and costs nothing: it ends as comparison and
// conditional move. Only selects that would be taken for a minimum or maximum are touched.
#include "codegen/llvm_passes/keep_selects.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

namespace weft::codegen {

namespace {

/// With fast math LLVM may do as it likes.
bool is_free(const llvm::FCmpInst& compare) { return compare.hasNoNaNs() && compare.hasNoSignedZeros(); }

}  // namespace

void keep_selects(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      auto* compare = select ? llvm::dyn_cast<llvm::FCmpInst>(select->getCondition()) : nullptr;
      if (!compare || is_free(*compare)) continue;
      llvm::Value *x = nullptr, *y = nullptr;
      const llvm::SelectPatternFlavor flavor = llvm::matchSelectPattern(select, x, y).Flavor;
      if (flavor != llvm::SPF_FMINNUM && flavor != llvm::SPF_FMAXNUM) continue;
      select->setCondition(llvm::IRBuilder<>(select).CreateFreeze(compare));
    }
  }
}

}  // namespace weft::codegen
