// One case for each operation; the corners (where a slope has no value) are those of the reverse rules.
#include "autodiff/tangent_elementary.h"

#include <numbers>

#include "ir/op_cases.h"

namespace weft::autodiff {

using ir::OpCode;
using ir::Value;

Value* elementary_tangent(ir::Builder& b, OpCode code, const Moving& first, const Moving& second, Value* r) {
  Value *x = first.value, *dx = first.tangent, *y = second.value, *dy = second.tangent;
  const Type* type = x->type;
  Value* zero = b.zero(type);
  // Slopes are written by r, the result, where they can be: one call of an elementary function less.
  auto number = [&](const Type* of, double v) { return b.function().constant_float(of, v); };
  auto mul = [&](Value* p, Value* q) { return b.binary(OpCode::mul, p, q); };
  auto add = [&](Value* p, Value* q) { return b.binary(OpCode::add, p, q); };
  auto sub = [&](Value* p, Value* q) { return b.binary(OpCode::sub, p, q); };
  auto div = [&](Value* p, Value* q) { return b.binary(OpCode::div, p, q); };
  auto one = [&] { return number(type, 1.0); };
  auto f = [&](OpCode function) { return b.unary(function, x); };
  auto negative = [&](Value* value) { return b.unary(OpCode::neg, value); };
  auto is = [&](OpCode compare, Value* value) { return b.binary(compare, value, zero); };
  // What does not move contributes nothing, whatever the slope; corners are those of the reverse rules. Where it is a
  // number it stays: its own derivative is not zero where the tangent is.
  auto gated = [&](Value* moved, Value* value) {
    Value* no_number = b.binary(OpCode::ne, value, value);
    return b.select(b.binary(OpCode::bit_and, is(OpCode::eq, moved), no_number), zero, value);
  };
  auto over = [&](Value* divisor) { return gated(dx, div(dx, divisor)); };
  auto times = [&](Value* slope) { return gated(dx, mul(dx, slope)); };
  switch (code) {
    case OpCode::abs: return b.select(is(OpCode::lt, x), negative(dx), dx);
    case OpCode::min:
    case OpCode::max: {  // a NaN is ignored: the other one moves the result
      Value* smaller = b.binary(code == OpCode::min ? OpCode::lt : OpCode::gt, x, y);
      Value* alone = b.binary(OpCode::ne, y, y);
      return b.select(b.binary(OpCode::bit_or, smaller, alone), dx, dy);
    }
    case OpCode::least: return b.select(b.binary(OpCode::lt, x, y), dx, dy);
    case OpCode::greatest: return b.select(b.binary(OpCode::gt, x, y), dx, dy);
    case OpCode::div: {
      Value* above = over(y);
      return sub(above, gated(dy, div(mul(r, dy), y)));
    }
    case OpCode::rem: return sub(dx, gated(dy, mul(dy, b.unary(OpCode::trunc, div(x, y)))));
    case OpCode::sqrt: return over(mul(number(type, 2.0), r));
    case OpCode::sin: return times(f(OpCode::cos));
    case OpCode::sin_large: return times(f(OpCode::cos_large));
    case OpCode::cos: return times(negative(f(OpCode::sin)));
    case OpCode::cos_large: return times(negative(f(OpCode::sin_large)));
    case OpCode::tan:
    case OpCode::tan_large: {
      Value* steep = is(OpCode::eq, f(code == OpCode::tan ? OpCode::cos : OpCode::cos_large));
      return b.select(steep, zero, times(add(one(), mul(r, r))));
    }
    case OpCode::asin:
    case OpCode::acos: {
      Value* d = sub(one(), mul(x, x));
      Value* slope = over(b.unary(OpCode::sqrt, d));
      return b.select(is(OpCode::gt, d), code == OpCode::asin ? slope : negative(slope), zero);
    }
    case OpCode::atan: return over(add(one(), mul(x, x)));
    case OpCode::atan2: {
      Value *xx = mul(x, x), *yy = mul(y, y), *d = add(xx, yy);
      Value *there = is(OpCode::gt, d), *left = mul(dx, y), *right = mul(x, dy);
      return b.select(there, div(sub(left, right), d), zero);
    }
    case OpCode::sinh: return times(f(OpCode::cosh));
    case OpCode::cosh: return times(f(OpCode::sinh));
    case OpCode::tanh: return times(sub(one(), mul(r, r)));
    case OpCode::exp: return times(r);
    case OpCode::exp2: return times(mul(r, number(type, std::numbers::ln2)));
    case OpCode::log: return over(x);
    case OpCode::log2: return over(mul(x, number(type, std::numbers::ln2)));
    case OpCode::log10: return over(mul(x, number(type, std::numbers::ln10)));
    case OpCode::cbrt: return over(mul(number(type, 3.0), mul(r, r)));
    case OpCode::erf:
    case OpCode::erfc: {
      Value* bell = b.unary(OpCode::exp, negative(mul(x, x)));
      return times(mul(number(type, (code == OpCode::erf ? 2.0 : -2.0) * std::numbers::inv_sqrtpi), bell));
    }
    case OpCode::erfinv:
    case OpCode::erfcinv: {
      double scale = (code == OpCode::erfinv ? 0.5 : -0.5) / std::numbers::inv_sqrtpi;
      return times(mul(number(type, scale), b.unary(OpCode::exp, mul(r, r))));
    }
    case OpCode::pow: {
      Value* lower = b.binary(OpCode::pow, x, sub(y, one()));
      Value* by_base = b.select(is(OpCode::eq, y), zero, times(mul(y, lower)));
      Value* flat = b.binary(OpCode::bit_and, is(OpCode::eq, x), is(OpCode::gt, y));
      return add(by_base, gated(dy, b.select(flat, zero, mul(dy, mul(r, f(OpCode::log))))));
    }
    case OpCode::add:  // as a whole: derivative()
    case OpCode::sub:
    case OpCode::neg:
    case OpCode::mul:
    case OpCode::fma:
    case OpCode::floordiv:  // steps
    case OpCode::floor:
    case OpCode::ceil:
    case OpCode::trunc:
    case OpCode::round:
    case OpCode::rint:
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_WHOLE_OPS)
    WEFT_CASES(WEFT_OTHER_OPS) break;
  }
  WEFT_UNREACHABLE("no tangent of " + std::string(ir::name_of(code)));
}

}  // namespace weft::autodiff
