// The tangent of each operation: what its result does when its operands move.
#include <numbers>

#include "autodiff/tangent.h"
#include "ir/op_cases.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Value;

Value* Tangent::derivative(const Op& op) {
  auto v = [&](std::size_t k) { return at(op.operand(k)); };
  auto d = [&](std::size_t k) { return dot(op.operand(k)); };
  // One after the other: the order in which arguments are evaluated is the compiler's.
  // d(a ∘ b) = da ∘ b + a ∘ db, for every product that is linear in both: of numbers, vectors, matrices.
  auto product = [&](OpCode code) {
    Value* first = b_.binary(code, d(0), v(1));
    return add(first, b_.binary(code, v(0), d(1)));
  };
  Value* r = values_[op.result()];
  if (ir::derivative_of(op.code) == ir::Derivative::none) return nullptr;
  switch (op.code) {
    case OpCode::add: return add(d(0), d(1));
    case OpCode::sub: return sub(d(0), d(1));
    case OpCode::neg: return b_.unary(OpCode::neg, d(0));
    // Not fused: contraction comes later, and decides for these as for any sum.
    case OpCode::fma: return add(product(v(0)->type == v(1)->type ? OpCode::mul : OpCode::scale), d(2));
    case OpCode::mul:
    case OpCode::scale:
    case OpCode::dot:
    case OpCode::matmul:
    case OpCode::outer: return product(op.code);
    case OpCode::transpose: return b_.unary(op.code, d(0));
    // Choices choose between tangents as they do between values.
    case OpCode::choose_bits: {
      Value* chosen[] = {v(0), d(1), d(2)};
      return b_.op(op.code, chosen)->result();
    }
    case OpCode::select: return b_.select(v(0), d(1), d(2));
    case OpCode::cast: return op.operand(0)->type->is_float() ? b_.cast(d(0), op.result()->type) : nullptr;
    case OpCode::construct: {
      std::vector<Value*> parts;
      for (std::size_t k = 0; k < op.operands.size(); ++k) parts.push_back(d(k));
      return b_.construct(op.result()->type, parts);
    }
    case OpCode::splat: return b_.splat(op.result()->type, d(0));
    case OpCode::extract: return b_.extract(d(0), op.path, all(op.operands.subspan(1)));
    case OpCode::insert: return b_.insert(d(0), d(1), op.path, all(op.operands.subspan(2)));
    case OpCode::view:
    case OpCode::slice:
    // The same operation on the shadow, with the indices of the original: a shadow has the shape of its array. The
    // gradient of a shadow is where second derivatives gather.
    case OpCode::gradient: {
      std::vector<Value*> operands = all(op.operands);
      operands[0] = d(0);
      const Type* type = op.result()->type;
      Op* made = b_.op_typed(op.code, operands, {&type, 1});
      ir::copy_attributes(op, target_, *made);
      return made->result();
    }
    case OpCode::with_gradient: return b_.with_gradient(d(0), d(1));
    // An address has no shadow, so that what is read there stands still.
    case OpCode::from_ptr: return nullptr;
    case OpCode::div:
    case OpCode::rem:
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest:
    case OpCode::abs:
    case OpCode::unscale:
    WEFT_CASES(WEFT_ROUND_OPS)
    WEFT_CASES(WEFT_MATH_OPS) break;
    case OpCode::floordiv:
    // A number's bits have no derivative.
    case OpCode::bitcast:
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic:
    case OpCode::dim:
    case OpCode::nonnull:
    case OpCode::prefetch:
    case OpCode::data_ptr:
    case OpCode::recall:
    case OpCode::local:
    case OpCode::less_bits:
    case OpCode::less_equal_bits:
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_CONTROL_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) WEFT_UNREACHABLE("no tangent of " + std::string(ir::name_of(op.code)));
  }
  // Choices, quotients and elementary functions: component by component.
  const Type* type = op.result()->type;
  if (type->is_scalar()) {
    Scalar second;
    if (op.operands.size() > 1) second = {v(1), d(1)};
    return elementary(op.code, {v(0), d(0)}, second, r);
  }
  std::vector<Value*> parts;
  for (std::uint32_t k = 0; k < type->component_count(); ++k) {
    std::vector<ir::PathStep> path;
    if (type->is_mat()) path.push_back({ir::PathStep::index, false, false, std::int32_t(k / type->cols())});
    path.push_back({ir::PathStep::index, false, false, std::int32_t(type->is_mat() ? k % type->cols() : k)});
    auto part = [&](std::size_t i) -> Scalar {
      if (v(i)->type->is_scalar()) return {v(i), d(i)};  // by which all are divided
      return {b_.extract(v(i), path), b_.extract(d(i), path)};
    };
    // Each component is a quotient of its own, whose divisor all of them share.
    const OpCode code = op.code == OpCode::unscale ? OpCode::div : op.code;
    parts.push_back(elementary(code, part(0), op.operands.size() > 1 ? part(1) : Scalar{}, b_.extract(r, path)));
  }
  return b_.construct(type, parts);
}

