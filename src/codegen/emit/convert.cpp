// Conversions between scalar kinds. f16 and bf16 are kept as their 16 bits; every conversion to them rounds once to
// nearest even, also from f64 and 64-bit integers, where going through f32 naively would round twice.
#include <cmath>

#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"

namespace weft::codegen {

namespace {

llvm::Type* like(llvm::Value* v, llvm::Type* scalar) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType()))
    return llvm::FixedVectorType::get(scalar, vector->getNumElements());
  return scalar;
}

}  // namespace

llvm::Value* Emitter::half_to_float(ScalarKind kind, llvm::Value* bits) {
  llvm::Type* f = like(bits, unit.f32);
  llvm::Type* i = like(bits, unit.i32);
  if (kind == ScalarKind::bf16)
    // A bfloat16 is the upper half of a float32.
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, i), constant_like(b.CreateZExt(bits, i), 16)), f);
  if (unit.traits.half_convert) return b.CreateFPExt(b.CreateBitCast(bits, like(bits, b.getHalfTy())), f);
  // Exponent and mantissa moved into place and rescaled by 2^112: exact, also for subnormals. Infinity and NaN apart.
  llvm::Value* h = b.CreateZExt(bits, i);
  llvm::Value* magnitude = b.CreateShl(b.CreateAnd(h, constant_like(h, 0x7fff)), constant_like(h, 13));
  llvm::Value* scaled =
      b.CreateBitCast(b.CreateFMul(b.CreateBitCast(magnitude, f), llvm::ConstantFP::get(f, std::ldexp(1.0, 112))), i);
  llvm::Value* special = b.CreateICmpUGE(magnitude, constant_like(h, 0x0f800000));
  llvm::Value* value = b.CreateSelect(special, b.CreateOr(magnitude, constant_like(h, 0x7f800000)), scaled);
  llvm::Value* sign = b.CreateShl(b.CreateAnd(h, constant_like(h, 0x8000)), constant_like(h, 16));
  return b.CreateBitCast(b.CreateOr(value, sign), f);
}

llvm::Value* Emitter::float_to_half(ScalarKind kind, llvm::Value* value) {
  llvm::Type* i = like(value, unit.i32);
  llvm::Type* i16 = like(value, unit.i16);
  if (kind == ScalarKind::f16 && unit.traits.half_convert)
    return b.CreateBitCast(b.CreateFPTrunc(value, like(value, b.getHalfTy())), i16);
  llvm::Value* bits = b.CreateBitCast(value, i);
  auto c = [&](std::int64_t k) { return constant_like(bits, k); };
  llvm::Value* nan = b.CreateFCmpUNO(value, value);
  if (kind == ScalarKind::bf16) {
    // Adding 0x7fff plus the kept part's last bit carries exactly when rounding up is due.
    llvm::Value* last = b.CreateAnd(b.CreateLShr(bits, c(16)), c(1));
    llvm::Value* rounded = b.CreateLShr(b.CreateAdd(bits, b.CreateAdd(last, c(0x7fff))), c(16));
    return b.CreateTrunc(b.CreateSelect(nan, c(0x7fc0), rounded), i16);
  }
  llvm::Value* magnitude = b.CreateAnd(bits, c(0x7fffffff));
  llvm::Value* sign = b.CreateLShr(b.CreateAnd(bits, c(0x80000000LL)), c(16));
  // Normal results: rebias, round on the 13 bits that go; a carry out of the mantissa is the right next exponent.
  llvm::Value* last = b.CreateAnd(b.CreateLShr(magnitude, c(13)), c(1));
  llvm::Value* normal = b.CreateLShr(
      b.CreateAdd(b.CreateAdd(magnitude, c(std::int64_t(std::uint32_t(-112 << 23)) + 0xfff)), last), c(13));
  // Subnormal results: adding 0.5 lets the float adder do the rounding at 2^-24.
  llvm::Type* f = value->getType();
  llvm::Value* shifted = b.CreateBitCast(b.CreateFAdd(b.CreateBitCast(magnitude, f), llvm::ConstantFP::get(f, 0.5)), i);
  llvm::Value* small = b.CreateSub(shifted, c(0x3f000000));
  llvm::Value* result = b.CreateSelect(b.CreateICmpULT(magnitude, c(113 << 23)), small, normal);
  // From 65536 on: infinity. What lies between 65504 and that has been rounded to one of the two by the carry.
  result = b.CreateSelect(b.CreateICmpUGE(magnitude, c(0x47800000)), c(0x7c00), result);
  // The canonical quiet NaN: by the line above it is an infinity so far.
  result = b.CreateSelect(nan, c(0x7e00), result);
  return b.CreateTrunc(b.CreateOr(result, sign), i16);
}

