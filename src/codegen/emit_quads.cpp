// Elements of more than four scalars at a fixed distance (matrices, transforms, structs): each lane's scalars are read and
// written four at a time, and a network of shuffles turns four lanes' quads into vectors of one component. Gathers and
// scatters take several times as long, where a target has them at all.
#include "codegen/emitter.h"

namespace weft::codegen {

namespace {

constexpr std::size_t kQuad = 4;

/// The first component of each quad: the last one overlaps its neighbour where the number is no multiple of four.
llvm::SmallVector<std::size_t, 4> quads_of(std::size_t count) {
  llvm::SmallVector<std::size_t, 4> out;
  for (std::size_t k = 0; k < count; k += kQuad) out.push_back(std::min(k, count - kQuad));
  return out;
}

}  // namespace

llvm::SmallVector<Emitter::Run, 2> Emitter::quad_runs(llvm::ArrayRef<PartInfo> leaves, const Address& at) {
  llvm::SmallVector<Run, 2> out;
  if (W % int(kQuad) != 0 || mask) return out;
  for (std::size_t first = 0; first < leaves.size();) {
    llvm::Type* type = unit.memory_type(leaves[first]);
    const auto bytes = std::uint32_t(unit.module->getDataLayout().getTypeStoreSize(type));
    std::size_t end = first + 1;
    while (end < leaves.size() && unit.memory_type(leaves[end]) == type &&
           leaves[end].offset == leaves[end - 1].offset + bytes)
      ++end;
    const auto extent = std::int64_t((end - first) * bytes);
    if (end - first >= kQuad && type != unit.ptr && (bytes == 4 || bytes == 8) && std::abs(at.lane_stride) >= extent)
      out.push_back({first, end, type, bytes});
    first = end;
  }
  return out;
}

/// Within each block of four: alternately from x and y, of the first (or second) two; or the first (second) two of both.
llvm::Value* Emitter::zip_quads(llvm::Value* x, llvm::Value* y, bool second, bool pairs) {
  llvm::SmallVector<int, 16> order;
  for (int block = 0; block < W; block += int(kQuad)) {
    const int a = block + (second ? 2 : 0);
    if (pairs)
      order.append({a, a + 1, W + a, W + a + 1});
    else
      order.append({a, W + a, a + 1, W + a + 1});
  }
  return b.CreateShuffleVector(x, y, order);
}

llvm::Value* Emitter::quad_address(const Address& at, std::uint32_t place, int lane) {
  return b.CreateConstGEP1_64(unit.i8, at.pointer, std::uint64_t(lane * at.lane_stride + at.offset + place));
}

void Emitter::load_quads(const Run& run, llvm::ArrayRef<PartInfo> leaves, const Address& at,
                         llvm::MutableArrayRef<llvm::Value*> out) {
  auto* quad = llvm::FixedVectorType::get(run.type, kQuad);
  for (std::size_t start : quads_of(run.end - run.first)) {
    const std::size_t leaf = run.first + start;
    // Row k has the quads of lanes k, k + 4, k + 8…, so that a block of four holds neighbouring lanes in the end.
    llvm::Value* row[kQuad];
    for (int k = 0; k < int(kQuad); ++k) {
      llvm::SmallVector<llvm::Value*, 4> pieces;
      for (int lane = k; lane < W; lane += int(kQuad)) {
        llvm::LoadInst* load =
            b.CreateAlignedLoad(quad, quad_address(at, leaves[leaf].offset, lane), llvm::Align(run.bytes));
        mark_scope(load, at.scope);
        pieces.push_back(load);
      }
      row[k] = joined(pieces);
    }
    llvm::Value* even = zip_quads(row[0], row[1], false, false);
    llvm::Value* even_high = zip_quads(row[0], row[1], true, false);
    llvm::Value* odd = zip_quads(row[2], row[3], false, false);
    llvm::Value* odd_high = zip_quads(row[2], row[3], true, false);
    for (std::size_t k = 0; k < kQuad; ++k)
      out[leaf + k] =
          from_memory(leaves[leaf + k], zip_quads(k < 2 ? even : even_high, k < 2 ? odd : odd_high, k % 2, true));
  }
}

void Emitter::store_quads(const Run& run, llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> values,
                          const Address& at) {
  for (std::size_t start : quads_of(run.end - run.first)) {
    const std::size_t leaf = run.first + start;
    llvm::Value* in[kQuad];
    for (std::size_t k = 0; k < kQuad; ++k) in[k] = to_memory(leaves[leaf + k], vector({values[leaf + k]}));
    llvm::Value* even = zip_quads(in[0], in[1], false, false);
    llvm::Value* even_high = zip_quads(in[0], in[1], true, false);
    llvm::Value* odd = zip_quads(in[2], in[3], false, false);
    llvm::Value* odd_high = zip_quads(in[2], in[3], true, false);
    for (int k = 0; k < int(kQuad); ++k) {
      llvm::Value* row = zip_quads(k < 2 ? even : even_high, k < 2 ? odd : odd_high, k % 2, true);
      for (int lane = k; lane < W; lane += int(kQuad)) {
        const int block = lane - k;
        llvm::Value* piece =
            W == int(kQuad) ? row : b.CreateShuffleVector(row, {block, block + 1, block + 2, block + 3});
        store_scalar(piece, quad_address(at, leaves[leaf].offset, lane), run.bytes, at.scope);
      }
    }
  }
}

llvm::Value* Emitter::joined(llvm::ArrayRef<llvm::Value*> pieces) {
  llvm::SmallVector<llvm::Value*, 4> now(pieces.begin(), pieces.end());
  for (; now.size() > 1; now.truncate(now.size() / 2)) {
    llvm::SmallVector<int, 16> order(2 * llvm::cast<llvm::FixedVectorType>(now[0]->getType())->getNumElements());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = int(k);
    for (std::size_t k = 0; k < now.size() / 2; ++k) now[k] = b.CreateShuffleVector(now[2 * k], now[2 * k + 1], order);
  }
  return now[0];
}

}  // namespace weft::codegen
