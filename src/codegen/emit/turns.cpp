// Leaving kernels that run long. Loops take their turns from a number that the whole chunk shares, in a register; when it
// is used up the runtime is asked for more, which is where the launch can be stopped: then the function returns at once,
// from wherever it is, so nothing runs on with values that its loops have not finished. A function that is called gets
// the number and gives back what is left, 0 for a stop.
#include <llvm/IR/MDBuilder.h>

#include "codegen/emit/emitter.h"
#include "runtime/kernel_abi.h"

namespace weft::codegen {

llvm::AllocaInst* Emitter::begin_turns(llvm::Value* first) {
  llvm::AllocaInst* turns = entry_alloca(unit.i32, 1, 4);
  b.CreateStore(first, turns);
  return turns;
}

void Emitter::take_turns(llvm::Value* taken, llvm::BasicBlock* go) {
  // Never below −2¹⁶: at least one is left before, and at most kMaxBulkTurns are taken.
  llvm::Value* left = b.CreateNSWSub(turns_left(), taken);
  b.CreateStore(left, thread.turns);
  llvm::BasicBlock* ask = block("ask");
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(taken);
  const bool one = known && known->isOne();  // there is always one: a plain decrement sets the flag
  llvm::Value* none = one ? b.CreateIsNull(left) : b.CreateICmpSLE(left, b.getInt32(0));
  b.CreateCondBr(none, ask, go, rarely());
  b.SetInsertPoint(ask);
  // By a pointer in the context: code on disk has no address of this process in it, and needs no symbol to be linked.
  llvm::Value* at = b.CreateConstGEP1_64(unit.i8, thread.context, offsetof(runtime::LaunchContext, turns));
  llvm::Value* function = b.CreateAlignedLoad(unit.ptr, at, llvm::Align(8));
  llvm::CallInst* more = b.CreateCall(llvm::FunctionType::get(unit.i32, {unit.ptr}, false), function, {thread.context});
  // It reads the context, which no other code writes, and touches nothing else that code could see.
  more->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  more->setDoesNotThrow();
  more->addFnAttr(llvm::Attribute::Cold);
  b.CreateStore(more, thread.turns);
  leave_if_stopped();
}

void Emitter::take_turn() {
  llvm::BasicBlock* go = block("go");
  take_turns(b.getInt32(1), go);
  b.CreateBr(go);
  b.SetInsertPoint(go);
}

void Emitter::leave_if_stopped() {
  llvm::BasicBlock* goes_on = block("goes.on");
  b.CreateCondBr(b.CreateICmpEQ(turns_left(), b.getInt32(0)), thread.stopped, goes_on, rarely());
  b.SetInsertPoint(goes_on);
}

llvm::MDNode* Emitter::rarely() { return llvm::MDBuilder(unit.context).createUnlikelyBranchWeights(); }

llvm::Value* Emitter::turns_left() { return b.CreateAlignedLoad(unit.i32, thread.turns, llvm::Align(4)); }

/// Bodies of elementary functions have no turns to take from, and GPUs no table of loops.
LoopTurns::Way Emitter::turns_of(const ir::Op& loop) const {
  return thread.turns && unit.turns ? unit.turns->of(loop) : LoopTurns::Way::none;
}

}  // namespace weft::codegen
