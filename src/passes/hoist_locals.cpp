// What is made in a branch runs at most once each time the `if` runs, so it can as well be made before it: nobody sees
// zeroed memory that nobody reads.
#include "passes/hoist_locals.h"

#include <unordered_map>

#include "analysis/alias.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool is_local(const Value* value) { return value->kind == ir::ValueKind::result && value->op->code == OpCode::local; }

/// One round: arrays leave the innermost `if` that lets them out.
bool move_out(ir::Function& function) {
  analysis::Effects effects;
  const analysis::Alias alias(function, effects);
  std::vector<std::pair<Op*, Op*>> moves;  // a local, and the `if` it goes before
  ir::walk(*function.body, [&](Op& op) {
    if (op.code != OpCode::if_) return;
    analysis::BaseMask out = 0;
    for (const Value* result : op.results)
      if (analysis::has_array(result->type)) out |= alias.bases(result);
    if (!out) return;
    for (const Region* side : op.regions)
      for (Op& inner : *side)
        if (inner.code == OpCode::local && (alias.bases(inner.result()) & out)) moves.push_back({&inner, &op});
  });
  for (auto [local, before] : moves) {
    ir::remove_op(local);
    ir::insert_op(before->parent, local, before);
  }
  return !moves.empty();
}

/// Whether a descriptor is only good for accesses, wherever it goes.
bool only_accessed(const Value* array, const std::unordered_map<const Value*, std::vector<const Op*>>& uses) {
  auto it = uses.find(array);
  if (it == uses.end()) return true;
  for (const Op* use : it->second) {
    const bool first = use->operand(0) == array;
    switch (use->code) {
      case OpCode::load: break;
      case OpCode::store:
      case OpCode::atomic:
        if (!first || use->operands.back() == array) return false;
        break;
      case OpCode::view:
      case OpCode::slice:
        if (!only_accessed(use->result(), uses)) return false;
        break;
      case OpCode::yield: {
        const Op* around = use->parent->parent_op;
        if (around->code != OpCode::if_) return false;
        for (std::size_t k = 0; k < use->operands.size(); ++k)
          if (use->operand(k) == array && !only_accessed(around->result(k), uses)) return false;
        break;
      }
      default: return false;
    }
  }
  return true;
}

/// An `if` that gives an array on one side and nothing on the other: accesses to nothing have no meaning, so accesses go
/// to the array.
bool name_results(ir::Function& function) {
  std::unordered_map<const Value*, std::vector<const Op*>> uses;
  ir::walk(*function.body, [&](const Op& op) {
    for (const Value* operand : op.operands)
      if (operand->type->is_array() && !operand->is_constant()) uses[operand].push_back(&op);
  });
  ir::Rewriter rewriter(function);
  rewriter.run(*function.body, [&](Op& op) {
    if (op.code != OpCode::if_) return;
    std::vector<bool> keep(op.results.size(), true);
    bool any = false;
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      if (!op.result(k)->type->is_array()) continue;
      Value* sides[] = {rewriter.now(op.regions[0]->last->operand(k)), rewriter.now(op.regions[1]->last->operand(k))};
      Value* one = sides[0]->is_constant() ? sides[1] : sides[0];
      const bool alike = sides[0] == sides[1];
      if (!is_local(one) || one->op->parent == op.regions[0] || one->op->parent == op.regions[1]) continue;
      if (!alike && (!(sides[0]->is_constant() || sides[1]->is_constant()) || !only_accessed(op.result(k), uses)))
        continue;
      rewriter.replace(op.result(k), one);
      keep[k] = false;
      any = true;
    }
    if (any) drop_results(op, keep);
  });
  return rewriter.changed();
}

}  // namespace

bool hoist_locals(ir::Function& function) {
  bool changed = false;
  while (move_out(function)) changed = true;
  while (name_results(function)) changed = true;
  return changed;
}

}  // namespace weft::passes
