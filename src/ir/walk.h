// Walks over the operations of a region in the order they stand in the text, nested ones included, and the helper for
// passes that replace values: one forward walk with a replacement table is enough, because uses follow definitions.
#pragma once
#include <algorithm>
#include <vector>

#include "ir/ir.h"

namespace weft::ir {

/// Calls visit(op) for every operation, an operation before those of its regions. The visited operation may be removed
/// (its regions are then left out); operations put in before it are not visited, those put right after it neither.
template <class Visit>
void walk(const Region& region, Visit&& visit) {
  for (Op& op : region) {
    visit(op);
    if (op.parent != &region) continue;
    for (const Region* nested : op.regions) walk(*nested, visit);
  }
}

/// As above, but an operation comes after those of its regions.
template <class Visit>
void walk_post(const Region& region, Visit&& visit) {
  for (Op& op : region) {
    for (const Region* nested : op.regions) walk_post(*nested, visit);
    visit(op);
  }
}

/// What stands for each value from now on, by value id.
class Rewriter {
 public:
  explicit Rewriter(Function& function) : function_(&function), table_(function.value_count) {}

  Function& function() const { return *function_; }

  /// Later uses of `from` become `to`. Constants may be given as `to`, not as `from`.
  void replace(const Value* from, Value* to) {
    WEFT_CHECK(!from->is_constant() && from->type == to->type);
    to = now(to);
    if (to == from) return;
    if (from->id >= table_.size()) table_.resize(std::max<std::size_t>(from->id + 1, function_->value_count));
    table_[from->id] = to;
    changed_ = true;
  }

  /// What stands for `value`; replacements of replacements are followed.
  Value* now(Value* value) {
    Value* last = value;
    while (!last->is_constant() && last->id < table_.size() && table_[last->id]) last = table_[last->id];
    while (value != last) {  // shorten the way for the next question
      Value*& step = table_[value->id];
      value = step;
      step = last;
    }
    return last;
  }

  /// Puts the replacements into the operands.
  void apply(Op& op) {
    if (!changed_) return;
    for (Value*& operand : op.operands) operand = now(operand);
  }

  /// True once anything was replaced.
  bool changed() const { return changed_; }

  /// The forward walk: each operation gets its operands replaced, then visit(op) may replace its results or remove it.
  template <class Visit>
  void run(const Region& region, Visit&& visit) {
    walk(region, [&](Op& op) {
      apply(op);
      visit(op);
    });
  }

 private:
  Function* function_;
  std::vector<Value*> table_;
  bool changed_ = false;
};

}  // namespace weft::ir
