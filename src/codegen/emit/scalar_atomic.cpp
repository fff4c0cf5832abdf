// The native instruction where there is one, else a loop around compare-and-swap.
#include "codegen/emit/scalar_atomic.h"

#include "codegen/emit/target_hooks.h"

namespace weft::codegen {

using ir::AtomicKind;
using ir::OpCode;

namespace {

llvm::AtomicRMWInst::BinOp native_op(AtomicKind kind, bool is_signed_kind) {
  using Op = llvm::AtomicRMWInst::BinOp;
  switch (kind) {
    case AtomicKind::add: return Op::Add;
    case AtomicKind::min: return is_signed_kind ? Op::Min : Op::UMin;
    case AtomicKind::max: return is_signed_kind ? Op::Max : Op::UMax;
    case AtomicKind::exch: return Op::Xchg;
    case AtomicKind::bit_and: return Op::And;
    case AtomicKind::bit_or: return Op::Or;
    case AtomicKind::bit_xor: return Op::Xor;
    case AtomicKind::cas: break;
  }
  WEFT_UNREACHABLE("cas is no read-modify-write");
}

}  // namespace

OpCode plain_op(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::add: return OpCode::add;
    case AtomicKind::min: return OpCode::min;
    case AtomicKind::max: return OpCode::max;
    case AtomicKind::bit_and: return OpCode::bit_and;
    case AtomicKind::bit_or: return OpCode::bit_or;
    case AtomicKind::bit_xor: return OpCode::bit_xor;
    case AtomicKind::exch:
    case AtomicKind::cas: break;
  }
  WEFT_UNREACHABLE("no plain operation");
}

llvm::Value* swap_until_done(Emitter& e, const ScalarAtomic& atomic, llvm::Value* first) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type *type = e.unit.memory_type(atomic.scalar), *bits_type = first->getType();
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = e.block("cas"), *done = e.block("cas.done");
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  // As bits: a comparison of floats would never succeed for NaN, and take −0 for 0.
  llvm::PHINode* seen = b.CreatePHI(bits_type, 2);
  seen->addIncoming(first, before);
  llvm::Value* old = b.CreateBitCast(seen, type);
  llvm::Value* next = b.CreateBitCast(e.arith(plain_op(atomic.kind), atomic.scalar, {old, atomic.value}), bits_type);
  if (atomic.kind != AtomicKind::add) {
    llvm::BasicBlock* change = e.block("cas.change");
    b.CreateCondBr(b.CreateICmpEQ(next, seen), done, change);
    b.SetInsertPoint(change);
  }
  const llvm::MaybeAlign align(bits_type->getScalarSizeInBits() / 8);
  auto* result = b.CreateAtomicCmpXchg(atomic.at, seen, next, align, kAtomicOrder, kAtomicOrder);
  // A swap that failed says what is there now: no second load.
  seen->addIncoming(b.CreateExtractValue(result, 0), b.GetInsertBlock());
  b.CreateCondBr(b.CreateExtractValue(result, 1), done, loop);
  b.SetInsertPoint(done);
  return old;
}

