// Forward propagation of base sets to a fixed point over loops. Sets only grow; after a few rounds whatever still grows
// is given every base, so the cost stays linear.
#include "analysis/alias.h"

#include "analysis/handles.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::OpCode;

// Loops nested six deep that pass descriptors around are nobody's code; generated ones get the safe answer instead of
// a slow one.
constexpr int kRounds = 6;

}  // namespace

Alias::Alias(const ir::Function& function, Effects& effects, bool apart) : function_(function), effects_(effects) {
  // The launch looked at the addresses and promises it for this form of the kernel; functions are called with
  // anything.
  apart_ = function.kind == ir::FunctionKind::kernel && (function.form.no_overlap || apart);
  info_.resize(function.value_count);
  // The launch looked at the objects whose ids it was given, and at no others.
  knows_objects_ =
      function.kind == ir::FunctionKind::kernel && function.form.objects_apart && all_ids_are_arguments(function);
  for (const ir::Value* param : function.params()) {
    if (!ir::has_array(param->type)) continue;
    Info& info = info_[param->id];
    // Each array inside a struct parameter is a base of its own: `s.points` and `s.forces` are as different as two
    // parameters.
    info.leaf = std::int32_t(leaves_.size());
    number_leaves(param->type);
    info.bases = leaf_bases(info.leaf, leaves_.size() - std::size_t(info.leaf));
    params_ |= info.bases;
  }
  for (int round = 0; round == 0 || changed_; ++round) {
    changed_ = false;
    give_up_ = round >= kRounds;
    walk(*function.body);
  }
  // Behind the fixed point: before it, sets are too small and a write would seem to miss what it hits.
  collect_writes(*function.body);
}

/// Functions with more arrays than a mask has room for are rare, and all further ones may be anything.
BaseMask Alias::new_base() { return next_base_ < BaseMask::kMost ? BaseMask::bit(next_base_++) : kUnknownBase; }

void Alias::number_leaves(const Type* type) {
  if (type->is_array()) leaves_.push_back(new_base());
  if (type->is_struct() || type->is_tuple())
    for (const Field& field : type->fields()) number_leaves(field.type);
}

BaseMask Alias::leaf_bases(std::int32_t first, std::size_t count) const {
  BaseMask bases = 0;
  for (std::size_t i = 0; i < count; ++i) bases |= leaves_[std::size_t(first) + i];
  return bases;
}

void Alias::join(const ir::Value* into, BaseMask bases) {
  BaseMask& mask = info_[into->id].bases;
  if ((mask | bases) == mask) return;
  // Growing straight to the top ends the walk after one more round.
  mask = give_up_ ? kAllBases : mask | bases;
  changed_ = true;
}

void Alias::walk(const ir::Region& region) {
  for (const ir::Op& op : region) {
    transfer(op);
    for (const ir::Region* nested : op.regions) walk(*nested);
    if (op.code == OpCode::if_) {
      for (const ir::Region* side : op.regions)
        for (std::size_t i = 0; i < op.results.size(); ++i) join(op.result(i), bases(side->last->operand(i)));
    } else if (op.code == OpCode::for_ || op.code == OpCode::while_) {
      std::size_t first_init = op.code == OpCode::for_ ? 3 : 0;
      std::size_t first_arg = op.code == OpCode::for_ ? 1 : 0;
      const ir::Region* body = op.regions.back();
      for (std::size_t i = 0; i < op.results.size(); ++i) {
        // A carried descriptor is what the loop begins with or what a turn has
        // left; both regions of a `while` see the same.
        BaseMask mask = bases(op.operand(first_init + i)) | bases(body->last->operand(i));
        for (const ir::Region* nested : op.regions) join(nested->args[first_arg + i], mask);
        join(op.result(i), mask);
      }
    }
  }
}

/// Ways by which a private array may be reached without its descriptor being handed on from value to value.
void Alias::note_escapes(const ir::Op& op) {
  switch (ir::access_of(op.code)) {
    case ir::Access::writes:
    // What is written, not where to: a descriptor in memory can be loaded again by anybody.
    case ir::Access::updates: escaped_ |= bases(op.operands.back()); break;
    // A private array whose address is known to others may be reached by any pointer from then on. Escapes are
    // collected for the whole function, not from that place on: loops would bring them back.
    case ir::Access::address: escaped_ |= bases(op.operand(0)); break;
    case ir::Access::callee:
      if (effects_.of(*op.callee).leaks)
        for (const ir::Value* arg : op.operands) escaped_ |= bases(arg);
      break;
    case ir::Access::none:
    case ir::Access::reads: break;
  }
  if (op.code == OpCode::with_gradient) escaped_ |= bases(op.operand(1));  // reached again through `gradient`
  if (op.code == OpCode::return_)
    for (const ir::Value* value : op.operands) escaped_ |= bases(value);
}

BaseMask Alias::made_of(const ir::Op& op) {
  BaseMask from = 0;
  switch (ir::descent_of(op)) {
    case ir::Descent::nothing:
    case ir::Descent::regions: return 0;  // regions: see walk
    case ir::Descent::made: {
      auto [it, fresh] = local_base_.try_emplace(&op, 0);
      // One base per operation, however often it runs: iterations of a loop share it, as they share the memory.
      if (fresh) locals_ |= it->second = new_base();
      return it->second;
    }
    case ir::Descent::operand:
      if (op.code == OpCode::extract && info_[op.operand(0)->id].leaf >= 0) return field_bases(op);
      return bases(op.operand(0));
    case ir::Descent::operands:
      for (const ir::Value* value : op.operands) from |= bases(value);
      return from;
    case ir::Descent::anywhere:  // a function may give back what it was given
      for (const ir::Value* value : op.operands) from |= bases(value);
      return from | kUnknownBase;
    // Gradients of two arrays may be one, whatever is known of the arrays: the form says nothing of them.
    case ir::Descent::gradient: return kUnknownBase;
    case ir::Descent::memory: return knows_objects_ && bases(op.operand(0)) == kFixedBase ? kObjectBase : kUnknownBase;
    case ir::Descent::fixed: return kFixedBase;
  }
  return kAllBases;
}

