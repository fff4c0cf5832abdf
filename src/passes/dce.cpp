// Marking from effects backwards with a worklist, then one sweep. A carried value is needed when its result or one of
// its arguments is; then its initial value and what the body yields for it are needed too. A store to a private local is
// needed when something needed reads that local.
#include "passes/dce.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "analysis/alias.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

class Eliminator {
 public:
  Eliminator(ir::Function& function, analysis::Effects& effects)
      : function_(function), effects_(effects), needed_(function.value_count) {}

  bool run() {
    find_local_stores();
    mark_effects(*function_.body);
    while (!work_.empty()) {
      Value* value = work_.back();
      work_.pop_back();
      follow(*value);
    }
    sweep(*function_.body);
    return changed_;
  }

 private:
  /// Stores that matter only if somebody reads the local they go to.
  void find_local_stores() {
    bool any = false;
    ir::walk(*function_.body, [&](const Op& op) { any |= op.code == OpCode::local; });
    if (!any) return;
    alias_ = std::make_unique<analysis::Alias>(function_, effects_);
    ir::walk(*function_.body, [&](Op& op) {
      analysis::BaseMask to = op.code == OpCode::store ? alias_->bases(op.operand(0)) : 0;
      // A function that does nothing but fill arrays is a store as well.
      if (op.code == OpCode::call && !effects_.of(*op.callee).outside) to = alias_->direct_writes(op);
      // All that it may go to is private: `to` with other bits may be seen by the caller or another thread.
      if (to && !(to & ~alias_->private_locals())) local_stores_.emplace(&op, to);
    });
  }

  /// Must stay whatever happens to its results (its regions aside).
  bool has_effect(Op& op) {
    switch (ir::effect_of(op.code)) {
      case ir::Effect::none:
      case ir::Effect::read: return false;
      case ir::Effect::write:
        // It writes, as it clears its memory, but memory that nobody reads.
        if (op.code == OpCode::local) return false;
        return op.code != OpCode::store || !local_stores_.contains(&op);
      // Of control operations the regions decide. A call counts as a whole, by what the callee may write, print or
      // report.
      case ir::Effect::region:
        return op.code == OpCode::call && !effects_.of(*op.callee).removable() && !local_stores_.contains(&op);
      case ir::Effect::end: return op.code == OpCode::return_;
    }
    return true;
  }

  bool mark_effects(const Region& region) {
    bool any = false;
    for (Op& op : region) {
      bool inside = has_effect(op);
      for (const Region* nested : op.regions) inside |= mark_effects(*nested);
      // A loop around an effect is kept with what decides its turns, though its results may go.
      if (inside) keep(op);
      any |= inside;
    }
    return any;
  }

  void need(Value* value) {
    if (value->is_constant() || needed_[value->id]) return;
    needed_[value->id] = true;
    work_.push_back(value);
  }

  /// The operation happens, and so does every operation around it.
  void keep(Op& op) {
    // Stops at the first that is kept already: everything around that is, too, so the whole marking is linear.
    for (Op* at = &op; at && kept_.insert(at).second; at = at->parent->parent_op) {
      need_inputs(*at);
      // Stores and reads depend on each other in a circle: a store is needed if a needed operation reads its local,
      // and keeping the store makes what it computes needed, which may read another local. The worklist closes it.
      if (alias_) note_reads(alias_->direct_reads(*at));
    }
  }

  /// Each local is noted once, so the stores are gone through at most once per local.
  void note_reads(analysis::BaseMask bases) {
    bases &= ~read_;
    if (!bases) return;
    read_ |= bases;
    for (const auto& [store, to] : local_stores_)
      if (to & bases) keep(*store);
  }

  /// What decides how an operation runs; values that control operations merely pass on come with their results.
  void need_inputs(const Op& op) {
    switch (op.code) {
      case OpCode::if_: need(op.operand(0)); break;
      case OpCode::for_:
        for (std::size_t i = 0; i < 3; ++i) need(op.operand(i));
        break;
      // Not the initial values: those are needed carried value by carried value, which is what lets a counter that
      // nobody asks for go.
      case OpCode::while_: need(op.regions[0]->last->operand(0)); break;
      default:  // safe: all operands
        for (Value* value : op.operands) need(value);
    }
  }

  void follow(Value& value) {
    if (value.kind == ir::ValueKind::argument) {
      Op* loop = value.region->parent_op;
      if (!loop) return;
      keep(*loop);
      // Otherwise it is the induction variable of a `for`, which comes with the bounds.
      if (value.index >= first_carried(*loop)) need_carried(*loop, value.index - first_carried(*loop));
      return;
    }
    Op& op = *value.op;
    keep(op);
    if (op.code == OpCode::if_) {
      for (Region* side : op.regions) need(side->last->operand(value.index));
    } else if (op.code == OpCode::for_ || op.code == OpCode::while_) {
      need_carried(op, value.index);
    }
  }

  void need_carried(Op& op, std::size_t i) {
    need(op.operand(first_init(op) + i));
    need(op.regions.back()->last->operand(i));
    // The result itself as well, so that `sweep` finds all places of one carried value marked alike.
    need(op.result(i));
  }

  void sweep(Region& region) {
    for (Op& op : region) {
      if (ir::effect_of(op.code) == ir::Effect::end) continue;
      if (!kept_.contains(&op)) {
        ir::remove_op(&op);
        changed_ = true;
        continue;
      }
      if (op.regions.empty()) continue;
      std::vector<bool> keep(op.results.size());
      for (std::size_t i = 0; i < keep.size(); ++i) {
        keep[i] = needed_[op.result(i)->id];
        if (op.code != OpCode::if_)
          for (const Region* nested : op.regions) keep[i] = keep[i] || needed_[nested->args[first_carried(op) + i]->id];
      }
      if (std::find(keep.begin(), keep.end(), false) != keep.end()) {
        drop_results(op, keep);
        changed_ = true;
      }
      for (Region* nested : op.regions) sweep(*nested);
    }
  }

  ir::Function& function_;
  analysis::Effects& effects_;
  std::vector<bool> needed_;  // by value id
  std::unordered_set<const Op*> kept_;
  std::vector<Value*> work_;
  std::unique_ptr<analysis::Alias> alias_;  // only where there are locals
  std::unordered_map<Op*, analysis::BaseMask> local_stores_;
  analysis::BaseMask read_ = 0;
  bool changed_ = false;
};

}  // namespace

bool dce(ir::Function& function, analysis::Effects* effects) {
  analysis::Effects own;
  return Eliminator(function, effects ? *effects : own).run();
}

}  // namespace weft::passes
