// Neighbouring elements of two to four scalars in AVX-512 registers: read and written as that many whole registers, and
// taken apart and put together by shuffles of two registers each. LLVM would find most of these shuffles by itself from one
// load of all, but vectors of 48 elements are no type that it has, and took half of its time for a small kernel.
#include "codegen/emit/emitter.h"

namespace weft::codegen {

bool Emitter::fills_registers(std::int64_t parts, std::uint32_t bytes) const {
  // A register holds one scalar of every lane, so that elements of n scalars fill n of them without a rest.
  return unit.traits.x86 && W * int(bytes) == 64 && parts >= 2 && parts <= 4;
}

/// The mask of one of the registers.
llvm::Value* Emitter::register_mask(int parts, int which) {
  llvm::SmallVector<int, 16> order;
  // Scalar n of the memory belongs to lane n / parts.
  for (int k = 0; k < W; ++k) order.push_back((which * W + k) / parts);
  return b.CreateShuffleVector(mask, order);
}

llvm::SmallVector<llvm::Value*, 4> Emitter::load_registers(llvm::Type* type, int parts, const Address& at) {
  const std::uint32_t bytes = type->getScalarSizeInBits() / 8;
  llvm::SmallVector<llvm::Value*, 4> out;
  for (int k = 0; k < parts; ++k) {
    llvm::Value* from = b.CreateConstGEP1_64(unit.i8, at.pointer, std::uint64_t(k) * 64);
    llvm::Instruction* load = nullptr;
    if (mask)
      load = b.CreateMaskedLoad(unit.wide(type), from, llvm::Align(bytes), register_mask(parts, k),
                                llvm::Constant::getNullValue(unit.wide(type)));
    else
      load = b.CreateAlignedLoad(unit.wide(type), from, llvm::Align(bytes));
    mark_scope(load, at.scope);
    out.push_back(load);
  }
  return out;
}

llvm::Value* Emitter::register_component(llvm::ArrayRef<llvm::Value*> registers, int k) {
  const int parts = int(registers.size());
  llvm::SmallVector<int, 16> first, second;
  if (parts == 4) {
    // Each half of the lanes gives two components at once.
    const int even = k / 2 * 2;
    for (int one : {even, even + 1})
      for (int lane = 0; lane < W / 2; ++lane) first.push_back(lane * parts + one);
    for (int from : {0, W})
      for (int lane = 0; lane < W / 2; ++lane) second.push_back(from + k % 2 * (W / 2) + lane);
    return b.CreateShuffleVector(b.CreateShuffleVector(registers[0], registers[1], first),
                                 b.CreateShuffleVector(registers[2], registers[3], first), second);
  }
  for (int lane = 0; lane < W; ++lane) {
    const int place = lane * parts + k;
    // Three: what lies in the first two registers, then what the third one has. The places
    // that the second shuffle fills are left open.
    first.push_back(place < 2 * W ? place : -1);
    second.push_back(place < 2 * W ? lane : W + place - 2 * W);
  }
  llvm::Value* two = b.CreateShuffleVector(registers[0], registers[1], first);
  return parts == 2 ? two : b.CreateShuffleVector(two, registers[2], second);
}

void Emitter::store_registers(llvm::ArrayRef<llvm::Value*> values, const Address& at) {
  const int parts = int(values.size());
  const std::uint32_t bytes = values[0]->getType()->getScalarSizeInBits() / 8;
  // Four: pairs of the first two and of the last two components, of each half of the lanes.
  llvm::Value* pairs[2][2] = {};
  if (parts == 4)
    for (int half = 0; half < 2; ++half)
      for (int two = 0; two < 2; ++two) {
        llvm::SmallVector<int, 16> order;
        for (int lane = half * W / 2; lane < (half + 1) * W / 2; ++lane) order.append({lane, W + lane});
        pairs[half][two] = b.CreateShuffleVector(values[std::size_t(2 * two)], values[std::size_t(2 * two + 1)], order);
      }
  for (int which = 0; which < parts; ++which) {
    llvm::SmallVector<int, 16> first, second;
    for (int k = 0; k < W; ++k) {
      const int place = which * W + k, lane = place / parts, component = place % parts;
      if (parts == 4) {
        // From the pairs of this register's half of the lanes: both pairs of a lane side by side.
        first.push_back(component / 2 * W + lane % (W / 2) * 2 + component % 2);
        continue;
      }
      first.push_back(component < 2 ? component * W + lane : -1);
      second.push_back(component < 2 ? k : W + lane);
    }
    llvm::Value* out = parts == 4 ? b.CreateShuffleVector(pairs[which / 2][0], pairs[which / 2][1], first)
                                  : b.CreateShuffleVector(values[0], values[1], first);
    if (parts == 3) out = b.CreateShuffleVector(out, values[2], second);
    llvm::Value* to = b.CreateConstGEP1_64(unit.i8, at.pointer, std::uint64_t(which) * 64);
    llvm::Instruction* store = mask ? static_cast<llvm::Instruction*>(
                                          b.CreateMaskedStore(out, to, llvm::Align(bytes), register_mask(parts, which)))
                                    : b.CreateAlignedStore(out, to, llvm::Align(bytes));
    mark_scope(store, at.scope);
  }
}

}  // namespace weft::codegen
