// Atomic read-modify-write: lane by lane in lane order, component by component. Relaxed ordering. Float min and max follow
// the IR's rule for NaN, which no native instruction does, so they are compare-and-swap loops. cas compares bits.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "analysis/private_sums.h"
#include "codegen/emit/add_queue.h"
#include "codegen/emit/emitter.h"
#include "codegen/nvptx/grouped_adds.h"
#include "codegen/nvptx/kernel_plan.h"
#include "codegen/nvptx/warp.h"
#include "ir/infer.h"
#include "ir/origin.h"

namespace weft::codegen {

using ir::AtomicKind;
using ir::OpCode;

namespace {

constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;

/// The plain operation that a read-modify-write applies.
OpCode plain_op(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::add: return OpCode::add;
    case AtomicKind::min: return OpCode::min;
    case AtomicKind::max: return OpCode::max;
    case AtomicKind::bit_and: return OpCode::bit_and;
    case AtomicKind::bit_or: return OpCode::bit_or;
    case AtomicKind::bit_xor: return OpCode::bit_xor;
    case AtomicKind::exch:
    case AtomicKind::cas: break;
  }
  WEFT_UNREACHABLE("no plain operation");
}

llvm::AtomicRMWInst::BinOp native_op(AtomicKind kind, bool is_signed_kind) {
  using Op = llvm::AtomicRMWInst::BinOp;
  switch (kind) {
    case AtomicKind::add: return Op::Add;
    case AtomicKind::min: return is_signed_kind ? Op::Min : Op::UMin;
    case AtomicKind::max: return is_signed_kind ? Op::Max : Op::UMax;
    case AtomicKind::exch: return Op::Xchg;
    case AtomicKind::bit_and: return Op::And;
    case AtomicKind::bit_or: return Op::Or;
    case AtomicKind::bit_xor: return Op::Xor;
    case AtomicKind::cas: break;
  }
  WEFT_UNREACHABLE("cas is no read-modify-write");
}

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

/// Reads, computes and swaps until nobody came between; `first` is what was read, in bits. A minimum or maximum that changes
/// nothing writes nothing: most don't, and threads that only read don't wait for each other. Gives the old value.
llvm::Value* swap_until_done(Emitter& e, AtomicKind kind, ScalarKind scalar, llvm::Value* at, llvm::Value* value,
                             llvm::Value* first) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type *type = e.unit.memory_type(scalar), *bits_type = first->getType();
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = e.block("cas"), *done = e.block("cas.done");
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* seen = b.CreatePHI(bits_type, 2);
  seen->addIncoming(first, before);
  llvm::Value* old = b.CreateBitCast(seen, type);
  llvm::Value* next = b.CreateBitCast(e.arith(plain_op(kind), scalar, {old, value}), bits_type);
  if (kind != AtomicKind::add) {
    llvm::BasicBlock* change = e.block("cas.change");
    b.CreateCondBr(b.CreateICmpEQ(next, seen), done, change);
    b.SetInsertPoint(change);
  }
  const llvm::MaybeAlign align(bits_type->getScalarSizeInBits() / 8);
  auto* result = b.CreateAtomicCmpXchg(at, seen, next, align, kOrder, kOrder);
  seen->addIncoming(b.CreateExtractValue(result, 0), b.GetInsertBlock());
  b.CreateCondBr(b.CreateExtractValue(result, 1), done, loop);
  b.SetInsertPoint(done);
  return old;
}

