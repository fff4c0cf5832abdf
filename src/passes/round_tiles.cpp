// A walk over stores, and from each to the products that its value is made of.
#include "passes/round_tiles.h"

#include "ir/rounded.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

bool into_tile(const Op& op) {
  if (op.code != OpCode::store) return false;
  const Value* array = op.operand(0);
  return array->kind == ir::ValueKind::result && ir::is_tile_memory(*array->op);
}

/// Marks a product that the value is, with its sign changed or as a part of it. Whole numbers have no rounding.
bool mark(const Value* value) {
  if (value->kind != ir::ValueKind::result) return false;
  Op& op = *value->op;
  switch (op.code) {
    case OpCode::mul:
    case OpCode::scale:
      if (ir::is_rounded(op) || !value->type->is_numeric() || value->type->scalar_kind() < ScalarKind::f16)
        return false;
      op.imm = ir::kRounded;
      return true;
    case OpCode::neg:
    case OpCode::construct:
    case OpCode::insert: {
      bool changed = false;
      for (const Value* part : op.operands) changed |= mark(part);
      return changed;
    }
    default: return false;  // safe: contraction looks at products alone
  }
}

}  // namespace

bool round_tiles(ir::Function& function) {
  bool changed = false;
  ir::walk(*function.body, [&](const Op& op) {
    if (into_tile(op)) changed |= mark(op.operands.back());
  });
  return changed;
}

}  // namespace weft::passes
