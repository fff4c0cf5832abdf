// Sums across a warp by shuffles.
#include "codegen/nvptx/warp.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace weft::codegen {
namespace {

/// The value that the thread `offset` lanes across holds; 64-bit values go in two halves.
llvm::Value* from_across(Emitter& e, llvm::Value* value, int offset) {
  llvm::IRBuilder<>& b = e.b;
  auto exchange = [&](llvm::Value* half) {
    return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                             {b.getInt32(0xffffffff), half, b.getInt32(unsigned(offset)), b.getInt32(31)});
  };
  llvm::Type* type = value->getType();
  if (type->getPrimitiveSizeInBits() == 32) return b.CreateBitCast(exchange(b.CreateBitCast(value, e.unit.i32)), type);
  llvm::Value* bits = b.CreateBitCast(value, e.unit.i64);
  llvm::Value* low = b.CreateZExt(exchange(b.CreateTrunc(bits, e.unit.i32)), e.unit.i64);
  llvm::Value* high = b.CreateZExt(exchange(b.CreateTrunc(b.CreateLShr(bits, 32), e.unit.i32)), e.unit.i64);
  return b.CreateBitCast(b.CreateOr(low, b.CreateShl(high, 32)), type);
}

}  // namespace

bool has_warp_add(ScalarKind kind) { return scalar_bits(kind) == 32 || (scalar_bits(kind) == 64); }

void emit_warp_add(Emitter& e, ScalarKind kind, llvm::Value* address, llvm::Value* value) {
  llvm::IRBuilder<>& b = e.b;
  const bool floating = is_floating(kind);
  auto add = [&](llvm::Value* v) {
    b.CreateAtomicRMW(floating ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add, address, v,
                      llvm::MaybeAlign(scalar_bits(kind) / 8), llvm::AtomicOrdering::Monotonic);
  };
  auto* type = llvm::FunctionType::get(e.unit.i32, false);
  llvm::CallInst* active = b.CreateCall(type, llvm::InlineAsm::get(type, "activemask.b32 $0;", "=r", true));
  active->addFnAttr(llvm::Attribute::Convergent);
  llvm::BasicBlock *whole = e.block("warp"), *single = e.block("thread"), *done = e.block("added");
  b.CreateCondBr(b.CreateICmpEQ(active, b.getInt32(0xffffffff)), whole, single);
  b.SetInsertPoint(single);
  add(value);
  b.CreateBr(done);
  b.SetInsertPoint(whole);
  llvm::Value* sum = value;
  for (int offset = 16; offset > 0; offset /= 2) {
    llvm::Value* other = from_across(e, sum, offset);
    sum = floating ? b.CreateFAdd(sum, other) : b.CreateAdd(sum, other);
  }
  llvm::Value* lane = b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
  e.when(b.CreateICmpEQ(lane, b.getInt32(0)), [&] { add(sum); });
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

llvm::Value* threads_of_block(Emitter& e) {
  return e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, {}, {});
}

}  // namespace weft::codegen
