// Calls of the runtime's helpers, and what else takes more than a line.
#include "codegen/cpu/cpu_hooks.h"

#include "codegen/emit/emitter.h"
#include "codegen/emit/scalar_atomic.h"
#include "runtime/kernel_abi.h"

namespace weft::codegen {

std::unique_ptr<TargetHooks> cpu_hooks() { return std::make_unique<CpuHooks>(); }

llvm::Value* CpuHooks::fixed_memory(Emitter& e, llvm::Value* address) const {
  return e.b.CreateIntToPtr(address, e.unit.ptr);
}

llvm::Value* CpuHooks::among_lanes(Emitter& e, ir::OpCode code, llvm::ArrayRef<llvm::Value*> operands) const {
  WEFT_CHECK(block, "passes/settle_target comes first");
  CodeUnit& unit = e.unit;
  const auto call = [&](const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> values) {
    llvm::SmallVector<llvm::Type*, 3> types;
    for (const llvm::Value* v : values) types.push_back(v->getType());
    return e.b.CreateCall(unit.helper(name, llvm::FunctionType::get(result, types, false), true), values);
  };
  switch (code) {
    case ir::OpCode::warp: return call("weft_rt_warp", unit.i32, {});
    case ir::OpCode::lane: return e.b.CreateAnd(thread_of_block(e), e.b.getInt32(31));
    case ir::OpCode::vote: return call("weft_rt_vote", unit.i32, {operands[0], e.b.CreateZExt(operands[1], unit.i32)});
    case ir::OpCode::shuffle: {
      llvm::Type* type = operands[1]->getType();
      llvm::Type* bits = e.b.getIntNTy(unsigned(type->getPrimitiveSizeInBits()));
      llvm::Value* sent = e.b.CreateZExt(e.b.CreateBitCast(operands[1], bits), unit.i64);
      llvm::Value* got = call("weft_rt_shuffle", unit.i64, {operands[0], sent, operands[2]});
      return e.b.CreateBitCast(e.b.CreateTrunc(got, bits), type);
    }
    default: WEFT_UNREACHABLE("not among lanes");  // safe: emit_warp asks for these four
  }
}

void CpuHooks::barrier(Emitter& e, std::int64_t) const {
  if (!block) return;  // a thread is a block of its own
  e.b.CreateCall(e.unit.helper("weft_rt_barrier", llvm::FunctionType::get(e.b.getVoidTy(), false), true));
}

llvm::Value* CpuHooks::tally(Emitter& e, llvm::Value* condition) const {
  WEFT_CHECK(block, "passes/settle_target comes first");
  llvm::Type* i32 = e.unit.i32;
  return e.b.CreateCall(e.unit.helper("weft_rt_tally", llvm::FunctionType::get(i32, {i32}, false), true),
                        {e.b.CreateZExt(condition, i32)});
}

void CpuHooks::warp_barrier(Emitter& e, llvm::Value* mask) const {
  if (!block) return;  // a thread is a warp of its own
  auto* type = llvm::FunctionType::get(e.unit.i32, {e.unit.i32, e.unit.i32}, false);
  e.b.CreateCall(e.unit.helper("weft_rt_vote", type, true), {mask, e.b.getInt32(0)});
}

void CpuHooks::describe(Emitted& kernel) const {
  kernel.block = block;
  if (memory) kernel.block_bytes = memory->bytes();
}

void CpuHooks::block_function(Emitter&, const ir::Op&) const {
  WEFT_UNREACHABLE("passes/inline_calls puts their bodies in place");
}

llvm::Value* CpuHooks::texture(Emitter&, const ir::Op&, llvm::ArrayRef<llvm::Value*>) const {
  WEFT_UNREACHABLE("passes/settle_target comes first");
}

void CpuHooks::fence(Emitter& e) const { e.b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent); }

void CpuHooks::emit_kernel(CodeUnit& unit, const ir::Function& kernel) { emit_cpu_kernel(unit, kernel, *this); }

