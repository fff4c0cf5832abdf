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
        while (op->next && op->next->code == OpCode::if_ && rewriter_.now(op->next->operand(0)) == op->operand(0))
          join(*op, *op->next);
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
      if (op->code == OpCode::if_ && op->next && wanted(*op, *op->next)) sink(*op, *op->next);
      for (Region* nested : op->regions) this->region(*nested);
    }
  }

  bool wanted(const Op& branch, const Op& store) const {
    if (store.code != OpCode::store || store.num_indices != 1 || !store.path.empty()) return false;
    const Value *array = store.operand(0), *index = store.indices()[0], *stored = store.operands.back();
    if (array->kind != ir::ValueKind::result || array->op->code != OpCode::local) return false;
    auto is_own = [&](const Value* v) { return v->kind == ir::ValueKind::result && v->op == &branch; };
    if (!is_own(index) || is_own(stored) || uses_[index->id] != 1) return false;
    return branch.regions[0]->last->operand(index->index)->is_constant() ||
           branch.regions[1]->last->operand(index->index)->is_constant();
  }

  void sink(Op& branch, Op& store) {
    const std::size_t chosen = store.indices()[0]->index;
    for (Region* side : branch.regions) {
      Value* index = side->last->operand(chosen);
      Value* operands[] = {store.operand(0), index, store.operands.back()};
      Op* copy = function_.make_op(OpCode::store, operands, {});
      ir::copy_attributes(store, function_, *copy);
      ir::insert_op(side, copy, side->last);
    }
    std::vector<bool> keep(branch.results.size(), true);
    keep[chosen] = false;
    ir::remove_op(&store);
    drop_results(branch, keep);
    changed_ = true;
  }

  ir::Function& function_;
  const std::vector<std::uint32_t> uses_;  // counts stay: where an index was yielded it now stands in the store
  bool changed_ = false;
};

}  // namespace

bool join_branches(ir::Function& function) { return Joiner(function).run(); }

bool sink_stores(ir::Function& function) { return Sinker(function).run(); }

}  // namespace weft::passes
