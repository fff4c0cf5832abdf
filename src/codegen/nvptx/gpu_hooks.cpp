// Which file does what, and answers that are too short for a file of their own.
#include "codegen/nvptx/gpu_hooks.h"

#include "codegen/nvptx/atomics.h"
#include "codegen/nvptx/block_functions.h"
#include "codegen/nvptx/conversions.h"
#include "codegen/nvptx/elementary.h"
#include "codegen/nvptx/exact_adds.h"
#include "codegen/nvptx/extremes.h"
#include "codegen/nvptx/grouped_adds.h"
#include "codegen/nvptx/kernel_plan.h"
#include "codegen/nvptx/libdevice.h"
#include "codegen/nvptx/parameters.h"
#include "codegen/nvptx/print.h"
#include "codegen/nvptx/roots.h"
#include "codegen/nvptx/texture.h"
#include "codegen/nvptx/warp.h"
#include "ir/tile_memory.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "ir/block_functions.h"
#include "ir/tile_memory.h"

namespace weft::codegen {

using ir::OpCode;

namespace {

/// LLVM's number for the memory of a GPU that all threads see.
constexpr unsigned kGlobalSpace = 1;

/// A GPU thread has nothing else to do while it waits for a load: small innermost loops are unrolled.
constexpr int kMaxUnrolledOps = 48, kMaxOpsForEight = 24;

/// How often; 1: not at all. Loops that may begin below zero have a copy for the usual case (passes/split_signs.h).
int turns_at_once(const ir::Region& body) {
  if (body.parent_op->text == ir::kRolledLoop) return 1;
  int ops = 0;
  for (const ir::Op& op : body) {
    if (!op.regions.empty() || op.code == OpCode::call || op.code == OpCode::atomic || ++ops > kMaxUnrolledOps)
      return 1;
    for (std::uint32_t k = 0; k < op.num_indices; ++k)
      if ((op.wrap >> k & 1) && op.indices()[k] == body.args[0]) return 1;
  }
  // A loop from here to there is likely short, and what is left of it at the end counts.
  const bool from_start = body.parent_op->operand(0)->is_constant();
  return ops > kMaxOpsForEight || !from_start ? 4 : 8;
}

}  // namespace

std::unique_ptr<TargetHooks> gpu_hooks() { return std::make_unique<GpuHooks>(); }

void GpuHooks::emit_kernel(CodeUnit& unit, const ir::Function& kernel) { emit_gpu_kernel(unit, *this, kernel); }

void GpuHooks::fence(Emitter& e) const { e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_membar_gl, {}, {}); }

void GpuHooks::barrier(Emitter& e, std::int64_t turns) const {
  if (copies && turns > 0) {  // what began since the last one is a group, whether there is anything or not
    e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
    e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {}, {e.b.getInt32(std::uint32_t(turns))});
  } else if (copies) {
    e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_all, {}, {});
  }
  if (panels) emit_panel_fence(e);
  // The threads of a warp have a barrier of their own, which costs next to nothing.
  if (whole && block > 0 && block <= 32)
    e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {e.b.getInt32(std::uint32_t((1ull << block) - 1))});
  else
    e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
}

llvm::Value* GpuHooks::tally(Emitter& e, llvm::Value* condition) const {
  return e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0_popc, {}, {e.b.CreateZExt(condition, e.unit.i32)});
}

void GpuHooks::warp_barrier(Emitter& e, llvm::Value* mask) const {
  e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {mask});
}

llvm::Value* GpuHooks::thread_of_block(Emitter& e) const {
  return e.b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {}, {});
}

llvm::Value* GpuHooks::block_memory(Emitter& e, const ir::Op& local) const {
  llvm::Value* at = e.b.CreateConstInBoundsGEP1_64(e.unit.i8, room, memory->offset_of(local));
  return e.b.CreateAddrSpaceCast(at, e.unit.ptr);
}

llvm::Value* GpuHooks::among_lanes(Emitter& e, OpCode code, llvm::ArrayRef<llvm::Value*> operands) const {
  return emit_among_lanes(e, code, operands);
}

void GpuHooks::block_function(Emitter& e, const ir::Op& call) const {
  ir::calls_block_function(call, ir::kBlockCopy) ? emit_block_copy(e, call) : emit_block_product(e, call);
}

llvm::Value* GpuHooks::texture(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> operands) const {
  return emit_texture_read(e, op, operands);
}

void GpuHooks::describe(Emitted& kernel) const {
  kernel.lanes = lanes;
  kernel.steps = sums.empty() ? steps : 0;
  kernel.block = block;
  if (memory) kernel.block_bytes = memory->bytes();
}

bool GpuHooks::link_libraries(llvm::Module& module, const EmitOptions& options, bool natives) const {
  const std::string& given = options.libdevice;
  if (given.empty() && !natives) return false;  // native functions call it, if any
  return link_libdevice(module, given.empty() ? find_libdevice("", {}) : given, options.fast_math);
}

void GpuHooks::finish_output(const llvm::Module& module, std::string& bytes) const {
  allow_large_parameters(module, bytes);
}

llvm::Value* GpuHooks::float_extreme(Emitter& e, bool most, ScalarKind kind, llvm::Value* x, llvm::Value* y) const {
  return kind == ScalarKind::f32 ? emit_float_extreme(e, most, x, y) : nullptr;
}

