// Atomic read-modify-write: lane by lane in lane order, component by component.
#include "analysis/private_sums.h"
#include "codegen/emit/add_queue.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/scalar_atomic.h"
#include "codegen/emit/target_hooks.h"
#include "ir/infer.h"
#include "ir/origin.h"

namespace weft::codegen {

using ir::AtomicKind;
using ir::OpCode;

namespace {

/// Whose memory an array is: the thread's own, where no other one takes part, or that of all threads.
enum class Owner { thread, all, unknown };

Owner owner_of(const ir::Value* array) {
  const ir::Origin from = ir::origin_of(array);
  switch (from.kind) {
    case ir::Origin::Kind::local: return Owner::thread;
    case ir::Origin::Kind::none:
    case ir::Origin::Kind::fixed:
    case ir::Origin::Kind::shared: return Owner::all;
    case ir::Origin::Kind::parameter: return from.in_kernel ? Owner::all : Owner::unknown;
    case ir::Origin::Kind::unknown: break;
  }
  return Owner::unknown;
}

/// Adds composites to memory that no other thread looks at, lane after lane. Two neighbours of 32 bits are added at once;
/// each lane reads by the same widths as the one before wrote, so that it need not wait for memory.
void add_by_lane(Emitter& e, const TypeParts& info, const Parts& values, llvm::Value* pointers, std::uint32_t offset) {
  llvm::IRBuilder<>& b = e.b;
  /// Parts added at once, and where each lane's lie in these vectors: all in the first, or the upper half of each block of
  /// four lanes in the second.
  struct Piece {
    const PartInfo* part;
    bool pair;
    llvm::Value* from[2];
  };
  llvm::SmallVector<Piece, 4> pieces;
  for (std::size_t k = 0; k < info.parts.size(); ++k) {
    const PartInfo& part = info.parts[k];
    llvm::Value* x = e.vector(values[k]);
    const bool pair = k + 1 < info.parts.size() && info.parts[k + 1].scalar == part.scalar &&
                      scalar_bits(part.scalar) == 32 && info.parts[k + 1].offset == part.offset + 4;
    if (!pair) {
      pieces.push_back({&part, false, {x, x}});
      continue;
    }
    llvm::Value* y = e.vector(values[++k]);
    Piece piece{&part, true, {}};
    for (int half = 0; half < 2; ++half) {
      llvm::SmallVector<int, 32> order;
      for (int block = 0; block < e.W; block += 4)
        for (int lane = block + 2 * half; lane < block + 2 * half + 2; ++lane) order.append({lane, e.W + lane});
      piece.from[half] = b.CreateShuffleVector(x, y, order);
    }
    pieces.push_back(piece);
  }
  for (int lane = 0; lane < e.W; ++lane) {
    llvm::Value* base = e.lane_of(pointers, b.getInt64(std::uint64_t(lane)));
    for (const Piece& piece : pieces) {
      llvm::Value* at = b.CreateConstGEP1_64(e.unit.i8, base, offset + piece.part->offset);
      llvm::Type* type = e.unit.memory_type(piece.part->scalar);
      const llvm::Align align(type->getScalarSizeInBits() / 8);
      llvm::Value* value = nullptr;
      if (piece.pair) {
        type = llvm::FixedVectorType::get(type, 2);
        const int first = lane / 4 * 4 + lane % 2 * 2;
        value = b.CreateShuffleVector(piece.from[lane % 4 / 2], {first, first + 1});
      } else {
        value = b.CreateExtractElement(piece.from[0], std::uint64_t(lane));
      }
      llvm::Value* old = b.CreateAlignedLoad(type, at, align);
      b.CreateAlignedStore(e.arith(OpCode::add, piece.part->scalar, {old, value}), at, align);
    }
  }
}

}  // namespace

void Emitter::emit_atomic(const ir::Op& op) {
  if (unit.hooks->keep_addition(*this, op)) return set(op.result(), zero_parts(op.result()->type));
  bool is_cas = op.atomic == AtomicKind::cas;
  std::size_t values = is_cas ? 2 : 1;
  std::size_t first_path = 1u + op.num_indices, path_count = op.operands.size() - first_path - values;
  const ir::Value* value = op.operands.back();
  const ir::Value* expected = is_cas ? op.operand(op.operands.size() - 2) : nullptr;
  Address at = address(op, op.operands.subspan(first_path, path_count));
  const Type* type = op.result()->type;
  if (at.valid && llvm::isa<llvm::ConstantInt>(at.valid)) return set(op.result(), zero_parts(type));
  if (unit.hooks->group_addition(*this, op, at)) return set(op.result(), zero_parts(type));
  const TypeParts& info = unit.parts(type);
  const Parts in = get(value);
  const Parts want = expected ? get(expected) : Parts{};
  // Old values go through memory: one slot of W per part. Most often nobody wants them.
  bool wanted = is_used(op.result());
  Parts slots;
  for (const PartInfo& part : info.parts)
    if (wanted) slots.push_back(new_block(part.scalar, part.count, W > 1));
  if (at.valid || mask)
    for (std::size_t k = 0; k < slots.size(); ++k)
      counted_loop(info.parts[k].count, [&](llvm::Value* i) {
        block_put(slots[k], info.parts[k].scalar, i, llvm::Constant::getNullValue(unit.type(info.parts[k].scalar)));
      });
  llvm::Value* pointers = at.pointers      ? at.pointers
                          : at.fast_if     ? nullptr  // made where they are needed
                          : at.lane_stride ? lane_pointers(at)
                                           : at.pointer;
  llvm::Value* active = mask;
  if (at.valid && at.valid->getType()->isVectorTy()) active = both(active, at.valid);

  // All lanes add to one place, or want the least or most there: first among themselves.
  bool halves = false;
  for (const PartInfo& part : info.parts) halves |= is_half(part.scalar);
  const bool extreme = op.atomic == AtomicKind::min || op.atomic == AtomicKind::max;
  const bool sums_lanes = W > 1 && !halves && (op.atomic == AtomicKind::add || (extreme && !active)) && !wanted &&
                          !at.pointers && !at.fast_if && !at.lane_stride &&
                          !(at.valid && at.valid->getType()->isVectorTy());
  auto lane_sum = [&](ScalarKind scalar, llvm::Value* v) {
    if (!v->getType()->isVectorTy() && extreme) return v;
    if (!v->getType()->isVectorTy()) v = splat(v);
    if (extreme) {  // halves of the lanes, down to one: of equal ones the last counts, as if they came in their order
      for (int half = W / 2; half > 0; half /= 2) {
        llvm::SmallVector<int, 16> low, high;
        for (int lane = 0; lane < half; ++lane) low.push_back(2 * lane), high.push_back(2 * lane + 1);
        llvm::Value *x = b.CreateShuffleVector(v, low), *y = b.CreateShuffleVector(v, high);
        if (half == 1) x = b.CreateExtractElement(x, std::uint64_t(0)), y = b.CreateExtractElement(y, std::uint64_t(0));
        v = arith(plain_op(op.atomic), scalar, {x, y});
      }
      return v;
    }
    if (active) v = b.CreateSelect(active, v, llvm::Constant::getNullValue(v->getType()));
    if (!is_floating(scalar)) return static_cast<llvm::Value*>(b.CreateAddReduce(v));
    llvm::CallInst* sum = b.CreateFAddReduce(llvm::ConstantFP::getNegativeZero(v->getType()->getScalarType()), v);
    sum->setHasAllowReassoc(true);
    return static_cast<llvm::Value*>(sum);
  };

  const Owner owner = owner_of(op.operand(0));
  const bool alone = op.imm == analysis::kAddsAlone || owner == Owner::thread;
  const bool anywhere = !alone && owner == Owner::unknown;
  auto one_lane = [&](llvm::Value* lane) {
    llvm::Value* base_pointer = lane_of(pointers, lane);
    auto component = [&](const PartInfo& part, std::size_t k, llvm::Value* i) {
      std::uint32_t bytes = unit.memory_type(part.scalar)->getScalarSizeInBits() / 8;
      llvm::Value* offset = b.CreateAdd(b.CreateMul(i, b.getInt64(bytes)), b.getInt64(at.offset + part.offset));
      auto read = [&](const Parts& from) {
        bool is_block_part = part.kind == PartKind::block;
        llvm::Value* all = is_block_part ? block_get(from[k], part.scalar, i) : plain(from[k]);
        return sums_lanes ? lane_sum(part.scalar, all) : lane_of(all, lane);
      };
      llvm::Value* place = byte_offset(base_pointer, offset);
      llvm::Value *next = read(in), *if_equal = expected ? read(want) : nullptr;
      const ScalarAtomic atomic{op.atomic, part.scalar, place, next, if_equal};
      if (!wanted && !alone && !anywhere && unit.hooks->reduce(*this, atomic)) return;
      llvm::Value* old =
          anywhere ? unit.hooks->atomic_anywhere(*this, atomic) : emit_scalar_atomic(*this, atomic, alone);
      if (!wanted) return;
      llvm::Type* element = unit.memory_type(part.scalar);
      llvm::Value* index =
          lane ? b.CreateAdd(b.CreateMul(i, b.getInt64(std::uint64_t(W))), b.CreateZExtOrTrunc(lane, unit.i64)) : i;
      b.CreateAlignedStore(old, b.CreateGEP(element, slots[k].v, index), llvm::Align(bytes));
    };
    for (std::size_t k = 0; k < info.parts.size(); ++k) {
      const PartInfo& part = info.parts[k];
      if (part.count == 1)
        component(part, k, b.getInt64(0));
      else
        counted_loop(part.count, [&](llvm::Value* i) { component(part, k, i); });
    }
  };
  // Native operations of all lanes are written out one by one; loops save code for the rest.
  /// Threads of a warp that add to one place do so together.
  const bool together = op.atomic == AtomicKind::add && !wanted && !alone && !anywhere && (W == 1 || sums_lanes) &&
                        unit.hooks->adds_together(op, info);
  auto add_together = [&] {
    const ScalarKind scalar = info.parts.front().scalar;
    llvm::SmallVector<llvm::Value*, 16> sums;
    for (const Part& part : in) sums.push_back(W > 1 ? lane_sum(scalar, plain(part)) : plain(part));
    unit.hooks->add_together(*this, op, scalar, byte_offset(at.pointer, b.getInt64(at.offset)), sums);
  };
  bool write_out = !active && W > 1 && (alone ? info.parts.size() <= 4 : info.parts.size() == 1);
  // Lanes that add to elements of their own don't meet, and no other thread takes part.
  const bool apart = at.pointers ? at.apart_if != nullptr : std::abs(at.lane_stride) >= std::int64_t(at.element_size);
  const bool side_by_side = !at.pointers && at.lane_stride == std::int64_t(at.element_size);
  bool whole = alone && op.atomic == AtomicKind::add && !wanted && !halves && W > 1 && active == mask && apart &&
               ((unit.traits.scatters && (mask || info.parts.size() == 1)) ||
                (side_by_side && (!mask || unit.traits.masked_moves)));
  for (const PartInfo& part : info.parts) {
    write_out &= part.count == 1 && (alone || !is_floating(part.scalar));
    whole &= part.kind != PartKind::block;
  }
  auto run = [&] {
    if (together) return active ? when(any(active), add_together) : add_together();
    if (sums_lanes && active) return when(any(active), [&] { one_lane(nullptr); });
    if (sums_lanes) return one_lane(nullptr);
    auto by_lane = [&] {
      if (at.fast_if) pointers = at.pointers_slow();
      if (!write_out) return for_each_lane(active, one_lane);
      if (alone && op.atomic == AtomicKind::add && !wanted && W % 4 == 0) {
        if (AddQueue::takes(*this, op)) return queue->put(*this, info, in, pointers, at.offset);
        if (info.parts.size() > 1) return add_by_lane(*this, info, in, pointers, at.offset);
      }
      for (int lane = 0; lane < W; ++lane) one_lane(b.getInt64(std::uint64_t(lane)));
    };
    llvm::Value* sure_if = at.pointers ? at.apart_if : at.fast_if;
    if (whole && sure_if)
      either(sure_if, [&] { add_apart(info.parts, in, at); }, by_lane);
    else if (whole)
      add_apart(info.parts, in, at);
    else
      by_lane();
  };
  if (at.valid && !at.valid->getType()->isVectorTy())
    when(at.valid, run);
  else
    run();

  if (!wanted) return set(op.result(), zero_parts(type));
  Parts out;
  for (std::size_t k = 0; k < slots.size(); ++k)
    out.push_back(info.parts[k].kind == PartKind::block
                      ? slots[k]
                      : Part{block_get(slots[k], info.parts[k].scalar, b.getInt64(0))});
  set(op.result(), std::move(out));
}

}  // namespace weft::codegen
