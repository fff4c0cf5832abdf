// Interval arithmetic over the structured IR. Carried values are taken as unknown except for one pattern that loops
// with `break` leave behind: a `while` counter that starts at a known bound, grows by a positive constant and is tested
// against something it must stay below, so that the addition can't wrap. Others that don't begin negative are supposed not
// to become so, and the loop is looked at again where one does.
#include "analysis/ranges.h"

#include <algorithm>

namespace weft::analysis {
namespace {

using ir::OpCode;

bool has_range(const Type* type) { return type->is_int() || type->is_bool(); }

Range unite(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }

bool fits(Range inner, Range outer) { return inner.lo >= outer.lo && inner.hi <= outer.hi; }

// Of factors, so that their product stays within Wide.
constexpr Wide kFactorLimit = Wide(1) << 62;
constexpr int kMaxSupposingLoops = 2;  // in each other: their bodies are looked at several times
constexpr int kMaxTests = 16;          // in one condition, nested

/// What a conjunction of tests says about `counter` being below something: the largest value it can then have.
Wide bound_from_test(const ir::Value* test, const ir::Value* counter, const Ranges& ranges, int depth) {
  // Without a test it may reach the end of its type, which says nothing: the addition behind it could then wrap.
  Wide top = type_range(counter->type->scalar_kind()).hi;
  if (test->kind != ir::ValueKind::result || depth > 8) return top;
  const ir::Op& op = *test->op;
  // Both parts hold in the body, so the tighter one counts.
  if (op.code == OpCode::bit_and)
    return std::min(bound_from_test(op.operand(0), counter, ranges, depth + 1),
                    bound_from_test(op.operand(1), counter, ranges, depth + 1));
  if (op.code == OpCode::lt && op.operand(0) == counter) return ranges.of(op.operand(1)).hi - 1;
  if (op.code == OpCode::gt && op.operand(1) == counter) return ranges.of(op.operand(0)).hi - 1;
  if (op.code == OpCode::le && op.operand(0) == counter) return ranges.of(op.operand(1)).hi;
  if (op.code == OpCode::ge && op.operand(1) == counter) return ranges.of(op.operand(0)).hi;
  return top;
}

/// The constant by which the body raises the counter, or 0 if it is not of that form.
std::int64_t step_of(const ir::Value* next, const ir::Value* counter) {
  if (next->kind != ir::ValueKind::result || next->op->code != OpCode::add) return 0;
  const ir::Value* a = next->op->operand(0);
  const ir::Value* b = next->op->operand(1);
  if (a != counter) std::swap(a, b);
  if (a != counter || !b->is_constant()) return 0;
  return std::max<std::int64_t>(0, b->as_int());
}

}  // namespace

Range type_range(ScalarKind kind) {
  if (kind == ScalarKind::boolean) return {0, 1};
  std::uint32_t bits = scalar_bits(kind);
  if (types::scalar(kind)->is_signed_int()) return {-(Wide(1) << (bits - 1)), (Wide(1) << (bits - 1)) - 1};
  return {0, (Wide(1) << bits) - 1};
}

Ranges::Ranges(const ir::Function& function)
    : block_(function.form.block), row_dim_(function.form.rows && block_ > 0 ? function.form.rank - 1 : -1) {
  slots_.resize(function.value_count);
  walk(*function.body);
}

Range Ranges::of(const ir::Value* value) const {
  ScalarKind kind = value->type->scalar_kind();
  if (value->is_constant()) {
    Wide v = kind == ScalarKind::u64 ? Wide(value->bits) : Wide(value->as_int());
    return {v, v};
  }
  if (value->id < slots_.size() && slots_[value->id].known) return slots_[value->id].range;
  return type_range(kind);
}

void Ranges::set(const ir::Value* value, Range range) {
  // An empty or overflowing interval is what dead code gives (a loop that never runs): no statement then, instead of
  // one that later arithmetic would build upon.
  const bool told = fits(range, type_range(value->type->scalar_kind())) && range.lo <= range.hi;
  slots_[value->id] = told ? Slot{true, range} : Slot{};
}

void Ranges::narrow(const ir::Value* value, Range range, Undo& undo) {
  if (value->is_constant()) return;
  const Range old = of(value), both = {std::max(old.lo, range.lo), std::min(old.hi, range.hi)};
  // Contradictions mean that this place is never reached; anything would be true, and what was known before is the
  // safe choice.
  if (both == old || both.lo > both.hi) return;
  undo.emplace_back(value->id, slots_[value->id]);
  slots_[value->id] = {true, both};
}

void Ranges::take_back(const Undo& undo) {
  // Backwards, since a value may have been narrowed twice.
  for (auto it = undo.rbegin(); it != undo.rend(); ++it) slots_[it->first] = it->second;
}

/// What a test that holds, or doesn't, says of the values in it. The arguments of a `while`'s test are those of its body.
void Ranges::assume(const ir::Value* test, bool holds, const ir::Region* body, Undo& undo, int depth) {
  if (test->kind != ir::ValueKind::result || depth > kMaxTests) return;
  const ir::Op& op = *test->op;
  if (op.code == OpCode::bit_not) return assume(op.operand(0), !holds, body, undo, depth + 1);
  // A conjunction that holds says all of its parts; one that fails says nothing of either (De Morgan for `or`).
  if ((op.code == OpCode::bit_and && holds) || (op.code == OpCode::bit_or && !holds)) {
    for (const ir::Value* part : op.operands)
      if (part->type->is_bool()) assume(part, holds, body, undo, depth + 1);
    return;
  }
  if (op.code == OpCode::if_ || op.code == OpCode::select) {  // Python's `and` and `or`
    const bool chosen = op.code == OpCode::select;
    const ir::Value* then = chosen ? op.operand(1) : op.regions[0]->last->operand(test->index);
    const ir::Value* otherwise = chosen ? op.operand(2) : op.regions[1]->last->operand(test->index);
    // `a and b` is `if a { b } else { false }`: it can hold only by way of the side that is not the constant, so the
    // condition was true, and so was that side's value.
    auto is = [&](const ir::Value* v, bool what) { return v->is_constant() && (v->bits != 0) == what; };
    if (is(then, !holds)) {
      assume(op.operand(0), false, body, undo, depth + 1);
      assume(otherwise, holds, body, undo, depth + 1);
    } else if (is(otherwise, !holds)) {
      assume(op.operand(0), true, body, undo, depth + 1);
      assume(then, holds, body, undo, depth + 1);
    }
    return;
  }
  const bool compares = op.code == OpCode::lt || op.code == OpCode::le || op.code == OpCode::gt ||
                        op.code == OpCode::ge || op.code == OpCode::eq || op.code == OpCode::ne;
  if (!compares || !op.operand(0)->type->is_int()) return;
  // The test speaks of its own arguments; the body, which runs right behind it, has others for the same carried
  // values.
  auto inside = [&](const ir::Value* v) {
    const bool carried = body && v->kind == ir::ValueKind::argument && v->region->parent_op == body->parent_op;
    return carried ? static_cast<const ir::Value*>(body->args[v->index]) : v;
  };
  const ir::Value *x = inside(op.operand(0)), *y = inside(op.operand(1));
  // Four comparisons and their opposites come down to x < y, x <= y, x == y, x != y.
  OpCode code = op.code;
  if (code == OpCode::gt || code == OpCode::ge) {
    std::swap(x, y);
    code = code == OpCode::gt ? OpCode::lt : OpCode::le;
  }
  if (!holds) {
    if (code == OpCode::lt || code == OpCode::le) std::swap(x, y);
    code = code == OpCode::lt   ? OpCode::le
           : code == OpCode::le ? OpCode::lt
           : code == OpCode::eq ? OpCode::ne
           : code == OpCode::ne ? OpCode::eq
                                : code;
  }
  const Range a = of(x), b = of(y);
  auto differs = [&](const ir::Value* v, Range own, Range other) {
    if (other.lo != other.hi) return;
    narrow(v, {own.lo == other.lo ? own.lo + 1 : own.lo, own.hi == other.lo ? own.hi - 1 : own.hi}, undo);
  };
  if (code == OpCode::lt || code == OpCode::le) {
    // x is at least one below the largest that y can be, and y at least one above the smallest of x.
    const int apart = code == OpCode::lt;
    narrow(x, {a.lo, b.hi - apart}, undo);
    narrow(y, {a.lo + apart, b.hi}, undo);
  } else if (code == OpCode::eq) {
    narrow(x, b, undo);
    narrow(y, a, undo);
  } else if (code == OpCode::ne) {
    differs(x, a, b);
    differs(y, b, a);
  }
}

void Ranges::walk(const ir::Region& region) {
  for (const ir::Op& op : region) {
    if (op.code == OpCode::if_)
      walk_branches(op);
    else if (op.code == OpCode::for_ || op.code == OpCode::while_)
      walk_loop(op);
    else if (op.regions.empty() && op.results.size() == 1 && has_range(op.result()->type))
      set(op.result(), evaluate(op));
  }
}

void Ranges::walk_branches(const ir::Op& op) {
  std::vector<Range> found(op.results.size());
  for (std::size_t k = 0; k < 2; ++k) {
    Undo undo;
    assume(op.operand(0), k == 0, nullptr, undo);
    walk(*op.regions[k]);
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      if (!has_range(op.result(i)->type)) continue;
      const Range here = of(op.regions[k]->last->operand(i));
      found[i] = k == 0 ? here : unite(found[i], here);
    }
    // What the test said is over here; results keep what was found under it, which is where they come from.
    take_back(undo);
  }
  for (std::size_t i = 0; i < op.results.size(); ++i)
    if (has_range(op.result(i)->type)) set(op.result(i), found[i]);
}

