// Derivative rules of arithmetic and elementary functions. A zero adjoint contributes zero whatever the partial is, so
// that the untaken, singular side of a choice gives no NaN: rules with unbounded partials are gated.
#include <numbers>

#include "autodiff/reverse.h"
#include "ir/op_cases.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Value;

void Reverser::apply_rule(const Op& op, Value* g) {
  if (ir::derivative_of(op.code) == ir::Derivative::none) return;
  switch (ir::class_of(op.code)) {
    case ir::OpClass::arith: return arithmetic_rule(op, g);
    case ir::OpClass::round:
    case ir::OpClass::math: return math_rule(op, g);
    case ir::OpClass::data: return data_rule(op, g);
    case ir::OpClass::whole: return whole_rule(op, g);
    case ir::OpClass::bits:
    case ir::OpClass::compare:
    case ir::OpClass::memory:
    case ir::OpClass::control:
    case ir::OpClass::effect: break;
  }
  WEFT_UNREACHABLE("no rule for " + std::string(ir::name_of(op.code)));
}

/// r = a ∘ b gives  ga += g · ∂r/∂a,  gb += g · ∂r/∂b, component by component. `wants` is asked where a contribution
/// takes instructions; `add` asks for itself, so rules that hand g on unchanged don't.
void Reverser::arithmetic_rule(const Op& op, Value* g) {
  using Parts = std::span<Value* const>;
  const Value *a = op.operand(0), *b = op.operands.size() > 1 ? op.operand(1) : nullptr;
  auto value = [&](std::size_t k) { return map(op.operand(k)); };
  switch (op.code) {
    case OpCode::add: return add(a, g), add(b, g);
    case OpCode::sub:
      add(a, g);
      if (wants(b)) add(b, negative(g));
      return;
    case OpCode::neg: return add(a, negative(g));
    case OpCode::mul:
      if (wants(a)) add_products(op.result(), a, g, times(g, value(1)), b);
      if (wants(b)) add_products(op.result(), b, g, times(g, value(0)), a);
      return;
    case OpCode::div:
      if (wants(a)) {
        Value* in[] = {g, value(1)};
        add(a, by_component(in, [&](Parts v) { return gated(v[0], over(v[0], v[1])); }));
      }
      if (wants(b)) {
        Value* in[] = {g, value(0), value(1)};
        // −a/b² as (a/b)/b: b² overflows, and vanishes, where the quotient does not.
        add(b, by_component(in,
                            [&](Parts v) { return gated(v[0], negative(times(v[0], over(over(v[1], v[2]), v[2])))); }));
      }
      return;
    case OpCode::fma: {
      // A composite may be multiplied by a scalar. The scalar then is a factor of
      // every component, and its adjoint their sum.
      const bool alike = g->type == value(1)->type;
      if (wants(a))
        add_products(op.result(), a, g, alike ? times(g, value(1)) : b_.binary(OpCode::scale, g, value(1)), b);
      if (wants(b) && alike) add_products(op.result(), b, g, times(g, value(0)), a);
      if (wants(b) && !alike) add_product(op.result(), b, g, inner(g, value(0)), a);
      return add(op.operand(2), g);
    }
    case OpCode::rem: {  // a − b·trunc(a/b)
      add(a, g);
      if (!wants(b)) return;
      Value* in[] = {g, value(0), value(1)};
      return add(b, by_component(in, [&](Parts v) {
                   return gated(v[0], negative(times(v[0], b_.unary(OpCode::trunc, over(v[1], v[2])))));
                 }));
    }
    case OpCode::abs: {
      Value* in[] = {g, value(0)};
      return add(a, by_component(in, [&](Parts v) {
                   return b_.select(b_.binary(OpCode::lt, v[1], b_.zero(v[1]->type)), negative(v[0]), v[0]);
                 }));
    }
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest: {
      // A NaN operand is ignored by the operation: it then passes everything to the other one; ties go to the second.
      Value* in[] = {g, value(0), value(1)};
      auto pick = [&](bool first) {
        return by_component(in, [&](Parts v) {
          const bool lowest = op.code == OpCode::min || op.code == OpCode::least;
          Value* smaller = b_.binary(lowest ? OpCode::lt : OpCode::gt, v[1], v[2]);
          // b is no number: the result is a, whatever it is. (a is no number:
          // the comparison is false, and b gets it.)
          Value* alone = b_.binary(OpCode::ne, v[2], v[2]);
          Value* takes = b_.binary(OpCode::bit_or, smaller, alone);
          Value* none = b_.zero(v[0]->type);
          return first ? b_.select(takes, v[0], none) : b_.select(takes, none, v[0]);
        });
      };
      if (wants(a)) add(a, pick(true));
      if (wants(b)) add(b, pick(false));
      return;
    }
    case OpCode::floordiv:  // a step
    WEFT_CASES(WEFT_OPS_BUT_ARITH) WEFT_UNREACHABLE("no rule for " + std::string(ir::name_of(op.code)));
  }
}

