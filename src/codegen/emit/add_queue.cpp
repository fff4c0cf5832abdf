// The queue of additions: see add_queue.h. Groups are made up in the order in which they were written down.
#include "codegen/emit/add_queue.h"

#include "analysis/private_sums.h"

namespace weft::codegen {

namespace {

/// Groups that a queue holds: enough to fill the window with one kind of work at a time, few enough for the first cache.
constexpr std::uint64_t kGroups = 8;
constexpr std::uint64_t kUnrolled = 4;  // lanes in a turn of the loop

llvm::Type* piece_type(CodeUnit& unit, ScalarKind scalar, int count) {
  llvm::Type* one = unit.memory_type(scalar);
  return count == 1 ? one : llvm::FixedVectorType::get(one, unsigned(count));
}

}  // namespace

bool AddQueue::takes(const Emitter& e, const ir::Op& op) {
  // Private memory is read again; arrays that are only added to are not.
  if (op.imm != analysis::kAddsAlone || !e.queue || e.mask || e.W % int(kUnrolled) != 0) return false;
  // In a loop a group could add more often than the queue has room for; the sides of an `if` run once at most.
  for (const ir::Region* region = op.parent; region->parent_op; region = region->parent_op->parent)
    if (region->parent_op->code != ir::OpCode::if_) return false;
  return true;
}

void AddQueue::put(Emitter& e, const TypeParts& info, const Parts& values, llvm::Value* pointers,
                   std::uint32_t offset) {
  llvm::IRBuilder<>& b = e.b;
  const auto W = std::uint64_t(e.W);
  auto keep = [&](llvm::Type* type, std::uint64_t count) { return e.entry_alloca(type, count, 64); };
  // Each operation of the kernel has a queue of its own, on the stack of the chunk.
  Entry entry{keep(e.unit.ptr, kGroups * W), keep(e.unit.i64, 1), {}};
  {
    llvm::IRBuilder<>::InsertPointGuard guard(b);
    // In the entry block, once per chunk: `put` stands in the loop over groups.
    b.SetInsertPoint(entry.groups->getNextNode());
    b.CreateStore(b.getInt64(0), entry.groups);
  }
  llvm::Value* groups = b.CreateLoad(e.unit.i64, entry.groups);
  llvm::Value* first = b.CreateMul(groups, b.getInt64(W));
  auto write = [&](llvm::Value* vector, llvm::Type* lane_type, llvm::Value* slot) {
    const std::uint64_t bytes = lane_type->isPointerTy() ? 8 : lane_type->getScalarSizeInBits() / 8;
    b.CreateAlignedStore(vector, b.CreateGEP(lane_type, slot, first), llvm::Align(bytes));
  };
  for (std::size_t k = 0; k < info.parts.size(); ++k) {
    const PartInfo& part = info.parts[k];
    llvm::Value* x = e.vector(values[k]);
    const bool pair = k + 1 < info.parts.size() && info.parts[k + 1].scalar == part.scalar &&
                      scalar_bits(part.scalar) == 32 && info.parts[k + 1].offset == part.offset + 4;
    if (pair) {
      llvm::SmallVector<int, 32> order;
      for (int lane = 0; lane < e.W; ++lane) order.append({lane, e.W + lane});
      x = b.CreateShuffleVector(x, e.vector(values[++k]), order);
    }
    Piece piece{part.scalar, pair ? 2 : 1, offset + part.offset, nullptr};
    llvm::Type* type = piece_type(e.unit, piece.scalar, piece.count);
    piece.kept = keep(type, kGroups * W);
    write(x, type, piece.kept);
    entry.pieces.push_back(piece);
  }
  write(pointers->getType()->isVectorTy() ? pointers : e.splat(pointers), e.unit.ptr, entry.pointers);
  b.CreateStore(b.CreateAdd(groups, b.getInt64(1)), entry.groups);
  entries_.push_back(std::move(entry));
}

/// Emitted once behind the body of a group; what it does at run time it does in one of kGroups groups.
void AddQueue::flush(Emitter& e, llvm::Value* last) {
  llvm::IRBuilder<>& b = e.b;
  for (const Entry& entry : entries_) {
    llvm::Value* groups = b.CreateLoad(e.unit.i64, entry.groups);
    e.when(b.CreateOr(last, b.CreateICmpEQ(groups, b.getInt64(kGroups))), [&] {
      llvm::Value* turns = b.CreateMul(groups, b.getInt64(std::uint64_t(e.W) / kUnrolled));
      // Lane after lane in the order of the threads, so that the sum is the one that they would have made.
      e.counted_loop(turns, [&](llvm::Value* turn) {
        for (std::uint64_t k = 0; k < kUnrolled; ++k) {
          llvm::Value* lane = b.CreateAdd(b.CreateMul(turn, b.getInt64(kUnrolled)), b.getInt64(k));
          llvm::Value* to =
              b.CreateAlignedLoad(e.unit.ptr, b.CreateGEP(e.unit.ptr, entry.pointers, lane), llvm::Align(8));
          for (const Piece& piece : entry.pieces) {
            llvm::Type* type = piece_type(e.unit, piece.scalar, piece.count);
            const llvm::Align align(type->getScalarSizeInBits() / 8);
            llvm::Value* at = b.CreateConstGEP1_64(e.unit.i8, to, piece.offset);
            llvm::Value* value = b.CreateAlignedLoad(type, b.CreateGEP(type, piece.kept, lane), align);
            llvm::Value* old = b.CreateAlignedLoad(type, at, align);
            b.CreateAlignedStore(e.arith(ir::OpCode::add, piece.scalar, {old, value}), at, align);
          }
        }
      });
      b.CreateStore(b.getInt64(0), entry.groups);
    });
  }
}

}  // namespace weft::codegen
