// Derivative rules of operations that choose, convert, build and take apart values, and of whole-aggregate algebra.
#include "autodiff/reverse.h"
#include "ir/op_cases.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Value;

namespace {

/// Whether nothing was added to a component yet: others were inserted into zeros.
bool is_unset(const Value* whole, std::span<const ir::PathStep> path) {
  while (!whole->is_zero()) {
    if (whole->kind != ir::ValueKind::result || whole->op->code != OpCode::insert) return false;
    const ir::PathStep &set = whole->op->path[0], &asked = path[0];
    if (set.dynamic || asked.dynamic || set == asked) return false;
    whole = whole->op->operand(0);
  }
  return true;
}

}  // namespace

void Reverser::data_rule(const Op& op, Value* g) {
  const Value* first = op.operand(0);
  switch (op.code) {
    case OpCode::select: {
      Value* condition = map(op.operand(0));
      if (wants(op.operand(1))) add(op.operand(1), b_.select(condition, g, b_.zero(g->type)));
      if (wants(op.operand(2))) add(op.operand(2), b_.select(condition, b_.zero(g->type), g));
      return;
    }
    // From an integer it is a step: whole numbers don't move a little. Other floats
    // pass the adjoint in their own precision.
    case OpCode::cast:
      if (wants(first) && first->type->is_float()) add(first, b_.cast(g, first->type));
      return;
    case OpCode::construct:
      for (std::size_t k = 0; k < op.operands.size(); ++k) {
        if (!wants(op.operand(k))) continue;
        // The operands of a matrix are its components row by row, and a number in it has two steps.
        if (op.result()->type->is_mat()) {
          std::uint32_t cols = op.result()->type->cols();
          ir::PathStep path[] = {{ir::PathStep::index, false, false, std::int32_t(k / cols)},
                                 {ir::PathStep::index, false, false, std::int32_t(k % cols)}};
          add(op.operand(k), b_.extract(g, path));
        } else {
          add(op.operand(k), b_.extract(g, std::int32_t(k)));
        }
      }
      return;
    // One number went to every component, and gets something back from each.
    case OpCode::splat: return add(first, component_sum(g));
    case OpCode::extract: {
      if (!wants(first)) return;
      std::vector<Value*> dynamic = mapped_all(op.operands.subspan(1));
      // Adds to one component of the adjoint in place, instead of adding a whole composite of zeros and one number: n
      // components taken out of a vector are n insertions, not n vector additions.
      Value* whole = adjoint_or_zero(first);
      // An index out of range gave zero then, and insert changes nothing now.
      Value* part = is_unset(whole, op.path) ? g : sum(b_.extract(whole, op.path, dynamic), g);
      return set(first, b_.insert(whole, part, op.path, dynamic));
    }
    case OpCode::insert: {
      std::vector<Value*> dynamic = mapped_all(op.operands.subspan(2));
      if (wants(op.operand(1))) add(op.operand(1), b_.extract(g, op.path, dynamic));
      // What was overwritten does not reach the result.
      if (wants(first)) add(first, b_.insert(g, b_.zero(op.operand(1)->type), op.path, dynamic));
      return;
    }
    case OpCode::bitcast:  // a step
    WEFT_CASES(WEFT_OPS_BUT_DATA) WEFT_UNREACHABLE("no rule for " + std::string(ir::name_of(op.code)));
  }
}

void Reverser::whole_rule(const Op& op, Value* g) {
  const Value* a = op.operand(0);
  const Value* b = op.operands.size() > 1 ? op.operand(1) : nullptr;
  auto value = [&](std::size_t k) { return map(op.operand(k)); };
  switch (op.code) {
    case OpCode::scale:
      if (wants(a)) add_products(op.result(), a, g, b_.binary(OpCode::scale, g, value(1)), b);
      if (wants(b)) add_product(op.result(), b, g, inner(g, value(0)), a);
      return;
    case OpCode::unscale: {
      // One reciprocal for all components and both adjoints: quotients take many times as long as products.
      Value* inverse = over(number(value(1)->type, 1.0), value(1));
      if (wants(a)) add(a, gated(g, b_.binary(OpCode::scale, g, inverse)));
      if (wants(b)) add(b, gated(g, negative(times(inner(g, map(op.result())), inverse))));
      return;
    }
    case OpCode::dot:
      if (wants(a)) add_product(op.result(), a, g, b_.binary(OpCode::scale, value(1), g), b);
      if (wants(b)) add_product(op.result(), b, g, b_.binary(OpCode::scale, value(0), g), a);
      return;
    case OpCode::transpose: return add(a, b_.unary(OpCode::transpose, g));
    // r_ij = a_i·b_j: ga = G·b, gb = Gᵀ·a, the latter as the row vector a times G, which needs no transpose.
    case OpCode::outer:
      if (wants(a)) add_product(op.result(), a, g, b_.binary(OpCode::matmul, g, value(1)), b);
      if (wants(b)) add_product(op.result(), b, g, b_.binary(OpCode::matmul, value(0), g), a);
      return;
    // R = A·B: gA = G·Bᵀ, gB = Aᵀ·G. With a vector on one side the outer product takes the place of the one that has
    // a matrix for its result, and the other is the product from the opposite side, without a transpose.
    case OpCode::matmul: {
      bool left = a->type->is_mat(), right = b->type->is_mat();
      if (left && right) {
        if (wants(a))
          add_product(op.result(), a, g, b_.binary(OpCode::matmul, g, b_.unary(OpCode::transpose, value(1))), b);
        if (wants(b))
          add_product(op.result(), b, g, b_.binary(OpCode::matmul, b_.unary(OpCode::transpose, value(0)), g), a);
      } else if (left) {  // matrix · vector
        if (wants(a)) add_product(op.result(), a, g, b_.binary(OpCode::outer, g, value(1)), b);
        if (wants(b)) add_product(op.result(), b, g, b_.binary(OpCode::matmul, g, value(0)), a);
      } else {  // vector · matrix
        if (wants(a)) add_product(op.result(), a, g, b_.binary(OpCode::matmul, value(1), g), b);
        if (wants(b)) add_product(op.result(), b, g, b_.binary(OpCode::outer, value(0), g), a);
      }
      return;
    }
    case OpCode::choose_bits: {
      Value* none = b_.zero(g->type);
      // The mask decides again, component by component.
      Value* first[] = {value(0), g, none};
      Value* second[] = {value(0), none, g};
      if (wants(b)) add(b, b_.op(op.code, first)->result());
      if (wants(op.operand(2))) add(op.operand(2), b_.op(op.code, second)->result());
      return;
    }
    case OpCode::less_bits:  // steps
    case OpCode::less_equal_bits:
    WEFT_CASES(WEFT_OPS_BUT_WHOLE) WEFT_UNREACHABLE("no rule for " + std::string(ir::name_of(op.code)));
  }
}

}  // namespace weft::autodiff
