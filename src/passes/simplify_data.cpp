// Choices, conversions, aggregates and descriptors.
#include <algorithm>

#include "ir/builder.h"
#include "passes/simplify_rules.h"

namespace weft::passes {
namespace {

using ir::OpCode;
using ir::Value;

bool is_float_kind(ScalarKind kind) { return kind >= ScalarKind::f16; }

/// Bits of precision of a float kind, its sign not counted.
int precision(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::f16: return 11;
    case ScalarKind::bf16: return 8;
    case ScalarKind::f32: return 24;
    default: return 53;
  }
}

/// Every value of `from` is a value of `to`.
bool contains(ScalarKind to, ScalarKind from) {
  if (from == to || from == ScalarKind::boolean) return true;
  if (to == ScalarKind::boolean) return false;
  if (is_float_kind(from)) {
    if (!is_float_kind(to)) return false;
    return to == ScalarKind::f64 || (to == ScalarKind::f32 && from != ScalarKind::f64);
  }
  analysis::Range range = analysis::type_range(from);
  if (is_float_kind(to)) {
    analysis::Wide limit = analysis::Wide(1) << precision(to);
    // f16 ends below 2^16, which its precision keeps clear of.
    return range.hi <= limit && range.lo >= -limit;
  }
  analysis::Range outer = analysis::type_range(to);
  return range.lo >= outer.lo && range.hi <= outer.hi;
}

/// cast(cast(x : A → B) : B → C) is cast(x : A → C).
bool merges(ScalarKind a, ScalarKind b, ScalarKind c) {
  bool integers = !is_float_kind(a) && !is_float_kind(b) && !is_float_kind(c) && b != ScalarKind::boolean &&
                  c != ScalarKind::boolean;
  if (integers && scalar_bits(c) <= scalar_bits(b)) return true;  // both wrap
  if (!contains(b, a)) return false;
  // The middle loses nothing; but a float saturates on its way to an integer where an integer wraps.
  bool int_via_float_to_int = !is_float_kind(a) && is_float_kind(b) && !is_float_kind(c) && c != ScalarKind::boolean;
  return !int_via_float_to_int || contains(c, a);
}

bool same_path(const ir::Op& a, const ir::Op& b, std::size_t first_a, std::size_t first_b) {
  return std::equal(a.path.begin(), a.path.end(), b.path.begin(), b.path.end()) &&
         std::equal(a.operands.begin() + std::ptrdiff_t(first_a), a.operands.end(),
                    b.operands.begin() + std::ptrdiff_t(first_b), b.operands.end());
}

Value* simplify_select(RuleContext& context, ir::Op& op) {
  if (ir::Op* inner = defined_by(op.operand(0), OpCode::bit_not)) {
    op.operands[0] = inner->operand(0);
    std::swap(op.operands[1], op.operands[2]);
    context.changed = true;
  }
  Value* c = op.operand(0);
  Value* a = op.operand(1);
  Value* b = op.operand(2);
  if (a == b) return a;
  if (!op.result()->type->is_bool()) return nullptr;
  // Bits are always defined, so both operands may be computed: logic costs one instruction on masks, where a select of
  // masks costs three.
  ir::Builder builder(context.function, op.parent, &op);
  builder.set_loc(op.loc);
  if (a->is_constant() && b->is_constant()) return b->is_zero() ? c : make_not(context, op, c);
  // c ? c : b and c ? true : b; below, c ? a : c and c ? a : false.
  if (a == c || (a->is_constant() && !a->is_zero())) return builder.binary(OpCode::bit_or, c, b);
  if (b == c || b->is_zero()) return builder.binary(OpCode::bit_and, c, a);
  return nullptr;
}

Value* simplify_cast(RuleContext& context, ir::Op& op) {
  Value* x = op.operand(0);
  if (x->type == op.result()->type) return x;
  ir::Op* inner = defined_by(x, op.code);
  if (!inner) return nullptr;
  const Type* from = inner->operand(0)->type;
  if (op.code == OpCode::cast && !merges(from->scalar_kind(), x->type->scalar_kind(), op.result()->type->scalar_kind()))
    return nullptr;
  op.operands[0] = inner->operand(0);
  context.changed = true;
  return op.operand(0)->type == op.result()->type ? op.operand(0) : nullptr;
}

/// An access to a view is an access to what it views: the view's indices go where it took its dimensions away.
void merge_view(RuleContext& context, ir::Op& op, const ir::Op& view) {
  // The indices of a view of a view only stand side by side if nothing is kept in front of either.
  if (op.code == OpCode::view && (view.imm != 0 || op.imm != 0)) return;
  const unsigned kept = unsigned(view.imm);
  std::vector<Value*> operands = {view.operand(0)};
  operands.insert(operands.end(), op.operands.begin() + 1, op.operands.begin() + 1 + kept);
  operands.insert(operands.end(), view.operands.begin() + 1, view.operands.end());
  operands.insert(operands.end(), op.operands.begin() + 1 + kept, op.operands.end());
  op.operands = context.function.arena.copy(operands);
  // The mask of wraps follows its indices: those in front of the view's keep their bits, those behind move up.
  const unsigned in_front = op.wrap & ((1u << kept) - 1), behind = op.wrap >> kept;
  op.wrap = std::uint8_t(in_front | unsigned(view.wrap) << kept | behind << (kept + view.num_indices));
  op.num_indices = std::uint8_t(op.num_indices + view.num_indices);
  context.changed = true;
}

/// Clears wrap flags of indices that are never negative.
void drop_wraps(RuleContext& context, ir::Op& op, std::size_t first_dynamic) {
  for (std::size_t k = 0; k < op.num_indices; ++k)
    if ((op.wrap >> k & 1) && context.ranges.never_negative(op.indices()[k])) {
      op.wrap = std::uint8_t(op.wrap & ~(1u << k));
      context.changed = true;
    }
  std::size_t operand = first_dynamic;
  for (ir::PathStep& step : op.path) {
    if (!step.dynamic) continue;
    if (step.wrap && context.ranges.never_negative(op.operand(operand))) {
      step.wrap = false;
      context.changed = true;
    }
    ++operand;
  }
}

}  // namespace

