// Forward propagation of base sets to a fixed point over loops. Sets only grow; after a few rounds whatever still grows
// is given every base, so the cost stays linear.
#include "analysis/alias.h"

#include "ir/op_cases.h"

namespace weft::analysis {
namespace {

using ir::OpCode;

constexpr int kRounds = 6;

std::size_t count_leaves(const Type* type) {
  if (type->is_array()) return 1;
  std::size_t total = 0;
  if (type->is_struct() || type->is_tuple())
    for (const Field& field : type->fields()) total += count_leaves(field.type);
  return total;
}

}  // namespace

Alias::Alias(const ir::Function& function, Effects& effects) : function_(function), effects_(effects) {
  info_.resize(function.value_count);
  for (const ir::Value* param : function.params()) {
    if (!has_array(param->type)) continue;
    Info& info = info_[param->id];
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
  collect_writes(*function.body);
}

BaseMask Alias::new_base() { return next_base_ < 64 ? BaseMask(1) << next_base_++ : kUnknownBase; }

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
        BaseMask mask = bases(op.operand(first_init + i)) | bases(body->last->operand(i));
        for (const ir::Region* nested : op.regions) join(nested->args[first_arg + i], mask);
        join(op.result(i), mask);
      }
    }
  }
}

void Alias::transfer(const ir::Op& op) {
  switch (op.code) {
    case OpCode::store: escaped_ |= bases(op.operands.back()); return;
    case OpCode::data_ptr: escaped_ |= bases(op.operand(0)); return;
    case OpCode::with_gradient:  // reached again through `gradient`, which could be anybody's
      escaped_ |= bases(op.operand(1));
      join(op.result(), bases(op.operand(0)));
      return;
    case OpCode::return_:
      for (const ir::Value* value : op.operands) escaped_ |= bases(value);
      return;
    case OpCode::local: {
      auto [it, fresh] = local_base_.try_emplace(&op, 0);
      if (fresh) locals_ |= it->second = new_base();
      join(op.result(), it->second);
      return;
    }
    case OpCode::for_:
    case OpCode::while_: {
      std::size_t first_init = op.code == OpCode::for_ ? 3 : 0;
      std::size_t first_arg = op.code == OpCode::for_ ? 1 : 0;
      for (const ir::Region* nested : op.regions)
        for (std::size_t i = 0; i < op.results.size(); ++i)
          join(nested->args[first_arg + i], bases(op.operand(first_init + i)));
      return;
    }
    case OpCode::if_:
    case OpCode::yield:
    case OpCode::test: return;
    case OpCode::call:
      if (effects_.of(*op.callee).leaks)
        for (const ir::Value* arg : op.operands) escaped_ |= bases(arg);
      break;
    // What may be a descriptor here, or hold one.
    case OpCode::select:
    case OpCode::construct:
    case OpCode::extract:
    case OpCode::insert:
    case OpCode::load:
    case OpCode::atomic:
    case OpCode::view:
    case OpCode::slice:
    case OpCode::from_ptr:
    case OpCode::gradient:
    case OpCode::recall: break;
    case OpCode::cast:
    case OpCode::bitcast:
    case OpCode::splat:
    case OpCode::dim:
    case OpCode::nonnull:
    case OpCode::prefetch:
    WEFT_CASES(WEFT_NUMBER_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) return;
  }
  BaseMask from = 0;
  bool any = false;
  for (const ir::Value* result : op.results) any |= has_array(result->type);
  if (!any) return;
  if (op.code == OpCode::extract && info_[op.operand(0)->id].leaf >= 0) {
    const Type* at = op.operand(0)->type;
    std::int32_t leaf = info_[op.operand(0)->id].leaf;
    for (const ir::PathStep& step : op.path) {
      for (std::int32_t k = 0; k < step.value; ++k)
        leaf += std::int32_t(count_leaves(at->fields()[std::size_t(k)].type));
      at = at->fields()[std::size_t(step.value)].type;
    }
    info_[op.result()->id].leaf = leaf;
    join(op.result(), leaf_bases(leaf, count_leaves(at)));
    return;
  }
  for (const ir::Value* value : op.operands) from |= bases(value);
  if (op.code == OpCode::load || op.code == OpCode::atomic || op.code == OpCode::from_ptr ||
      op.code == OpCode::gradient)
    from = kUnknownBase;
  if (op.code == OpCode::call) from |= kUnknownBase;
  for (const ir::Value* result : op.results)
    if (has_array(result->type)) join(result, from);
}

BaseMask Alias::touched(BaseMask bases) const {
  BaseMask all = bases;
  if (bases & kUnknownBase) all |= params_ | escaped_;
  if (bases & (params_ | escaped_)) all |= kUnknownBase;
  bool apart = function_.kind == ir::FunctionKind::kernel && function_.form.no_overlap;
  if (!apart && (bases & params_)) all |= params_;
  return all;
}

BaseMask Alias::direct_reads(const ir::Op& op) const {
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
  if (op.regions.empty()) return touched(direct_writes(op));
  auto it = nested_writes_.find(&op);
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

}  // namespace weft::analysis
