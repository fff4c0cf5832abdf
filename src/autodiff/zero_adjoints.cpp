// Choices are marked first; then everything that leads to a marked value is. Loops take rounds.
#include "autodiff/zero_adjoints.h"
#include "autodiff/loop_shape.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "autodiff/activity.h"
#include "ir/op_cases.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

/// Values from outside that a region uses.
std::unordered_set<const Value*> used_in(const Region& region) {
  std::unordered_set<const Value*> inside, used;
  auto visit = [&](const Region& at, auto& self) -> void {
    for (const Value* arg : at.args) inside.insert(arg);
    for (const Op& op : at) {
      for (const Value* value : op.operands)
        if (!value->is_constant() && !inside.contains(value)) used.insert(value);
      for (const Value* result : op.results) inside.insert(result);
      for (const Region* nested : op.regions) self(*nested, self);
    }
  };
  visit(region, visit);
  return used;
}

/// Whether a conversion makes an infinity of an ordinary number. float16 ends at 65504; the others hold all integers.
bool may_overflow(const Op& cast) {
  const Type *from = cast.operand(0)->type, *to = cast.result()->type;
  if (!to->is_numeric() || to->scalar_kind() != ScalarKind::f16) return false;
  switch (from->scalar_kind()) {
    case ScalarKind::boolean:
    case ScalarKind::i8:
    case ScalarKind::u8:
    case ScalarKind::i16:
    case ScalarKind::f16: return false;
    case ScalarKind::u16:
    case ScalarKind::i32:
    case ScalarKind::u32:
    case ScalarKind::i64:
    case ScalarKind::u64:
    case ScalarKind::bf16:
    case ScalarKind::f32:
    case ScalarKind::f64: return true;
  }
  return true;
}

/// Operations whose results may be infinite, or no number, though their operands are ordinary.
bool is_singular(const Op& op) {
  switch (op.code) {
    case OpCode::cast: return may_overflow(op);
    case OpCode::div:
    case OpCode::rem:
    case OpCode::sqrt:
    case OpCode::tan:
    case OpCode::sin_large:
    case OpCode::cos_large:
    case OpCode::tan_large:
    case OpCode::asin:
    case OpCode::acos:
    case OpCode::atan2:
    case OpCode::sinh:
    case OpCode::cosh:
    case OpCode::exp:
    case OpCode::exp2:
    case OpCode::log:
    case OpCode::log2:
    case OpCode::log10:
    case OpCode::pow:
    case OpCode::cbrt:
    case OpCode::erf:
    case OpCode::erfc:
    case OpCode::erfinv:
    case OpCode::erfcinv:
    case OpCode::unscale:
    case OpCode::call: return true;
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::floordiv:
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest:
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::fma:
    case OpCode::floor:
    case OpCode::ceil:
    case OpCode::trunc:
    case OpCode::round:
    case OpCode::rint:
    case OpCode::sin:
    case OpCode::cos:
    case OpCode::atan:
    case OpCode::tanh:
    case OpCode::scale:
    case OpCode::dot:
    case OpCode::matmul:
    case OpCode::transpose:
    case OpCode::outer:
    case OpCode::less_bits:
    case OpCode::less_equal_bits:
    case OpCode::choose_bits:
    case OpCode::if_:
    case OpCode::for_:
    case OpCode::while_:
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test:
    case OpCode::select:
    case OpCode::bitcast:
    case OpCode::construct:
    case OpCode::splat:
    case OpCode::extract:
    case OpCode::insert:
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_MEMORY_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) return false;
  }
  return true;
}

/// Surely finite: numbers of the program, and what was an integer.
bool is_finite(const Value* value) {
  if (value->is_constant()) return !value->type->is_float() || std::isfinite(value->as_float());
  return value->kind == ir::ValueKind::result && value->op->code == OpCode::cast &&
         value->op->operand(0)->type->is_int() && !may_overflow(*value->op);
}

}  // namespace

ZeroAdjoints::ZeroAdjoints(const ir::Function& function)
    : chosen_(function.value_count), beaten_(function.value_count), singular_(function.value_count) {
  // First where values are left out, then backwards all that only counts through them: if
  // `select c, u, v` leaves u out, then also what u was made of. Marks are only set, so the rounds end;
  // more than two are for marks that loops carry around.
  ir::walk(*function.body, [&](const Op& op) { seed(op); });
  do {
    changed_ = false;
    spread(*function.body);
  } while (changed_);
  do {
    changed_ = false;
    find_singular(*function.body);
  } while (changed_);
}

