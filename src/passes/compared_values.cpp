// One walk to find where values are compared, and one backwards from there, through loops, calls and private arrays.
#include "passes/compared_values.h"

#include <unordered_map>
#include <vector>

#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool is_loaded(const Value* value) { return value->kind == ir::ValueKind::result && value->op->code == OpCode::load; }

bool is_private(const Value* array) { return ir::origin_of(array).kind == ir::Origin::Kind::local; }

class Finder {
 public:
  explicit Finder(const ir::Module& module) : module_(module) {}

  std::unordered_set<const Value*> run() {
    for (const auto& function : module_.functions) ir::walk(*function->body, [&](const Op& op) { find_root(op); });
    if (todo_.empty()) return {};
    for (const auto& function : module_.functions)
      ir::walk(*function->body, [&](const Op& op) {
        if (op.code == OpCode::call) calls_[op.callee].push_back(&op);
      });
    while (!todo_.empty()) {
      const Value* value = todo_.back();
      todo_.pop_back();
      if (value->kind == ir::ValueKind::argument)
        follow_argument(*value);
      else
        follow_result(*value);
    }
    return std::move(found_);
  }

 private:
  void want(const Value* value) {
    if (!value->is_constant() && found_.insert(value).second) todo_.push_back(value);
  }

  void find_root(const Op& op) {
    const bool extreme = op.code == OpCode::atomic &&
                         (op.atomic == ir::AtomicKind::min || op.atomic == ir::AtomicKind::max) &&
                         op.operands.back()->type->is_float();
    const bool equality = (op.code == OpCode::eq || op.code == OpCode::ne) && op.operand(0)->type->is_float() &&
                          is_loaded(op.operand(0)) != is_loaded(op.operand(1));
    if (extreme ? is_private(op.operand(0)) : !equality) return;
    if (extreme)
      want(op.operands.back());
    else
      want(op.operand(is_loaded(op.operand(0)) ? 1 : 0));
    want_way_to(op);
  }

  /// What decides whether the operation runs.
  void want_way_to(const Op& op) {
    for (const Region* at = op.parent; at->parent_op; at = at->parent_op->parent) want_passage(*at->parent_op);
  }

  /// What decides whether, and how often, the regions of an operation run.
  void want_passage(const Op& op) {
    if (op.code == OpCode::if_) want(op.operand(0));
    if (op.code == OpCode::while_) want(op.regions[0]->terminator()->operand(0));
    if (op.code == OpCode::for_)
      for (std::size_t k = 0; k < 3; ++k) want(op.operand(k));
  }

  /// All that the function stores in private arrays: which of them is not asked.
  void want_private(const ir::Function& function) {
    if (!looked_through_.insert(&function).second) return;
    ir::walk(*function.body, [&](const Op& op) {
      if ((op.code != OpCode::store && op.code != OpCode::atomic) || !is_private(op.operand(0))) return;
      for (const Value* operand : op.operands) want(operand);
      want_way_to(op);
    });
  }

  void follow_argument(const Value& value) {
    const Op* owner = value.region->parent_op;
    if (!owner) {  // a parameter: what the callers pass
      for (const Op* call : calls_[value.region->function]) want(call->operand(value.index));
      return;
    }
    want_passage(*owner);
    const bool counted = owner->code == OpCode::for_;
    if (counted && value.index == 0) return;
    const std::size_t k = value.index - (counted ? 1 : 0);
    want(owner->operand(k + (counted ? 3 : 0)));
    want(owner->regions.back()->terminator()->operand(k));
  }

  void follow_result(const Value& value) {
    const Op& op = *value.op;
    if (!op.regions.empty()) {
      want_passage(op);
      if (op.code == OpCode::if_)
        for (const Region* side : op.regions) want(side->terminator()->operand(value.index));
      else
        want(op.regions.back()->args[value.index + (op.code == OpCode::for_ ? 1 : 0)]);
      return;
    }
    if (op.code == OpCode::call && op.callee->native.empty()) want(op.callee->body->last->operand(value.index));
    if (op.code == OpCode::load && is_private(op.operand(0))) want_private(*op.parent->function);
    for (const Value* operand : op.operands) want(operand);
  }

  const ir::Module& module_;
  std::unordered_map<const ir::Function*, std::vector<const Op*>> calls_;  // by callee
  std::unordered_set<const ir::Function*> looked_through_;
  std::unordered_set<const Value*> found_;
  std::vector<const Value*> todo_;
};

}  // namespace

std::unordered_set<const Value*> compared_values(const ir::Module& module) { return Finder(module).run(); }

}  // namespace weft::passes
