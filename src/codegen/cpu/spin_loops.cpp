// Functions first say whose memory their loops wait for, callees before callers and each of them once; then the kernel
// is asked whether anything in it writes there.
#include "codegen/cpu/spin_loops.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::codegen {

using ir::Op;
using ir::OpCode;
using ir::Origin;
using ir::Region;
using ir::Value;

namespace {

/// Where each descriptor in a value comes from, in the order in which they lie there.
void add_origins(const Value* value, std::vector<Origin>& out) {
  const std::size_t count = ir::count_arrays(value->type);
  if (!count) return;
  const bool fields = value->type->is_struct() || value->type->is_tuple();
  if (fields && value->kind == ir::ValueKind::result && value->op->code == OpCode::construct) {
    for (const Value* field : value->op->operands) add_origins(field, out);
    return;
  }
  Origin from = ir::origin_of(value);
  for (std::size_t k = 0; k < count; ++k, from.array += from.param != nullptr) out.push_back(from);
}

std::vector<Origin> origins_of(std::span<Value* const> values) {
  std::vector<Origin> out;
  for (const Value* value : values) add_origins(value, out);
  return out;
}

bool is_private(const Origin& memory) { return memory.kind == Origin::Kind::local; }

/// Whose memory decides when the loops of a function end.
struct Waits {
  bool surely = false;       // what an atomic operation found there, or a function that writes
  bool elsewhere = false;    // memory that is no parameter's
  std::vector<bool> arrays;  // by descriptor in the parameters, all of them counted through
};

/// Whether a call changes memory that the caller, or another thread, may see.
bool writes(const analysis::FunctionEffects& effects) {
  return effects.writes_unknown ||
         std::find(effects.writes.begin(), effects.writes.end(), true) != effects.writes.end();
}

/// Walks backwards from the tests of all loops of one function over everything that decides them.
class LoopExits {
 public:
  LoopExits(const ir::Function& function, analysis::Effects& effects) : function_(function), effects_(effects) {
    for (const Value* param : function.params()) {
      first_.push_back(found_.arrays.size());
      found_.arrays.resize(found_.arrays.size() + ir::count_arrays(param->type));
    }
  }