/// The regions of a loop whose arguments are settled.
void Ranges::walk_bodies(const ir::Op& op) {
  if (op.code == OpCode::for_) return walk(*op.regions[0]);
  walk(*op.regions[0]);
  Undo undo;
  assume(op.regions[0]->last->operand(0), true, op.regions[1], undo);
  walk(*op.regions[1]);
  take_back(undo);
}

void Ranges::walk_loop(const ir::Op& op) {
  const bool counts = op.code == OpCode::for_;
  const std::size_t skipped = counts ? 3 : 0;  // operands before the initial values
  const ir::Region* body = op.regions[counts ? 0 : 1];
  auto argument = [&](const ir::Region* region, std::size_t i) { return region->args[i + (counts ? 1 : 0)]; };
  // Forget what an earlier look at this loop (from a loop around it) has said of its arguments: that was under other
  // suppositions.
  for (std::size_t i = 0; i < op.results.size(); ++i)
    for (const ir::Region* region : op.regions)
      if (has_range(op.result(i)->type)) slots_[argument(region, i)->id] = {};
  if (counts)
    enter_for(op);
  else
    enter_while(op);
  // Induction with the hypothesis "not negative": it holds at the start, and is kept if the body yields nothing
  // negative while it is supposed. Suppositions may lean on each other, so when one falls all others are tried once
  // more without it; then they are given up together, which bounds the looks at two or three.
  std::vector<std::size_t> supposed;
  for (std::size_t i = 0; i < op.results.size() && loops_ < kMaxSupposingLoops; ++i)
    if (op.result(i)->type->is_signed_int() && !slots_[argument(body, i)->id].known &&
        of(op.operand(skipped + i)).lo >= 0)
      supposed.push_back(i);
  ++loops_;
  for (int times = 0;; ++times) {
    for (std::size_t i : supposed)
      for (const ir::Region* region : op.regions)
        set(argument(region, i), {0, type_range(op.result(i)->type->scalar_kind()).hi});
    walk_bodies(op);
    const auto fails = [&](std::size_t i) { return of(body->last->operand(i)).lo < 0; };
    if (std::none_of(supposed.begin(), supposed.end(), fails)) break;
    // The test of a `while` holds for the body's operations only; what they give was settled under it.
    std::erase_if(supposed, [&](std::size_t i) {
      if (times == 0 && !fails(i)) return false;  // those that are left get one more chance
      for (const ir::Region* region : op.regions) slots_[argument(region, i)->id] = {};
      return true;
    });
  }
  --loops_;
  for (std::size_t i : supposed) set(op.result(i), {0, type_range(op.result(i)->type->scalar_kind()).hi});
}

