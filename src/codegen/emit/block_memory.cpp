// Private arrays that the threads of a block share (GPUs): where they lie is the target's affair, who clears them is here.
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"
#include "ir/tile_memory.h"

namespace weft::codegen {

/// Memory that the threads of a block share. Each clears elements of its own.
void Emitter::emit_block_memory(const ir::Op& op) {
  const std::uint64_t element = op.result()->type->element()->size();
  std::uint64_t count = 1;
  for (std::int64_t n : op.ints) count *= std::uint64_t(n);
  llvm::Value* data = unit.hooks->block_memory(*this, op);
  if (!(op.imm & ir::kRaw) && count * element != 0) {
    llvm::Value* own = b.CreateZExt(unit.hooks->thread_of_block(*this), unit.i64);
    llvm::Value* step = b.CreateZExt(unit.hooks->threads_of_block(*this), unit.i64);
    llvm::Value* all = b.getInt64(count);
    llvm::Value* most = b.CreateUDiv(b.CreateAdd(all, b.CreateSub(step, b.getInt64(1))), step);
    counted_loop(most, [&](llvm::Value* turn) {
      llvm::Value* at = b.CreateAdd(own, b.CreateMul(turn, step));
      when(b.CreateICmpULT(at, all), [&] {
        llvm::Value* place = b.CreateGEP(unit.i8, data, b.CreateMul(at, b.getInt64(element)));
        const std::uint64_t align = element & (~element + 1);
        b.CreateMemSet(place, b.getInt8(0), element, llvm::MaybeAlign(std::min<std::uint64_t>(align, 16)));
      });
    });
  }
  Parts out;
  out.push_back({data});
  out.push_back({llvm::ConstantPointerNull::get(unit.ptr)});
  for (std::int64_t n : op.ints) out.push_back({b.getInt64(std::uint64_t(n))});
  llvm::SmallVector<std::uint64_t, 4> strides(op.ints.size());
  std::uint64_t stride = element;
  for (std::size_t d = op.ints.size(); d-- > 0; stride *= std::uint64_t(op.ints[d])) strides[d] = stride;
  for (std::uint64_t s : strides) out.push_back({b.getInt64(s)});
  set(op.result(), std::move(out));
}

}  // namespace weft::codegen
