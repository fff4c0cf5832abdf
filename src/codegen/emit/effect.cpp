// What threads know and say: thread indices, the stop flag, failed checks, printing. How it gets to the host is the
// target's affair.
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"
#include "runtime/print_format.h"

namespace weft::codegen {

void Emitter::emit_tid(const ir::Op& op) {
  Part part = op.imm < kMaxRank ? thread.tids[op.imm] : Part{};
  // A coordinate that the grid does not have is 0.
  if (!part.v) part.v = b.getInt32(0);
  set(op.result(), {part});
}

void Emitter::emit_block_dim(const ir::Op& op) { set(op.result(), {Part{unit.hooks->threads_of_block(*this)}}); }

void Emitter::emit_block_thread(const ir::Op& op) { set(op.result(), {Part{unit.hooks->thread_of_block(*this)}}); }

void Emitter::emit_warp(const ir::Op& op) {
  llvm::SmallVector<llvm::Value*, 3> operands;
  for (const ir::Value* operand : op.operands) operands.push_back(plain(operand));
  set(op.result(), {Part{unit.hooks->among_lanes(*this, op.code, operands)}});
}

void Emitter::emit_texture(const ir::Op& op) {
  llvm::SmallVector<llvm::Value*, 5> operands;
  for (const ir::Value* operand : op.operands) operands.push_back(plain(operand));
  llvm::Value* found = unit.hooks->texture(*this, op, operands);
  Parts parts;
  for (unsigned k = 0; k < 4; ++k) parts.push_back(Part{b.CreateExtractValue(found, k)});
  set(op.result(), std::move(parts));
}

void Emitter::emit_breakpoint() { unit.hooks->breakpoint(*this); }

void Emitter::emit_running(const ir::Op& op) { set(op.result(), {Part{unit.hooks->is_running(*this)}}); }

void Emitter::emit_any(const ir::Op& op) {
  llvm::Value* v = plain(op.operand(0));
  // Lanes that are masked out have no say. Under a uniform condition all agree already.
  set(op.result(), {Part{v->getType()->isVectorTy() ? any(both(mask, v)) : v}});
}

/// Records the first failing lane: the record keeps only the first anyhow.
void Emitter::emit_failure(const ir::Op& op) {
  llvm::Value* ok = plain(op.operand(0));
  llvm::Value* failed = b.CreateNot(ok);
  // A lane that is off has whatever numbers, and must not report.
  if (failed->getType()->isVectorTy()) failed = both(mask, failed);
  auto record = [&] {
    llvm::Value* lane = nullptr;
    if (W > 1) {
      llvm::Value* who = failed->getType()->isVectorTy() ? failed : mask;
      // Not zero: this stands behind any(failed), and a masked region has an active lane.
      lane = who ? b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, b.CreateZExt(mask_bits(who), unit.i64), b.getTrue())
                 : b.getInt64(0);
    }
    auto number = [&](std::size_t k) -> llvm::Value* {
      // An assert has its condition alone.
      if (k >= op.operands.size() || !op.operand(k)->type->is_int()) return b.getInt64(0);
      return to_i64(lane_of(plain(op.operand(k)), lane), op.operand(k)->type);
    };
    llvm::Value* linear = lane_of(plain(thread.linear), lane);
    llvm::Value* site = b.getInt32(std::uint32_t(unit.sites.number.at(&op)));
    llvm::Value *index = number(1), *extent = number(2);
    unit.hooks->report_failure(*this, {site, linear, index, extent});
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
  unit.hooks->print(*this, op, format, runtime::operand_offsets(types));
}

}  // namespace weft::codegen