  template <class Known>
  Waits run(const Known& of_callee) {
    ir::walk(*function_.body, [&](const Op& op) {
      if (op.code == OpCode::while_) want(op.regions[0]->terminator()->operand(0));
      // Whatever its loops wait for, the caller waits for, too.
      if (op.code == OpCode::call) pass_on(op, of_callee(*op.callee));
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
    if (!value->is_constant() && seen_.insert(value).second) todo_.push_back(value);
  }

  void wait_for(const Origin& memory) {
    switch (memory.kind) {
      case Origin::Kind::none:
      case Origin::Kind::fixed: return;
      // Only this thread writes there; but what it writes may be what it has found elsewhere.
      case Origin::Kind::local: return want_private();
      case Origin::Kind::parameter:
        if (!memory.param || memory.gradient) break;
        found_.arrays[first_[memory.param->index] + memory.array] = true;
        return;
      case Origin::Kind::shared:
      case Origin::Kind::unknown: break;
    }
    found_.elsewhere = true;
  }

  void pass_on(const Op& call, const Waits& callee) {
    found_.surely |= callee.surely;
    found_.elsewhere |= callee.elsewhere;
    if (std::find(callee.arrays.begin(), callee.arrays.end(), true) == callee.arrays.end()) return;
    const std::vector<Origin> given = origins_of(call.operands);
    for (std::size_t k = 0; k < given.size(); ++k)
      if (callee.arrays[k]) wait_for(given[k]);
  }

  /// All that is stored in private arrays, and all that decides whether it is: which array is not asked.
  void want_private() {
    if (private_wanted_) return;
    private_wanted_ = true;
    ir::walk(*function_.body, [&](const Op& op) {
      const ir::Access access = ir::access_of(op.code);
      if (access != ir::Access::writes && access != ir::Access::updates) return;
      if (!is_private(ir::origin_of(op.operand(0)))) return;
      for (const Value* operand : op.operands) want(operand);
      for (const Region* at = op.parent; at->parent_op; at = at->parent_op->parent) want_passage(*at->parent_op);
    });
  }

  /// What decides whether, and how often, the regions of an operation run.
  void want_passage(const Op& op) {
    if (op.code == OpCode::if_) want(op.operand(0));
    if (op.code == OpCode::while_) want(op.regions[0]->terminator()->operand(0));
    if (op.code == OpCode::for_)
      for (std::size_t k = 0; k < 3; ++k) want(op.operand(k));
  }

  void follow_argument(const Value& value) {
    const Op* owner = value.region->parent_op;
    // A parameter: the same for the whole launch, or followed where it was computed.
    if (!owner) return;
    const bool counted = owner->code == OpCode::for_;
    // An index is made of the bounds and the step.
    if (counted && value.index == 0) return want_passage(*owner);
    const std::size_t k = value.index - (counted ? 1 : 0);
    // A carried value is made of its start and of what a turn yields.
    want(owner->operand(k + (counted ? 3 : 0)));
    want(owner->regions.back()->terminator()->operand(k));
  }

  void follow_result(const Value& value) {
    const Op& op = *value.op;
    switch (op.code) {
      case OpCode::atomic:  // a lock: compare-and-swap until it succeeds
        if (!is_private(ir::origin_of(op.operand(0)))) found_.surely = true;
        [[fallthrough]];
      case OpCode::load: wait_for(ir::origin_of(op.operand(0))); break;
      case OpCode::call: {
        const analysis::FunctionEffects& effects = effects_.of(*op.callee);
        found_.surely |= writes(effects);
        found_.elsewhere |= effects.reads_unknown;
        for (std::size_t k = 0; k < op.operands.size(); ++k)
          if (effects.reads[k])
            for (const Origin& memory : origins_of(op.operands.subspan(k, 1))) wait_for(memory);
        break;
      }
      case OpCode::if_:
        want_passage(op);
        for (const Region* side : op.regions) want(side->terminator()->operand(value.index));
        return;
      case OpCode::for_: want_passage(op); return want(op.regions[0]->args[1 + value.index]);
      case OpCode::while_: want_passage(op); return want(op.regions[0]->args[value.index]);
      default: break;  // safe: made of its operands, which are followed
    }
    for (const Value* operand : op.operands) want(operand);
  }

  const ir::Function& function_;
  analysis::Effects& effects_;
  std::vector<std::size_t> first_;  // by parameter: its first descriptor
  std::unordered_set<const Value*> seen_;
  std::vector<const Value*> todo_;
  bool private_wanted_ = false;
  Waits found_;
};

class SpinFinder {
 public:
  explicit SpinFinder(const ir::Function& kernel) : kernel_(kernel) {}

  bool found() {
    const Waits& waits = waits_of_kernel();
    if (waits.surely) return true;
    find_stores();
    // Without a store to memory that others see nobody could end the wait.
    if (stored_.empty()) return false;
    if (waits.elsewhere) return true;
    std::size_t next = 0;
    for (const Value* param : kernel_.params())
      for (std::uint32_t k = 0; k < ir::count_arrays(param->type); ++k)
        if (waits.arrays[next++] && may_change(param, k)) return true;
    return false;
  }

 private:
  const Waits& waits_of_kernel() {
    // A stack of our own, as in analysis/effects: a function stays on it until all that it calls is known.
    std::vector<const ir::Function*> open = {&kernel_};
    while (!open.empty()) {
      const ir::Function* top = open.back();
      const std::size_t before = open.size();
      if (!known_.contains(top))
        ir::walk(*top->body, [&](const Op& op) {
          if (op.code == OpCode::call && !known_.contains(op.callee)) open.push_back(op.callee);
        });
      if (open.size() != before) continue;
      if (!known_.contains(top))
        known_.emplace(top, LoopExits(*top, effects_).run([&](const ir::Function& callee) -> const Waits& {
          return known_.at(&callee);
        }));
      open.pop_back();
    }
    return known_.at(&kernel_);
  }

  void find_stores() {
    auto add = [&](const Origin& memory) {
      const bool seen = memory.kind != Origin::Kind::none && memory.kind != Origin::Kind::fixed;
      if (seen && !is_private(memory)) stored_.push_back(memory);
    };
    ir::walk(*kernel_.body, [&](const Op& op) {
      const ir::Access access = ir::access_of(op.code);
      if (access == ir::Access::writes || access == ir::Access::updates) add(ir::origin_of(op.operand(0)));
      if (op.code != OpCode::call) return;
      const analysis::FunctionEffects& effects = effects_.of(*op.callee);
      if (effects.writes_unknown) stored_.push_back({});
      for (std::size_t k = 0; k < op.operands.size(); ++k)
        if (effects.writes[k])
          for (const Origin& memory : origins_of(op.operands.subspan(k, 1))) add(memory);
    });
  }

  /// Another thread may change what an array of the kernel holds. Where the form says that arrays lie apart, one changes
  /// by what is stored to it, or to memory that is not known; values don't change with gradients.
  bool may_change(const Value* param, std::uint32_t array) const {
    if (kernel_.kind != ir::FunctionKind::kernel || !kernel_.form.no_overlap) return true;
    return std::any_of(stored_.begin(), stored_.end(), [&](const Origin& to) {
      // Memory that is not known may be this array's.
      if (to.kind != Origin::Kind::parameter) return true;
      return !to.gradient && (!to.param || (to.param == param && to.array == array));
    });
  }

  const ir::Function& kernel_;
  analysis::Effects effects_;
  std::unordered_map<const ir::Function*, Waits> known_;
  std::vector<Origin> stored_;  // to what others may see
};

}  // namespace

bool has_spin_loop(const ir::Function& kernel) { return SpinFinder(kernel).found(); }

}  // namespace weft::codegen
