// Identities of arithmetic, bits and comparisons. For floats: x·1, x/1, x−(+0), x+(−0) and −(−x) are exact for every x;
// x+0 (−0+0 is +0), x·0 and x−x (NaN, infinity) are not and stay.
#include "ir/builder.h"
#include "ir/op_cases.h"
#include "ir/scalar_eval.h"
#include "passes/simplify_rules.h"

namespace weft::passes {
namespace {

using ir::OpCode;
using ir::Value;

bool is_float_kind(ScalarKind kind) { return kind >= ScalarKind::f16; }

std::uint64_t one_of(ScalarKind kind) { return is_float_kind(kind) ? ir::float_to_bits(kind, 1.0) : 1; }

std::uint64_t all_ones(ScalarKind kind) {
  if (kind == ScalarKind::boolean) return 1;
  std::uint32_t bits = scalar_bits(kind);
  return bits == 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << bits) - 1;
}

bool is_signed(ScalarKind kind) { return types::scalar(kind)->is_signed_int(); }

// Reassociation is exact for these on integers, which wrap; for floats it never is, and gather_constants leaves them
// alone.
bool commutes(OpCode code) {
  switch (code) {
    case OpCode::add:
    case OpCode::mul:
    case OpCode::bit_and:
    case OpCode::bit_or:
    case OpCode::bit_xor: return true;
    default: return false;  // safe: operands stay where they are
  }
}

/// Integers: a constant stands on the right, and (x ∘ c) ∘ d becomes x ∘ (c ∘ d).
void gather_constants(RuleContext& context, ir::Op& op) {
  if (!commutes(op.code) || is_float_kind(op.result()->type->scalar_kind())) return;
  if (op.operand(0)->is_constant() && !op.operand(1)->is_constant()) {
    std::swap(op.operands[0], op.operands[1]);
    context.changed = true;
  }
  const ir::Op* inner = defined_by(op.operand(0), op.code);
  if (!op.operand(1)->is_constant() || !op.result()->type->is_scalar() || !inner || !inner->operand(1)->is_constant())
    return;
  std::uint64_t both =
      ir::eval_binary(op.code, op.result()->type->scalar_kind(), inner->operand(1)->bits, op.operand(1)->bits);
  op.operands[0] = inner->operand(0);
  op.operands[1] = context.function.constant(op.result()->type, both);
  context.changed = true;
}

// Of integers; with NaN neither x < y nor x >= y holds.
OpCode inverse(OpCode code) {
  switch (code) {
    case OpCode::eq: return OpCode::ne;
    case OpCode::ne: return OpCode::eq;
    case OpCode::lt: return OpCode::ge;
    case OpCode::ge: return OpCode::lt;
    case OpCode::gt: return OpCode::le;
    case OpCode::le: return OpCode::gt;
    WEFT_CASES(WEFT_OPS_BUT_COMPARE) break;
  }
  WEFT_UNREACHABLE("not a comparison");
}

}  // namespace

Value* simplify_arith(RuleContext& context, ir::Op& op) {
  const ScalarKind kind = op.result()->type->scalar_kind();
  const bool floats = is_float_kind(kind);
  Value* a = op.operand(0);
  if (op.code == OpCode::neg) {
    ir::Op* inner = defined_by(a, OpCode::neg);
    return inner ? inner->operand(0) : nullptr;
  }
  if (op.code == OpCode::abs) {
    if (!floats && !is_signed(kind)) return a;
    if (defined_by(a, OpCode::abs)) return a;
    if (ir::Op* inner = defined_by(a, OpCode::neg)) {
      op.operands[0] = inner->operand(0);
      context.changed = true;
    }
    return nullptr;
  }
  // Only contraction and the library make it, and x·1 + y rounds as add does: no rule would ever find one worth it.
  if (op.code == OpCode::fma) return nullptr;
  gather_constants(context, op);
  a = op.operand(0);
  Value* b = op.operand(1);
  std::optional<std::uint64_t> ca = uniform_bits(a), cb = uniform_bits(b);
  const std::uint64_t one = one_of(kind);
  // One rule for both: for integers it is 0, which is their neutral element of addition.
  const std::uint64_t minus_zero = floats ? ir::float_to_bits(kind, -0.0) : 0;
  Value* zero = context.function.zero(op.result()->type);
  switch (op.code) {
    case OpCode::add:
      if (cb == minus_zero) return a;
      if (ca == minus_zero) return b;
      return nullptr;
    case OpCode::sub:
      if (cb == 0u) return a;
      if (!floats && a == b) return zero;
      return nullptr;
    case OpCode::scale:
    case OpCode::mul:
      if (cb == one) return a;
      if (ca == one && op.code == OpCode::mul) return b;
      // Of floats it would be NaN where the other one is infinite, and −0 where it is negative.
      if (!floats && (ca == 0u || cb == 0u)) return zero;
      return nullptr;
    case OpCode::unscale:
    case OpCode::div: return cb == one ? a : nullptr;
    // floor(x/1) of a float is floor(x), not x.
    case OpCode::floordiv: return cb == one && !floats ? a : nullptr;
    // MIN % −1 is 0 as the IR defines it, like everything else modulo −1.
    case OpCode::rem: return !floats && (cb == one || (is_signed(kind) && cb == all_ones(kind))) ? zero : nullptr;
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest: return a == b ? a : nullptr;
    default: return nullptr;  // safe: it stays
  }
}

