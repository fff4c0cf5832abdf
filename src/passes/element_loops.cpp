// A pattern: the front end writes every such loop the same way (sema/tiles_block.cpp).
#include "passes/element_loops.h"

#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {

using ir::Op;
using ir::OpCode;
using ir::Value;

ElementLoops::ElementLoops(ir::Function& kernel) : kernel_(kernel) {
  ir::walk(*kernel.body, [&](Op& op) {
    for (std::size_t k = 0; k < op.operands.size(); ++k)
      if (!op.operand(k)->is_constant()) uses_[op.operand(k)].push_back({&op, k});
  });
}

const std::vector<ValueUse>& ElementLoops::uses(const Value* value) const {
  static const std::vector<ValueUse> none;
  const auto it = uses_.find(value);
  return it == uses_.end() ? none : it->second;
}

ElementLoop ElementLoops::loop_of(Value* index, std::int64_t turns) const {
  if (index->kind != ir::ValueKind::result || index->op->code != OpCode::add) return {};
  const std::int64_t block = kernel_.form.block;
  for (std::size_t side = 0; side < 2; ++side) {
    const Value *own = index->op->operand(side), *rest = index->op->operand(1 - side);
    if (own->kind != ir::ValueKind::result || own->op->code != OpCode::block_thread) continue;
    if (rest->kind != ir::ValueKind::result) continue;
    const Op& step = *rest->op;
    const bool shifts = step.code == OpCode::shl, times = step.code == OpCode::mul;
    if ((!shifts && !times) || !step.operand(1)->is_constant()) continue;
    const std::int64_t n = step.operand(1)->as_int();
    if (shifts ? n > 20 || std::int64_t(1) << n != block : n != block) continue;
    const Value* turn = step.operand(0);
    if (turn->kind != ir::ValueKind::argument || turn->index != 0) continue;
    Op* const loop = turn->region->parent_op;
    if (!loop || loop->code != OpCode::for_ || loop->text != ir::kSharedLoop || loop->operands.size() != 3) continue;
    const auto is = [&](std::size_t k, std::int64_t value) {
      return loop->operand(k)->is_constant() && loop->operand(k)->as_int() == value;
    };
    if (!is(0, 0) || !is(1, turns) || !is(2, 1)) continue;
    if (uses(turn).size() != 1 || uses(rest).size() != 1) continue;
    return {loop, index};
  }
  return {};
}

bool ElementLoops::is_access(const ValueUse& use) {
  const Op& op = *use.op;
  return use.operand == 0 && (op.code == OpCode::load || op.code == OpCode::store) && op.num_indices == 1 &&
         op.path.empty() && !op.wrap;
}

}  // namespace weft::passes
