// Names the instruction where a factor was extended in another block.
#include "codegen/nvptx/narrow_products.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>

namespace weft::codegen {
namespace {

/// A factor of 32 bits: what it was extended from, and where; or a constant.
struct Factor {
  llvm::Value* narrow = nullptr;
  const llvm::BasicBlock* block = nullptr;
};

Factor narrow_factor(llvm::Value* factor, bool with_sign) {
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(factor)) {
    const llvm::APInt& value = number->getValue();
    if (with_sign ? !value.isSignedIntN(32) : !value.isIntN(32)) return {};
    return {llvm::ConstantInt::get(llvm::Type::getInt32Ty(factor->getContext()), value.trunc(32)), nullptr};
  }
  auto* cast = llvm::dyn_cast<llvm::CastInst>(factor);
  const bool fits = cast && (with_sign ? llvm::isa<llvm::SExtInst>(cast) : llvm::isa<llvm::ZExtInst>(cast));
  return fits && cast->getSrcTy()->isIntegerTy(32) ? Factor{cast->getOperand(0), cast->getParent()} : Factor{};
}

bool name_product(llvm::Instruction& product) {
  for (const bool with_sign : {true, false}) {
    const Factor x = narrow_factor(product.getOperand(0), with_sign),
                 y = narrow_factor(product.getOperand(1), with_sign);
    if (!x.narrow || !y.narrow || (!x.block && !y.block)) continue;
    const llvm::BasicBlock* here = product.getParent();
    if ((!x.block || x.block == here) && (!y.block || y.block == here)) return false;  // the back end sees it
    llvm::Type *narrow = x.narrow->getType(), *wide = product.getType();
    auto* type = llvm::FunctionType::get(wide, {narrow, narrow}, false);
    const char* code = with_sign ? "mul.wide.s32 $0, $1, $2;" : "mul.wide.u32 $0, $1, $2;";
    const bool constant = llvm::isa<llvm::ConstantInt>(y.narrow);
    llvm::IRBuilder<> b(&product);
    product.replaceAllUsesWith(b.CreateCall(
        type, llvm::InlineAsm::get(type, code, constant ? "=l,r,n" : "=l,r,r", false), {x.narrow, y.narrow}));
    return true;
  }
  return false;
}

}  // namespace

llvm::PreservedAnalyses NarrowProductsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::Instruction*, 8> named;
  for (llvm::Instruction& at : llvm::instructions(function))
    if (at.getOpcode() == llvm::Instruction::Mul && at.getType()->isIntegerTy(64) && name_product(at))
      named.push_back(&at);
  for (llvm::Instruction* product : named) product->eraseFromParent();
  return named.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weft::codegen
