// Which zeros an operand can be is asked of LLVM's value tracking.
#include "codegen/nvptx/extremes.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicInst.h>

namespace weft::codegen {
namespace {

/// Whether the value can be a zero of that sign, as far as a short look shows.
bool may_be_zero(const Emitter& e, const llvm::Value* v, bool negative) {
  // Of our own: the maximum with a constant that is not negative is not −0.
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v); call && negative)
    if (call->getIntrinsicID() == llvm::Intrinsic::maxnum)
      if (const auto* least = llvm::dyn_cast<llvm::ConstantFP>(call->getArgOperand(1));
          least && !least->getValue().isNegative() && !least->getValue().isNaN())
        return false;
  const llvm::FPClassTest which = negative ? llvm::fcNegZero : llvm::fcPosZero;
  const llvm::KnownFPClass known =
      llvm::computeKnownFPClass(v, which, 0, llvm::SimplifyQuery(e.unit.module->getDataLayout()));
  return (known.KnownFPClasses & which) != llvm::fcNone;
}

}  // namespace

llvm::Value* emit_float_extreme(Emitter& e, bool most, llvm::Value* x, llvm::Value* y) {
  llvm::Value* own = e.b.CreateBinaryIntrinsic(most ? llvm::Intrinsic::maxnum : llvm::Intrinsic::minnum, x, y);
  // The instruction's maximum of +0 and −0 is +0, its minimum −0, in either order.
  if (!may_be_zero(e, x, !most) || !may_be_zero(e, y, most)) return own;
  auto is_number = [](llvm::Value* v) {
    auto* constant = llvm::dyn_cast<llvm::ConstantFP>(v);
    return constant && !constant->getValue().isNaN();
  };
  auto better = [&](llvm::Value* v, llvm::Value* w, bool or_equal) {
    if (most) return or_equal ? e.b.CreateFCmpOGE(v, w) : e.b.CreateFCmpOGT(v, w);
    return or_equal ? e.b.CreateFCmpOLE(v, w) : e.b.CreateFCmpOLT(v, w);
  };
  if (is_number(x)) return e.b.CreateSelect(better(y, x, true), y, x);
  if (is_number(y)) return e.b.CreateSelect(better(x, y, false), x, y);
  return e.b.CreateSelect(e.b.CreateFCmpOEQ(x, y), y, own);
}

}  // namespace weft::codegen
