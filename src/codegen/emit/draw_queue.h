// Draws from a counter that wait (analysis/late_draws.h). A chunk writes down what its threads would do with their numbers, and a
// function beside the kernel's draws all these numbers by one atomic operation and does it, when the queue is full or the chunk
// ends. Records lie in the order in which threads drew, so that numbers come in the same order as without a queue.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>

#include "analysis/late_draws.h"
#include "codegen/emit/emitter.h"

namespace weft::codegen {

class DrawQueues {
 public:
  /// Finds what may wait, and makes the functions that do it.
  DrawQueues(CodeUnit& unit, const ir::Function& kernel);
  bool empty() const { return queues_.empty(); }
  /// Makes room in the entry block of the kernel's function, `b`'s place.
  void begin(llvm::IRBuilder<>& b);
  /// Whether an operation is done by such a function and not where it stands.
  bool waits(const ir::Op& op) const { return waiting_.contains(&op); }
  /// Where such an operation stands: writes down the draws of all active lanes, if it is the last that depends on theirs.
  void pass(Emitter& e, const ir::Op& op);
  /// Behind the last thread: what is still written down.
  void make_up(Emitter& e);

 private:
  /// A scalar of a value that is kept, in a record.
  struct Field {
    const ir::Value* value;
    std::size_t part;
    std::uint32_t offset;
    llvm::Type* type;
  };
  struct Queue {
    analysis::LateDraws counter;
    std::vector<llvm::SmallVector<Field, 8>> fields;  // by draw
    std::optional<std::int64_t> amount;               // that all draw; else records have it
    std::uint32_t stride = 0;                         // bytes of a record
    std::uint64_t capacity = 0;                       // records
    llvm::Function* writer = nullptr;
    llvm::Value *memory = nullptr, *params = nullptr, *context = nullptr;
    llvm::Value* overlaps = nullptr;  // i1: nothing may wait; null: known not to
  };
  bool lay_out(Queue& queue) const;
  void make_writer(Queue& queue);
  void write_records(Emitter& e, const Queue& queue, llvm::Value* memory);
  void write_record(Emitter& e, const Queue& queue, std::size_t which, llvm::Value* record);
  void put(Emitter& e, const Queue& queue, std::size_t which);
  void put_lane(Emitter& e, const Queue& queue, std::size_t which, llvm::ArrayRef<llvm::Value*> scalars,
                llvm::Value* record) const;

  CodeUnit& unit_;
  const ir::Function& kernel_;
  std::vector<Queue> queues_;
  llvm::SmallPtrSet<const ir::Op*, 16> waiting_;
};

}  // namespace weft::codegen
