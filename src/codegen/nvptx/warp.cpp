// Sums across a warp by shuffles, across a block by way of shared memory.
#include "codegen/nvptx/warp.h"

#include <bit>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/emit/scalar_atomic.h"

namespace weft::codegen {
namespace {

constexpr int kWarp = 32;

/// A number of another thread, of which `exchange` brings 32 bits; 64-bit values go in two halves.
template <class Exchange>
llvm::Value* by_halves(Emitter& e, llvm::Value* value, const Exchange& exchange) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* type = value->getType();
  if (type->getPrimitiveSizeInBits() == 32) return b.CreateBitCast(exchange(b.CreateBitCast(value, e.unit.i32)), type);
  llvm::Value* bits = b.CreateBitCast(value, e.unit.i64);
  llvm::Value* low = b.CreateZExt(exchange(b.CreateTrunc(bits, e.unit.i32)), e.unit.i64);
  llvm::Value* high = b.CreateZExt(exchange(b.CreateTrunc(b.CreateLShr(bits, 32), e.unit.i32)), e.unit.i64);
  return b.CreateBitCast(b.CreateOr(low, b.CreateShl(high, 32)), type);
}

/// The value that the thread `offset` lanes across holds.
llvm::Value* from_across(Emitter& e, llvm::Value* value, int offset) {
  return by_halves(e, value, [&](llvm::Value* half) {
    return e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {},
                               {e.b.getInt32(0xffffffff), half, e.b.getInt32(unsigned(offset)), e.b.getInt32(31)});
  });
}

}  // namespace

llvm::Value* emit_among_lanes(Emitter& e, ir::OpCode code, llvm::ArrayRef<llvm::Value*> operands) {
  llvm::IRBuilder<>& b = e.b;
  switch (code) {
    case ir::OpCode::warp: {
      auto* signature = llvm::FunctionType::get(e.unit.i32, false);
      auto* ask = llvm::InlineAsm::get(signature, "activemask.b32 $0;", "=r", true);
      llvm::CallInst* answer = b.CreateCall(signature, ask);
      answer->setConvergent();
      return answer;
    }
    case ir::OpCode::lane: return b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
    case ir::OpCode::vote:
      return b.CreateIntrinsic(llvm::Intrinsic::nvvm_vote_ballot_sync, {}, {operands[0], operands[1]});
    case ir::OpCode::shuffle:
      return by_halves(e, operands[1], [&](llvm::Value* half) {
        return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {},
                                 {operands[0], half, operands[2], b.getInt32(31)});
      });
    default: WEFT_UNREACHABLE("not among lanes");  // safe: emit_warp asks for these four
  }
}

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

bool is_row_of_scalars(const TypeParts& info) {
  const ScalarKind kind = info.parts.front().scalar;
  std::uint32_t offset = 0;
  for (const PartInfo& part : info.parts) {
    if (part.kind != PartKind::scalar || part.scalar != kind || part.offset != offset) return false;
    offset += scalar_bits(kind) / 8;
  }
  return true;
}

bool has_warp_add(ScalarKind kind) { return scalar_bits(kind) == 32 || scalar_bits(kind) == 64; }

namespace {

/// Sums of up to 32 numbers over the warp, several at once: in each step a thread gives the half of its numbers away that
/// the other one keeps. Of n numbers, n rounded up to a power of two, number k ends in the threads k·32/n and behind it,
/// for about n shuffles in all instead of 5·n.
llvm::Value* sum_in_warp(Emitter& e, bool floating, llvm::SmallVector<llvm::Value*, 32> values, llvm::Value* lane) {
  llvm::IRBuilder<>& b = e.b;
  auto sum = [&](llvm::Value* x, llvm::Value* y) { return floating ? b.CreateFAdd(x, y) : b.CreateAdd(x, y); };
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const std::size_t half = std::max<std::size_t>(std::bit_ceil(values.size()) / 2, 1);
    llvm::Value* upper = nullptr;
    for (std::size_t k = 0; k < half; ++k) {
      llvm::Value* own = values[k];
      if (k + half >= values.size()) {  // has no partner: both threads keep it
        values[k] = sum(own, from_across(e, own, offset));
        continue;
      }
      if (!upper) upper = b.CreateICmpNE(b.CreateAnd(lane, b.getInt32(unsigned(offset))), b.getInt32(0));
      llvm::Value* away = b.CreateSelect(upper, own, values[k + half]);
      values[k] = sum(b.CreateSelect(upper, values[k + half], own), from_across(e, away, offset));
    }
    values.resize(half);
  }
  return values[0];
}