Value* simplify_data(RuleContext& context, ir::Op& op) {
  switch (op.code) {
    case OpCode::select: return simplify_select(context, op);
    case OpCode::cast:
    case OpCode::bitcast: return simplify_cast(context, op);
    case OpCode::extract: drop_wraps(context, op, 1); return nullptr;
    case OpCode::insert: {
      drop_wraps(context, op, 2);
      const ir::Op* part = defined_by(op.operand(1), OpCode::extract);
      // A part put back where it was taken from.
      if (part && part->operand(0) == op.operand(0) && same_path(op, *part, 2, 1)) return op.operand(0);
      // The same place again: what was there in between nobody can read from this value. Out of range both change
      // nothing.
      const ir::Op* before = defined_by(op.operand(0), OpCode::insert);
      if (before && same_path(op, *before, 2, 2)) {
        op.operands[0] = before->operand(0);
        context.changed = true;
      }
      return nullptr;
    }
    default: return nullptr;  // safe: it stays
  }
}

Value* simplify_memory(RuleContext& context, ir::Op& op) {
  ir::Builder builder(context.function, op.parent, &op);
  builder.set_loc(op.loc);
  const ir::Op* view = op.operands.empty() ? nullptr : defined_by(op.operand(0), OpCode::view);
  const ir::Op* slice = op.operands.empty() ? nullptr : defined_by(op.operand(0), OpCode::slice);
  if (const ir::Op* pair = op.operands.empty() ? nullptr : defined_by(op.operand(0), OpCode::with_gradient)) {
    if (op.code == OpCode::gradient) return pair->operand(1);
    // Elements and extents are the array's own: what has come to it as its gradient is of no interest to them.
    const bool own = ir::access_of(op.code) == ir::Access::reads || ir::access_of(op.code) == ir::Access::writes ||
                     ir::access_of(op.code) == ir::Access::updates || op.code == OpCode::dim ||
                     op.code == OpCode::nonnull;
    if (own) {
      op.operands[0] = pair->operand(0);
      context.changed = true;
    }
  }
  switch (op.code) {
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic:
    case OpCode::view:
      if (view) merge_view(context, op, *view);
      drop_wraps(context, op, std::size_t(1) + op.num_indices);
      return nullptr;
    case OpCode::dim:
      if (view) {
        // Dimensions behind the ones that the view indexes are counted further in what it views.
        std::int64_t d = op.imm < view->imm ? op.imm : op.imm + view->num_indices;
        return builder.dim(view->operand(0), int(d), op.result()->type);
      }
      // The sliced dimension itself would need the arithmetic of clamping again.
      if (slice && slice->imm != op.imm) return builder.dim(slice->operand(0), int(op.imm), op.result()->type);
      if (const ir::Op* made = defined_by(op.operand(0), OpCode::from_ptr)) {
        Value* extent = made->operand(std::size_t(op.imm) + 1);
        return op.result()->type == extent->type ? extent : builder.cast(extent, op.result()->type);
      }
      return nullptr;
    case OpCode::nonnull:
      // Neither makes something of nothing, nor nothing of something.
      if (view || slice) {
        op.operands[0] = (view ? view : slice)->operand(0);
        context.changed = true;
      }
      return nullptr;
    default: return nullptr;  // safe: it stays
  }
}

}  // namespace weft::passes
