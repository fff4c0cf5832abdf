// What threads know and say: thread indices, the stop flag, failed checks, printing. Helpers of the runtime do the work;
// on the GPU the error record is written here and printing takes a way of its own (nvptx/print.cpp).
#include "codegen/emit/emitter.h"
#include "codegen/nvptx/print.h"
#include "codegen/nvptx/warp.h"
#include "runtime/print_format.h"

namespace weft::codegen {

void Emitter::emit_tid(const ir::Op& op) {
  Part part = op.imm < kMaxRank ? thread.tids[op.imm] : Part{};
  if (!part.v) part.v = b.getInt32(0);
  set(op.result(), {part});
}

void Emitter::emit_block_dim(const ir::Op& op) {
  llvm::Value* threads = b.getInt32(1);  // a thread of the CPU is a block of its own
  if (unit.traits.gpu) threads = threads_of_block(*this);
  set(op.result(), {Part{threads}});
}

/// On the GPU nothing: a trap without a debugger would end the context.
void Emitter::emit_breakpoint() {
  if (unit.traits.gpu) return;
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {unit.ptr}, false);
  auto stop = [&] { b.CreateCall(unit.helper("weft_rt_breakpoint", type, true), {thread.context}); };
  if (mask)
    when(any(mask), stop);
  else
    stop();
}

void Emitter::emit_running(const ir::Op& op) {
  if (!unit.traits.gpu) {
    llvm::Value* at = b.CreateConstGEP1_64(unit.i8, thread.context, offsetof(runtime::LaunchContext, stop));
    llvm::LoadInst* stop = b.CreateAlignedLoad(unit.i32, at, llvm::Align(4));
    stop->setAtomic(llvm::AtomicOrdering::Monotonic);
    return set(op.result(), {Part{b.CreateICmpEQ(stop, b.getInt32(0))}});
  }
  llvm::Value* at = b.CreateConstGEP1_64(unit.i8, thread.context, offsetof(GpuTrailer, stop));
  llvm::Value* flag = b.CreateIntToPtr(b.CreateAlignedLoad(unit.i64, at, llvm::Align(8)), unit.ptr);
  llvm::BasicBlock *before = b.GetInsertBlock(), *look = block("stop"), *done = block("stop.done");
  b.CreateCondBr(b.CreateIsNotNull(flag), look, done);
  b.SetInsertPoint(look);
  llvm::LoadInst* stop = b.CreateAlignedLoad(unit.i32, flag, llvm::Align(4));
  stop->setVolatile(true);
  llvm::Value* running = b.CreateICmpEQ(stop, b.getInt32(0));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(unit.i1, 2);
  result->addIncoming(b.getTrue(), before);
  result->addIncoming(running, look);
  set(op.result(), {Part{result}});
}

void Emitter::emit_any(const ir::Op& op) {
  llvm::Value* v = plain(op.operand(0));
  set(op.result(), {Part{v->getType()->isVectorTy() ? any(both(mask, v)) : v}});
}

/// Records the first failing lane: the record keeps only the first anyhow.
void Emitter::emit_failure(const ir::Op& op) {
  llvm::Value* ok = plain(op.operand(0));
  llvm::Value* failed = b.CreateNot(ok);
  if (failed->getType()->isVectorTy()) failed = both(mask, failed);
  auto record = [&] {
    llvm::Value* lane = nullptr;
    if (W > 1) {
      llvm::Value* who = failed->getType()->isVectorTy() ? failed : mask;
      lane = who ? b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b.CreateZExt(mask_bits(who), unit.i64), b.getTrue())
                 : b.getInt64(0);
    }
    auto number = [&](std::size_t k) -> llvm::Value* {
      if (k >= op.operands.size() || !op.operand(k)->type->is_int()) return b.getInt64(0);
      return to_i64(lane_of(plain(op.operand(k)), lane), op.operand(k)->type);
    };
    llvm::Value* linear = lane_of(plain(thread.linear), lane);
    llvm::Value* site = b.getInt32(std::uint32_t(unit.sites.number.at(&op)));
    llvm::Value *index = number(1), *extent = number(2);
    if (unit.traits.gpu) return emit_gpu_failure(*this, site, linear, index, extent);
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {unit.ptr, unit.i32, unit.i64, unit.i64, unit.i64}, false);
    b.CreateCall(unit.helper("weft_rt_fail", type, true), {thread.context, site, linear, index, extent});
  };
  when(any(failed), record);
}

void Emitter::emit_print(const ir::Op& op) {
  std::vector<const Type*> types;
  for (const ir::Value* v : op.operands) types.push_back(v->type);
  std::string format;
  try {
    format = op.code == ir::OpCode::print ? runtime::compile_print_format(op.text, types)
                                          : runtime::compile_printf_format(op.text, types);
  } catch (const std::invalid_argument& problem) {
    throw Error(problem.what(), op.loc);
  }
  std::vector<std::uint32_t> offsets = runtime::operand_offsets(types);
  if (unit.traits.gpu) return emit_gpu_print(*this, op, format, offsets);
  llvm::AllocaInst* values = entry_alloca(unit.i8, std::max(offsets.back(), 8u), 16);
  llvm::Constant* text = unit.text_constant(format);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {unit.ptr, unit.ptr, unit.i64, unit.ptr}, false);
  for_each_lane(mask, [&](llvm::Value* lane) {
    for (std::size_t k = 0; k < types.size(); ++k)
      write_bytes(types[k], get(op.operand(k)), b.CreateConstGEP1_64(unit.i8, values, offsets[k]), lane);
    llvm::Value* linear = lane_of(plain(thread.linear), lane);
    b.CreateCall(unit.helper("weft_rt_print", type, true), {thread.context, text, linear, values});
  });
}

}  // namespace weft::codegen
