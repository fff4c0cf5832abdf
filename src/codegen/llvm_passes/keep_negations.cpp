// A fence around the sum is no instruction, and no pattern to LLVM's instruction selection either. Integers that flip the sign bit,
// products with −1 and differences from −0 are: all of them become the negation again.
#include "codegen/llvm_passes/keep_negations.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

namespace weft::codegen {

namespace {

namespace match = llvm::PatternMatch;

/// The sum that is negated, in any of the ways that instruction selection knows; null: none.
llvm::IntrinsicInst* negated_sum(llvm::Instruction& instruction) {
  llvm::Value* sum = nullptr;
  if (!match::match(&instruction, match::m_FNeg(match::m_Value(sum))) &&
      !match::match(&instruction, match::m_c_FMul(match::m_Value(sum), match::m_SpecificFP(-1))))
    return nullptr;
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(sum);
  return call && call->getIntrinsicID() == llvm::Intrinsic::fma && !call->hasNoSignedZeros() ? call : nullptr;
}

}  // namespace

void keep_negations(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (instruction.getType()->isVectorTy()) continue;
      llvm::IntrinsicInst* sum = negated_sum(instruction);
      if (!sum) continue;
      llvm::Value* kept =
          llvm::IRBuilder<>(&instruction).CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {sum->getType()}, {sum});
      instruction.replaceUsesOfWith(sum, kept);
    }
  }
}

}  // namespace weft::codegen
