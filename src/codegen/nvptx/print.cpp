// GPU output. A thread takes room in a buffer of page-locked memory (cuda/print_board.h) and writes there what the CPU's
// threads hand to weft_rt_print: the compiled format and the values' bytes. The host makes text of it when it waits, by
// the same code as for the CPU.
#include "codegen/nvptx/print.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cstring>

#include "runtime/print_record.h"

namespace weft::codegen {

using runtime::ErrorRecord;
using runtime::GpuPrintBuffer;
using runtime::GpuPrintRecord;

void emit_gpu_print(Emitter& e, const ir::Op& op, const std::string& format,
                    const std::vector<std::uint32_t>& offsets) {
  llvm::IRBuilder<>& b = e.b;
  CodeUnit& unit = e.unit;
  auto trailer = [&](std::size_t offset) {
    return b.CreateAlignedLoad(unit.i64, b.CreateConstGEP1_64(unit.i8, e.thread.context, offset), llvm::Align(8));
  };
  auto at = [&](llvm::Value* base, std::uint64_t offset) { return b.CreateConstGEP1_64(unit.i8, base, offset); };
  auto whole = [](std::uint64_t bytes) { return (bytes + 7) / 8 * 8; };
  const std::uint64_t text_bytes = whole(format.size() + 1), value_bytes = whole(offsets.back());
  const std::uint64_t total = sizeof(GpuPrintRecord) + text_bytes + value_bytes;
  llvm::Value* buffer = b.CreateIntToPtr(trailer(offsetof(GpuTrailer, print)), unit.ptr);
  e.when(b.CreateIsNotNull(buffer), [&] {
    auto take = [&](std::size_t counter, std::uint64_t amount) {
      return b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at(buffer, counter), b.getInt64(amount), llvm::MaybeAlign(8),
                               llvm::AtomicOrdering::Monotonic);
    };
    llvm::Value* place = take(offsetof(GpuPrintBuffer, used), total);
    llvm::Value* room =
        b.CreateAlignedLoad(unit.i64, at(buffer, offsetof(GpuPrintBuffer, capacity)), llvm::Align(8), true);
    llvm::Value* fits = b.CreateICmpULE(b.CreateAdd(place, b.getInt64(total)), room);
    e.when(b.CreateNot(fits), [&] { take(offsetof(GpuPrintBuffer, lost), 1); });
    e.when(fits, [&] {
      llvm::Value* record = b.CreateGEP(unit.i8, at(buffer, sizeof(GpuPrintBuffer)), place);
      auto put = [&](std::uint64_t offset, llvm::Value* v) {
        b.CreateAlignedStore(v, at(record, offset), llvm::Align(8), true);
      };
      put(offsetof(GpuPrintRecord, linear), e.plain(e.thread.linear));
      put(offsetof(GpuPrintRecord, launch), trailer(offsetof(GpuTrailer, launch)));
      put(offsetof(GpuPrintRecord, text_bytes), b.getInt64(text_bytes));
      std::string text = format;
      text.resize(text_bytes);
      for (std::uint64_t k = 0; k < text_bytes; k += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + k, 8);
        put(sizeof(GpuPrintRecord) + k, b.getInt64(word));
      }
      for (std::size_t k = 0; k < op.operands.size(); ++k)
        e.write_bytes(op.operand(k)->type, e.get(op.operand(k)),
                      at(record, sizeof(GpuPrintRecord) + text_bytes + offsets[k]), nullptr);
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_sys, {}, {});
      put(offsetof(GpuPrintRecord, bytes), b.getInt64(total));
    });
  });
}

void emit_gpu_failure(Emitter& e, llvm::Value* site, llvm::Value* linear, llvm::Value* index, llvm::Value* extent) {
  llvm::IRBuilder<>& b = e.b;
  CodeUnit& unit = e.unit;
  auto trailer = [&](std::size_t offset) {
    return b.CreateAlignedLoad(unit.i64, b.CreateConstGEP1_64(unit.i8, e.thread.context, offset), llvm::Align(8));
  };
  llvm::Value* error = b.CreateIntToPtr(trailer(offsetof(GpuTrailer, error)), unit.ptr);
  e.when(b.CreateIsNotNull(error), [&] {
    constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;
    auto* claim = b.CreateAtomicCmpXchg(error, b.getInt32(0), b.getInt32(1), llvm::MaybeAlign(4), kOrder, kOrder);
    e.when(b.CreateExtractValue(claim, 1), [&] {
      auto put = [&](std::size_t offset, llvm::Value* v, unsigned align) {
        b.CreateAlignedStore(v, b.CreateConstGEP1_64(unit.i8, error, offset), llvm::Align(align), true);
      };
      put(offsetof(ErrorRecord, site), site, 4);
      llvm::Value* rest = linear;
      for (int d = kMaxRank - 1; d >= 0; --d) {
        llvm::Value* extent_here = trailer(offsetof(GpuTrailer, dims) + 8 * std::size_t(d));
        llvm::Value* at = d == 0 ? rest : b.CreateURem(rest, extent_here);
        put(offsetof(ErrorRecord, thread) + 8 * std::size_t(d), at, 8);
        if (d > 0) rest = b.CreateUDiv(rest, extent_here);
      }
      put(offsetof(ErrorRecord, index), index, 8);
      put(offsetof(ErrorRecord, extent), extent, 8);
      b.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_sys, {}, {});
      put(offsetof(ErrorRecord, state), b.getInt32(2), 4);
      // As on the CPU, the first failure tells debug loops to end.
      llvm::Value* stop = b.CreateIntToPtr(trailer(offsetof(GpuTrailer, stop)), unit.ptr);
      e.when(b.CreateIsNotNull(stop), [&] { b.CreateAlignedStore(b.getInt32(1), stop, llvm::Align(4), true); });
    });
  });
}

llvm::Value* emit_gpu_running(Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* at = b.CreateConstGEP1_64(e.unit.i8, e.thread.context, offsetof(GpuTrailer, stop));
  llvm::Value* flag = b.CreateIntToPtr(b.CreateAlignedLoad(e.unit.i64, at, llvm::Align(8)), e.unit.ptr);
  llvm::BasicBlock *before = b.GetInsertBlock(), *look = e.block("stop"), *done = e.block("stop.done");
  b.CreateCondBr(b.CreateIsNotNull(flag), look, done);
  b.SetInsertPoint(look);
  llvm::LoadInst* stop = b.CreateAlignedLoad(e.unit.i32, flag, llvm::Align(4));
  stop->setVolatile(true);
  llvm::Value* running = b.CreateICmpEQ(stop, b.getInt32(0));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(e.unit.i1, 2);
  result->addIncoming(b.getTrue(), before);
  result->addIncoming(running, look);
  return result;
}

}  // namespace weft::codegen
