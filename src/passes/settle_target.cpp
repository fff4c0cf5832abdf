// One rewrite: questions about the target become what it answers.
#include "passes/settle_target.h"

#include "ir/builder.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

/// What stands for an operation; null if the target's code has it.
ir::Value* answer_of(ir::Function& function, ir::Op& op, bool gpu, bool blocks) {
  if (op.code == ir::OpCode::on_gpu) return function.constant_bool(gpu);
  if (gpu || (blocks && op.code != ir::OpCode::texture)) return nullptr;
  switch (op.code) {
    // Elsewhere a thread is a warp of its own.
    case ir::OpCode::warp: return function.constant_int(types::u32(), 1);
    case ir::OpCode::lane: return function.constant_int(types::u32(), 0);
    case ir::OpCode::tally:
    case ir::OpCode::vote: {
      ir::Builder b(function, op.parent, &op);
      return b.cast(op.operands.back(), op.result()->type);
    }
    case ir::OpCode::shuffle: return op.operand(1);
    case ir::OpCode::texture: return function.zero(op.result()->type);  // in code that only a GPU takes
    default: return nullptr;  // safe: every other operation is the same for all targets
  }
}

}  // namespace

bool settle_target(ir::Function& function, bool gpu, bool blocks) {
  bool changed = false;
  ir::Rewriter rewriter(function);
  rewriter.run(*function.body, [&](ir::Op& op) {
    ir::Value* answer = answer_of(function, op, gpu, blocks);
    if (!answer) return;
    rewriter.replace(op.result(), answer);
    ir::remove_op(&op);
    changed = true;
  });
  return changed;
}

}  // namespace weft::passes