/// Rounds to f32 "to odd" first: with 24 bits kept and the sticky bit in the last place, the second rounding is exact.
llvm::Value* Emitter::double_to_half(ScalarKind kind, llvm::Value* value) {
  llvm::Type* f = like(value, unit.f32);
  llvm::Value* near = b.CreateFPTrunc(value, f);
  llvm::Value* back = b.CreateFPExt(near, value->getType());
  llvm::Value* bits = b.CreateBitCast(near, like(value, unit.i32));
  auto magnitude = [&](llvm::Value* v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  llvm::Value* above = b.CreateFCmpOGT(magnitude(back), magnitude(value));
  llvm::Value* inexact = b.CreateFCmpONE(back, value);
  // Back towards zero where the first rounding went up: magnitudes are ordered as their
  // bits are, so one less is the float below.
  bits = b.CreateSub(bits, b.CreateZExt(above, bits->getType()));
  // The last bit set says "a bit more than this", which is all that the second
  // rounding has to know of what was cut off.
  bits = b.CreateOr(bits, b.CreateZExt(inexact, bits->getType()));
  return float_to_half(kind, b.CreateBitCast(bits, f));
}

/// Saturating, NaN to 0. On x86 LLVM takes its intrinsic for that apart, lane by lane; there vectors are clamped by
/// compares and selects first, so that the plain conversion never sees a number outside its range.
llvm::Value* Emitter::float_to_int(llvm::Value* v, ScalarKind to) {
  if (llvm::Value* own = unit.hooks->float_to_int(*this, v, to)) return own;
  llvm::Type* target = like(v, unit.type(to));
  llvm::Type* type = v->getType();
  if (!unit.traits.x86 || !type->isVectorTy()) {
    auto id = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {target, type}, {v});
  }
  const int bits = int(scalar_bits(to)), magnitude = is_signed(to) ? bits - 1 : bits;
  const double low = is_signed(to) ? -std::ldexp(1.0, magnitude) : 0.0, end = std::ldexp(1.0, magnitude);
  auto number = [&](double x) { return llvm::ConstantFP::get(type, x); };
  auto plain = [&](llvm::Value* x) { return is_signed(to) ? b.CreateFPToSI(x, target) : b.CreateFPToUI(x, target); };
  const int precision = type->getScalarType()->isFloatTy() ? 24 : 53;
  if (magnitude <= precision) {  // the largest integer is a float too
    llvm::Value* x = b.CreateSelect(b.CreateFCmpOLT(v, number(end - 1)), v, number(end - 1));
    x = b.CreateSelect(b.CreateFCmpOGT(x, number(low)), x, number(low));
    return plain(b.CreateSelect(b.CreateFCmpUNO(v, v), number(0), x));
  }
  // The largest integer lies between two floats: clamping to the lower one would give a smaller number than
  // saturating does, so what is out of range is replaced after the conversion.
  llvm::Value* below_end = b.CreateFCmpOLT(v, number(end));
  llvm::Value* from_low = b.CreateFCmpOGE(v, number(low));
  llvm::Value* result = plain(b.CreateSelect(b.CreateAnd(below_end, from_low), v, number(0)));
  llvm::APInt most =
      is_signed(to) ? llvm::APInt::getSignedMaxValue(unsigned(bits)) : llvm::APInt::getMaxValue(unsigned(bits));
  result = b.CreateSelect(b.CreateFCmpOGE(v, number(end)), llvm::ConstantInt::get(target, most), result);
  if (!is_signed(to)) return result;
  llvm::APInt least = llvm::APInt::getSignedMinValue(unsigned(bits));
  return b.CreateSelect(b.CreateFCmpOLT(v, number(low)), llvm::ConstantInt::get(target, least), result);
}

/// Finite numbers of float16 fit in 32 bits with a sign, and on x86 they go that way: of `fptoui` of an extended half LLVM
/// 19 makes a conversion straight from half that gives wrong numbers with AVX512-FP16.
llvm::Value* Emitter::half_to_unsigned(llvm::Value* v, ScalarKind to) {
  llvm::Type* target = like(v, unit.type(to));
  auto number = [&](double x) { return llvm::ConstantFP::get(v->getType(), x); };
  // Negative numbers and NaN saturate to 0, infinity to the largest.
  llvm::Value* in_range = b.CreateAnd(b.CreateFCmpOGT(v, number(0)), b.CreateFCmpOLE(v, number(65504)));
  llvm::Value* result = b.CreateFPToSI(b.CreateSelect(in_range, v, number(0)), like(v, unit.i32));
  result = b.CreateZExtOrTrunc(result, target);
  llvm::APInt most = llvm::APInt::getMaxValue(unsigned(scalar_bits(to)));
  return b.CreateSelect(b.CreateFCmpOGT(v, number(65504)), llvm::ConstantInt::get(target, most), result);
}