void Ranges::enter_for(const ir::Op& op) {
  Range lo = of(op.operand(0)), hi = of(op.operand(1)), step = of(op.operand(2));
  // Exact also where the step is not 1: the last index lies short of the end, never on it.
  Range up = {lo.lo, hi.hi - 1};
  Range down = {hi.lo + 1, lo.hi};
  set(op.regions[0]->args[0], step.lo >= 0 ? up : step.hi <= 0 ? down : unite(up, down));
}

void Ranges::enter_while(const ir::Op& op) {
  const ir::Region* test = op.regions[0];
  const ir::Region* body = op.regions[1];
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    if (!op.result(i)->type->is_int()) continue;
    std::int64_t step = step_of(body->last->operand(i), body->args[i]);
    if (step == 0) continue;
    Range full = type_range(op.result(i)->type->scalar_kind());
    Wide last = bound_from_test(test->last->operand(0), test->args[i], *this, 0);
    Range init = of(op.operand(i));
    // The one thing that the pattern must prove: the counter that the test let pass, raised once, is still in its
    // type.
    if (last + step > full.hi) continue;
    Range range = {init.lo, std::max(init.hi, last + step)};
    set(test->args[i], range);
    // In the body the test has held; in the test and behind the loop the counter may be one step further.
    set(body->args[i], {init.lo, std::min(range.hi, last)});
    set(op.result(i), range);
  }
}

