// Loops whose turns add to neighbouring elements, the same in all threads of a warp, as the adjoint of a sum over all bodies
// does: several turns are done at once, so that their additions are summed over the warp together. That takes fewer
// shuffles, and one atomic operation of neighbouring threads instead of one a turn.
#pragma once
#include <llvm/ADT/SmallVector.h>

#include "codegen/nvptx/gpu_hooks.h"

namespace weft::codegen {

class GroupedAdds {
 public:
  /// Additions of a loop of a kernel that can be done so; `turns()` is 1 if there are none.
  GroupedAdds(Emitter& e, const GpuHooks& gpu, const ir::Op& loop);

  /// Turns that are done at once.
  int turns() const { return turns_; }

  /// The addition is put off, in code for turn `turn` of a group. False if it is none of these.
  bool put(Emitter& e, const ir::Op& op, llvm::Value* place);
  void begin(Emitter& e);
  void set_turn(int turn) { turn_ = turn; }
  void end(Emitter& e);

 private:
  struct Add {
    const ir::Op* op;
    ScalarKind kind;
    llvm::SmallVector<llvm::Value*, 32> slots;  // of numbers, in the order of their addresses
    llvm::Value* place;                         // slot of the lowest address; null if nothing was put off
  };
  llvm::SmallVector<Add, 2> adds_;
  bool falls_ = false;
  int turns_ = 1, turn_ = 0;
};

}  // namespace weft::codegen
