// How often a loop can run is found by running it on what is known: constants it starts with, and that its own test held.
#include "passes/unroll_while.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analysis/uses.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/scalar_eval.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

using Bits = std::optional<std::uint64_t>;

/// The rounds of one loop, as far as constants tell them.
class Rounds {
 public:
  explicit Rounds(const Op& loop) : loop_(loop) {}

  /// The most rounds that the loop can run, if these are at most `limit`.
  std::optional<std::uint64_t> most(std::uint64_t limit) {
    std::vector<Bits> carried;
    for (const Value* value : loop_.operands) carried.push_back(value_of(value));
    const Region &test = *loop_.regions[0], &body = *loop_.regions[1];
    const Value* condition = test.last->operand(0);
    // Loops with `and` in their test have a flag instead: tested, carried, and computed in the body by a branch.
    const bool is_carried = condition->kind == ir::ValueKind::argument && condition->region == &test;
    for (std::uint64_t round = 0;; ++round) {
      // Nothing is known for longer than a round but what is carried: `known_` is keyed by values that stand for
      // another number in each.
      known_.clear();
      bind(test, carried);
      walk(test);
      if (const Bits goes_on = value_of(condition); goes_on && *goes_on == 0) return round;
      if (round == limit) return std::nullopt;
      // The body runs, so the flag was true.
      if (is_carried) carried[condition->index] = 1;
      bind(body, carried);
      // If the flag comes out false whatever is read, this round was the last. If it is open, what counts is only the
      // case in which it is true.
      assumed_ = is_carried ? body.last->operand(condition->index) : nullptr;
      walk(body);
      if (assumed_)
        if (const Bits next = value_of(assumed_); next && *next == 0) return round + 1;
      for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = value_of(body.last->operand(i));
    }
  }

 private:
  void bind(const Region& region, const std::vector<Bits>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) set(region.args[i], values[i]);
  }

  void set(const Value* value, Bits bits) {
    if (bits) known_[value] = *bits;
  }

  Bits value_of(const Value* value) const {
    if (!value->type->is_scalar()) return std::nullopt;
    if (value->is_constant()) return value->bits;
    const auto found = known_.find(value);
    return found == known_.end() ? std::nullopt : Bits(found->second);
  }

  void walk(const Region& region) {
    for (const Op& op : region) {
      for (const Region* nested : op.regions) walk(*nested);
      if (op.code == OpCode::if_)
        join(op);
      else if (op.results.size() == 1 && op.regions.empty())
        set(op.result(), evaluate(op));
      // The next round runs only if this holds; operations behind it are asked what they give then.
      for (const Value* result : op.results)
        if (result == assumed_ && !value_of(result)) set(result, 1);
    }
  }

  void join(const Op& op) {
    const Bits taken = value_of(op.operand(0));
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      const Bits a = value_of(op.regions[0]->last->operand(i)), b = value_of(op.regions[1]->last->operand(i));
      if (taken)
        set(op.result(i), *taken ? a : b);
      else if (a == b)
        set(op.result(i), a);
    }
  }

  Bits evaluate(const Op& op) const {
    const Type* type = op.result()->type;
    if (!type->is_scalar() || op.operands.empty()) return std::nullopt;
    for (const Value* operand : op.operands)
      if (!operand->type->is_scalar()) return std::nullopt;
    const Bits a = value_of(op.operand(0)), b = op.operands.size() > 1 ? value_of(op.operand(1)) : Bits(0);
    if (op.code == OpCode::select) return a ? (*a ? b : value_of(op.operand(2))) : std::nullopt;
    // One side is enough, though the other was read from memory: `k > 0 and best[k - 1] > d` is false by k alone.
    if (type->is_bool() && op.code == OpCode::bit_and && ((a && !*a) || (b && !*b))) return 0;
    if (type->is_bool() && op.code == OpCode::bit_or && ((a && *a) || (b && *b))) return 1;
    if (!a || !b || op.operands.size() > 2) return std::nullopt;
    const ScalarKind kind = op.operand(0)->type->scalar_kind();
    switch (ir::class_of(op.code)) {
      case ir::OpClass::arith:
      case ir::OpClass::bits:
        return op.operands.size() == 1 ? ir::eval_unary(op.code, kind, *a) : ir::eval_binary(op.code, kind, *a, *b);
      case ir::OpClass::compare: return ir::eval_compare(op.code, kind, *a, *b);
      default: return std::nullopt;  // safe: its value is not known
    }
  }

  const Op& loop_;
  const Value* assumed_ = nullptr;
  std::unordered_map<const Value*, std::uint64_t> known_;
};

std::size_t depth_of(const Region& region) {
  std::size_t deepest = 0;
  for (const Op& op : region)
    for (const Region* nested : op.regions) deepest = std::max(deepest, 1 + depth_of(*nested));
  return deepest;
}