/// Partials are written by the result r where that saves another elementary function. All are lambdas, so that a
/// value that a rule does not ask for is not even mapped: what is mapped may have to be recalled.
void Reverser::math_rule(const Op& op, Value* g) {
  const Value* a = op.operand(0);
  const Type* type = a->type;
  auto x = [&] { return map(op.operand(0)); };
  auto r = [&] { return map(op.result()); };
  auto one = [&] { return number(type, 1.0); };
  auto call = [&](OpCode code, Value* v) { return b_.unary(code, v); };
  auto square = [&](Value* v) { return times(v, v); };
  auto times_g = [&](Value* partial) { add(a, gated(g, times(g, partial))); };
  auto over_g = [&](Value* divisor) { add(a, gated(g, over(g, divisor))); };
  auto constant = [&](double v) { return number(type, v); };
  switch (op.code) {
    // The only one here that takes composites: it is an instruction, the others are functions of scalars.
    case OpCode::sqrt: {
      Value* in[] = {g, r()};
      return add(a, by_component(in, [&](std::span<Value* const> v) {
                   return gated(v[0], over(v[0], times(number(v[0]->type, 2.0), v[1])));
                 }));
    }
    case OpCode::sin: return times_g(call(OpCode::cos, x()));
    case OpCode::sin_large: return times_g(call(OpCode::cos_large, x()));
    case OpCode::cos: return times_g(negative(call(OpCode::sin, x())));
    case OpCode::cos_large: return times_g(negative(call(OpCode::sin_large, x())));
    case OpCode::tan:
    case OpCode::tan_large: {
      // 1/cos², which has no value where cos is 0.
      Value* c = call(op.code == OpCode::tan ? OpCode::cos : OpCode::cos_large, x());
      Value* partial = over(g, square(c));
      return add(a, gated(g, b_.select(b_.binary(OpCode::eq, c, b_.zero(type)), b_.zero(type), partial)));
    }
    case OpCode::asin:
    case OpCode::acos: {
      // Beyond ±1 the result is no number, at ±1 the slope is infinite: nothing passes.
      Value* d = minus(one(), square(x()));
      Value* partial = over(g, call(OpCode::sqrt, d));
      if (op.code == OpCode::acos) partial = negative(partial);
      return add(a, gated(g, b_.select(b_.binary(OpCode::gt, d, b_.zero(type)), partial, b_.zero(type))));
    }
    case OpCode::atan: return over_g(plus(one(), square(x())));
    case OpCode::atan2: {
      Value *y = x(), *at = map(op.operand(1));
      Value* d = plus(square(y), square(at));
      // At the origin the angle jumps; also where both squares vanish by underflow.
      Value* there = b_.binary(OpCode::gt, d, b_.zero(type));
      if (wants(a)) add(a, gated(g, b_.select(there, over(times(g, at), d), b_.zero(type))));
      if (wants(op.operand(1)))
        add(op.operand(1), gated(g, b_.select(there, negative(over(times(g, y), d)), b_.zero(type))));
      return;
    }
    case OpCode::sinh: return times_g(call(OpCode::cosh, x()));
    case OpCode::cosh: return times_g(call(OpCode::sinh, x()));
    case OpCode::tanh: return times_g(minus(one(), square(r())));
    case OpCode::exp: return times_g(r());
    case OpCode::exp2: return times_g(times(r(), constant(std::numbers::ln2)));
    case OpCode::log: return over_g(x());
    case OpCode::log2: return over_g(times(x(), constant(std::numbers::ln2)));
    case OpCode::log10: return over_g(times(x(), constant(std::numbers::ln10)));
    case OpCode::cbrt: return over_g(times(constant(3.0), square(r())));
    // (2/√π)·exp(−x²).
    case OpCode::erf:
    case OpCode::erfc: {
      double scale = op.code == OpCode::erf ? 2.0 : -2.0;
      Value* bell = call(OpCode::exp, negative(square(x())));
      return times_g(times(constant(scale * std::numbers::inv_sqrtpi), bell));
    }
    // The inverse of that, at the result: (√π/2)·exp(r²).
    case OpCode::erfinv:
    case OpCode::erfcinv: {
      double scale = (op.code == OpCode::erfinv ? 0.5 : -0.5) / std::numbers::inv_sqrtpi;
      return times_g(times(constant(scale), call(OpCode::exp, square(r()))));
    }
    case OpCode::pow: {
      Value *base = x(), *power = map(op.operand(1));
      if (wants(a)) {
        Value* lower = b_.binary(OpCode::pow, base, minus(power, one()));
        Value* partial = times(g, times(power, lower));
        // x⁰ is one everywhere, also where x to the power of −1 is not finite.
        add(a, gated(g, b_.select(b_.binary(OpCode::eq, power, b_.zero(type)), b_.zero(type), partial)));
      }
      if (wants(op.operand(1))) {
        Value* partial = times(g, times(call(OpCode::log, base), r()));
        // 0 to a positive power stays 0 when the power changes a little.
        Value* flat = b_.binary(OpCode::bit_and, b_.binary(OpCode::eq, base, b_.zero(type)),
                                b_.binary(OpCode::gt, power, b_.zero(type)));
        add(op.operand(1), gated(g, b_.select(flat, b_.zero(type), partial)));
      }
      return;
    }
    case OpCode::floor:  // steps
    case OpCode::ceil:
    case OpCode::trunc:
    case OpCode::round:
    case OpCode::rint:
    WEFT_CASES(WEFT_ARITH_OPS)
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_WHOLE_OPS)
    WEFT_CASES(WEFT_OTHER_OPS) WEFT_UNREACHABLE("no rule for " + std::string(ir::name_of(op.code)));
  }
}

}  // namespace weft::autodiff
