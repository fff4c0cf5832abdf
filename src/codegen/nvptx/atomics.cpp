// Extremes by operations on integers, memory that tells whose it is, and sums in registers.
#include "codegen/nvptx/atomics.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/nvptx/warp.h"

namespace weft::codegen {

using ir::AtomicKind;

/// What would change nothing is not written. Where the new value is the better one, and not merely a zero of the other sign
/// or in place of a NaN, the operation on integers does: bits of positive numbers are in order, those of negative ones in the
/// opposite one.
bool emit_extreme_reduction(Emitter& e, const ScalarAtomic& atomic) {
  const AtomicKind kind = atomic.kind;
  const ScalarKind scalar = atomic.scalar;
  if ((kind != AtomicKind::min && kind != AtomicKind::max) || !is_floating(scalar) || is_half(scalar)) return false;
  llvm::IRBuilder<>& b = e.b;
  const bool wide = scalar == ScalarKind::f64, most = kind == AtomicKind::max;
  llvm::Type* bits_type = wide ? e.unit.i64 : e.unit.i32;
  llvm::LoadInst* first = b.CreateAlignedLoad(bits_type, atomic.at, llvm::Align(wide ? 8 : 4));
  first->setAtomic(kAtomicOrder);
  llvm::Value* old = b.CreateBitCast(first, e.unit.memory_type(scalar));
  e.either(
      most ? b.CreateFCmpOGT(atomic.value, old) : b.CreateFCmpOLT(atomic.value, old),
      [&] {
        llvm::Value* bits = b.CreateBitCast(atomic.value, bits_type);
        const AtomicKind other = most ? AtomicKind::min : AtomicKind::max;
        e.either(
            b.CreateICmpSGE(bits, llvm::ConstantInt::get(bits_type, 0)),
            [&] { emit_reduction(e, kind, wide ? ScalarKind::i64 : ScalarKind::i32, atomic.at, bits); },
            [&] { emit_reduction(e, other, wide ? ScalarKind::u64 : ScalarKind::u32, atomic.at, bits); });
      },
      [&] { swap_until_done(e, atomic, first); });
  return true;
}

llvm::Value* emit_atomic_anywhere(Emitter& e, const ScalarAtomic& atomic) {
  llvm::IRBuilder<>& b = e.b;
  llvm::BasicBlock *own = e.block("own"), *shared = e.block("shared"), *done = e.block("anywhere");
  b.CreateCondBr(b.CreateIntrinsic(llvm::Intrinsic::nvvm_isspacep_local, {}, {atomic.at}), own, shared);
  b.SetInsertPoint(own);
  llvm::Value* plain = emit_scalar_atomic(e, atomic, true);
  llvm::BasicBlock* own_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(shared);
  // LLVM fails if it finds out that such an operation, which then never runs, is on private memory.
  auto* type = llvm::FunctionType::get(e.unit.ptr, {e.unit.ptr}, false);
  ScalarAtomic hidden = atomic;
  hidden.at = b.CreateCall(type, llvm::InlineAsm::get(type, "mov.b64 $0, $1;", "=l,l", false), {atomic.at});
  llvm::Value* old_shared = emit_scalar_atomic(e, hidden, false);
  llvm::BasicBlock* shared_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* old = b.CreatePHI(plain->getType(), 2);
  old->addIncoming(plain, own_end);
  old->addIncoming(old_shared, shared_end);
  return old;
}

void add_to_sum(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> slots) {
  const ScalarKind kind = op.result()->type->scalar_kind();
  const Parts values = e.get(op.operands.back());
  for (std::size_t k = 0; k < slots.size(); ++k) {
    llvm::Value* sum = e.b.CreateLoad(e.unit.type(kind), slots[k]);
    llvm::Value* value = e.plain(values[k]);
    for (int lane = 0; lane < e.W; ++lane)
      sum = e.arith(ir::OpCode::add, kind, {sum, e.lane_of(value, e.b.getInt64(std::uint64_t(lane)))});
    e.b.CreateStore(sum, slots[k]);
  }
}

}  // namespace weft::codegen