Value* Tangent::gated(Value* moved, Value* value) {
  Value* still = b_.binary(OpCode::eq, moved, b_.zero(moved->type));
  Value* no_number = b_.binary(OpCode::ne, value, value);
  return b_.select(b_.binary(OpCode::bit_and, still, no_number), b_.zero(value->type), value);
}

Value* Tangent::elementary(OpCode code, Scalar a, Scalar b, Value* r) {
  Value *x = a.value, *dx = a.tangent, *y = b.value, *dy = b.tangent;
  const Type* type = x->type;
  Value* zero = b_.zero(type);
  // Slopes are written by r, the result, where they can be: one call of an elementary function less.
  auto one = [&] { return number(type, 1.0); };
  auto f = [&](OpCode function) { return b_.unary(function, x); };
  auto negative = [&](Value* value) { return b_.unary(OpCode::neg, value); };
  auto is = [&](OpCode compare, Value* value) { return b_.binary(compare, value, zero); };
  // Corners are those of the reverse rules.
  auto over = [&](Value* divisor) { return gated(dx, div(dx, divisor)); };
  auto times = [&](Value* slope) { return gated(dx, mul(dx, slope)); };
  switch (code) {
    case OpCode::abs: return b_.select(is(OpCode::lt, x), negative(dx), dx);
    case OpCode::min:
    case OpCode::max: {  // a NaN is ignored: the other one moves the result
      Value* first = b_.binary(code == OpCode::min ? OpCode::lt : OpCode::gt, x, y);
      Value* alone = b_.binary(OpCode::ne, y, y);
      return b_.select(b_.binary(OpCode::bit_or, first, alone), dx, dy);
    }
    case OpCode::least: return b_.select(b_.binary(OpCode::lt, x, y), dx, dy);
    case OpCode::greatest: return b_.select(b_.binary(OpCode::gt, x, y), dx, dy);
    // d(x/y) = dx/y − (x/y)·dy/y, by the quotient that is there already.
    case OpCode::div: {
      Value* above = over(y);
      return sub(above, gated(dy, div(mul(r, dy), y)));
    }
    // x − y·trunc(x/y), whose last factor moves in steps.
    case OpCode::rem: return sub(dx, gated(dy, mul(dy, b_.unary(OpCode::trunc, div(x, y)))));
    case OpCode::sqrt: return over(mul(number(type, 2.0), r));
    case OpCode::sin: return times(f(OpCode::cos));
    case OpCode::sin_large: return times(f(OpCode::cos_large));
    case OpCode::cos: return times(negative(f(OpCode::sin)));
    case OpCode::cos_large: return times(negative(f(OpCode::sin_large)));
    case OpCode::tan:
    case OpCode::tan_large: {
      // 1 + tan² is 1/cos².
      Value* steep = is(OpCode::eq, f(code == OpCode::tan ? OpCode::cos : OpCode::cos_large));
      return b_.select(steep, zero, times(add(one(), mul(r, r))));
    }
    case OpCode::asin:
    case OpCode::acos: {
      // Nothing at ±1, where the slope is infinite, nor beyond.
      Value* d = sub(one(), mul(x, x));
      Value* slope = over(b_.unary(OpCode::sqrt, d));
      return b_.select(is(OpCode::gt, d), code == OpCode::asin ? slope : negative(slope), zero);
    }
    case OpCode::atan: return over(add(one(), mul(x, x)));
    case OpCode::atan2: {
      // atan2(x, y): the first operand is the height. At the origin there is no slope. The products are gated one by
      // one, for one operand may be infinite while the other moves.
      Value *xx = mul(x, x), *yy = mul(y, y), *d = add(xx, yy), *there = is(OpCode::gt, d);
      Value* left = gated(dx, mul(dx, y));
      return b_.select(there, div(sub(left, gated(dy, mul(x, dy))), d), zero);
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
      Value* bell = b_.unary(OpCode::exp, negative(mul(x, x)));
      return times(mul(number(type, (code == OpCode::erf ? 2.0 : -2.0) * std::numbers::inv_sqrtpi), bell));
    }
    case OpCode::erfinv:
    case OpCode::erfcinv: {
      double scale = (code == OpCode::erfinv ? 0.5 : -0.5) / std::numbers::inv_sqrtpi;
      return times(mul(number(type, scale), b_.unary(OpCode::exp, mul(r, r))));
    }
    case OpCode::pow: {
      // y·x^(y−1)·dx + x^y·log(x)·dy, with the corners of the reverse: x⁰ is flat, and so is 0 to a positive power.
      Value* lower = b_.binary(OpCode::pow, x, sub(y, one()));
      Value* by_base = b_.select(is(OpCode::eq, y), zero, times(mul(y, lower)));
      Value* flat = b_.binary(OpCode::bit_and, is(OpCode::eq, x), is(OpCode::gt, y));
      return add(by_base, gated(dy, b_.select(flat, zero, mul(dy, mul(r, f(OpCode::log))))));
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
