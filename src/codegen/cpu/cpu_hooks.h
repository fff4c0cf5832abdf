// The CPU's answers to what emission asks (emit/target_hooks.h): what threads have to say goes to helpers of the runtime.
#pragma once
#include <optional>

#include "analysis/block_memory.h"
#include "codegen/emit/target_hooks.h"

namespace weft::codegen {

class CpuHooks final : public TargetHooks {
 public:
  void emit_kernel(CodeUnit& unit, const ir::Function& kernel) override;
  void describe(Emitted& kernel) const override;
  bool link_libraries(llvm::Module&, const EmitOptions&, bool) const override { return false; }
  void finish_output(const llvm::Module&, std::string&) const override {}
  bool tells_lines() const override { return false; }
  bool counts_turns() const override { return true; }
  bool packs_lanewise_functions() const override { return true; }

  llvm::Value* float_extreme(Emitter&, bool, ScalarKind, llvm::Value*, llvm::Value*) const override { return nullptr; }
  llvm::Value* float_to_int(Emitter&, llvm::Value*, ScalarKind) const override { return nullptr; }
  llvm::Value* elementary(Emitter&, ir::OpCode, ScalarKind, llvm::ArrayRef<llvm::Value*>) const override {
    return nullptr;
  }
  llvm::Value* root_in_loop(Emitter&, llvm::Value*) const override { return nullptr; }
  llvm::Value* root_reciprocal(Emitter&, llvm::Value*) const override { return nullptr; }
  llvm::Value* tame(Emitter&, ir::OpCode, llvm::ArrayRef<llvm::Value*>) const override { return nullptr; }

  bool addresses_take_constants() const override { return false; }
  llvm::Value* fixed_memory(Emitter& e, llvm::Value* address) const override;
  bool marks_read_only_arrays() const override { return false; }
  bool pairs_words() const override { return true; }
  bool multiplies_by_rows() const override { return true; }
  bool stores_wait_for_loads() const override { return false; }
  bool prefetches() const override { return true; }

  int unrolling(const ir::Region&) override { return 1; }
  bool emit_grouped_for(Emitter&, const ir::Op&) override { return false; }

  bool has_atomic_float_add() const override { return false; }
  llvm::Value* atomic_anywhere(Emitter& e, const ScalarAtomic& atomic) const override;
  bool reduce(Emitter&, const ScalarAtomic&) const override { return false; }
  bool keep_addition(Emitter&, const ir::Op&) override { return false; }
  bool add_exactly(Emitter&, const ir::Op&, llvm::Value*, llvm::Value*) const override { return false; }
  bool group_addition(Emitter&, const ir::Op&, const Address&) const override { return false; }
  bool adds_together(const ir::Op&, const TypeParts&) const override { return false; }
  void add_together(Emitter&, const ir::Op&, ScalarKind, llvm::Value*, llvm::ArrayRef<llvm::Value*>) const override;

  llvm::Value* threads_of_block(Emitter& e) const override;
  llvm::Value* thread_of_block(Emitter& e) const override;
  llvm::Value* block_memory(Emitter& e, const ir::Op& local) const override;
  llvm::Value* object_table(Emitter& e) const override;
  llvm::Value* is_running(Emitter& e) const override;
  void report_failure(Emitter& e, const FailedCheck& failed) const override;
  void print(Emitter& e, const ir::Op& op, const std::string& format,
             const std::vector<std::uint32_t>& offsets) const override;
  void breakpoint(Emitter& e) const override;
  llvm::Value* tally(Emitter& e, llvm::Value* condition) const override;
  void warp_barrier(Emitter& e, llvm::Value* mask) const override;
  void fence(Emitter& e) const override;
  llvm::Value* among_lanes(Emitter& e, ir::OpCode code, llvm::ArrayRef<llvm::Value*> operands) const override;
  void block_function(Emitter& e, const ir::Op& call) const override;
  llvm::Value* texture(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> operands) const override;
  void barrier(Emitter& e, std::int64_t turns) const override;

  // Blocks of several threads (runtime/block_threads.h); else each thread is a block of its own.
  int block = 0;
  bool rows = false;                            // blocks are the rows of the grid: none lacks threads
  std::optional<analysis::BlockMemory> memory;  // that they share
  llvm::Value* room = nullptr;                  // where it lies
};

/// The frame around a kernel's body, and the body (kernel_frame.cpp).
void emit_cpu_kernel(CodeUnit& unit, const ir::Function& kernel, CpuHooks& hooks);

}  // namespace weft::codegen