llvm::Value* Emitter::convert(llvm::Value* v, ScalarKind from, ScalarKind to) {
  if (from == to) return v;
  llvm::Type* target = like(v, unit.type(to));
  auto zero = [&] { return llvm::Constant::getNullValue(v->getType()); };
  if (to == ScalarKind::boolean) {
    // True is all but ±0, and NaN is true: the bits without the sign tell.
    if (is_half(from)) return b.CreateICmpNE(b.CreateAnd(v, constant_like(v, 0x7fff)), zero());
    return is_floating(from) ? b.CreateFCmpUNE(v, zero()) : b.CreateICmpNE(v, zero());
  }
  if (from == ScalarKind::boolean) {
    if (!is_floating(to)) return b.CreateZExt(v, target);
    if (is_half(to))
      return b.CreateSelect(v, llvm::ConstantInt::get(target, to == ScalarKind::f16 ? 0x3c00 : 0x3f80),
                            llvm::Constant::getNullValue(target));
    return b.CreateUIToFP(v, target);
  }
  if (!is_floating(from) && !is_floating(to)) {
    unsigned old_bits = scalar_bits(from), new_bits = scalar_bits(to);
    if (new_bits <= old_bits) return b.CreateTrunc(v, target);
    return is_signed(from) ? b.CreateSExt(v, target) : b.CreateZExt(v, target);
  }
  if (from == ScalarKind::f16 && !is_floating(to) && !is_signed(to) && scalar_bits(to) >= 32 && unit.traits.x86 &&
      v->getType()->isVectorTy())
    return half_to_unsigned(half_to_float(from, v), to);
  if (is_half(from)) return convert(half_to_float(from, v), ScalarKind::f32, to);
  if (is_floating(from) && is_floating(to)) {
    if (is_half(to)) return from == ScalarKind::f64 ? double_to_half(to, v) : float_to_half(to, v);
    return to == ScalarKind::f64 ? b.CreateFPExt(v, target) : b.CreateFPTrunc(v, target);
  }
  if (is_floating(from)) return float_to_int(v, to);
  if (!is_half(to)) return is_signed(from) ? b.CreateSIToFP(v, target) : b.CreateUIToFP(v, target);
  // Integer to a 16-bit float: exactly to f64, then one rounding. 64-bit integers first fold their low bits into a
  // sticky bit, which leaves 53 significant ones.
  llvm::Type* f = like(v, unit.f64);
  if (scalar_bits(from) < 64) return double_to_half(to, is_signed(from) ? b.CreateSIToFP(v, f) : b.CreateUIToFP(v, f));
  auto c = [&](std::int64_t k) { return constant_like(v, k); };
  llvm::Value* negative = is_signed(from) ? b.CreateICmpSLT(v, zero()) : nullptr;
  llvm::Value* magnitude = negative ? b.CreateSelect(negative, b.CreateNeg(v), v) : v;
  llvm::Value* sticky = b.CreateSelect(b.CreateICmpNE(b.CreateAnd(magnitude, c(0x7ff)), zero()), c(0x800), zero());
  llvm::Value* folded = b.CreateOr(b.CreateAnd(magnitude, c(~0x7ffLL)), sticky);
  llvm::Value* is_large = b.CreateICmpUGE(magnitude, c(std::int64_t(1) << 53));
  llvm::Value* wide = b.CreateUIToFP(b.CreateSelect(is_large, folded, magnitude), f);
  if (negative) wide = b.CreateSelect(negative, b.CreateFNeg(wide), wide);
  return double_to_half(to, wide);
}

void Emitter::emit_cast(const ir::Op& op) {
  const ir::Value *from = op.operand(0), *to = op.result();
  analysis::LaneShape lanes = shape(to, 0);
  // A widened thread index is as linear as the index: lane 0's is converted, and the stride stays.
  bool linear = lanes != analysis::kUniform && lanes != analysis::kVarying;
  const Part& part = get(from)[0];
  llvm::Value* v = linear ? base(part) : plain(part);
  set(to, {Part{convert(v, from->type->scalar_kind(), to->type->scalar_kind()), linear ? lanes : 0}});
}

void Emitter::emit_bitcast(const ir::Op& op) {
  llvm::Value* v = plain(op.operand(0));
  set(op.result(), {Part{b.CreateBitCast(v, like(v, unit.type(op.result()->type->scalar_kind())))}});
}

}  // namespace weft::codegen