/// while (v = v0) { test c(v) } do { yield f(v) }  of at most two rounds becomes
///
///   if c(v0) { v1 = f(v0); if c(v1) { yield f(v1) } else { yield v1 } } else { yield v0 }
class Unroller {
 public:
  Unroller(ir::Function& function, const WhileLimits& limits)
      : function_(function), limits_(limits), rewriter_(function) {}

  bool run() {
    rewriter_.run(*function_.body, [&](Op& op) {
      if (op.code != OpCode::while_ || !is_candidate(op)) return;
      // A bound, no exact number: tests stay in the code, and only a branch behind the last round is left out, since
      // it could not be taken.
      const std::optional<std::uint64_t> rounds = Rounds(op).most(limits_.max_rounds);
      if (!rounds || *rounds == 0 || !is_small(op, *rounds)) return;
      // The copies are not visited by the rewriter's walk: what stands for results of loops before is put in now.
      for (const Region* region : op.regions) ir::walk(*region, [&](Op& inner) { rewriter_.apply(inner); });
      const std::vector<Value*> results = expand(op, op.operands, *rounds, op.parent, &op);
      for (std::size_t i = 0; i < results.size(); ++i) rewriter_.replace(op.result(i), results[i]);
      ir::remove_op(&op);
      changed_ = true;
    });
    return changed_;
  }

 private:
  /// Innermost, and with an index into a private array, a vector or a matrix that is not a constant yet.
  bool is_candidate(const Op& loop) const {
    bool plain = true, indexes = false;
    for (const Region* region : loop.regions)
      ir::walk(*region, [&](const Op& op) {
        plain &=
            op.code != OpCode::for_ && op.code != OpCode::while_ && op.code != OpCode::call && op.code != OpCode::local;
        // What follows the value, and the part that is put in, are indices.
        indexes |= op.code == OpCode::extract && op.operands.size() > 1;
        indexes |= op.code == OpCode::insert && op.operands.size() > 2;
        if (!limits_.private_arrays) return;
        if ((op.code != OpCode::load && op.code != OpCode::store) || op.num_indices == 0) return;
        const Value* array = op.operand(0);
        if (array->kind != ir::ValueKind::result || array->op->code != OpCode::local) return;
        indexes |= std::any_of(op.indices().begin(), op.indices().end(),
                               [](const Value* index) { return !index->is_constant(); });
      });
    return plain && indexes;
  }

  bool is_small(const Op& loop, std::uint64_t rounds) const {
    std::size_t depth = 0, ops = 0, inner = 0;
    for (const Region* region = loop.parent; region->parent_op; region = region->parent_op->parent) ++depth;
    for (const Region* region : loop.regions) {
      ops += analysis::count_ops(*region, limits_.max_ops + 1);
      inner = std::max(inner, depth_of(*region));
    }
    return ops * rounds <= limits_.max_ops && depth + inner + rounds <= limits_.max_depth;
  }

  /// Copies a region of the loop; gives what its end says.
  std::vector<Value*> copy(const Region& region, std::span<Value* const> carried, Region* to, Op* before) {
    ir::ValueMap map;
    for (std::size_t i = 0; i < carried.size(); ++i) map[region.args[i]] = carried[i];
    ir::clone_ops(region, function_, to, map, /*skip_terminator=*/true, nullptr, before);
    std::vector<Value*> given;
    for (Value* value : region.last->operands) given.push_back(ir::mapped(function_, map, value));
    return given;
  }

  /// What the loop gives after at most so many rounds from here.
  std::vector<Value*> expand(const Op& loop, std::span<Value* const> carried, std::uint64_t rounds, Region* to,
                             Op* before) {
    // No test here: the count says that it would fail.
    if (rounds == 0) return {carried.begin(), carried.end()};
    std::vector<const Type*> types;
    for (const Value* value : carried) types.push_back(value->type);
    ir::Builder builder(function_, to, before);
    builder.set_loc(loop.loc);
    Op* round = builder.if_op(copy(*loop.regions[0], carried, to, before)[0], types);
    for (std::size_t i = 0; i < types.size(); ++i) round->result(i)->name = loop.result(i)->name;
    Region *runs = round->regions[0], *ends = round->regions[1];
    const std::vector<Value*> next = copy(*loop.regions[1], carried, runs, nullptr);
    const std::vector<Value*> last = expand(loop, next, rounds - 1, runs, nullptr);
    builder.set_place(runs);
    builder.yield(last);
    builder.set_place(ends);
    // The rounds behind don't run: what came in is what the loop gives.
    builder.yield(carried);
    return {round->results.begin(), round->results.end()};
  }

  ir::Function& function_;
  const WhileLimits limits_;
  ir::Rewriter rewriter_;
  bool changed_ = false;
};

}  // namespace

bool unroll_while(ir::Function& function, const WhileLimits& limits) {
  bool changed = false;
  // Loops around those that went are innermost now.
  while (Unroller(function, limits).run()) changed = true;
  return changed;
}

}  // namespace weft::passes
