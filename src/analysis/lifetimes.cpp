// Carried values may be the array of an earlier iteration; so may what is made of them. A use of one of those behind the
// place where the array is made anew is one too many. Branches that don't make it are other ways through the iteration.
#include "analysis/lifetimes.h"

#include <algorithm>
#include <unordered_set>

#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool contains(const Region& region, const Op& op) {
  for (const Region* at = op.parent; at; at = at->parent_op ? at->parent_op->parent : nullptr)
    if (at == &region) return true;
  return false;
}

/// Values that may still be the array which an earlier iteration has made.
///
///   a = zeros()                  # x: the array of the iteration before
///   for i …:                     x = a
///       b = zeros()              made: from here on x's memory is b's
///       b[0] = a[1]              reads x: one too many
///       a = b
class Older {
 public:
  explicit Older(const Op& local) : local_(local) {}

  void add(const Value* value) { values_.insert(value); }

  /// Whether a region uses them when the array is made.
  bool used_behind(const Region& region) {
    bool made = false;
    for (const Op& op : region) {
      if (&op == &local_) {
        made = true;
      } else if (const Region* side = around(op)) {
        // The operands of a loop are what it begins with: what comes out if the array is not made.
        if (op.code == OpCode::if_ ? used_behind(*side) : used_inside(op)) return true;
        made = true;
      } else if (made) {
        if (used(op) || used_inside(op)) return true;
      } else if (used(op) || used_inside(op)) {
        // Before the array is made, a use is fine. But what comes of it may be the old array under another name.
        for (const Value* result : op.results)
          if (ir::has_array(result->type)) add(result);
      }
    }
    return false;
  }

 private:
  const Region* around(const Op& op) const {
    for (const Region* region : op.regions)
      if (contains(*region, local_)) return region;
    return nullptr;
  }
  bool used(const Op& op) const {
    return std::any_of(op.operands.begin(), op.operands.end(), [&](const Value* v) { return values_.contains(v); });
  }
  bool used_inside(const Op& op) const {
    bool any = false;
    for (const Region* region : op.regions) ir::walk(*region, [&](const Op& inner) { any = any || used(inner); });
    return any;
  }

  const Op& local_;
  std::unordered_set<const Value*> values_;
};

}  // namespace

bool is_kept(const Op& loop, const Op& local, const Alias& alias) {
  const BaseMask base = alias.bases(local.result()) & ~kUnknownBase;
  const Region& body = *loop.regions.back();
  Older older(local);
  bool any = false;
  for (const Value* arg : body.args)
    // Only what is carried can come from an iteration of before.
    if (ir::has_array(arg->type) && (alias.bases(arg) & base)) older.add(arg), any = true;
  return any && older.used_behind(body);
}

const Op* outliving_local(const ir::Function& function, const Alias& alias) {
  const Op* found = nullptr;
  ir::walk(*function.body, [&](const Op& op) {
    if (op.code != OpCode::local || found) return;
    // A function that gives its array back: the next call clears the same memory.
    for (const Value* result : function.body->last->operands)
      if (ir::has_array(result->type) && (alias.bases(result) & alias.bases(op.result()) & ~kUnknownBase)) found = &op;
    // Every loop around it, not the innermost alone: the outer one may carry it past the inner.
    for (const Region* at = op.parent; at->parent_op && !found; at = at->parent_op->parent)
      if (at->parent_op->code != OpCode::if_ && is_kept(*at->parent_op, op, alias)) found = &op;
  });
  return found;
}

}  // namespace weft::analysis
