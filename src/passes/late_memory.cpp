// Two steps for each function: calls get arrays without gradients where the callee has no use for one; then each `local` of a block
// goes before the operation of its region that uses it first, in a region of its own or not.
#include "passes/late_memory.h"

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// Which functions may ask an array that they are given for its gradient.
class Askers {
 public:
  bool asks(const ir::Function& function) {
    if (const auto it = known_.find(&function); it != known_.end()) return it->second;
    known_[&function] = true;  // for functions that call each other
    bool any = !function.native.empty();
    for (const Type* type : function.result_types) any = any || ir::has_array(type);
    ir::walk(*function.body, [&](const Op& op) {
      any = any || op.code == OpCode::gradient || (op.code == OpCode::call && asks(*op.callee));
    });
    return known_[&function] = any;
  }

 private:
  std::unordered_map<const ir::Function*, bool> known_;
};

bool give_arrays_alone(ir::Function& function, Askers& askers) {
  bool changed = false;
  std::unordered_set<const Value*> used;
  std::vector<Op*> pairs;
  ir::walk(*function.body, [&](Op& op) {
    if (op.code == OpCode::with_gradient) pairs.push_back(&op);
    const bool alone = op.code == OpCode::call && !askers.asks(*op.callee);
    for (Value*& operand : op.operands) {
      if (alone && operand->kind == ir::ValueKind::result && operand->op->code == OpCode::with_gradient) {
        operand = operand->op->operand(0);
        changed = true;
      }
      used.insert(operand);
    }
  });
  for (Op* pair : pairs)
    if (!used.contains(pair->result())) ir::remove_op(pair);
  return changed;
}

bool uses(const Op& op, const Value* value) {
  for (const Value* operand : op.operands)
    if (operand == value) return true;
  for (const Region* nested : op.regions)
    for (const Op& inner : *nested)
      if (uses(inner, value)) return true;
  return false;
}

bool move_down(ir::Function& function) {
  std::vector<Op*> made;
  ir::walk(*function.body, [&](Op& op) {
    if (ir::is_block_memory(op)) made.push_back(&op);
  });
  bool changed = false;
  for (Op* local : made) {
    Op* user = local->next;
    while (user && !uses(*user, local->result())) user = user->next;
    if (!user || user == local->next) continue;
    Region* region = local->parent;
    ir::remove_op(local);
    ir::insert_op(region, local, user);
    changed = true;
  }
  return changed;
}

}  // namespace

bool late_memory(ir::Module& module) {
  bool changed = false;
  Askers askers;
  for (auto& function : module.functions) {
    bool any = false;
    ir::walk(*function->body, [&](const Op& op) { any = any || ir::is_block_memory(op); });
    if (!any) continue;
    changed |= give_arrays_alone(*function, askers);
    changed |= move_down(*function);
  }
  return changed;
}

}  // namespace weft::passes
