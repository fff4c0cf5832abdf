// One pattern: the select behind the root, the root, and the select before it.
#include "passes/plain_roots.h"

#include "analysis/uses.h"
#include "ir/builder.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

const Op* op_of(const Value* value, OpCode code) {
  return value->kind == ir::ValueKind::result && value->op->code == code ? value->op : nullptr;
}

// Of either sign: comparisons don't tell them apart, and sqrt(-0) is -0, which is x, as the select gave.
bool is_zero(const Value* value) {
  return value->is_constant() && value->type->is_scalar() &&
         ir::bits_to_float(value->type->scalar_kind(), value->bits) == 0;
}

/// Whether the value says that x is zero.
bool tests_zero(const Value* test, const Value* x) {
  const Op* eq = op_of(test, OpCode::eq);
  if (!eq) return false;
  return (eq->operand(0) == x && is_zero(eq->operand(1))) || (eq->operand(1) == x && is_zero(eq->operand(0)));
}

}  // namespace

bool plain_roots(ir::Function& function) {
  bool changed = false;
  const auto uses = analysis::use_counts(function);
  ir::Rewriter rewriter(function);
  rewriter.run(*function.body, [&](Op& op) {
    if (op.code != OpCode::select || !op.result()->type->is_scalar()) return;
    Value* x = op.operand(1);
    const Op* root = op_of(op.operand(2), OpCode::sqrt);
    const Op* guarded = root ? op_of(root->operand(0), OpCode::select) : nullptr;
    // The guard's own number (1, or any other) does not matter: it is taken only where the outer select takes x.
    if (!guarded || guarded->operand(2) != x || !tests_zero(op.operand(0), x) || !tests_zero(guarded->operand(0), x))
      return;
    if (uses[root->result()->id] != 1) return;  // an adjoint has the guarded root anyway
    ir::Builder builder(function, op.parent, &op);
    builder.set_loc(op.loc);
    Value* plain = builder.unary(OpCode::sqrt, x);
    plain->name = op.result()->name;
    rewriter.replace(op.result(), plain);
    ir::remove_op(&op);
    changed = true;
  });
  return changed;
}

}  // namespace weft::passes
