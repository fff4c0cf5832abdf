// Pattern matching on sums with use counts at hand.
#include "passes/contract.h"

#include "analysis/uses.h"
#include "ir/builder.h"
#include "ir/rounded.h"
#include "ir/scalar_eval.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

bool is_float(const Value* value) { return value->type->is_numeric() && value->type->scalar_kind() >= ScalarKind::f16; }

class Contractor {
 public:
  Contractor(ir::Function& function, const std::unordered_set<const Value*>& unfused)
      : function_(function), unfused_(unfused), uses_(analysis::use_counts(function)), rewriter_(function) {
    std::vector<std::uint32_t> sums(uses_.size());
    only_summed_.resize(uses_.size());
    ir::walk(*function.body, [&](const Op& op) {
      if (!is_sum(op) || op.operand(0) == op.operand(1)) return;
      for (std::size_t k = 0; k < 2; ++k) ++sums[op.operand(k)->id];
    });
    for (std::size_t id = 0; id < sums.size(); ++id) only_summed_[id] = sums[id] && sums[id] == uses_[id];
  }

  bool run() {
    rewriter_.run(*function_.body, [&](Op& op) { visit(op); });
    return changed_;
  }

 private:
  void visit(Op& op) {
    if (op.code == OpCode::dot || op.code == OpCode::matmul) {
      // A flag on the whole operation: it has no single products here. Set once, so a second run changes nothing.
      if (op.contract || !is_float(op.result())) return;
      op.contract = true;
      changed_ = true;
      return;
    }
    if (!is_sum(op) || op.operand(0) == op.operand(1)) return;
    if (unfused_.contains(op.result())) return;
    // Left before right: a rule that depends on nothing but the IR, so that every target and lane count fuses the same
    // ones. Which one is no matter of precision.
    bool left = is_product(op.operand(0));
    if (!left && !is_product(op.operand(1))) return;
    Op& product = *op.operand(left ? 0 : 1)->op;
    Value* addend = op.operand(left ? 1 : 0);
    Value* a = product.operand(0);
    Value* b = product.operand(1);
    ir::Builder builder(function_, op.parent, &op);
    builder.set_loc(op.loc);
    if (op.code == OpCode::sub) {
      if (left)
        addend = negated(builder, addend);
      else if (b->type != a->type)
        b = negated(builder, b);  // a scalar factor is the cheaper one to negate
      else
        a = negated(builder, a);
    }
    // −(a·b) + c and a·b − c are exact rewritings: negation only flips a sign, in an operand as well as in a product.
    Value* fused = builder.ternary(OpCode::fma, a, b, addend);
    fused->name = op.result()->name;
    rewriter_.replace(op.result(), fused);
    ir::remove_op(&op);
    // Without a use left it goes too: leaving it would make dce count for the bits' sake.
    if (--uses_[product.result()->id] == 0) ir::remove_op(&product);
    changed_ = true;
  }

  static bool is_sum(const Op& op) {
    return (op.code == OpCode::add || op.code == OpCode::sub) && is_float(op.result());
  }

  bool is_product(const Value* value) const {
    // Used by sums only: a product that is also wanted on its own (x − floor(x)) would be there twice, rounded differently.
    // Of several sums each is fused, so that what a sum rounds to does not depend on who else wants its product. Values made
    // by this run have larger ids; none of them is a product.
    return value->kind == ir::ValueKind::result &&
           (value->op->code == OpCode::mul || value->op->code == OpCode::scale) && !ir::is_rounded(*value->op) &&
           value->id < only_summed_.size() && only_summed_[value->id];
  }

  Value* negated(ir::Builder& builder, Value* value) {
    if (value->is_constant() && value->type->is_scalar())
      return function_.constant(value->type, ir::eval_unary(OpCode::neg, value->type->scalar_kind(), value->bits));
    return builder.unary(OpCode::neg, value);
  }

  ir::Function& function_;
  const std::unordered_set<const Value*>& unfused_;
  std::vector<std::uint32_t> uses_;
  std::vector<bool> only_summed_;  // by value id: used by sums, and by nothing else
  ir::Rewriter rewriter_;
  bool changed_ = false;
};

}  // namespace

bool contract(ir::Function& function, const std::unordered_set<const Value*>& unfused) {
  return Contractor(function, unfused).run();
}

}  // namespace weft::passes