BaseMask Alias::field_bases(const ir::Op& extract) {
  const Type* at = extract.operand(0)->type;
  // Counts the arrays that lie before the field: leaves are numbered in the order of fields.
  std::int32_t leaf = info_[extract.operand(0)->id].leaf;
  for (const ir::PathStep& step : extract.path) {
    for (std::int32_t k = 0; k < step.value; ++k)
      leaf += std::int32_t(ir::count_arrays(at->fields()[std::size_t(k)].type));
    at = at->fields()[std::size_t(step.value)].type;
  }
  info_[extract.result()->id].leaf = leaf;
  return leaf_bases(leaf, ir::count_arrays(at));
}

void Alias::transfer(const ir::Op& op) {
  note_escapes(op);
  if (op.code == OpCode::for_ || op.code == OpCode::while_) {
    std::size_t first_init = op.code == OpCode::for_ ? 3 : 0;
    std::size_t first_arg = op.code == OpCode::for_ ? 1 : 0;
    for (const ir::Region* nested : op.regions)
      for (std::size_t i = 0; i < op.results.size(); ++i)
        join(nested->args[first_arg + i], bases(op.operand(first_init + i)));
    return;
  }
  bool any = false;
  for (const ir::Value* result : op.results) any |= ir::has_array(result->type);
  if (!any) return;
  const BaseMask from = made_of(op);
  for (const ir::Value* result : op.results)
    if (ir::has_array(result->type)) join(result, from);
}

BaseMask Alias::touched(BaseMask bases) const {
  // Fixed memory is written by no kernel, so a write through a descriptor that may be fixed hits its other bases.
  BaseMask all = bases & ~kFixedBase;
  // A pointer from memory leads to any argument or to a private array that escaped, never to one that did not.
  if (bases & kUnknownBase) all |= params_ | escaped_ | kObjectBase;
  if (bases & (params_ | escaped_ | kObjectBase)) all |= kUnknownBase;
  if (!apart_ && (bases & params_)) all |= params_;
  return all;
}

BaseMask Alias::direct_reads(const ir::Op& op) const {
  if (ir::shows_memory(op.code)) return kUnknownBase;  // others read what this thread wrote before
  switch (ir::access_of(op.code)) {
    case ir::Access::reads:
    case ir::Access::updates: return bases(op.operand(0));
    case ir::Access::none:
    case ir::Access::writes:
    case ir::Access::address: return 0;  // an address given away: see escaped_
    case ir::Access::callee: break;
  }
  const FunctionEffects& callee = effects_.of(*op.callee);
  BaseMask mask = callee.reads_unknown ? kUnknownBase : 0;
  for (std::size_t i = 0; i < op.operands.size(); ++i)
    if (callee.reads[i]) mask |= bases(op.operand(i));
  return mask;
}

BaseMask Alias::direct_writes(const ir::Op& op) const {
  if (ir::shows_memory(op.code)) return kUnknownBase;  // what others wrote is seen from here on
  switch (ir::access_of(op.code)) {
    case ir::Access::writes:
    case ir::Access::updates: return bases(op.operand(0));
    case ir::Access::none:
    case ir::Access::reads:
    case ir::Access::address: return 0;
    case ir::Access::callee: break;
  }
  const FunctionEffects& callee = effects_.of(*op.callee);
  BaseMask mask = callee.writes_unknown ? kUnknownBase : 0;
  for (std::size_t i = 0; i < op.operands.size(); ++i)
    if (callee.writes[i]) mask |= bases(op.operand(i));
  return mask;
}

BaseMask Alias::writes(const ir::Op& op) const {
  // Passes ask for whole loops often, so those are collected once.
  if (op.regions.empty()) return touched(direct_writes(op));
  auto it = nested_writes_.find(&op);
  // An operation that was made after the analysis: anything.
  return it != nested_writes_.end() ? it->second : kAllBases;
}

BaseMask Alias::collect_writes(const ir::Region& region) {
  BaseMask mask = 0;
  for (const ir::Op& op : region) {
    BaseMask here = touched(direct_writes(op));
    for (const ir::Region* nested : op.regions) here |= collect_writes(*nested);
    if (!op.regions.empty()) nested_writes_[&op] = here;
    mask |= here;
  }
  return mask;
}

bool written_behind(const Alias& alias, const ir::Op& op, BaseMask bases, const ir::Region& within) {
  // In a loop everything that the loop writes may come after the operation, in a later turn; the sides of an `if` run
  // at most once each time, and the order of the text decides there.
  for (const ir::Region* at = op.parent; at != &within; at = at->parent_op->parent)
    if (at->parent_op->code != OpCode::if_ && (alias.writes(*at->parent_op) & bases)) return true;
  bool behind = false, any = false;
  ir::walk(within, [&](const ir::Op& other) {
    // Before `behind` is set: what the operation itself does is not meant.
    any = any || (behind && (alias.touched(alias.direct_writes(other)) & bases));
    behind = behind || &other == &op;
  });
  return any;
}

}  // namespace weft::analysis
