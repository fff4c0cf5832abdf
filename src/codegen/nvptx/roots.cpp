// sqrt.rn.f32 and rcp.rn.f32 are short sequences behind a branch for numbers out of their range. Branches in loops keep
// ptxas from running iterations into each other, so a loop waits for each root. Here numbers that are too small are
// scaled instead, and what has no finite root is selected. The sequences are those of ptxas: they round correctly with
// the hardware's approximations, whose mantissas repeat every four powers of two.
#include "codegen/nvptx/roots.h"

#include <cmath>

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace weft::codegen {
namespace {

constexpr const char* kMark = "weft.root";  // on results of emit_square_root

llvm::Value* fma(Emitter& e, llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  return e.b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
}

llvm::Value* number(Emitter& e, double value) { return llvm::ConstantFP::get(e.b.getFloatTy(), value); }

}  // namespace

llvm::Value* emit_square_root(Emitter& e, llvm::Value* x) {
  llvm::Value* small = e.b.CreateFCmpOLT(x, number(e, 0x1p-96));
  llvm::Value* scaled = e.b.CreateFMul(x, e.b.CreateSelect(small, number(e, 0x1p+64), number(e, 1)));
  llvm::Value* inverse = e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f, {}, {scaled});
  llvm::Value* near = e.b.CreateFMul(scaled, inverse);
  llvm::Value* rest = fma(e, e.b.CreateFNeg(near), near, scaled);
  llvm::Value* root = fma(e, rest, e.b.CreateFMul(inverse, number(e, 0.5)), near);
  root = e.b.CreateFMul(root, e.b.CreateSelect(small, number(e, 0x1p-32), number(e, 1)));
  // 0 and infinity are their own roots.
  llvm::Value* end = e.b.CreateOr(e.b.CreateFCmpOEQ(x, number(e, 0)), e.b.CreateFCmpOEQ(x, number(e, HUGE_VAL)));
  llvm::Value* result = e.b.CreateSelect(end, x, root);
  if (auto* made = llvm::dyn_cast<llvm::Instruction>(result))
    made->setMetadata(kMark, llvm::MDNode::get(made->getContext(), {}));
  return result;
}

llvm::Value* emit_root_reciprocal(Emitter& e, llvm::Value* y) {
  // Roots lie between 2^-75 and 2^64: neither they nor their reciprocals are denormal. The approximation is exact for 0
  // and infinity.
  auto* root = llvm::dyn_cast<llvm::SelectInst>(y);
  if (!root || !root->getMetadata(kMark)) return nullptr;
  llvm::Value* near = e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, {y});
  llvm::Value* rest = fma(e, e.b.CreateFNeg(y), near, number(e, 1));
  return e.b.CreateSelect(root->getCondition(), near, fma(e, near, rest, near));
}

llvm::Value* emit_tame_root(Emitter& e, llvm::Value* x) {
  llvm::Value* inverse = e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f, {}, {x});
  llvm::Value* near = e.b.CreateFMul(x, inverse);
  llvm::Value* rest = fma(e, e.b.CreateFNeg(near), near, x);
  return fma(e, rest, e.b.CreateFMul(inverse, number(e, 0.5)), near);
}

llvm::Value* emit_tame_quotient(Emitter& e, llvm::Value* x, llvm::Value* y) {
  llvm::Value* near = e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, {y});
  llvm::Value* inverse = fma(e, near, fma(e, e.b.CreateFNeg(y), near, number(e, 1)), near);
  // The sequence for reciprocals ends here: they are rounded.
  if (const auto* one = llvm::dyn_cast<llvm::ConstantFP>(x); one && one->isExactlyValue(1.0)) return inverse;
  llvm::Value* first = e.b.CreateFMul(x, inverse);
  // What is left with its sign turned: a zero then keeps its own.
  llvm::Value* less = fma(e, y, first, e.b.CreateFNeg(x));
  return fma(e, e.b.CreateFNeg(inverse), less, first);
}

}  // namespace weft::codegen
