// One rewrite: the question becomes a constant.
#include "passes/settle_target.h"

#include "ir/builder.h"
#include "ir/walk.h"

namespace weft::passes {

bool settle_target(ir::Function& function, bool gpu) {
  bool changed = false;
  ir::Rewriter rewriter(function);
  rewriter.run(*function.body, [&](ir::Op& op) {
    if (op.code != ir::OpCode::on_gpu) return;
    rewriter.replace(op.result(), function.constant_bool(gpu));
    ir::remove_op(&op);
    changed = true;
  });
  return changed;
}

}  // namespace weft::passes
