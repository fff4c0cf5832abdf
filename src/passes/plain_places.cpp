// One walk over the accesses of a function, which lose the question whether their index is negative.
#include "passes/plain_places.h"

#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {

bool plain_places(ir::Function& function) {
  bool changed = false;
  ir::walk(*function.body, [&](ir::Op& op) {
    if ((op.code != ir::OpCode::load && op.code != ir::OpCode::store && op.code != ir::OpCode::atomic) || !op.wrap)
      return;
    const ir::Value* array = op.operand(0);
    if (array->kind != ir::ValueKind::result || !ir::is_tile_memory(*array->op)) return;
    op.wrap = 0;
    changed = true;
  });
  return changed;
}

}  // namespace weft::passes