/// Sums numbers over the warp. Calls `take` with a number's offset in bytes and its sum, in code of the threads that hold one.
template <class Take>
void each_warp_sum(Emitter& e, ScalarKind kind, llvm::ArrayRef<llvm::Value*> values, const Take& take) {
  llvm::IRBuilder<>& b = e.b;
  const std::uint64_t bytes = scalar_bits(kind) / 8;
  llvm::Value* lane = b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_laneid, {}, {});
  for (std::size_t first = 0; first < values.size(); first += kWarp) {
    llvm::ArrayRef<llvm::Value*> some = values.slice(first).take_front(kWarp);
    llvm::Value* sum = sum_in_warp(e, is_floating(kind), {some.begin(), some.end()}, lane);
    const unsigned apart = kWarp / unsigned(std::bit_ceil(some.size()));  // threads from one number to the next
    llvm::Value* number = some.size() == 1 ? b.getInt32(0) : b.CreateUDiv(lane, b.getInt32(apart));
    llvm::Value* mine = b.CreateICmpEQ(b.CreateAnd(lane, b.getInt32(apart - 1)), b.getInt32(0));
    if (!std::has_single_bit(some.size()))
      mine = b.CreateAnd(mine, b.CreateICmpULT(number, b.getInt32(unsigned(some.size()))));
    e.when(mine, [&] {
      llvm::Value* place = b.CreateAdd(b.CreateZExt(number, e.unit.i64), b.getInt64(first));
      take(b.CreateMul(place, b.getInt64(bytes)), sum);
    });
  }
}

/// Whether all threads of a whole warp go to the same address.
llvm::Value* same_in_warp(Emitter& e, llvm::Value* address) {
  llvm::Value* bits = e.b.CreatePtrToInt(address, e.unit.i64);
  llvm::Value* match =
      e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_match_all_sync_i64p, {}, {e.b.getInt32(0xffffffff), bits});
  return e.b.CreateExtractValue(match, 1);
}

}  // namespace

