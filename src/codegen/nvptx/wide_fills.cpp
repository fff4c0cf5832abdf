// Fills with zeros and copies become stores as wide as the alignment allows: one after the other, or in a loop.
#include "codegen/nvptx/wide_fills.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace weft::codegen {
namespace {

constexpr std::uint64_t kMostWritten = 32;  // moves that are written out

/// The widest move for an alignment.
llvm::Type* piece_type(llvm::LLVMContext& context, std::uint64_t align) {
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  if (align >= 16) return llvm::FixedVectorType::get(word, 4);
  if (align >= 8) return llvm::FixedVectorType::get(word, 2);
  return align >= 4 ? word : align >= 2 ? llvm::Type::getInt16Ty(context) : llvm::Type::getInt8Ty(context);
}

void replace(llvm::MemIntrinsic* fill) {
  auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(fill);
  std::uint64_t align = fill->getDestAlign().valueOrOne().value();
  if (copy) align = std::min(align, copy->getSourceAlign().valueOrOne().value());
  llvm::LLVMContext& context = fill->getContext();
  llvm::Type *byte = llvm::Type::getInt8Ty(context), *i64 = llvm::Type::getInt64Ty(context);
  llvm::Value *to = fill->getDest(), *from = copy ? copy->getSource() : nullptr;
  const std::uint64_t bytes = llvm::cast<llvm::ConstantInt>(fill->getLength())->getZExtValue();
  llvm::Type* piece = piece_type(context, align);
  const std::uint64_t width = piece->getPrimitiveSizeInBits() / 8;
  auto move = [&](llvm::IRBuilder<>& b, llvm::Type* type, llvm::Value* offset, std::uint64_t aligned) {
    const llvm::Align at(aligned);
    llvm::Value* value = llvm::Constant::getNullValue(type);
    if (from) value = b.CreateAlignedLoad(type, b.CreateGEP(byte, from, offset), at);
    b.CreateAlignedStore(value, b.CreateGEP(byte, to, offset), at);
  };
  const std::uint64_t count = bytes / width;
  llvm::IRBuilder<> b(fill);
  for (std::uint64_t at = count * width; at < bytes; ++at) move(b, byte, b.getInt64(at), 1);
  if (count <= kMostWritten) {
    for (std::uint64_t k = 0; k < count; ++k) move(b, piece, b.getInt64(k * width), width);
  } else {
    auto [body, index] = llvm::SplitBlockAndInsertSimpleForLoop(llvm::ConstantInt::get(i64, count), fill);
    llvm::IRBuilder<> inside(body);
    move(inside, piece, inside.CreateMul(index, inside.getInt64(width)), width);
  }
  fill->eraseFromParent();
}

}  // namespace

llvm::PreservedAnalyses WideFillsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<llvm::MemIntrinsic*, 4> found;
  for (llvm::Instruction& at : llvm::instructions(function)) {
    auto* fill = llvm::dyn_cast<llvm::MemIntrinsic>(&at);
    if (!fill || fill->isVolatile() || !llvm::isa<llvm::ConstantInt>(fill->getLength())) continue;
    const auto* set = llvm::dyn_cast<llvm::MemSetInst>(fill);
    const auto* value = set ? llvm::dyn_cast<llvm::ConstantInt>(set->getValue()) : nullptr;
    if ((value && value->isZero()) || llvm::isa<llvm::MemCpyInst>(fill)) found.push_back(fill);
  }
  for (llvm::MemIntrinsic* fill : found) replace(fill);
  return found.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace weft::codegen
