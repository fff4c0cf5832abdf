// The GPU's answers to what emission asks (emit/target_hooks.h), and what it keeps in mind of the kernel meanwhile. The
// files of this folder do the work.
#pragma once
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "analysis/block_memory.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"

namespace weft::codegen {

class GpuHooks final : public TargetHooks {
 public:
  void emit_kernel(CodeUnit& unit, const ir::Function& kernel) override;
  void describe(Emitted& kernel) const override;
  bool link_libraries(llvm::Module& module, const EmitOptions& options, bool natives) const override;
  void finish_output(const llvm::Module& module, std::string& bytes) const override;
  bool tells_lines() const override { return true; }
  bool counts_turns() const override { return false; }
  bool packs_lanewise_functions() const override { return false; }

  llvm::Value* float_extreme(Emitter& e, bool most, ScalarKind kind, llvm::Value* x, llvm::Value* y) const override;
  llvm::Value* float_to_int(Emitter& e, llvm::Value* v, ScalarKind to) const override;
  llvm::Value* elementary(Emitter& e, ir::OpCode code, ScalarKind kind,
                          llvm::ArrayRef<llvm::Value*> operands) const override;
  llvm::Value* root_in_loop(Emitter& e, llvm::Value* x) const override;
  llvm::Value* root_reciprocal(Emitter& e, llvm::Value* root) const override;
  llvm::Value* tame(Emitter& e, ir::OpCode code, llvm::ArrayRef<llvm::Value*> operands) const override;

  bool addresses_take_constants() const override { return true; }
  llvm::Value* fixed_memory(Emitter& e, llvm::Value* address) const override;
  bool marks_read_only_arrays() const override { return true; }
  bool pairs_words() const override { return false; }
  bool multiplies_by_rows() const override { return false; }
  bool stores_wait_for_loads() const override { return true; }
  /// Waits hide behind other warps; lanes that go to places apart would take as many instructions as loads.
  bool prefetches() const override { return false; }

  int unrolling(const ir::Region& body) override;
  bool emit_grouped_for(Emitter& e, const ir::Op& loop) override;

  bool has_atomic_float_add() const override { return true; }
  llvm::Value* atomic_anywhere(Emitter& e, const ScalarAtomic& atomic) const override;
  bool reduce(Emitter& e, const ScalarAtomic& atomic) const override;
  bool keep_addition(Emitter& e, const ir::Op& op) override;
  bool add_exactly(Emitter& e, const ir::Op& op, llvm::Value* place, llvm::Value* value) const override;
  bool group_addition(Emitter& e, const ir::Op& op, const Address& at) const override;
  bool adds_together(const ir::Op& op, const TypeParts& element) const override;
  void add_together(Emitter& e, const ir::Op& op, ScalarKind kind, llvm::Value* address,
                    llvm::ArrayRef<llvm::Value*> values) const override;

  llvm::Value* threads_of_block(Emitter& e) const override;
  llvm::Value* thread_of_block(Emitter& e) const override;
  llvm::Value* block_memory(Emitter& e, const ir::Op& local) const override;
  llvm::Value* object_table(Emitter& e) const override;
  llvm::Value* is_running(Emitter& e) const override;
  void report_failure(Emitter& e, const FailedCheck& failed) const override;
  void print(Emitter& e, const ir::Op& op, const std::string& format,
             const std::vector<std::uint32_t>& offsets) const override;
  /// Nothing: a trap without a debugger would end the context.
  void breakpoint(Emitter&) const override {}
  void barrier(Emitter& e, std::int64_t turns) const override;
  llvm::Value* tally(Emitter& e, llvm::Value* condition) const override;
  void warp_barrier(Emitter& e, llvm::Value* mask) const override;
  void fence(Emitter& e) const override;
  llvm::Value* among_lanes(Emitter& e, ir::OpCode code, llvm::ArrayRef<llvm::Value*> operands) const override;
  void block_function(Emitter& e, const ir::Op& call) const override;
  llvm::Value* texture(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> operands) const override;

  int lanes = 1;  // elements of a thread in one step
  int steps = 1;  // see Emitted::steps
  int block = 0;  // threads of a block, where they share memory; all are there if it is `whole`
  bool whole = false;
  bool copies = false;                          // rows of arrays are on their way to tiles: barriers wait for them
  bool panels = false;                          // groups of warps multiply tiles: barriers show them what was written
  std::optional<analysis::BlockMemory> memory;  // that they share, and where it lies
  llvm::GlobalVariable* room = nullptr;
  bool unrolled = false;  // loops were unrolled so that loads run ahead
  /// Atomic sums that a thread keeps to itself until the end, and where, a place for each of its numbers.
  std::unordered_map<const ir::Op*, llvm::SmallVector<llvm::Value*, 4>> sums;
  /// Additions whose sums are exact, and where the words of these begin (codegen/exact_sums.h).
  std::unordered_map<const ir::Op*, llvm::Value*> exact;
  /// Additions in which threads of a warp may meet (kernel_plan.h).
  std::unordered_set<const ir::Op*> meeting_adds;
  /// Additions to arrays that the kernel only adds to (analysis/private_sums.h): they may wait for each other.
  std::unordered_set<const ir::Op*> lone_adds;
};

/// The frame around a kernel's body, and the body (kernel_entry.cpp).
void emit_gpu_kernel(CodeUnit& unit, GpuHooks& hooks, const ir::Function& kernel);

}  // namespace weft::codegen