/// A minimum or maximum of floats in a GPU's memory whose old value nobody wants. What would change nothing is not written.
/// Where the new value is the better one, and not merely a zero of the other sign or in place of a NaN, the operation on
/// integers does: bits of positive numbers are in order, those of negative ones in the opposite one. False for halves.
bool reduce_extreme(Emitter& e, AtomicKind kind, ScalarKind scalar, llvm::Value* at, llvm::Value* value) {
  if ((kind != AtomicKind::min && kind != AtomicKind::max) || !is_floating(scalar) || is_half(scalar)) return false;
  llvm::IRBuilder<>& b = e.b;
  const bool wide = scalar == ScalarKind::f64, most = kind == AtomicKind::max;
  llvm::Type* bits_type = wide ? e.unit.i64 : e.unit.i32;
  llvm::LoadInst* first = b.CreateAlignedLoad(bits_type, at, llvm::Align(wide ? 8 : 4));
  first->setAtomic(kOrder);
  llvm::Value* old = b.CreateBitCast(first, e.unit.memory_type(scalar));
  e.either(
      most ? b.CreateFCmpOGT(value, old) : b.CreateFCmpOLT(value, old),
      [&] {
        llvm::Value* bits = b.CreateBitCast(value, bits_type);
        const AtomicKind other = most ? AtomicKind::min : AtomicKind::max;
        e.either(
            b.CreateICmpSGE(bits, llvm::ConstantInt::get(bits_type, 0)),
            [&] { emit_reduction(e, kind, wide ? ScalarKind::i64 : ScalarKind::i32, at, bits); },
            [&] { emit_reduction(e, other, wide ? ScalarKind::u64 : ScalarKind::u32, at, bits); });
      },
      [&] { swap_until_done(e, kind, scalar, at, value, first); });
  return true;
}

/// One scalar at one address; gives the old value. `alone`: no other thread takes part.
llvm::Value* atomic_scalar(Emitter& e, AtomicKind kind, ScalarKind scalar, llvm::Value* at, llvm::Value* value,
                           llvm::Value* expected, bool alone) {
  llvm::IRBuilder<>& b = e.b;
  CodeUnit& unit = e.unit;
  bool floating = is_floating(scalar);
  llvm::Type* type = unit.memory_type(scalar);
  std::uint32_t bytes = type->getScalarSizeInBits() / 8;
  llvm::Type* bits_type = b.getIntNTy(bytes * 8);
  llvm::MaybeAlign align(bytes);
  auto as_bits = [&](llvm::Value* v) { return b.CreateBitCast(v, bits_type); };
  auto from_bits = [&](llvm::Value* v) { return b.CreateBitCast(v, type); };
  auto swap = [&](llvm::Value* old_bits, llvm::Value* new_bits) {
    auto* cas = b.CreateAtomicCmpXchg(at, old_bits, new_bits, align, kOrder, kOrder);
    return cas;
  };

  if (alone) {
    llvm::LoadInst* old = b.CreateAlignedLoad(type, at, align);
    llvm::Value* next = value;
    if (kind == AtomicKind::cas)
      next = b.CreateSelect(b.CreateICmpEQ(as_bits(old), as_bits(expected)), value, old);
    else if (kind != AtomicKind::exch)
      next = e.arith(plain_op(kind), scalar, {old, value});
    b.CreateAlignedStore(next, at, align);
    return old;
  }
  if (kind == AtomicKind::cas) return from_bits(b.CreateExtractValue(swap(as_bits(expected), as_bits(value)), 0));
  if (floating && kind == AtomicKind::add && unit.traits.gpu && !is_half(scalar))
    return b.CreateAtomicRMW(llvm::AtomicRMWInst::FAdd, at, value, align, kOrder);
  if (!floating) return b.CreateAtomicRMW(native_op(kind, is_signed(scalar)), at, value, align, kOrder);
  if (kind == AtomicKind::exch)
    return from_bits(b.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, at, as_bits(value), align, kOrder));

  llvm::LoadInst* first = b.CreateAlignedLoad(bits_type, at, align);
  first->setAtomic(kOrder);
  return swap_until_done(e, kind, scalar, at, value, first);
}

