// What emission asks of its target: one question each, answered by the CPU (cpu/cpu_hooks.h) and the GPU
// (nvptx/gpu_hooks.h). The other files of this folder know no targets. Where an answer may be null or false, what every target
// can do is done then.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <llvm/ADT/ArrayRef.h>

#include "codegen/codegen.h"
#include "codegen/target.h"
#include "ir/ir.h"

namespace llvm {
class Module;
class Value;
}  // namespace llvm

namespace weft::codegen {

class CodeUnit;
class Emitter;
struct Address;
struct ScalarAtomic;
struct TypeParts;

/// What is known of a failed check: its number (i32), the thread's, and index and extent, or what else there is to say (i64).
struct FailedCheck {
  llvm::Value *site, *linear, *index, *extent;
};

class TargetHooks {
 public:
  virtual ~TargetHooks() = default;

  // -- kernels as a whole
  /// Emits the frame around a kernel's body, and the body.
  virtual void emit_kernel(CodeUnit& unit, const ir::Function& kernel) = 0;
  /// Writes down what a launch must know of the kernel emitted.
  virtual void describe(Emitted& kernel) const = 0;
  /// Links libraries that the module uses, of the target's own; false if there are none. `natives`: it has native functions.
  virtual bool link_libraries(llvm::Module& module, const EmitOptions& options, bool natives) const = 0;
  /// Puts right what LLVM wrote, if anything is to be.
  virtual void finish_output(const llvm::Module& module, std::string& bytes) const = 0;
  /// Whether the output can tell the lines of the source.
  virtual bool tells_lines() const = 0;
  /// Whether loops count their turns, so that Ctrl-C ends them (emit/turns.cpp).
  virtual bool counts_turns() const = 0;
  /// Whether functions marked lanewise run one lane at a time, their vectors in registers (emit/packed.cpp).
  virtual bool packs_lanewise_functions() const = 0;

  // -- arithmetic
  /// The least or most of two floats, or vectors of them; null: by comparing.
  virtual llvm::Value* float_extreme(Emitter& e, bool most, ScalarKind kind, llvm::Value* x, llvm::Value* y) const = 0;
  /// An integer from a float32 or float64, or vectors of them, saturating; null: by what LLVM has.
  virtual llvm::Value* float_to_int(Emitter& e, llvm::Value* v, ScalarKind to) const = 0;
  /// An elementary function; null: by the library's own body.
  virtual llvm::Value* elementary(Emitter& e, ir::OpCode code, ScalarKind kind,
                                  llvm::ArrayRef<llvm::Value*> operands) const = 0;
  /// The square root of a float32 in a loop that is unrolled; null: as elsewhere.
  virtual llvm::Value* root_in_loop(Emitter& e, llvm::Value* x) const = 0;
  /// The reciprocal of such a root; null if it is none.
  virtual llvm::Value* root_reciprocal(Emitter& e, llvm::Value* root) const = 0;
  /// A float32 root or quotient of tame numbers (ir/tame.h); null if the target has no shorter way for those.
  virtual llvm::Value* tame(Emitter& e, ir::OpCode code, llvm::ArrayRef<llvm::Value*> operands) const = 0;

  // -- memory
  /// Whether loads and stores have room for a constant in their addresses.
  virtual bool addresses_take_constants() const = 0;
  /// The address of memory that is never written, as loads from it want it.
  virtual llvm::Value* fixed_memory(Emitter& e, llvm::Value* address) const = 0;
  /// Whether loads are to be told that their array is only read.
  virtual bool marks_read_only_arrays() const = 0;
  /// Whether neighbours of 32 bits are gathered and scattered as one of 64.
  virtual bool pairs_words() const = 0;
  /// Whether products of matrices between arrays go row by row (emit/rows.cpp).
  virtual bool multiplies_by_rows() const = 0;
  /// Whether a store to memory that is still being loaded holds up what is behind it.
  virtual bool stores_wait_for_loads() const = 0;
  /// Whether hints to fetch memory ahead gain anything.
  virtual bool prefetches() const = 0;

