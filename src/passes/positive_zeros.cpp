// One walk over the atomic operations.
#include "passes/positive_zeros.h"

#include "analysis/sum_order.h"
#include "analysis/uses.h"
#include "ir/builder.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::passes {

using ir::Op;
using ir::OpCode;
using ir::Value;

bool positive_zeros(ir::Function& function) {
  bool changed = false;
  const auto uses = analysis::use_counts(function);
  ir::walk(*function.body, [&](Op& op) {
    if (op.code != OpCode::atomic || (op.atomic != ir::AtomicKind::min && op.atomic != ir::AtomicKind::max)) return;
    Value* value = op.operands.back();
    if (analysis::has_no_negative_zero(value)) return;
    // A kernel that looks at what it found depends on the order anyhow; private memory has the order of the program.
    if (uses[op.result()->id] || ir::origin_of(op.operand(0)).kind == ir::Origin::Kind::local) return;
    ir::Builder builder(function, op.parent, &op);
    builder.set_loc(op.loc);
    op.operands.back() = builder.binary(OpCode::add, value, function.zero(value->type));
    changed = true;
  });
  return changed;
}

}  // namespace weft::passes
