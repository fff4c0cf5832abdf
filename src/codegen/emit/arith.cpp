// Elementwise operations: arithmetic, bits, rounding and elementary functions, on scalars, composites and blocks.
// docs/design/ir.md states each meaning; src/ir/scalar_eval.cpp is the same in plain C++ and the tests compare the two.
#include <algorithm>

#include "analysis/ranges.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"
#include "ir/op_cases.h"
#include "ir/tame.h"

namespace weft::codegen {

using ir::OpCode;

llvm::Value* Emitter::constant_like(llvm::Value* like, std::int64_t value) {
  return llvm::ConstantInt::get(like->getType(), std::uint64_t(value), true);
}

void Emitter::emit_elementwise(const ir::Op& op) {
  const ir::Value* result = op.result();
  const Type* type = result->type;
  ScalarKind kind = type->scalar_kind();
  if (is_packed(type)) return emit_packed_arith(op);
  if (is_block(type)) {
    bool wide = false;
    for (const ir::Value* v : op.operands) wide |= !is_uniform(get(v)[0]);
    Part out = new_block(kind, type->component_count(), wide && W > 1);
    counted_loop(type->component_count(), [&](llvm::Value* i) {
      llvm::SmallVector<llvm::Value*, 3> args;
      for (const ir::Value* v : op.operands)
        args.push_back(is_block(v->type) ? block_get(get(v)[0], kind, i) : plain(v));
      block_put(out, kind, i, arith(op.code, kind, args));
    });
    return set(result, {out});
  }
  // Linear results (the difference of two linear values may even be uniform) are computed for lane 0.
  analysis::LaneShape lanes = shape(result, 0);
  bool linear = type->is_scalar() && lanes != analysis::kVarying;
  Parts out;
  for (std::uint32_t c = 0, n = type->component_count(); c < n; ++c) {
    llvm::SmallVector<llvm::Value*, 3> args;
    for (const ir::Value* v : op.operands) {
      const Part& part = get(v)[v->type->is_scalar() ? 0 : c];
      // base() checks that the analysis was right: a vector here would be cut down to lane 0 without a word.
      args.push_back(linear ? base(part) : plain(part));
    }
    llvm::Value* made = ir::is_tame(op) && kind == ScalarKind::f32 && !unit.options.fast_math
                            ? unit.hooks->tame(*this, op.code, args)
                            : nullptr;
    out.push_back(Part{made ? made : arith(op.code, kind, args), linear ? lanes : 0});
  }
  // Unless it was folded: it may be another operation's then, and stand earlier.
  auto* made = type->is_scalar() ? llvm::dyn_cast<llvm::BinaryOperator>(out[0].v) : nullptr;
  if (made && made == &b.GetInsertBlock()->back() && never_overflows(op)) made->setHasNoSignedWrap();
  set(result, std::move(out));
}

bool Emitter::never_overflows(const ir::Op& op) {
  if (op.code != OpCode::add && op.code != OpCode::sub && op.code != OpCode::mul) return false;
  if (W != 1 || (!unit.turns && !source_.form.block) || op.result()->type != types::i32()) return false;
  if (!ranges_) ranges_ = std::make_unique<const analysis::Ranges>(source_);
  const analysis::Range x = ranges_->of(op.operand(0)), y = ranges_->of(op.operand(1)),
                        whole = analysis::type_range(ScalarKind::i32);
  const auto fits = [&](analysis::Wide lo, analysis::Wide hi) { return lo >= whole.lo && hi <= whole.hi; };
  if (op.code == OpCode::add) return fits(x.lo + y.lo, x.hi + y.hi);
  if (op.code == OpCode::sub) return fits(x.lo - y.hi, x.hi - y.lo);
  const auto [lo, hi] = std::minmax({x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi});
  return fits(lo, hi);
}

llvm::Value* Emitter::wide_index(const ir::Value* index, int depth) {
  if (depth == 0 || index->kind != ir::ValueKind::result || !never_overflows(*index->op))
    return to_i64(base(get(index)[0]), index->type);
  llvm::Value* x = wide_index(index->op->operand(0), depth - 1);
  llvm::Value* y = wide_index(index->op->operand(1), depth - 1);
  if (index->op->code == OpCode::add) return b.CreateNSWAdd(x, y);
  return index->op->code == OpCode::sub ? b.CreateNSWSub(x, y) : b.CreateNSWMul(x, y);
}

llvm::Value* Emitter::arith(OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands) {
  llvm::SmallVector<llvm::Value*, 3> args(operands.begin(), operands.end());
  unify(args);
  if (is_floating(kind)) return float_arith(code, kind, args);
  return int_arith(code, kind, args[0], args.size() > 1 ? args[1] : nullptr);
}

llvm::Value* Emitter::int_arith(OpCode code, ScalarKind kind, llvm::Value* x, llvm::Value* y) {
  bool is_signed_kind = is_signed(kind);
  auto zero = [&] { return constant_like(x, 0); };
  // Division never traps: the divisors 0 and −1 are replaced and their results selected.
  struct Divisor {
    llvm::Value *safe, *is_zero, *is_minus_one;
  };
  auto divisor = [&]() -> Divisor {
    llvm::Value* is_zero = b.CreateICmpEQ(y, zero());
    if (!is_signed_kind) return {select(is_zero, constant_like(y, 1), y), is_zero, nullptr};
    llvm::Value* is_minus_one = b.CreateICmpEQ(y, constant_like(y, -1));
    return {select(b.CreateOr(is_zero, is_minus_one), constant_like(y, 1), y), is_zero, is_minus_one};
  };
  // x / −1 is −x, and wraps for the smallest number, where the instruction would trap.
  auto quotient = [&](const Divisor& d) {
    if (!is_signed_kind) return b.CreateUDiv(x, d.safe);
    return select(d.is_minus_one, b.CreateNeg(x), b.CreateSDiv(x, d.safe));
  };
  // LLVM's shifts by the width or more are poison; the IR takes the count modulo the width.
  auto count = [&] { return b.CreateAnd(y, constant_like(y, std::int64_t(scalar_bits(kind)) - 1)); };
  switch (code) {
    case OpCode::add: return b.CreateAdd(x, y);
    case OpCode::sub: return b.CreateSub(x, y);
    case OpCode::mul: return b.CreateMul(x, y);
    case OpCode::div: {
      Divisor d = divisor();
      return select(d.is_zero, zero(), quotient(d));
    }
    case OpCode::floordiv: {
      Divisor d = divisor();
      llvm::Value* q = quotient(d);
      if (is_signed_kind) {
        // Rounded towards zero, one too much where something is left over and the signs differ.
        llvm::Value* r = b.CreateSub(x, b.CreateMul(q, y));
        llvm::Value* inexact = b.CreateICmpNE(r, zero());
        llvm::Value* differ = b.CreateICmpSLT(b.CreateXor(r, y), zero());
        q = b.CreateSub(q, b.CreateZExt(b.CreateAnd(inexact, differ), q->getType()));
      }
      return select(d.is_zero, zero(), q);
    }
    case OpCode::rem: {
      Divisor d = divisor();
      return select(d.is_zero, x, is_signed_kind ? b.CreateSRem(x, d.safe) : b.CreateURem(x, d.safe));
    }
    case OpCode::min:
    case OpCode::least: return select(is_signed_kind ? b.CreateICmpSLT(x, y) : b.CreateICmpULT(x, y), x, y);
    case OpCode::max:
    case OpCode::greatest: return select(is_signed_kind ? b.CreateICmpSGT(x, y) : b.CreateICmpUGT(x, y), x, y);
    case OpCode::neg: return b.CreateNeg(x);
    case OpCode::abs: return is_signed_kind ? select(b.CreateICmpSLT(x, zero()), b.CreateNeg(x), x) : x;
    case OpCode::bit_and: return b.CreateAnd(x, y);
    case OpCode::bit_or: return b.CreateOr(x, y);
    case OpCode::bit_xor: return b.CreateXor(x, y);
    case OpCode::bit_not: return b.CreateNot(x);
    case OpCode::bit_count: return b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x);
    // False: zero is allowed, and has as many as bits.
    case OpCode::trailing_zeros: return b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, x, b.getFalse());
    case OpCode::handle: return x;
    case OpCode::shl: return b.CreateShl(x, count());
    case OpCode::shr: return is_signed_kind ? b.CreateAShr(x, count()) : b.CreateLShr(x, count());
    case OpCode::fma:
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_ROUND_OPS)
    WEFT_CASES(WEFT_MATH_OPS)
    WEFT_CASES(WEFT_WHOLE_OPS)
    WEFT_CASES(WEFT_OTHER_OPS) break;
  }
  WEFT_UNREACHABLE("not an integer operation: " + std::string(ir::name_of(code)));
}