  // -- loops
  /// How many turns of a loop's body are to be one; 1: it stays as it is.
  virtual int unrolling(const ir::Region& body) = 0;
  /// Emits a loop so that several turns do their additions together; false if there is nothing to gain.
  virtual bool emit_grouped_for(Emitter& e, const ir::Op& loop) = 0;

  // -- atomic operations
  /// Whether memory adds float32 and float64 at once.
  virtual bool has_atomic_float_add() const = 0;
  /// An operation on memory of which nobody knows whether it is the thread's own; gives the old value.
  virtual llvm::Value* atomic_anywhere(Emitter& e, const ScalarAtomic& atomic) const = 0;
  /// An operation whose old value nobody wants, on memory of all threads; false: as if somebody did.
  virtual bool reduce(Emitter& e, const ScalarAtomic& atomic) const = 0;
  /// Takes an addition that the thread can keep to itself until it has done its work; false if it can't.
  virtual bool keep_addition(Emitter& e, const ir::Op& op) = 0;
  /// Takes an addition of one number to an array whose sums are exact (codegen/exact_sums.h); false if it is none.
  virtual bool add_exactly(Emitter& e, const ir::Op& op, llvm::Value* place, llvm::Value* value) const = 0;
  /// Takes an addition of a loop made by emit_grouped_for; false if it is none.
  virtual bool group_addition(Emitter& e, const ir::Op& op, const Address& at) const = 0;
  /// Whether threads that run together likely add to one place by this operation, and can do that as one.
  virtual bool adds_together(const ir::Op& op, const TypeParts& element) const = 0;
  /// Does so, from an address on.
  virtual void add_together(Emitter& e, const ir::Op& op, ScalarKind kind, llvm::Value* address,
                            llvm::ArrayRef<llvm::Value*> values) const = 0;

  // -- what threads know and say
  virtual llvm::Value* threads_of_block(Emitter& e) const = 0;
  /// The thread's number among them.
  virtual llvm::Value* thread_of_block(Emitter& e) const = 0;
  /// Where a `local` that the threads of a block share lies.
  virtual llvm::Value* block_memory(Emitter& e, const ir::Op& local) const = 0;
  /// The address of the table of objects that live where the kernel runs (geometry/object_table.h).
  virtual llvm::Value* object_table(Emitter& e) const = 0;
  /// False once the launch is to stop.
  virtual llvm::Value* is_running(Emitter& e) const = 0;
  virtual void report_failure(Emitter& e, const FailedCheck& failed) const = 0;
  /// print and printf by their compiled format and where it wants the values (runtime/print_format.h).
  virtual void print(Emitter& e, const ir::Op& op, const std::string& format,
                     const std::vector<std::uint32_t>& offsets) const = 0;
  /// Stops in the debugger.
  virtual void breakpoint(Emitter& e) const = 0;
  /// Waits for the threads of a block, and for copies into its tiles but those that began behind the last `turns` such barriers.
  virtual void barrier(Emitter& e, std::int64_t turns) const = 0;
  /// A barrier that gives the number of threads of the block for which the condition holds.
  virtual llvm::Value* tally(Emitter& e, llvm::Value* condition) const = 0;
  /// The threads of the mask wait for each other; the mask is of one warp.
  virtual void warp_barrier(Emitter& e, llvm::Value* mask) const = 0;
  /// What this thread wrote is seen by all threads of the launch before what it writes from here on.
  virtual void fence(Emitter& e) const = 0;
  /// warp, lane, vote and shuffle. Without threads side by side passes/settle_target has answered them.
  virtual llvm::Value* among_lanes(Emitter& e, ir::OpCode code, llvm::ArrayRef<llvm::Value*> operands) const = 0;
  /// A function that the target writes by itself (ir/block_functions.h).
  virtual void block_function(Emitter& e, const ir::Op& call) const = 0;
  /// What the texture unit gives: a struct of four numbers.
  virtual llvm::Value* texture(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> operands) const = 0;
};

std::unique_ptr<TargetHooks> cpu_hooks();
std::unique_ptr<TargetHooks> gpu_hooks();

}  // namespace weft::codegen
