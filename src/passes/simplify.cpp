// The walk, and the rules for control operations.
#include "passes/simplify.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/walk.h"
#include "passes/rewrite.h"
#include "passes/simplify_rules.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

// A bound, not a goal: two or three rounds are usual. Each works on ranges of its own, computed anew, since rules make
// new facts.
constexpr int kRounds = 8;
/// An `if` becomes selects when each side has at most this many cheap operations and it yields at most this many
/// values.
constexpr std::size_t kMaxSideOps = 4;
constexpr std::size_t kMaxSelects = 3;
constexpr std::uint32_t kMaxComponents = 16;

/// Worth computing though it may not be needed: about one machine instruction per component, never a trap or a load.
bool is_cheap(const Op& op) {
  if (ir::effect_of(op.code) != ir::Effect::none || !op.regions.empty() || op.results.size() != 1) return false;
  const Type* type = op.result()->type;
  if (type->is_composite() ? type->component_count() > kMaxComponents : !type->is_scalar()) return false;
  switch (ir::class_of(op.code)) {
    case ir::OpClass::bits:
    case ir::OpClass::compare: return true;
    case ir::OpClass::arith: return op.code != OpCode::div && op.code != OpCode::floordiv && op.code != OpCode::rem;
    case ir::OpClass::data: return true;
    case ir::OpClass::whole:
    case ir::OpClass::memory:
    case ir::OpClass::effect:
      return op.code == OpCode::tid || op.code == OpCode::thread || op.code == OpCode::dim ||
             op.code == OpCode::nonnull || op.code == OpCode::scale;
    case ir::OpClass::round:
    case ir::OpClass::math:
    case ir::OpClass::control: break;
  }
  return false;
}

bool is_short(const Region& side) {
  std::size_t count = 0;
  for (const Op& op : side) {
    if (&op == side.last) return true;
    if (++count > kMaxSideOps || !is_cheap(op)) return false;
  }
  return true;
}

class Simplifier {
 public:
  explicit Simplifier(ir::Function& function)
      : function_(function), ranges_(function), context_{function, ranges_}, rewriter_(function) {}

  bool run() {
    region(*function_.body);
    return context_.changed;
  }

 private:
  void region(Region& region) {
    for (Op& op : region) {
      rewriter_.apply(op);
      switch (op.code) {
        case OpCode::if_: visit_if(op); continue;
        case OpCode::for_:
        case OpCode::while_:
          // Before the body: in it the value is then known by its name from outside, and more rules fit.
          drop_invariants(op);
          for (Region* nested : op.regions) this->region(*nested);
          continue;
        default: break;  // safe: rule() knows what it knows
      }
      if (Value* value = rule(op)) {
        rewriter_.replace(op.result(), value);
        ir::remove_op(&op);
        context_.changed = true;
      }
    }
  }

  Value* rule(Op& op) {
    switch (ir::class_of(op.code)) {
      case ir::OpClass::arith: return simplify_arith(context_, op);
      case ir::OpClass::bits: return simplify_bits(context_, op);
      case ir::OpClass::compare: return simplify_compare(context_, op);
      case ir::OpClass::data: return simplify_data(context_, op);
      case ir::OpClass::memory: return simplify_memory(context_, op);
      case ir::OpClass::whole:
        return op.code == OpCode::scale || op.code == OpCode::unscale ? simplify_arith(context_, op) : nullptr;
      case ir::OpClass::round:
      case ir::OpClass::math:
      case ir::OpClass::control:
      case ir::OpClass::effect: break;
    }
    return nullptr;
  }