Range Ranges::evaluate(const ir::Op& op) const {
  const Range full = type_range(op.result()->type->scalar_kind());
  auto arg = [&](std::size_t i) { return of(op.operand(i)); };
  // A sum that leaves its type wraps to anywhere: the type's own range, never a clipped one.
  auto in_type = [&](Range r) { return fits(r, full) ? r : full; };
  bool int_args = true;
  for (const ir::Value* value : op.operands) int_args &= has_range(value->type);
  switch (op.code) {
    // The launcher refuses extents over 2^31−1 in a dimension that the kernel reads.
    case OpCode::tid:
      if (op.imm == row_dim_) return {0, block_ - 1};
      return {0, (Wide(1) << 31) - 2};
    case OpCode::thread: return {0, full.hi};
    case OpCode::block_thread:
      if (block_ > 0) return {0, block_ - 1};
      break;
    case OpCode::select: return unite(arg(1), arg(2));
    default: break;  // safe: below
  }
  if (!int_args || op.operands.empty()) return full;
  switch (op.code) {
    case OpCode::cast: return op.result()->type->is_bool() ? full : in_type(arg(0));
    case OpCode::add: return in_type({arg(0).lo + arg(1).lo, arg(0).hi + arg(1).hi});
    case OpCode::sub: return in_type({arg(0).lo - arg(1).hi, arg(0).hi - arg(1).lo});
    case OpCode::mul: {
      Range a = arg(0), b = arg(1);
      for (Wide v : {a.lo, a.hi, b.lo, b.hi})
        if (v > kFactorLimit || v < -kFactorLimit) return full;
      auto [lo, hi] = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
      return in_type({lo, hi});
    }
    case OpCode::shl: {
      if (!op.operand(1)->is_constant()) return full;
      const std::uint64_t count = op.operand(1)->bits & (scalar_bits(op.result()->type->scalar_kind()) - 1);
      if (arg(0).lo < 0 || arg(0).hi > kFactorLimit || count > 31) return full;
      return in_type({arg(0).lo << count, arg(0).hi << count});
    }
    case OpCode::min: return {std::min(arg(0).lo, arg(1).lo), std::min(arg(0).hi, arg(1).hi)};
    case OpCode::max: return {std::max(arg(0).lo, arg(1).lo), std::max(arg(0).hi, arg(1).hi)};
    // Division by zero gives 0, so 0 joins the quotients; the dividend bounds them for non-negative operands.
    case OpCode::div:
    case OpCode::floordiv:
      if (arg(0).lo < 0 || arg(1).lo < 0) return full;
      return {0, arg(0).hi / std::max<Wide>(1, arg(1).lo)};
    case OpCode::rem: {
      Range a = arg(0), b = arg(1);
      if (a.lo < 0) return full;
      return {0, b.lo > 0 ? std::min(a.hi, b.hi - 1) : a.hi};
    }
    // Bits are only taken away: not above either operand that is not negative, whose sign bit is clear in the result
    // as well.
    case OpCode::bit_and: {
      Range a = arg(0), b = arg(1);
      if (a.lo >= 0 && b.lo >= 0) return {0, std::min(a.hi, b.hi)};
      if (a.lo >= 0) return {0, a.hi};
      if (b.lo >= 0) return {0, b.hi};
      return full;
    }
    // The sign bit stays clear; above that nothing is known but that no bit is outside of the type.
    case OpCode::bit_or:
    case OpCode::bit_xor:
      if (arg(0).lo < 0 || arg(1).lo < 0) return full;
      return {0, full.hi};
    case OpCode::shr:
      if (arg(0).lo < 0) return full;
      // The count is taken modulo the width, as the operation does.
      if (op.operand(1)->is_constant()) {
        std::uint64_t count = op.operand(1)->bits & (scalar_bits(op.result()->type->scalar_kind()) - 1);
        return {arg(0).lo >> count, arg(0).hi >> count};
      }
      return {0, arg(0).hi};
    case OpCode::abs:
      // abs(MIN) is MIN.
      if (arg(0).lo == full.lo && full.lo < 0) return full;
      return {0, std::max(arg(0).hi, -arg(0).lo)};
    default: return full;  // safe: all that its type can hold
  }
}

}  // namespace weft::analysis