/// The same on a GPU, where atomic operations are for memory of all threads and the address may be that of a thread's
/// own: it tells itself.
llvm::Value* atomic_anywhere(Emitter& e, AtomicKind kind, ScalarKind scalar, llvm::Value* at, llvm::Value* value,
                             llvm::Value* expected) {
  llvm::IRBuilder<>& b = e.b;
  llvm::BasicBlock *own = e.block("own"), *shared = e.block("shared"), *done = e.block("anywhere");
  b.CreateCondBr(b.CreateIntrinsic(llvm::Intrinsic::nvvm_isspacep_local, {}, {at}), own, shared);
  b.SetInsertPoint(own);
  llvm::Value* plain = atomic_scalar(e, kind, scalar, at, value, expected, true);
  llvm::BasicBlock* own_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(shared);
  // LLVM fails if it finds out that such an operation, which then never runs, is on private memory.
  auto* type = llvm::FunctionType::get(e.unit.ptr, {e.unit.ptr}, false);
  llvm::Value* hidden = b.CreateCall(type, llvm::InlineAsm::get(type, "mov.b64 $0, $1;", "=l,l", false), {at});
  llvm::Value* atomic = atomic_scalar(e, kind, scalar, hidden, value, expected, false);
  llvm::BasicBlock* shared_end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* old = b.CreatePHI(plain->getType(), 2);
  old->addIncoming(plain, own_end);
  old->addIncoming(atomic, shared_end);
  return old;
}

}  // namespace

namespace {

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

/// A sum that a GPU thread keeps to itself: adds the lanes' values, one after the other.
void add_to_sum(Emitter& e, const ir::Op& op, llvm::ArrayRef<llvm::Value*> slots) {
  ScalarKind kind = op.result()->type->scalar_kind();
  const Parts values = e.get(op.operands.back());
  for (std::size_t k = 0; k < slots.size(); ++k) {
    llvm::Value* sum = e.b.CreateLoad(e.unit.type(kind), slots[k]);
    llvm::Value* value = e.plain(values[k]);
    for (int lane = 0; lane < e.W; ++lane)
      sum = e.arith(ir::OpCode::add, kind, {sum, e.lane_of(value, e.b.getInt64(std::uint64_t(lane)))});
    e.b.CreateStore(sum, slots[k]);
  }
  e.set(op.result(), e.zero_parts(op.result()->type));
}

}  // namespace

void Emitter::emit_atomic(const ir::Op& op) {
  if (auto it = unit.sums.find(&op); it != unit.sums.end()) return add_to_sum(*this, op, it->second);
  bool is_cas = op.atomic == AtomicKind::cas;
  std::size_t values = is_cas ? 2 : 1;
  std::size_t first_path = 1u + op.num_indices, path_count = op.operands.size() - first_path - values;
  const ir::Value* value = op.operands.back();
  const ir::Value* expected = is_cas ? op.operand(op.operands.size() - 2) : nullptr;
  Address at = address(op, op.operands.subspan(first_path, path_count));
  const Type* type = op.result()->type;
  if (at.valid && llvm::isa<llvm::ConstantInt>(at.valid)) return set(op.result(), zero_parts(type));
  if (group && group->put(*this, op, byte_offset(at.pointer, b.getInt64(at.offset))))
    return set(op.result(), zero_parts(type));
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
  const bool anywhere = unit.traits.gpu && owner == Owner::unknown;
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
      if (unit.traits.gpu && !wanted && !alone && !anywhere &&
          (emit_reduction(*this, op.atomic, part.scalar, place, next) ||
           reduce_extreme(*this, op.atomic, part.scalar, place, next)))
        return;
      llvm::Value* old = anywhere ? atomic_anywhere(*this, op.atomic, part.scalar, place, next, if_equal)
                                  : atomic_scalar(*this, op.atomic, part.scalar, place, next, if_equal, alone);
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
  const bool together = unit.traits.gpu && op.atomic == AtomicKind::add && !wanted && !alone && !anywhere &&
                        (W == 1 || sums_lanes) && unit.meeting_adds.contains(&op) && is_row_of_scalars(info) &&
                        has_warp_add(info.parts.front().scalar);
  auto add_together = [&] {
    const ScalarKind scalar = info.parts.front().scalar;
    llvm::SmallVector<llvm::Value*, 16> sums;
    for (const Part& part : in) sums.push_back(W > 1 ? lane_sum(scalar, plain(part)) : plain(part));
    emit_warp_add(*this, scalar, byte_offset(at.pointer, b.getInt64(at.offset)), sums, goes_to_one_place(op));
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
