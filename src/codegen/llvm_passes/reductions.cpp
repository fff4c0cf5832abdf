// Looks at every minimum that no other one uses, and gathers what it is made of.
#include "codegen/llvm_passes/reductions.h"

#include <llvm/ADT/SmallBitVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Local.h>

namespace weft::codegen {

namespace {

llvm::IntrinsicInst* minimum(llvm::Value* value) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call && call->getIntrinsicID() == llvm::Intrinsic::umin && !call->getType()->isVectorTy() ? call : nullptr;
}

/// The vector whose components a tree takes the least of, each of them once; null if it is not such a tree.
llvm::Value* vector_under(llvm::IntrinsicInst& root) {
  llvm::Value* vector = nullptr;
  llvm::SmallBitVector seen;
  llvm::SmallVector<llvm::Value*, 16> work = {root.getArgOperand(0), root.getArgOperand(1)};
  while (!work.empty()) {
    llvm::Value* value = work.pop_back_val();
    if (llvm::IntrinsicInst* inner = minimum(value)) {
      work.append({inner->getArgOperand(0), inner->getArgOperand(1)});
      continue;
    }
    auto* component = llvm::dyn_cast<llvm::ExtractElementInst>(value);
    auto* place = component ? llvm::dyn_cast<llvm::ConstantInt>(component->getIndexOperand()) : nullptr;
    if (!place || (vector && component->getVectorOperand() != vector)) return nullptr;
    if (!vector) {
      vector = component->getVectorOperand();
      seen.resize(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
    }
    const std::uint64_t k = place->getZExtValue();
    if (k >= seen.size() || seen.test(unsigned(k))) return nullptr;
    seen.set(unsigned(k));
  }
  return seen.all() ? vector : nullptr;
}

bool within_another(const llvm::IntrinsicInst& call) {
  return call.hasOneUse() && minimum(const_cast<llvm::User*>(*call.user_begin()));
}

}  // namespace

void find_reductions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    llvm::SmallVector<llvm::IntrinsicInst*, 8> roots;
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (llvm::IntrinsicInst* call = minimum(&instruction); call && !within_another(*call)) roots.push_back(call);
    for (llvm::IntrinsicInst* root : roots) {
      llvm::Value* vector = vector_under(*root);
      if (!vector) continue;
      root->replaceAllUsesWith(llvm::IRBuilder<>(root).CreateIntMinReduce(vector));
      llvm::RecursivelyDeleteTriviallyDeadInstructions(root);
    }
  }
}

}  // namespace weft::codegen
