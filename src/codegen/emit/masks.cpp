// Vectors compared and chosen by bits of a number, and hints to the caches: what walks over trees are made of.
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"

namespace weft::codegen {

using ir::OpCode;

void Emitter::emit_mask_of(const ir::Op& op) {
  const Type* type = op.operand(0)->type;
  const OpCode code = op.code == OpCode::less_bits ? OpCode::lt : OpCode::le;
  const Parts x = get(op.operand(0)), y = get(op.operand(1));
  if (is_packed(type)) {
    // A vector of bits is an integer in disguise: one comparison and a move of the mask.
    llvm::Value* bits = compare(code, type->scalar_kind(), x[0].v, y[0].v);
    return set(op.result(),
               {Part{b.CreateZExt(b.CreateBitCast(bits, b.getIntNTy(type->component_count())), unit.i32)}});
  }
  // In lane code components are apart, and each lane builds a number of its own, a bit at a time.
  llvm::Value* mask = nullptr;
  for (std::uint32_t k = 0; k < x.size(); ++k) {
    llvm::Value* bit = compare(code, type->scalar_kind(), plain(x[k]), plain(y[k]));
    llvm::Value* wide = b.CreateZExt(bit, bit->getType()->isVectorTy() ? unit.wide(unit.i32) : unit.i32);
    llvm::Value* moved = b.CreateShl(wide, constant_like(wide, k));
    if (mask) {
      llvm::Value* pair[] = {mask, moved};
      unify(pair);
      mask = b.CreateOr(pair[0], pair[1]);
    } else {
      mask = moved;
    }
  }
  set(op.result(), {Part{mask}});
}

void Emitter::emit_choose_bits(const ir::Op& op) {
  const Type* type = op.result()->type;
  llvm::Value* mask = plain(op.operand(0));
  const Parts x = get(op.operand(1)), y = get(op.operand(2));
  if (is_packed(type)) {
    const unsigned n = type->component_count();
    // The same way back: bits above the vector's size have no meaning and are cut off.
    llvm::Value* bits = b.CreateBitCast(b.CreateTrunc(mask, b.getIntNTy(n)), llvm::FixedVectorType::get(unit.i1, n));
    return set(op.result(), {Part{b.CreateSelect(bits, x[0].v, y[0].v)}});
  }
  Parts out;
  for (std::uint32_t k = 0; k < x.size(); ++k) {
    llvm::Value* bit = b.CreateAnd(mask, constant_like(mask, std::int64_t(1) << k));
    llvm::Value* chosen = b.CreateICmpNE(bit, constant_like(mask, 0));
    out.push_back({select(chosen, plain(x[k]), plain(y[k]))});
  }
  set(op.result(), std::move(out));
}

void Emitter::emit_prefetch(const ir::Op& op) {
  if (!unit.hooks->prefetches()) return;
  const Address at = address(op, {});
  // Lanes that go to places apart would take an instruction each, more than the hint is worth.
  if (!at.pointer || at.fast_if) return;
  // Any index will do: fetching an address that is not there does nothing.
  llvm::Value* place = b.CreateConstGEP1_64(unit.i8, at.pointer, at.offset);
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {unit.ptr},
                    {place, b.getInt32(0) /* to read */, b.getInt32(3) /* near */, b.getInt32(1) /* data */});
}

}  // namespace weft::codegen
