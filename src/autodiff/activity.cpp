// Two fixed points over the structured regions: forward for dependence on data, backward for influence on results.
#include "autodiff/activity.h"

#include <algorithm>
#include <unordered_set>

#include "autodiff/loop_shape.h"
#include "ir/op_cases.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

/// Results of these never change smoothly with their operands.
bool is_step(const Op& op) { return ir::derivative_of(op.code) == ir::Derivative::none; }

bool adds(const ir::Function& function) {
  bool found = false;
  ir::walk(*function.body, [&](const Op& op) {
    found = found || op.code == OpCode::atomic || (op.code == OpCode::call && adds(*op.callee));
  });
  return found;
}

/// Whether it reads by an address what its gradient adds to: texels. Library code is not deep, and calls nothing in circles.
bool reads_own_data(const Op& call) {
  const ir::Function* rule = call.callee->from_library ? call.callee->gradient : nullptr;
  return rule && adds(*rule);
}

}  // namespace

Activity::Activity(const ir::Function& function, bool prints, std::span<const NumberRoot> roots)
    : varied_(function.value_count), useful_(function.value_count), prints_(prints) {
  // A function is derived for whatever its callers pass. A kernel's numbers come from a launch and carry no adjoint, but
  // for those in structs that are asked for, and for what a print may show; its data varies where it is loaded.
  const bool derived = function.kind == ir::FunctionKind::function;
  for (const Value* param : function.params())
    if (derived || (prints && param->type->is_numeric())) vary(param);
  for (const NumberRoot& root : roots) vary(root.value);
  do {
    changed_ = false;
    // Marks are only ever set, never taken back, so both rounds end; one round is enough unless a loop carries a mark
    // back to its start.
    forward(*function.body);
  } while (changed_);
  do {
    changed_ = false;
    backward(*function.body);
  } while (changed_);
}

/// Marks a value that may change smoothly with data. Integers can't: they have no adjoint to carry.
bool Activity::vary(const Value* value) {
  if (value->is_constant() || varied_[value->id] || !has_floats(value->type)) return false;
  return varied_[value->id] = changed_ = true;
}

/// Marks a value that a result is made of, of whatever type: an integer that chooses an element leads to floats
/// again.
bool Activity::use(const Value* value) {
  if (value->is_constant() || useful_[value->id]) return false;
  return useful_[value->id] = changed_ = true;
}

bool Activity::any_varied(std::span<Value* const> values) const {
  return std::any_of(values.begin(), values.end(), [&](const Value* v) { return !v->is_constant() && varied_[v->id]; });
}

void Activity::forward(const Region& region) {
  for (const Op& op : region) forward_op(op);
}

void Activity::forward_op(const Op& op) {
  if (is_loop(op)) {
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      const Value* next = op.regions.back()->last->operand(k);
      // What is carried varies if it starts so or becomes so; the argument, which stands for both, is marked before
      // the body is walked, so that a round sees it.
      Value* pair[] = {op.operand(first_init(op) + k), const_cast<Value*>(next)};
      if (!any_varied(pair)) continue;
      for (const Region* inner : op.regions) vary(inner->args[first_carried(op) + k]);
      vary(op.result(k));
    }
    for (const Region* inner : op.regions) forward(*inner);
    return;
  }
  for (const Region* inner : op.regions) forward(*inner);
  if (op.code == OpCode::if_) {
    for (std::size_t k = 0; k < op.results.size(); ++k)
      for (const Region* side : op.regions)
        if (Value* from = side->last->operand(k); any_varied({&from, 1})) vary(op.result(k));
    return;
  }
  if (is_step(op)) return;
  const ir::Access access = ir::access_of(op.code);
  // Memory is where data comes from. No set of arrays is kept: an array that holds constants only is rare, and
  // treating it as data costs an adjoint of zero, not a wrong one.
  bool source = access == ir::Access::reads || access == ir::Access::updates;
  if (op.code == OpCode::call)
    // A callee that is given arrays, or structs that hold some beside numbers, loads by itself.
    for (const Value* arg : op.operands) source |= ir::has_array(arg->type);
  if (op.code == OpCode::call) source |= reads_own_data(op);
  if (source || any_varied(op.operands))
    for (const Value* result : op.results) vary(result);
}

