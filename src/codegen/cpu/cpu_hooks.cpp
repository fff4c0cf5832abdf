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

llvm::Value* CpuHooks::among_lanes(Emitter&, ir::OpCode, llvm::ArrayRef<llvm::Value*>) const {
  WEFT_UNREACHABLE("passes/settle_target comes first");
}

void CpuHooks::block_function(Emitter&, const ir::Op&) const {
  WEFT_UNREACHABLE("only blocks of several threads have them");
}

llvm::Value* CpuHooks::texture(Emitter&, const ir::Op&, llvm::ArrayRef<llvm::Value*>) const {
  WEFT_UNREACHABLE("passes/settle_target comes first");
}

void CpuHooks::fence(Emitter& e) const { e.b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent); }

void CpuHooks::emit_kernel(CodeUnit& unit, const ir::Function& kernel) { emit_cpu_kernel(unit, kernel); }

llvm::Value* CpuHooks::atomic_anywhere(Emitter& e, const ScalarAtomic& atomic) const {
  return emit_scalar_atomic(e, atomic, false);  // all memory is one
}

void CpuHooks::add_together(Emitter&, const ir::Op&, ScalarKind, llvm::Value*, llvm::ArrayRef<llvm::Value*>) const {
  WEFT_UNREACHABLE("threads of the CPU add by themselves");
}

llvm::Value* CpuHooks::thread_of_block(Emitter& e) const { return e.b.getInt32(0); }

llvm::Value* CpuHooks::block_memory(Emitter&, const ir::Op&) const {
  WEFT_UNREACHABLE("a thread is a block of its own");
}

llvm::Value* CpuHooks::threads_of_block(Emitter& e) const { return e.b.getInt32(1); }  // each is a block of its own

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