bool ZeroAdjoints::product(const Value* value, const Value* partial) const {
  // 0 · finite is 0, and needs no test.
  if (value->is_constant() || is_finite(partial)) return false;
  // A program that chooses may do so because the other side is singular, even if that comes from its data.
  if (chosen_[value->id]) return true;
  // Minima and maxima are everywhere in geometry, and a beaten value is mostly an ordinary number. A
  // constant that comes here is an infinity.
  return beaten_[value->id] && (partial->is_constant() || singular_[partial->id]);
}

bool ZeroAdjoints::mark(std::vector<bool>& set, const Value* value) {
  if (value->is_constant() || set[value->id] || !has_floats(value->type)) return false;
  return set[value->id] = changed_ = true;
}

bool ZeroAdjoints::any(const std::vector<bool>& set, std::span<Value* const> values) const {
  return std::any_of(values.begin(), values.end(), [&](const Value* v) { return !v->is_constant() && set[v->id]; });
}

void ZeroAdjoints::seed(const Op& op) {
  switch (op.code) {
    case OpCode::select:
    case OpCode::choose_bits:
      // The same on both sides is never left out.
      if (op.operand(1) == op.operand(2)) return;
      mark(chosen_, op.operand(1));
      mark(chosen_, op.operand(2));
      return;
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest:
      for (const Value* value : op.operands) mark(beaten_, value);
      return;
    case OpCode::extract:
    // Components that are not taken, or that are replaced, have an adjoint of zero.
    case OpCode::insert: mark(chosen_, op.operand(0)); return;
    case OpCode::if_: {
      // A value that both sides use counts whichever is taken. What it counts for inside of them is asked there.
      auto first = used_in(*op.regions[0]), second = used_in(*op.regions[1]);
      for (const Value* value : first)
        if (!second.contains(value)) mark(chosen_, value);
      for (const Value* value : second)
        if (!first.contains(value)) mark(chosen_, value);
      return;
    }
    case OpCode::for_:
    case OpCode::while_:  // it may not run at all
      for (const Value* value : used_in(*op.regions.back())) mark(chosen_, value);
      return;
    // All operands count in all of the result, whatever they are.
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::div:
    case OpCode::floordiv:
    case OpCode::rem:
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::fma:
    case OpCode::cast:
    case OpCode::bitcast:
    case OpCode::construct:
    case OpCode::splat:
    case OpCode::call:
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test:
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_ROUND_OPS)
    case OpCode::scale:
    case OpCode::unscale:
    case OpCode::dot:
    case OpCode::matmul:
    case OpCode::transpose:
    case OpCode::outer:
    case OpCode::less_bits:
    case OpCode::less_equal_bits:
    WEFT_CASES(WEFT_MATH_OPS)
    WEFT_CASES(WEFT_MEMORY_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) return;
  }
}

void ZeroAdjoints::spread(const Region& region) {
  // Backwards, so that one round carries a mark all the way through straight code.
  std::vector<const Op*> list;
  for (const Op& op : region) list.push_back(&op);
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    for (const Region* nested : (*it)->regions) spread(*nested);
    spread(**it, chosen_);
    spread(**it, beaten_);
  }
}

void ZeroAdjoints::spread(const Op& op, std::vector<bool>& set) {
  if (op.code == OpCode::if_ || is_loop(op)) {
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      // A carried value is one set of names for one chain: a mark on the result, or on the argument of any region,
      // marks its start and what the body yields.
      bool marked = set[op.result(k)->id];
      if (is_loop(op)) {
        for (const Region* region : op.regions) marked = marked || set[region->args[first_carried(op) + k]->id];
        if (!marked) continue;
        for (const Region* region : op.regions) mark(set, region->args[first_carried(op) + k]);
        mark(set, op.operand(first_init(op) + k));
        mark(set, op.regions.back()->last->operand(k));
      } else if (marked) {
        for (const Region* side : op.regions) mark(set, side->last->operand(k));
      }
    }
    return;
  }
  if (any(set, op.results))
    for (const Value* value : op.operands) mark(set, value);
}

void ZeroAdjoints::find_singular(const Region& region) {
  for (const Op& op : region) {
    for (const Region* nested : op.regions) find_singular(*nested);
    if (op.code == OpCode::if_ || is_loop(op)) {
      for (std::size_t k = 0; k < op.results.size(); ++k) {
        bool from = false;
        for (const Region* side : op.regions)
          if (!is_loop(op) || side == op.regions.back()) {
            Value* one[] = {side->last->operand(k)};
            from = from || any(singular_, one);
          }
        // What a loop carries may grow without bounds.
        if (!from && !is_loop(op)) continue;
        mark(singular_, op.result(k));
        if (is_loop(op))
          for (const Region* inner : op.regions) mark(singular_, inner->args[first_carried(op) + k]);
      }
    } else if (is_singular(op) || any(singular_, op.operands)) {
      for (const Value* result : op.results) mark(singular_, result);
    }
  }
}

}  // namespace weft::autodiff
