// Elements of several scalars at addresses of each lane's own, for processors whose lanes load one by one: a loop over the
// addresses in memory, four lanes a turn. Scalars that follow each other are read four or two at a time, and shuffles turn four
// lanes' into vectors of one component. Scalars one by one, by way of the stack, take up to two and a half times as many loads, and four times as many stores.
#include "codegen/emit/emitter.h"

namespace weft::codegen {

namespace {

constexpr unsigned kLanes = 4;  // of a turn

/// Components of four lanes' pieces of two or four scalars, each by shuffles of two vectors that other components share.
class Pieces {
 public:
  Pieces(llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> of_lanes)
      : b_(b),
        lanes_(of_lanes),
        width_(int(llvm::cast<llvm::FixedVectorType>(of_lanes[0]->getType())->getNumElements())) {}

  llvm::Value* component(unsigned k) {
    const int odd = int(k) % 2;
    llvm::Value*(&halves)[2] = halves_[k / 2];
    if (!halves[0])
      for (int half = 0; half < 2; ++half) halves[half] = both(half, int(k) / 2 * 2);
    if (width_ == 2) return b_.CreateShuffleVector(halves[0], halves[1], {odd, 2 + odd, 4 + odd, 6 + odd});
    return b_.CreateShuffleVector(halves[0], halves[1], {2 * odd, 2 * odd + 1, 4 + 2 * odd, 5 + 2 * odd});
  }

 private:
  /// Lanes 0 and 1, or 2 and 3: pairs one behind the other, which is one 64-bit load into the upper half of a register; of pieces of four
  /// alternately the scalars of two.
  llvm::Value* both(int half, int even) {
    const std::size_t lane = half ? 2 : 0;
    llvm::Value *first = lanes_[lane], *second = lanes_[lane + 1];
    if (width_ == 2) return b_.CreateShuffleVector(first, second, {0, 1, 2, 3});
    return b_.CreateShuffleVector(first, second, {even, width_ + even, even + 1, width_ + even + 1});
  }

  llvm::IRBuilder<>& b_;
  llvm::ArrayRef<llvm::Value*> lanes_;
  const int width_;
  llvm::Value* halves_[2][2] = {};
};

}  // namespace

llvm::SmallVector<llvm::Value*, 4> Emitter::load_in_fours(llvm::ArrayRef<PartInfo> leaves, const Address& at,
                                                          llvm::Value* pointers) {
  llvm::AllocaInst* places = entry_alloca(pointers->getType(), 1, 0);
  b.CreateStore(pointers, places);
  llvm::SmallVector<llvm::AllocaInst*, 4> wholes;
  for (const PartInfo& leaf : leaves) wholes.push_back(entry_alloca(unit.wide(unit.memory_type(leaf)), 1, 0));
  counted_loop(std::uint64_t(W) / kLanes, [&](llvm::Value* turn) {
    llvm::Value* first = b.CreateMul(turn, b.getInt64(kLanes));
    llvm::Value* from[kLanes];
    for (unsigned k = 0; k < kLanes; ++k)
      from[k] = b.CreateLoad(unit.ptr, b.CreateGEP(unit.ptr, places, b.CreateAdd(first, b.getInt64(k))));
    auto store = [&](std::size_t leaf, llvm::Value* four) {
      llvm::Type* type = unit.memory_type(leaves[leaf]);
      const std::uint64_t bytes = unit.module->getDataLayout().getTypeStoreSize(type);
      b.CreateAlignedStore(four, b.CreateGEP(type, wholes[leaf], first), llvm::Align(bytes * kLanes));
    };
    auto piece = [&](std::size_t leaf, llvm::Type* type, unsigned lane) {
      const std::uint64_t own = unit.module->getDataLayout().getTypeStoreSize(type->getScalarType());
      llvm::Value* p = b.CreateConstGEP1_64(unit.i8, from[lane], at.offset + leaves[leaf].offset);
      return load_scalar(type, p, at.align == 1 ? 1 : std::uint32_t(own), at.scope);
    };
    // So many leaves from here on, of which those behind `known` are not there yet.
    auto load = [&](std::size_t leaf, unsigned count, unsigned known) {
      llvm::Type* type = unit.memory_type(leaves[leaf]);
      if (count == 1) {
        llvm::Value* four = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, kLanes));
        for (unsigned k = 0; k < kLanes; ++k)
          four = b.CreateInsertElement(four, piece(leaf, type, k), std::uint64_t(k));
        return store(leaf, four);
      }
      llvm::SmallVector<llvm::Value*, kLanes> of_lanes;
      for (unsigned k = 0; k < kLanes; ++k) of_lanes.push_back(piece(leaf, llvm::FixedVectorType::get(type, count), k));
      Pieces pieces(b, of_lanes);
      for (unsigned k = known; k < count; ++k) store(leaf + k, pieces.component(k));
    };
    for (std::size_t k = 0; k < leaves.size();) {
      const std::size_t begin = k;
      const bool words = unit.memory_type(leaves[k])->getScalarSizeInBits() == 32;
      const std::size_t end = words ? run_end(leaves, k) : k + 1;
      for (; end - k >= 4; k += 4) load(k, 4, 0);
      if (end - k == 3 && k > begin) {  // with one that was read before
        load(k - 1, 4, 1);
        k = end;
      }
      for (; end - k >= 2; k += 2) load(k, 2, 0);
      for (; k < end; ++k) load(k, 1, 0);
    }
  });
  llvm::SmallVector<llvm::Value*, 4> out;
  for (std::size_t k = 0; k < leaves.size(); ++k)
    out.push_back(from_memory(leaves[k], b.CreateLoad(unit.wide(unit.memory_type(leaves[k])), wholes[k])));
  return out;
}

}  // namespace weft::codegen
