// Two walks: one over every use of an array parameter, which must be a write or a question of its shape, and one over what
// surely runs: the body, and an `if` by both of its sides. Loops may have no turns, and count for nothing.
#include "analysis/full_writes.h"

#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

/// Whether a value is the thread's index of a dimension, as a number that holds all of it.
bool is_thread_index(const Value* value, std::size_t dimension) {
  while (value->kind == ir::ValueKind::result && value->op->code == OpCode::cast && value->type->is_int() &&
         value->type->size() >= 4)
    value = value->op->operand(0);
  return value->kind == ir::ValueKind::result && value->op->code == OpCode::tid &&
         value->op->imm == std::int64_t(dimension);
}

/// Whether an operation writes the whole of the thread's own element.
bool writes_own(const Op& op) {
  if (op.code != OpCode::store || !op.path.empty()) return false;
  for (std::size_t d = 0; d < op.indices().size(); ++d)
    if (!is_thread_index(op.indices()[d], d)) return false;
  return true;
}

/// Whether a parameter's own element is written wherever the region is run.
bool surely_writes(const ir::Region& region, const Value* param) {
  for (const Op& op : region) {
    if (writes_own(op) && op.operand(0) == param) return true;
    if (op.code == OpCode::if_ && surely_writes(*op.regions[0], param) && surely_writes(*op.regions[1], param))
      return true;
  }
  return false;
}

}  // namespace

std::vector<bool> full_writes(const ir::Function& kernel) {
  const std::span<Value* const> params = kernel.params();
  std::vector<bool> found(params.size(), false);
  for (std::size_t k = 0; k < params.size(); ++k)
    found[k] = params[k]->type->is_array() && int(params[k]->type->rank()) == int(kernel.form.rank);
  ir::walk(*kernel.body, [&](const Op& op) {
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const Value* value = op.operand(i);
      if (value->kind != ir::ValueKind::argument || value->region != kernel.body) continue;
      const bool harmless =
          i == 0 && (op.code == OpCode::store || op.code == OpCode::dim || op.code == OpCode::nonnull);
      if (!harmless) found[value->index] = false;
    }
  });
  for (std::size_t k = 0; k < params.size(); ++k) found[k] = found[k] && surely_writes(*kernel.body, params[k]);
  return found;
}

}  // namespace weft::analysis
