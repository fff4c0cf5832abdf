// Regions of the second `if` are moved behind those of the first.
#include "passes/join_branches.h"

#include <algorithm>

#include "analysis/uses.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// Before and after, for a first `if` with result r (a or b) and a second one that uses it:
///
///   r = if c { A; yield a } else { B; yield b }            r, q = if c { A; C(a); yield a, x }
///   q = if c { C(r); yield x } else { D(r); yield y }                  else { B; D(b); yield b, y }
class Joiner {
 public:
  explicit Joiner(ir::Function& function) : function_(function), rewriter_(function) {}

  bool run() {
    region(*function_.body);
    return changed_;
  }

 private:
  void region(Region& region) {
    for (Op* op = region.first; op; op = op->next) {
      rewriter_.apply(*op);
      if (op->code == OpCode::if_)
        // Directly behind, with nothing in between: no effect can change places with another, and conditions are
        // values, so the same one means the same side.
        while (op->next && op->next->code == OpCode::if_ && rewriter_.now(op->next->operand(0)) == op->operand(0))
          join(*op, *op->next);
      // Behind joining: what came together may hold neighbours now.
      for (Region* nested : op->regions) this->region(*nested);
    }
  }

  /// In each side of the second, results of the first are what that side of the first yields.
  void join(Op& first, Op& second) {
    for (std::size_t side = 0; side < 2; ++side) {
      Region &to = *first.regions[side], &from = *second.regions[side];
      ir::walk(from, [&](Op& op) {
        for (Value*& operand : op.operands) {
          Value* now = rewriter_.now(operand);
          const bool own = now->kind == ir::ValueKind::result && now->op == &first;
          // A result of the first `if` is not there yet inside of it; in this side it is what this side yields.
          operand = own ? to.last->operand(now->index) : now;
        }
      });
      splice_before(from, to.last);
      for (Value* value : from.last->operands) function_.append_operand(to.last, value);
    }
    for (std::size_t i = 0; i < second.results.size(); ++i) {
      const Value* old = second.result(i);
      rewriter_.replace(old, function_.append_result(&first, old->type, old->name));
    }
    ir::remove_op(&second);
    changed_ = true;
  }

  ir::Function& function_;
  ir::Rewriter rewriter_;
  bool changed_ = false;
};

/// A store at a constant index is one that later passes see through; one at a chosen index may go anywhere:
///
///   i = if c { yield 0 } else { yield k }
///   store t[i], v                              →   if c { store t[0], v } else { store t[k], v }
class Sinker {
 public:
  explicit Sinker(ir::Function& function) : function_(function), uses_(analysis::use_counts(function)) {}

  bool run() {
    region(*function_.body);
    return changed_;
  }

 private:
  void region(Region& region) {
    for (Op* op = region.first; op; op = op->next) {
      // Again and again, as sides that end in a branch get stores behind it, which may sink on when the walk comes
      // there.
      if (op->code == OpCode::if_)
        for (std::vector<Op*> stores = wanted(*op); !stores.empty(); stores = wanted(*op)) sink(*op, stores);
      for (Region* nested : op->regions) this->region(*nested);
    }
  }

  /// The stores behind a branch by an index that it chooses, if these are all that use it.
  std::vector<Op*> wanted(const Op& branch) const {
    auto is_own = [&](const Value* v) { return v->kind == ir::ValueKind::result && v->op == &branch; };
    const Value* chosen = nullptr;
    std::vector<Op*> stores;
    for (Op* op = branch.next; op && op->code == OpCode::store && op->num_indices == 1 && op->path.empty();
         op = op->next) {
      const Value *array = op->operand(0), *index = op->indices()[0];
      if (array->kind != ir::ValueKind::result || array->op->code != OpCode::local) break;
      // A value that the branch chooses would have to be chosen in the sides as well: seldom, so left alone. The
      // stores must stand in a row right behind the branch, so that none passes a read.
      if (!is_own(index) || is_own(op->operands.back()) || (chosen && index != chosen)) break;
      chosen = index;
      stores.push_back(op);
    }
    // With another use the index must be chosen all the same, and nothing would be won.
    if (!chosen || uses_[chosen->id] != stores.size()) return {};
    auto yields_constant = [&](const Region* side) { return side->last->operand(chosen->index)->is_constant(); };
    return std::any_of(branch.regions.begin(), branch.regions.end(), yields_constant) ? stores : std::vector<Op*>{};
  }

  void sink(Op& branch, const std::vector<Op*>& stores) {
    const std::size_t chosen = stores[0]->indices()[0]->index;
    for (Region* side : branch.regions) {
      Value* index = side->last->operand(chosen);
      // It stood in the yield, and stands in each store now.
      if (!index->is_constant()) uses_[index->id] += std::uint32_t(stores.size() - 1);
      for (const Op* store : stores) {
        Value* operands[] = {store->operand(0), index, store->operands.back()};
        Op* copy = function_.make_op(OpCode::store, operands, {});
        ir::copy_attributes(*store, function_, *copy);
        ir::insert_op(side, copy, side->last);
      }
    }
    for (Op* store : stores) ir::remove_op(store);
    std::vector<bool> keep(branch.results.size(), true);
    keep[chosen] = false;
    drop_results(branch, keep);
    changed_ = true;
  }

  ir::Function& function_;
  std::vector<std::uint32_t> uses_;
  bool changed_ = false;
};

}  // namespace

bool join_branches(ir::Function& function) { return Joiner(function).run(); }

bool sink_stores(ir::Function& function) { return Sinker(function).run(); }

}  // namespace weft::passes