void emit_warp_add(Emitter& e, ScalarKind kind, llvm::Value* address, llvm::ArrayRef<llvm::Value*> values, bool sure,
                   bool in_block) {
  llvm::IRBuilder<>& b = e.b;
  const std::uint64_t bytes = scalar_bits(kind) / 8;
  auto add = [&](llvm::Value* at, llvm::Value* v) {
    if (in_block)
      emit_scalar_atomic(e, {ir::AtomicKind::add, kind, at, v, nullptr}, false);
    else
      emit_reduction(e, ir::AtomicKind::add, kind, at, v);
  };
  auto* type = llvm::FunctionType::get(e.unit.i32, false);
  llvm::CallInst* active = b.CreateCall(type, llvm::InlineAsm::get(type, "activemask.b32 $0;", "=r", true));
  active->addFnAttr(llvm::Attribute::Convergent);
  llvm::BasicBlock *whole = e.block("warp"), *single = e.block("thread"), *done = e.block("added");
  b.CreateCondBr(b.CreateICmpEQ(active, b.getInt32(0xffffffff)), whole, single);
  b.SetInsertPoint(single);
  for (std::size_t k = 0; k < values.size(); ++k) add(b.CreateConstGEP1_64(e.unit.i8, address, k * bytes), values[k]);
  b.CreateBr(done);
  b.SetInsertPoint(whole);
  if (!sure) {
    llvm::BasicBlock* meets = e.block("meets");
    b.CreateCondBr(same_in_warp(e, address), meets, single);
    b.SetInsertPoint(meets);
  }
  each_warp_sum(e, kind, values,
                [&](llvm::Value* offset, llvm::Value* sum) { add(b.CreateGEP(e.unit.i8, address, offset), sum); });
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

void emit_block_add(Emitter& e, llvm::ArrayRef<PlaceSum> sums) {
  llvm::IRBuilder<>& b = e.b;
  auto if_wanted = [&](const PlaceSum& sum, const auto& fn) { sum.wanted ? e.when(sum.wanted, fn) : fn(); };
  auto by_warps = [&] {
    for (const PlaceSum& sum : sums) if_wanted(sum, [&] { emit_warp_add(e, sum.kind, sum.address, sum.values, true); });
  };
  std::uint64_t size = 0;
  for (const PlaceSum& sum : sums) size += kWarp * sum.values.size() * scalar_bits(sum.kind) / 8;
  auto* room = llvm::ArrayType::get(e.unit.i8, size);
  // Not a local symbol: LLVM's printer would keep it for the function, and look for it when it is used for another kernel
  // (machine_passes.h).
  auto* shared = new llvm::GlobalVariable(
      *e.unit.module, room, false, llvm::GlobalValue::ExternalLinkage, llvm::PoisonValue::get(room),
      e.b.GetInsertBlock()->getParent()->getName() + "_sums", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  shared->setAlignment(llvm::Align(8));
  /// Calls `fn` for each sum, the bytes of its numbers and their place in shared memory, where each warp has a row of them.
  auto each = [&](const auto& fn) {
    std::uint64_t at = 0;
    for (const PlaceSum& sum : sums) {
      const std::uint64_t row = sum.values.size() * scalar_bits(sum.kind) / 8;
      fn(sum, row, b.CreateConstGEP1_64(e.unit.i8, shared, at));
      at += kWarp * row;
    }
  };
  auto by_block = [&] {
    llvm::Value* thread = b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
    llvm::Value* warp = b.CreateZExt(b.CreateUDiv(thread, b.getInt32(kWarp)), e.unit.i64);
    each([&](const PlaceSum& sum, std::uint64_t row, llvm::Value* rows) {
      llvm::Value* own = b.CreateGEP(e.unit.i8, rows, b.CreateMul(warp, b.getInt64(row)));
      const llvm::Align align(scalar_bits(sum.kind) / 8);
      each_warp_sum(e, sum.kind, sum.values, [&](llvm::Value* offset, llvm::Value* value) {
        b.CreateAlignedStore(value, b.CreateGEP(e.unit.i8, own, offset), align);
      });
    });
    b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
    llvm::Value* warps = b.CreateZExt(b.CreateUDiv(threads_of_block(e), b.getInt32(kWarp)), e.unit.i64);
    each([&](const PlaceSum& sum, std::uint64_t row, llvm::Value* rows) {
      const unsigned bytes = scalar_bits(sum.kind) / 8;
      llvm::Value* mine = b.CreateICmpULT(thread, b.getInt32(unsigned(sum.values.size())));
      e.when(sum.wanted ? b.CreateAnd(mine, sum.wanted) : mine, [&] {
        llvm::Value* offset = b.CreateMul(b.CreateZExt(thread, e.unit.i64), b.getInt64(bytes));
        llvm::Type* type = e.unit.type(sum.kind);
        llvm::Value* total = e.entry_alloca(type, 1, bytes);
        b.CreateStore(llvm::Constant::getNullValue(type), total);
        e.counted_loop(warps, [&](llvm::Value* w) {
          llvm::Value* from = b.CreateGEP(e.unit.i8, rows, b.CreateAdd(b.CreateMul(w, b.getInt64(row)), offset));
          llvm::Value* more = b.CreateAlignedLoad(type, from, llvm::Align(bytes));
          b.CreateStore(e.arith(ir::OpCode::add, sum.kind, {b.CreateLoad(type, total), more}), total);
        });
        emit_reduction(e, ir::AtomicKind::add, sum.kind, b.CreateGEP(e.unit.i8, sum.address, offset),
                       b.CreateLoad(type, total));
      });
    });
  };
  llvm::Value* gaps = b.CreateAnd(threads_of_block(e), b.getInt32(kWarp - 1));
  e.either(b.CreateICmpEQ(gaps, b.getInt32(0)), by_block, by_warps);
}

llvm::Value* threads_of_block(Emitter& e) {
  return e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x, {}, {});
}

}  // namespace weft::codegen