void Activity::backward(const Region& region) {
  std::vector<const Op*> list;
  for (const Op& op : region) list.push_back(&op);
  for (auto it = list.rbegin(); it != list.rend(); ++it) backward_op(**it);
}

void Activity::backward_op(const Op& op) {
  switch (op.code) {
    case OpCode::return_:
      for (const Value* value : op.operands) use(value);
      return;
    case OpCode::store:
    // What is written to memory counts: whether that memory has a gradient is known at the launch only.
    case OpCode::atomic: use(op.operands.back()); return;
    case OpCode::call:
      for (const Value* value : op.operands) use(value);
      return;
    case OpCode::if_:
      for (std::size_t k = 0; k < op.results.size(); ++k)
        if (useful_[op.result(k)->id])
          for (const Region* side : op.regions) use(side->last->operand(k));
      break;
    case OpCode::for_:
    case OpCode::while_:
      for (std::size_t k = 0; k < op.results.size(); ++k) {
        bool useful = useful_[op.result(k)->id];
        // Used by a later turn or behind the loop: both ask for the value before the loop, for the one that the body
        // yields, and for the arguments between them.
        for (const Region* inner : op.regions) useful = useful || useful_[inner->args[first_carried(op) + k]->id];
        if (!useful) continue;
        use(op.result(k));
        use(op.operand(first_init(op) + k));
        use(op.regions.back()->last->operand(k));
        for (const Region* inner : op.regions) use(inner->args[first_carried(op) + k]);
      }
      break;
    case OpCode::yield:
    case OpCode::test:
    case OpCode::load:
    case OpCode::prefetch: WEFT_CASES(WEFT_DESCRIPTOR_OPS)
    case OpCode::local:
    WEFT_CASES(WEFT_NUMBER_OPS)
    WEFT_CASES(WEFT_DATA_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) break;
  }
  for (auto it = op.regions.rbegin(); it != op.regions.rend(); ++it) backward(**it);
  // No slope leads from a step's result to its operands, so nothing that is only needed for a comparison or a
  // rounding is kept or gets an adjoint.
  if (!op.regions.empty() || is_step(op)) return;
  bool useful = std::any_of(op.results.begin(), op.results.end(), [&](const Value* v) { return useful_[v->id]; });
  if (!useful) return;
  for (const Value* value : op.operands) use(value);
}

bool Activity::matters(const Op& op) const {
  if (prints_ && (is_users_print(op) || (op.code == OpCode::call && prints(*op.callee)))) return true;
  switch (ir::access_of(op.code)) {
    case ir::Access::writes:
    // A store of constants takes part too: it ends the gradient of what stood there.
    case ir::Access::updates: return active(op.operands.back()) || has_floats(op.operands.back()->type);
    case ir::Access::callee:
      for (const Value* value : op.operands)
        if (active(value) || value->type->is_array() || value->type->is_struct()) return true;
      return std::any_of(op.results.begin(), op.results.end(), [&](const Value* v) { return active(v); }) &&
             reads_own_data(op);
    case ir::Access::none:
    case ir::Access::reads:
    case ir::Access::address: break;
  }
  for (const Value* value : op.results)
    if (active(value)) return true;
  for (const Region* inner : op.regions)
    for (const Op& nested : *inner)
      if (matters(nested)) return true;
  return false;
}

std::vector<Value*> active_from_outside(const Op& op, const Activity& activity) {
  // In the order of their first use, so that the same kernel gives the same text, and the same cache key, every time.
  std::unordered_set<const Value*> inside, seen;
  std::vector<Value*> found;
  auto define = [&](const Region& region, auto& self) -> void {
    for (const Value* arg : region.args) inside.insert(arg);
    for (const Op& nested : region) {
      for (Value* value : nested.operands)
        if (!inside.contains(value) && activity.active(value) && seen.insert(value).second) found.push_back(value);
      for (const Value* result : nested.results) inside.insert(result);
      for (const Region* inner : nested.regions) self(*inner, self);
    }
  };
  for (const Region* region : op.regions) define(*region, define);
  return found;
}

}  // namespace weft::autodiff