  void visit_if(Op& op) {
    // `if not c` is what early exits lower to; without the `not`, neighbours have the same condition, and one value
    // less is live.
    if (const Op* inner = defined_by(op.operand(0), OpCode::bit_not)) {
      op.operands[0] = inner->operand(0);
      std::swap(op.regions[0], op.regions[1]);
      context_.changed = true;
    }
    for (Region* side : op.regions) region(*side);
    // Behind the sides, which may have become equal only now, and before the choice of selects, which have to carry
    // the rest alone.
    forward_equal_yields(op);
    Region& then = *op.regions[0];
    Region& otherwise = *op.regions[1];
    // An `if` that computes nothing is a select in any case, of any type, descriptors included. Else both sides will
    // run: only where that is cheaper than a branch that lanes may take differently.
    bool empty = then.first == then.last && otherwise.first == otherwise.last;
    bool small = op.results.size() <= kMaxSelects && is_short(then) && is_short(otherwise) &&
                 std::all_of(op.results.begin(), op.results.end(), [](const Value* v) {
                   return v->type->is_numeric() && v->type->component_count() <= kMaxComponents;
                 });
    if (!empty && !small) return;
    splice_before(then, &op);
    splice_before(otherwise, &op);
    ir::Builder builder(function_, op.parent, &op);
    builder.set_loc(op.loc);
    for (std::size_t i = 0; i < op.results.size(); ++i)
      rewriter_.replace(op.result(i), builder.select(op.operand(0), then.last->operand(i), otherwise.last->operand(i)));
    ir::remove_op(&op);
    context_.changed = true;
  }

  /// Results that are the same on both sides, or repeat the condition, need no choice. Constants of bool that are not one
  /// value are true on one side and false on the other.
  void forward_equal_yields(Op& op) {
    std::vector<bool> keep(op.results.size(), true);
    for (std::size_t i = 0; i < keep.size(); ++i) {
      Value* a = op.regions[0]->last->operand(i);
      Value* b = op.regions[1]->last->operand(i);
      Value* same = nullptr;
      if (a == b)
        same = a;
      else if (a->type->is_bool() && a->is_constant() && b->is_constant())
        same = b->is_zero() ? op.operand(0) : make_not(context_, op, op.operand(0));
      if (!same) continue;
      rewriter_.replace(op.result(i), same);
      keep[i] = false;
    }
    drop(op, keep);
  }

  /// A carried value that the body hands on unchanged, or replaces by what it started with, is its initial value.
  void drop_invariants(Op& op) {
    std::size_t init = first_init(op), carried = first_carried(op);
    std::vector<bool> keep(op.results.size(), true);
    const Region& body = *op.regions.back();
    for (std::size_t i = 0; i < keep.size(); ++i) {
      Value* start = op.operand(init + i);
      // Optimistic for one value at a time: two that swap places are not seen through, which would take a fixed point
      // over all of them.
      Value* next = rewriter_.now(body.last->operand(i));
      if (next != body.args[carried + i] && next != start) continue;
      for (Region* nested : op.regions) rewriter_.replace(nested->args[carried + i], start);
      rewriter_.replace(op.result(i), start);
      keep[i] = false;
    }
    drop(op, keep);
  }

  void drop(Op& op, const std::vector<bool>& keep) {
    if (std::find(keep.begin(), keep.end(), false) == keep.end()) return;
    drop_results(op, keep);
    context_.changed = true;
  }

  ir::Function& function_;
  analysis::Ranges ranges_;
  RuleContext context_;
  ir::Rewriter rewriter_;
};

}  // namespace

std::optional<std::uint64_t> uniform_bits(const Value* value) {
  if (value->is_constant()) return value->bits;
  if (const Op* splat = defined_by(value, OpCode::splat); splat && splat->operand(0)->is_constant())
    return splat->operand(0)->bits;
  return std::nullopt;
}

Op* defined_by(const Value* value, OpCode code) {
  return value->kind == ir::ValueKind::result && value->op->code == code ? value->op : nullptr;
}

Value* make_not(RuleContext& context, Op& before, Value* condition) {
  ir::Builder builder(context.function, before.parent, &before);
  builder.set_loc(before.loc);
  return builder.unary(OpCode::bit_not, condition);
}

bool simplify(ir::Function& function) {
  bool any = false;
  for (int round = 0; round < kRounds && Simplifier(function).run(); ++round) any = true;
  return any;
}

}  // namespace weft::passes