llvm::Value* CpuHooks::atomic_anywhere(Emitter& e, const ScalarAtomic& atomic) const {
  return emit_scalar_atomic(e, atomic, false);  // all memory is one
}

void CpuHooks::add_together(Emitter&, const ir::Op&, ScalarKind, llvm::Value*, llvm::ArrayRef<llvm::Value*>) const {
  WEFT_UNREACHABLE("threads of the CPU add by themselves");
}

llvm::Value* CpuHooks::thread_of_block(Emitter& e) const {
  if (!block) return e.b.getInt32(0);
  // Blocks are neighbours in the grid.
  llvm::Value* own = e.b.CreateURem(e.plain(e.thread.linear), e.b.getInt64(std::uint64_t(block)));
  return e.b.CreateTrunc(own, e.unit.i32);
}

llvm::Value* CpuHooks::block_memory(Emitter& e, const ir::Op& local) const {
  WEFT_CHECK(memory, "a thread is a block of its own");
  return e.b.CreateConstInBoundsGEP1_64(e.unit.i8, room, memory->offset_of(local));
}

llvm::Value* CpuHooks::threads_of_block(Emitter& e) const {
  if (!block) return e.b.getInt32(1);
  return e.thread.block_threads ? e.thread.block_threads : e.b.getInt32(std::uint32_t(block));
}

llvm::Value* CpuHooks::object_table(Emitter& e) const {
  llvm::Value* at = e.b.CreateConstGEP1_64(e.unit.i8, e.thread.context, offsetof(runtime::LaunchContext, objects));
  return e.b.CreateAlignedLoad(e.unit.i64, at, llvm::Align(8));
}

llvm::Value* CpuHooks::is_running(Emitter& e) const {
  llvm::Value* at = e.b.CreateConstGEP1_64(e.unit.i8, e.thread.context, offsetof(runtime::LaunchContext, stop));
  llvm::LoadInst* stop = e.b.CreateAlignedLoad(e.unit.i32, at, llvm::Align(4));
  // Another thread writes it: atomic, or LLVM would take the load out of the loop that asks.
  stop->setAtomic(llvm::AtomicOrdering::Monotonic);
  return e.b.CreateICmpEQ(stop, e.b.getInt32(0));
}

void CpuHooks::report_failure(Emitter& e, const FailedCheck& failed) const {
  CodeUnit& unit = e.unit;
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {unit.ptr, unit.i32, unit.i64, unit.i64, unit.i64}, false);
  e.b.CreateCall(unit.helper("weft_rt_fail", type, true),
                 {e.thread.context, failed.site, failed.linear, failed.index, failed.extent});
}

void CpuHooks::print(Emitter& e, const ir::Op& op, const std::string& format,
                     const std::vector<std::uint32_t>& offsets) const {
  CodeUnit& unit = e.unit;
  // One block for all lanes, which print one after the other, each a line as a thread by itself would.
  llvm::AllocaInst* values = e.entry_alloca(unit.i8, std::max(offsets.back(), 8u), 16);
  llvm::Constant* text = unit.text_constant(format);
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {unit.ptr, unit.ptr, unit.i64, unit.ptr}, false);
  e.for_each_lane(e.mask, [&](llvm::Value* lane) {
    for (std::size_t k = 0; k < op.operands.size(); ++k)
      e.write_bytes(op.operand(k)->type, e.get(op.operand(k)), e.b.CreateConstGEP1_64(unit.i8, values, offsets[k]),
                    lane);
    llvm::Value* linear = e.lane_of(e.plain(e.thread.linear), lane);
    e.b.CreateCall(unit.helper("weft_rt_print", type, true), {e.thread.context, text, linear, values});
  });
}

void CpuHooks::breakpoint(Emitter& e) const {
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {e.unit.ptr}, false);
  auto stop = [&] { e.b.CreateCall(e.unit.helper("weft_rt_breakpoint", type, true), {e.thread.context}); };
  // Once for a group: whoever debugs wants to see it, not to go on W times.
  if (e.mask)
    e.when(e.any(e.mask), stop);
  else
    stop();
}

}  // namespace weft::codegen
