// Elements of more than four scalars at a fixed distance (matrices, transforms, structs): each lane's scalars are read and
// written four at a time, and a network of shuffles turns four lanes' quads into vectors of one component. Gathers and
// scatters take several times as long, where a target has them at all.
#include "codegen/emit/emitter.h"

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

std::size_t Emitter::run_end(llvm::ArrayRef<PartInfo> leaves, std::size_t first) {
  llvm::Type* type = unit.memory_type(leaves[first]);
  const auto bytes = std::uint32_t(unit.module->getDataLayout().getTypeStoreSize(type));
  std::size_t end = first + 1;
  while (end < leaves.size() && unit.memory_type(leaves[end]) == type &&
         leaves[end].offset == leaves[end - 1].offset + bytes)
    ++end;
  return end;
}

llvm::SmallVector<Emitter::Run, 2> Emitter::quad_runs(llvm::ArrayRef<PartInfo> leaves, const Address& at) {
  llvm::SmallVector<Run, 2> out;
  // Under a mask a lane that is off may point beyond the end, and every quad would need a mask of its own.
  if (W % int(kQuad) != 0 || mask) return out;
  for (std::size_t first = 0; first < leaves.size();) {
    llvm::Type* type = unit.memory_type(leaves[first]);
    const auto bytes = std::uint32_t(unit.module->getDataLayout().getTypeStoreSize(type));
    const std::size_t end = run_end(leaves, first);
    const auto extent = std::int64_t((end - first) * bytes);
    // Lanes must not overlap: what one quad writes would be another lane's.
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

/// The first (or second) of every two elements of x and of y in turn: one cheap instruction for 64-bit elements.
llvm::Value* Emitter::zip_evens(llvm::Value* x, llvm::Value* y, bool odd) {
  llvm::SmallVector<int, 16> order;
  for (int k = odd ? 1 : 0; k < W; k += 2) order.append({k, W + k});
  return b.CreateShuffleVector(x, y, order);
}

llvm::Value* Emitter::quad_address(const Address& at, std::uint32_t place, int lane) {
  return b.CreateConstGEP1_64(unit.i8, at.pointer, std::uint64_t(lane * at.lane_stride + at.offset + place));
}

llvm::Value* Emitter::load_piece(const Run& run, const Address& at, std::uint32_t place, int lane) {
  auto* type = llvm::FixedVectorType::get(run.type, kQuad);
  llvm::LoadInst* load = b.CreateAlignedLoad(type, quad_address(at, place, lane), llvm::Align(run.bytes));
  mark_scope(load, at.scope);
  return load;
}

/// For 32 bits and four lanes a, b, c, d, a transpose by two steps of zip_quads:
///
///   a0 a1 a2 a3      a0 b0 a1 b1      a0 b0 c0 d0
///   b0 b1 b2 b3  →   c0 d0 c1 d1  →   a1 b1 c1 d1
///   c0 c1 c2 c3      a2 b2 a3 b3      a2 b2 c2 d2
///   d0 d1 d2 d3      c2 d2 c3 d3      a3 b3 c3 d3
///
/// With more lanes every register has several such blocks, and the same instructions serve them all.
void Emitter::load_quads(const Run& run, llvm::ArrayRef<PartInfo> leaves, const Address& at,
                         llvm::MutableArrayRef<llvm::Value*> out) {
  for (std::size_t start : quads_of(run.end - run.first)) {
    const std::size_t leaf = run.first + start;
    llvm::Value* row[kQuad];
    for (int k = 0; k < int(kQuad); ++k) {
      llvm::SmallVector<llvm::Value*, 4> pieces;
      for (int block = 0; block < W / int(kQuad); ++block) {
        const int lane = run.bytes == 8 ? wide_lane(k, block) : block * int(kQuad) + k;
        pieces.push_back(load_piece(run, at, leaves[leaf].offset, lane));
      }
      // Row k of the network: the quads of lanes k, k + 4, k + 8… side by side.
      row[k] = joined(pieces);
    }
    llvm::Value* four[kQuad];
    if (run.bytes == 8) {
      // Elements of the first two rows, then of the last two, by pairs of neighbouring lanes.
      for (std::size_t k = 0; k < kQuad; ++k) {
        llvm::SmallVector<int, 16> order;
        for (int from = 0; from < 2; ++from)
          for (int block = 0; block < W; block += int(kQuad)) {
            const int pair = from * W + block + int(k / 2 * 2);
            order.append({pair, pair + 1});
          }
        four[k] = b.CreateShuffleVector(zip_evens(row[0], row[1], k % 2), zip_evens(row[2], row[3], k % 2), order);
      }
    } else {
      for (std::size_t k = 0; k < kQuad; ++k)
        four[k] =
            zip_quads(zip_quads(row[0], row[1], k / 2, false), zip_quads(row[2], row[3], k / 2, false), k % 2, true);
    }
    // The last quad may overlap the one before it (quads_of): its first leaves are then
    // loaded a second time, to the same values.
    for (std::size_t k = 0; k < kQuad; ++k) out[leaf + k] = from_memory(leaves[leaf + k], four[k]);
  }
}

/// 64-bit elements: the lane of row k's block such that pairs of lanes lie side by side in the end.
int Emitter::wide_lane(int k, int block) const { return k / 2 * (W / 2) + 2 * block + k % 2; }

/// 64-bit elements: four at a time, then two, then one.
void Emitter::store_wide(const Run& run, llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> values,
                         const Address& at) {
  auto store = [&](llvm::Value* from, std::size_t leaf, int lane, int first, int count) {
    store_piece(run, at, leaves[leaf].offset, lane, from, first, count);
  };
  std::size_t leaf = run.first;
  for (; leaf + kQuad <= run.end; leaf += kQuad)
    for (int k = 0; k < int(kQuad); ++k) {
      // Even lanes of one half of the vector, or odd ones.
      llvm::SmallVector<int, 16> order;
      for (int block = 0; block < W / int(kQuad); ++block) {
        const int pair = k / 2 * (W / 2) + 2 * block;
        order.append({pair, pair + 1, W + pair, W + pair + 1});
      }
      llvm::Value* row = b.CreateShuffleVector(zip_evens(values[leaf], values[leaf + 1], k % 2),
                                               zip_evens(values[leaf + 2], values[leaf + 3], k % 2), order);
      for (int block = 0; block < W / int(kQuad); ++block)
        store(row, leaf, wide_lane(k, block), block * int(kQuad), int(kQuad));
    }
  for (; leaf + 2 <= run.end; leaf += 2)
    for (int lane = 0; lane < W; ++lane)
      store(zip_evens(values[leaf], values[leaf + 1], lane % 2), leaf, lane, lane / 2 * 2, 2);
  for (; leaf < run.end; ++leaf)
    for (int lane = 0; lane < W; ++lane) store(values[leaf], leaf, lane, lane, 1);
}

void Emitter::store_quads(const Run& run, llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> plain_values,
                          const Address& at) {
  llvm::SmallVector<llvm::Value*, 16> values(plain_values.begin(), plain_values.end());
  for (std::size_t leaf = run.first; leaf < run.end; ++leaf)
    values[leaf] = to_memory(leaves[leaf], vector({values[leaf]}));
  if (run.bytes == 8) return store_wide(run, leaves, values, at);
  for (std::size_t start : quads_of(run.end - run.first)) {
    const std::size_t leaf = run.first + start;
    llvm::Value** in = &values[leaf];
    for (int k = 0; k < int(kQuad); ++k) {
      // Once more the network of load_quads: it turns four by four, and turned twice all is as it was.
      llvm::Value* row =
          zip_quads(zip_quads(in[0], in[1], k / 2, false), zip_quads(in[2], in[3], k / 2, false), k % 2, true);
      for (int block = 0; block < W; block += int(kQuad))
        store_piece(run, at, leaves[leaf].offset, block + k, row, block, int(kQuad));
    }
  }
}

void Emitter::store_piece(const Run& run, const Address& at, std::uint32_t place, int lane, llvm::Value* from,
                          int first, int count) {
  llvm::SmallVector<int, 4> order;
  for (int k = 0; k < count; ++k) order.push_back(first + k);
  llvm::Value* piece = count == W ? from : b.CreateShuffleVector(from, order);
  store_scalar(piece, quad_address(at, place, lane), run.bytes, at.scope);
}

llvm::Value* Emitter::joined(llvm::ArrayRef<llvm::Value*> pieces) {
  llvm::SmallVector<llvm::Value*, 4> now(pieces.begin(), pieces.end());
  // By halves, since shuffles take two vectors. W is a power of two, and so is the number of pieces.
  for (; now.size() > 1; now.truncate(now.size() / 2)) {
    llvm::SmallVector<int, 16> order(2 * llvm::cast<llvm::FixedVectorType>(now[0]->getType())->getNumElements());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = int(k);
    for (std::size_t k = 0; k < now.size() / 2; ++k) now[k] = b.CreateShuffleVector(now[2 * k], now[2 * k + 1], order);
  }
  return now[0];
}

}  // namespace weft::codegen