llvm::Value* GpuHooks::float_to_int(Emitter& e, llvm::Value* v, ScalarKind to) const {
  return emit_float_to_int(e, v, to);
}

llvm::Value* GpuHooks::elementary(Emitter& e, OpCode code, ScalarKind kind,
                                  llvm::ArrayRef<llvm::Value*> operands) const {
  return emit_gpu_function(e, code, kind, operands);
}

llvm::Value* GpuHooks::root_in_loop(Emitter& e, llvm::Value* x) const { return emit_square_root(e, x); }

llvm::Value* GpuHooks::root_reciprocal(Emitter& e, llvm::Value* root) const { return emit_root_reciprocal(e, root); }

llvm::Value* GpuHooks::tame(Emitter& e, OpCode code, llvm::ArrayRef<llvm::Value*> operands) const {
  const auto one = [&](llvm::ArrayRef<llvm::Value*> numbers) {
    return code == OpCode::sqrt ? emit_tame_root(e, numbers[0]) : emit_tame_quotient(e, numbers[0], numbers[1]);
  };
  llvm::FixedVectorType* several = nullptr;  // elements of a thread
  for (const llvm::Value* operand : operands)
    if (auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(operand->getType())) several = lanes;
  if (!several) return one(operands);
  llvm::Value* out = llvm::PoisonValue::get(several);
  for (std::uint64_t k = 0; k < several->getNumElements(); ++k) {
    llvm::SmallVector<llvm::Value*, 2> numbers;
    for (llvm::Value* operand : operands)
      numbers.push_back(operand->getType()->isVectorTy() ? e.b.CreateExtractElement(operand, k) : operand);
    out = e.b.CreateInsertElement(out, one(numbers), k);
  }
  return out;
}

/// Reads of global memory that is never written have a cache of their own. Made a pointer to global memory at once: LLVM
/// folds a cast to there and back.
llvm::Value* GpuHooks::fixed_memory(Emitter& e, llvm::Value* address) const {
  return e.b.CreateAddrSpaceCast(e.b.CreateIntToPtr(address, e.b.getPtrTy(kGlobalSpace)), e.unit.ptr);
}

int GpuHooks::unrolling(const ir::Region& body) {
  const int times = turns_at_once(body);
  for (const ir::Op& op : body) unrolled |= times > 1 && op.code == OpCode::load;
  return times;
}

bool GpuHooks::emit_grouped_for(Emitter& e, const ir::Op& loop) {
  GroupedAdds adds(e, *this, loop);
  if (adds.turns() == 1) return false;
  e.emit_grouped_for(loop, adds);
  return true;
}

llvm::Value* GpuHooks::atomic_anywhere(Emitter& e, const ScalarAtomic& atomic) const {
  return emit_atomic_anywhere(e, atomic);
}

bool GpuHooks::reduce(Emitter& e, const ScalarAtomic& atomic) const {
  return emit_reduction(e, atomic.kind, atomic.scalar, atomic.at, atomic.value) || emit_extreme_reduction(e, atomic);
}

bool GpuHooks::keep_addition(Emitter& e, const ir::Op& op) {
  const auto own = sums.find(&op);
  if (own == sums.end()) return false;
  add_to_sum(e, op, own->second);
  return true;
}

bool GpuHooks::add_exactly(Emitter& e, const ir::Op& op, llvm::Value* place, llvm::Value* value) const {
  const auto found = exact.find(&op);
  if (found == exact.end()) return false;
  emit_exact_add(e, op.result()->type->scalar_kind(), found->second, place, value);
  return true;
}

bool GpuHooks::group_addition(Emitter& e, const ir::Op& op, const Address& at) const {
  return e.group && e.group->put(e, op, e.byte_offset(at.pointer, e.b.getInt64(at.offset)));
}

bool GpuHooks::adds_together(const ir::Op& op, const TypeParts& element) const {
  return meeting_adds.contains(&op) && is_row_of_scalars(element) && has_warp_add(element.parts.front().scalar);
}

void GpuHooks::add_together(Emitter& e, const ir::Op& op, ScalarKind kind, llvm::Value* address,
                            llvm::ArrayRef<llvm::Value*> values) const {
  const bool in_block = ir::is_block_memory(op.operand(0));
  emit_warp_add(e, kind, address, values, in_block || goes_to_one_place(op), in_block);
}

llvm::Value* GpuHooks::object_table(Emitter& e) const {
  llvm::Value* at = e.b.CreateConstGEP1_64(e.unit.i8, e.thread.context, offsetof(GpuTrailer, objects));
  return e.b.CreateAlignedLoad(e.unit.i64, at, llvm::Align(8));
}

llvm::Value* GpuHooks::threads_of_block(Emitter& e) const {
  if (e.thread.block_threads) return e.thread.block_threads;
  return block && whole ? e.b.getInt32(std::uint32_t(block)) : codegen::threads_of_block(e);
}

llvm::Value* GpuHooks::is_running(Emitter& e) const { return emit_gpu_running(e); }

void GpuHooks::report_failure(Emitter& e, const FailedCheck& failed) const {
  emit_gpu_failure(e, failed.site, failed.linear, failed.index, failed.extent);
}

void GpuHooks::print(Emitter& e, const ir::Op& op, const std::string& format,
                     const std::vector<std::uint32_t>& offsets) const {
  emit_gpu_print(e, op, format, offsets);
}

}  // namespace weft::codegen
