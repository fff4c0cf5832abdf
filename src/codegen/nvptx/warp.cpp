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

bool emit_reduction(Emitter& e, ir::AtomicKind kind, ScalarKind scalar, llvm::Value* address, llvm::Value* value) {
  using ir::AtomicKind;
  const unsigned bits = scalar_bits(scalar);
  if (bits < 32) return false;
  const bool floating = is_floating(scalar);
  const char* name = nullptr;
  switch (kind) {
    case AtomicKind::add: name = "add"; break;
    case AtomicKind::min: name = "min"; break;
    case AtomicKind::max: name = "max"; break;
    case AtomicKind::bit_and: name = "and"; break;
    case AtomicKind::bit_or: name = "or"; break;
    case AtomicKind::bit_xor: name = "xor"; break;
    case AtomicKind::exch:
    case AtomicKind::cas: return false;
  }
  if (floating && kind != AtomicKind::add) return false;
  const bool plain = kind != AtomicKind::add && kind != AtomicKind::min && kind != AtomicKind::max;
  // Signed sums are those of unsigned numbers.
  const bool with_sign = is_signed(scalar) && kind != AtomicKind::add;
  const std::string type = (floating ? "f" : plain ? "b" : with_sign ? "s" : "u") + std::to_string(bits);
  const std::string code = "red.global." + std::string(name) + "." + type + " [$0], $1;";
  const std::string operand = floating ? (bits == 64 ? "d" : "f") : (bits == 64 ? "l" : "r");
  llvm::Type* global = llvm::PointerType::get(e.unit.context, 1);
  auto* signature = llvm::FunctionType::get(e.b.getVoidTy(), {global, value->getType()}, false);
  llvm::InlineAsm* red = llvm::InlineAsm::get(signature, code, "l," + operand + ",~{memory}", true);
  e.b.CreateCall(signature, red, {e.b.CreateAddrSpaceCast(address, global), value});
  return true;
}

bool has_warp_add(ScalarKind kind) { return scalar_bits(kind) == 32 || (scalar_bits(kind) == 64); }

void emit_warp_add(Emitter& e, ScalarKind kind, llvm::Value* address, llvm::Value* value) {
  llvm::IRBuilder<>& b = e.b;
  const bool floating = is_floating(kind);
  auto add = [&](llvm::Value* v) { emit_reduction(e, ir::AtomicKind::add, kind, address, v); };
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