/// A number of 8 or 16 bits, by swaps of the word that it lies in. LLVM would do it, too, but begin with a plain load, which
/// is a race with the swaps of others.
llvm::Value* swap_in_word(Emitter& e, const ScalarAtomic& atomic) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* type = e.unit.memory_type(atomic.scalar);
  llvm::Type* bits_type = b.getIntNTy(type->getScalarSizeInBits());
  llvm::Value* address = b.CreatePtrToInt(atomic.at, b.getInt64Ty());
  llvm::Value* word_at = b.CreateIntrinsic(llvm::Intrinsic::ptrmask, {atomic.at->getType(), b.getInt64Ty()},
                                           {atomic.at, b.getInt64(~std::uint64_t(3))});
  llvm::Value* shift = b.CreateTrunc(b.CreateShl(b.CreateAnd(address, 3), 3), b.getInt32Ty());
  llvm::Value* own = b.CreateShl(b.getInt32((1u << bits_type->getIntegerBitWidth()) - 1), shift);
  const llvm::MaybeAlign align(4);
  llvm::LoadInst* first = b.CreateAlignedLoad(b.getInt32Ty(), word_at, align);
  first->setAtomic(kAtomicOrder);
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = e.block("word"), *done = e.block("word.done");
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* seen = b.CreatePHI(b.getInt32Ty(), 2);
  seen->addIncoming(first, before);
  llvm::Value* old_bits = b.CreateTrunc(b.CreateLShr(seen, shift), bits_type);
  llvm::Value* old = b.CreateBitCast(old_bits, type);
  llvm::Value* next = atomic.value;
  if (atomic.kind == AtomicKind::cas) {
    llvm::BasicBlock* change = e.block("word.change");
    b.CreateCondBr(b.CreateICmpEQ(old_bits, b.CreateBitCast(atomic.expected, bits_type)), change, done);
    b.SetInsertPoint(change);
  } else if (atomic.kind != AtomicKind::exch) {
    next = e.arith(plain_op(atomic.kind), atomic.scalar, {old, atomic.value});
  }
  llvm::Value* moved = b.CreateShl(b.CreateZExt(b.CreateBitCast(next, bits_type), b.getInt32Ty()), shift);
  llvm::Value* word = b.CreateOr(b.CreateAnd(seen, b.CreateNot(own)), moved);
  auto* result = b.CreateAtomicCmpXchg(word_at, seen, word, align, kAtomicOrder, kAtomicOrder);
  seen->addIncoming(b.CreateExtractValue(result, 0), b.GetInsertBlock());
  b.CreateCondBr(b.CreateExtractValue(result, 1), done, loop);
  b.SetInsertPoint(done);
  return old;
}

llvm::Value* emit_scalar_atomic(Emitter& e, const ScalarAtomic& atomic, bool alone) {
  const AtomicKind kind = atomic.kind;
  const ScalarKind scalar = atomic.scalar;
  llvm::Value *at = atomic.at, *value = atomic.value, *expected = atomic.expected;
  llvm::IRBuilder<>& b = e.b;
  CodeUnit& unit = e.unit;
  bool floating = is_floating(scalar);
  llvm::Type* type = unit.memory_type(scalar);
  std::uint32_t bytes = type->getScalarSizeInBits() / 8;
  llvm::Type* bits_type = b.getIntNTy(bytes * 8);
  llvm::MaybeAlign align(bytes);
  auto as_bits = [&](llvm::Value* v) { return b.CreateBitCast(v, bits_type); };
  auto from_bits = [&](llvm::Value* v) { return b.CreateBitCast(v, type); };
  auto swap = [&](llvm::Value* old_bits, llvm::Value* new_bits) {
    auto* cas = b.CreateAtomicCmpXchg(at, old_bits, new_bits, align, kAtomicOrder, kAtomicOrder);
    return cas;
  };

  if (alone) {
    llvm::LoadInst* old = b.CreateAlignedLoad(type, at, align);
    llvm::Value* next = value;
    if (kind == AtomicKind::cas)
      next = b.CreateSelect(b.CreateICmpEQ(as_bits(old), as_bits(expected)), value, old);
    else if (kind != AtomicKind::exch)
      next = e.arith(plain_op(kind), scalar, {old, value});
    b.CreateAlignedStore(next, at, align);
    return old;
  }
  const bool gpu = unit.hooks->has_atomic_float_add();  // swaps whole words only
  if (bytes < 4 && gpu) return swap_in_word(e, atomic);
  if (kind == AtomicKind::cas) return from_bits(b.CreateExtractValue(swap(as_bits(expected), as_bits(value)), 0));
  if (floating && kind == AtomicKind::add && gpu && !is_half(scalar))
    return b.CreateAtomicRMW(llvm::AtomicRMWInst::FAdd, at, value, align, kAtomicOrder);
  // Of integers LLVM knows all of these, by a loop of its own where a target has no instruction.
  if (!floating) return b.CreateAtomicRMW(native_op(kind, is_signed(scalar)), at, value, align, kAtomicOrder);
  if (kind == AtomicKind::exch)
    return from_bits(b.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, at, as_bits(value), align, kAtomicOrder));

  // Atomic, though it is only a guess that the swap will check: a plain load would be a race
  // in LLVM's eyes, and could give anything.
  llvm::LoadInst* first = b.CreateAlignedLoad(bits_type, at, align);
  first->setAtomic(kAtomicOrder);
  return swap_until_done(e, atomic, first);
}

}  // namespace weft::codegen