Value* simplify_bits(RuleContext& context, ir::Op& op) {
  Value* a = op.operand(0);
  if (op.code == OpCode::bit_not) {
    if (ir::Op* inner = defined_by(a, OpCode::bit_not)) return inner->operand(0);
    if (a->kind == ir::ValueKind::result && ir::class_of(a->op->code) == ir::OpClass::compare) {
      // With NaN only eq and ne are each other's opposite.
      const Type* type = a->op->operand(0)->type;
      bool equality = a->op->code == OpCode::eq || a->op->code == OpCode::ne;
      if (!equality && !type->is_int()) return nullptr;
      ir::Builder builder(context.function, op.parent, &op);
      builder.set_loc(op.loc);
      return builder.binary(inverse(a->op->code), a->op->operand(0), a->op->operand(1));
    }
    return nullptr;
  }
  if (op.operands.size() < 2) return nullptr;
  gather_constants(context, op);
  a = op.operand(0);
  Value* b = op.operand(1);
  std::optional<std::uint64_t> cb = uniform_bits(b);
  const std::uint64_t ones = all_ones(op.result()->type->scalar_kind());
  switch (op.code) {
    case OpCode::bit_and:
      if (a == b || cb == ones) return a;
      return cb == 0u ? b : nullptr;
    case OpCode::bit_or:
      if (a == b || cb == 0u) return a;
      return cb == ones ? b : nullptr;
    case OpCode::bit_xor:
      if (a == b) return context.function.zero(op.result()->type);
      if (cb == 0u) return a;
      return op.result()->type->is_bool() && cb == 1u ? make_not(context, op, a) : nullptr;
    case OpCode::shl:
    case OpCode::shr: return cb == 0u ? a : nullptr;
    default: return nullptr;  // safe: it stays
  }
}

Value* simplify_compare(RuleContext& context, ir::Op& op) {
  Value* a = op.operand(0);
  Value* b = op.operand(1);
  const Type* type = a->type;
  if (!type->is_scalar()) return nullptr;
  auto truth = [&](bool value) { return context.function.constant_bool(value); };
  if (type->is_bool()) {
    if (a == b) return truth(op.code == OpCode::eq);
    // x == true is x, x == false is not x, and `ne` the other way round.
    if (a->is_constant()) std::swap(a, b);
    if (!b->is_constant()) return nullptr;
    bool same = (op.code == OpCode::eq) == !b->is_zero();
    return same ? a : make_not(context, op, a);
  }
  if (a == b) {
    bool strict = op.code == OpCode::lt || op.code == OpCode::gt;
    if (type->is_int()) return truth(op.code == OpCode::eq || op.code == OpCode::le || op.code == OpCode::ge);
    return strict ? truth(false) : nullptr;
  }
  if (!type->is_int()) return nullptr;
  // What bounds checks and sign tests on indices mostly come to: both sides known not to meet.
  analysis::Range ra = context.ranges.of(a), rb = context.ranges.of(b);
  bool below = ra.hi<rb.lo, not_above = ra.hi <= rb.lo, above = ra.lo> rb.hi, not_below = ra.lo >= rb.hi;
  switch (op.code) {
    case OpCode::eq: return below || above ? truth(false) : nullptr;
    case OpCode::ne: return below || above ? truth(true) : nullptr;
    case OpCode::lt: return below ? truth(true) : not_below ? truth(false) : nullptr;
    case OpCode::le: return not_above ? truth(true) : above ? truth(false) : nullptr;
    case OpCode::gt: return above ? truth(true) : not_above ? truth(false) : nullptr;
    case OpCode::ge: return not_below ? truth(true) : below ? truth(false) : nullptr;
    default: return nullptr;  // safe: it stays
  }
}

}  // namespace weft::passes