/// The minimum or maximum by what x compares to y: a NaN operand is ignored, equal operands give the second.
llvm::Value* Emitter::float_extreme(llvm::Value* better, llvm::Value* x, llvm::Value* y) {
  llvm::Value* y_is_nan = b.CreateFCmpUNO(y, y);
  // x86's own minimum and maximum are just the inner select.
  if (unit.traits.x86) return select(y_is_nan, x, select(better, x, y));
  return select(b.CreateOr(better, y_is_nan), x, y);
}

/// The one instruction that every target has: x86's is a select, others take minNum, whatever they make of NaN and zeros.
llvm::Value* Emitter::plain_extreme(bool most, llvm::Value* x, llvm::Value* y) {
  if (unit.traits.x86) return select(most ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y), x, y);
  return b.CreateBinaryIntrinsic(most ? llvm::Intrinsic::maxnum : llvm::Intrinsic::minnum, x, y);
}

llvm::Value* Emitter::float_arith(OpCode code, ScalarKind kind, llvm::ArrayRef<llvm::Value*> operands) {
  if (is_half(kind)) {
    // Sign operations act on the bits; everything else computes in f32 and rounds once.
    if (code == OpCode::neg) return b.CreateXor(operands[0], constant_like(operands[0], 0x8000));
    if (code == OpCode::abs) return b.CreateAnd(operands[0], constant_like(operands[0], 0x7fff));
    llvm::SmallVector<llvm::Value*, 3> wide;
    for (llvm::Value* v : operands) wide.push_back(half_to_float(kind, v));
    return float_to_half(kind, float_arith(code, ScalarKind::f32, wide));
  }
  llvm::Value* x = operands[0];
  llvm::Value* y = operands.size() > 1 ? operands[1] : nullptr;
  auto intrinsic = [&](llvm::Intrinsic::ID id) { return b.CreateUnaryIntrinsic(id, x); };
  const bool plain_roots = overlaps_roots && x->getType()->isFloatTy() && !unit.options.fast_math;
  switch (code) {
    case OpCode::add: return b.CreateFAdd(x, y);
    case OpCode::sub: return b.CreateFSub(x, y);
    case OpCode::mul: return b.CreateFMul(x, y);
    case OpCode::div:
      // One over a root: the target may have its reciprocal at hand.
      if (plain_roots && llvm::isa<llvm::ConstantFP>(x) && llvm::cast<llvm::ConstantFP>(x)->isExactlyValue(1.0))
        if (llvm::Value* inverse = unit.hooks->root_reciprocal(*this, y)) return inverse;
      return b.CreateFDiv(x, y);
    case OpCode::floordiv: return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b.CreateFDiv(x, y));
    // fmod: no instruction anywhere, and exact, so that it takes a loop.
    case OpCode::rem: return call_math(code, kind, operands);
    case OpCode::min:
    case OpCode::max:
      if (llvm::Value* own = unit.hooks->float_extreme(*this, code == OpCode::max, kind, x, y)) return own;
      return float_extreme(code == OpCode::max ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y), x, y);
    case OpCode::least: return plain_extreme(false, x, y);
    case OpCode::greatest: return plain_extreme(true, x, y);
    case OpCode::neg: return b.CreateFNeg(x);
    case OpCode::abs: return intrinsic(llvm::Intrinsic::fabs);
    case OpCode::fma: return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, operands[2]});
    case OpCode::floor: return intrinsic(llvm::Intrinsic::floor);
    case OpCode::ceil: return intrinsic(llvm::Intrinsic::ceil);
    case OpCode::trunc: return intrinsic(llvm::Intrinsic::trunc);
    case OpCode::round: return intrinsic(llvm::Intrinsic::round);
    case OpCode::rint: return intrinsic(llvm::Intrinsic::rint);
    case OpCode::sqrt:
      if (unit.options.fast_math)
        if (llvm::Value* own = unit.hooks->elementary(*this, code, kind, operands)) return own;
      if (llvm::Value* root = plain_roots ? unit.hooks->root_in_loop(*this, x) : nullptr) return root;
      return intrinsic(llvm::Intrinsic::sqrt);
    WEFT_CASES(WEFT_MATH_OPS) return call_math(code, kind, operands);
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_WHOLE_OPS)
    WEFT_CASES(WEFT_OTHER_OPS) break;
  }
  WEFT_UNREACHABLE("no operation on floats: " + std::string(ir::name_of(code)));
}

}  // namespace weft::codegen
