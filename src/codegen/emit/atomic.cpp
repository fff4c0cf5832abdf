// Atomic read-modify-write: lane by lane in lane order, component by component.
#include "analysis/private_sums.h"
#include "codegen/emit/add_queue.h"
#include "codegen/emit/bucket_adds.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/scalar_atomic.h"
#include "codegen/emit/target_hooks.h"
#include "ir/infer.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"

namespace weft::codegen {

using ir::AtomicKind;
using ir::OpCode;

namespace {

/// Whose memory an array is: the thread's own, where no other one takes part, that of its block, or that of all threads.
enum class Owner { thread, block, all, unknown };

bool has_blocks(const ir::Value& array) {
  const ir::Region* at = array.kind == ir::ValueKind::argument ? array.region : array.op->parent;
  return at->function->form.block != 0;
}

Owner owner_of(const ir::Value* array) {
  const ir::Origin from = ir::origin_of(array);
  switch (from.kind) {
    case ir::Origin::Kind::local:
      // One of several: where blocks have memory, it may be theirs.
      if (!from.local) return has_blocks(*array) ? Owner::unknown : Owner::thread;
      return ir::is_block_memory(*from.local) ? Owner::block : Owner::thread;
    case ir::Origin::Kind::none:
    case ir::Origin::Kind::fixed:
    case ir::Origin::Kind::shared: return Owner::all;
    // A function may be given either, a private array of its caller or one of all threads.
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
      // Blocks of four lanes, so that each pair is taken out of a 128-bit part by one cheap shuffle.
      for (int block = 0; block < e.W; block += 4)
        for (int lane = block + 2 * half; lane < block + 2 * half + 2; ++lane) order.append({lane, e.W + lane});
      piece.from[half] = b.CreateShuffleVector(x, y, order);
    }
    pieces.push_back(piece);
  }
  // Strictly one after the other: two lanes may add to one element, and the
  // second must read what the first has written.
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

bool is_lanes(const llvm::Value* v) { return v && v->getType()->isVectorTy(); }

/// One atomic operation on elements of an array, for all lanes.
class ElementAtomic {
 public:
  ElementAtomic(Emitter& e, const ir::Op& op, Address at)
      : e_(e),
        b_(e.b),
        op_(op),
        at_(std::move(at)),
        info_(e.unit.parts(op.result()->type)),
        values_(e.get(op.operands.back())),
        expected_(op.atomic == AtomicKind::cas ? e.get(op.operand(op.operands.size() - 2)) : Parts{}),
        wanted_(e.is_used(op.result())) {
    for (const PartInfo& part : info_.parts) halves_ |= is_half(part.scalar);
    const Owner owner = owner_of(op.operand(0));
    // No other thread touches the memory: plain loads and stores will do, and lanes only have to mind each other.
    alone_ = op.imm == analysis::kAddsAlone || owner == Owner::thread;
    anywhere_ = !alone_ && owner == Owner::unknown;
    in_block_ = owner == Owner::block;
    in_bucket_ = goes_to_bucket(op);
  }

  /// Gives the old values, or zeros where nobody wants them.
  Parts emit() {
    make_slots();
    pointers_ = at_.pointers      ? at_.pointers
                : at_.fast_if     ? nullptr  // made where they are needed
                : at_.lane_stride ? e_.lane_pointers(at_)
                                  : at_.pointer;
    active_ = e_.mask;
    if (is_lanes(at_.valid)) active_ = e_.both(active_, at_.valid);
    // All lanes add to one place, or want the least or most there: first among themselves.
    // Not where somebody wants the old values, which are different for each lane; not for 16-bit floats, which are
    // bits to LLVM and can't be added up by it. Extremes only without a mask: the zero that stands in for a lane that
    // is off counts for nothing in a sum, but not in a minimum.
    joins_lanes_ = e_.W > 1 && !halves_ && (adds() || (is_extreme() && !active_)) && !wanted_ && !at_.pointers &&
                   !at_.fast_if && !at_.lane_stride && !is_lanes(at_.valid);
    draws_numbers_ = e_.W > 1 && adds() && wanted_ && info_.parts.size() == 1 && info_.parts[0].count == 1 &&
                     info_.parts[0].kind != PartKind::block && !is_floating(info_.parts[0].scalar) && !at_.pointers &&
                     !at_.fast_if && !at_.lane_stride && !is_lanes(at_.valid);
    if (at_.valid && !is_lanes(at_.valid))
      e_.when(at_.valid, [&] { run(); });
    else
      run();
    return wanted_ ? old_values() : e_.zero_parts(op_.result()->type);
  }

 private:
  bool adds() const { return op_.atomic == AtomicKind::add; }
  bool is_extreme() const { return op_.atomic == AtomicKind::min || op_.atomic == AtomicKind::max; }

  /// Old values go through memory: one slot of W per part. Most often nobody wants them.
  void make_slots() {
    for (const PartInfo& part : info_.parts)
      if (wanted_) slots_.push_back(e_.new_block(part.scalar, part.count, e_.W > 1));
    // Every lane then writes its slot, and there is nothing to clear.
    if (!at_.valid && !e_.mask) return;
    for (std::size_t k = 0; k < slots_.size(); ++k) {
      const PartInfo& part = info_.parts[k];
      e_.counted_loop(part.count, [&](llvm::Value* i) {
        e_.block_put(slots_[k], part.scalar, i, llvm::Constant::getNullValue(e_.unit.type(part.scalar)));
      });
    }
  }

  Parts old_values() {
    Parts out;
    for (std::size_t k = 0; k < slots_.size(); ++k)
      out.push_back(info_.parts[k].kind == PartKind::block
                        ? slots_[k]
                        : Part{e_.block_get(slots_[k], info_.parts[k].scalar, b_.getInt64(0))});
    return out;
  }

  /// The cheapest way that is right, in this order: threads of a warp together; lanes that go to one place as one, whether
  /// they want what they found there or not;
  /// lanes that go to places apart at once; lane by lane.
  void run() {
    // Threads that run together and add to one place do so together.
    const bool together = adds() && !wanted_ && !alone_ && !anywhere_ && (e_.W == 1 || joins_lanes_) &&
                          e_.unit.hooks->adds_together(op_, info_);
    if (together) return active_ ? e_.when(e_.any(active_), [&] { add_together(); }) : add_together();
    if (draws_numbers_) return active_ ? e_.when(e_.any(active_), [&] { draw_numbers(); }) : draw_numbers();
    if (joins_lanes_ && active_) return e_.when(e_.any(active_), [&] { one_lane(nullptr); });
    if (joins_lanes_) return one_lane(nullptr);
    // What has to hold at run time for lanes to be apart; null where it is known.
    llvm::Value* sure_if = at_.pointers ? at_.apart_if : at_.fast_if;
    if (!adds_apart()) return by_lane();
    auto at_once = [&] { e_.add_apart(info_.parts, values_, at_); };
    if (sure_if)
      e_.either(sure_if, at_once, [&] { by_lane(); });
    else
      at_once();
  }

  void add_together() {
    const ScalarKind scalar = info_.parts.front().scalar;
    llvm::SmallVector<llvm::Value*, 16> sums;
    for (const Part& part : values_) sums.push_back(e_.W > 1 ? of_all_lanes(scalar, e_.plain(part)) : e_.plain(part));
    e_.unit.hooks->add_together(e_, op_, scalar, e_.byte_offset(at_.pointer, b_.getInt64(at_.offset)), sums);
  }

  /// All lanes add integers to one counter and want what they found, as those do that append to a list: one addition of
  /// what all bring, and each lane found what those before it would have left. Cores that draw from one counter wait for
  /// each other at every operation, so that there should be few; and what lanes write to the list then lies side by side.
  void draw_numbers() {
    const PartInfo& part = info_.parts[0];
    llvm::Value* own = e_.plain(values_[0]);
    if (!is_lanes(own)) own = e_.splat(own);
    llvm::Value* const zero = llvm::Constant::getNullValue(own->getType());
    if (active_) own = b_.CreateSelect(active_, own, zero);
    llvm::Value* sums = own;  // of each lane and those before it
    for (int by = 1; by < e_.W; by *= 2) {
      llvm::SmallVector<int, 32> order;
      for (int lane = 0; lane < e_.W; ++lane) order.push_back(lane < by ? e_.W + lane : lane - by);
      sums = b_.CreateAdd(sums, b_.CreateShuffleVector(sums, zero, order));
    }
    llvm::Value* all = b_.CreateExtractElement(sums, std::uint64_t(e_.W - 1));
    llvm::Value* place = e_.byte_offset(pointers_, b_.getInt64(at_.offset + part.offset));
    const ScalarAtomic atomic{op_.atomic, part.scalar, place, all, nullptr};
    llvm::Value* old = anywhere_ ? e_.unit.hooks->atomic_anywhere(e_, atomic) : emit_scalar_atomic(e_, atomic, alone_);
    llvm::Value* found = b_.CreateAdd(e_.splat(old), b_.CreateSub(sums, own));
    if (active_) found = b_.CreateSelect(active_, found, zero);
    e_.block_put(slots_[0], part.scalar, b_.getInt64(0), found);
  }

  /// Whether lanes add to elements of their own, at once: they don't meet, and no other thread takes part.
  bool adds_apart() const {
    const TargetTraits& traits = e_.unit.traits;
    const bool apart =
        at_.pointers ? at_.apart_if != nullptr : std::abs(at_.lane_stride) >= std::int64_t(at_.element_size);
    const bool side_by_side = !at_.pointers && at_.lane_stride == std::int64_t(at_.element_size);
    for (const PartInfo& part : info_.parts)
      if (part.kind == PartKind::block) return false;
    return alone_ && adds() && !wanted_ && !halves_ && e_.W > 1 && active_ == e_.mask && apart &&
           ((traits.scatters && (e_.mask || info_.parts.size() == 1)) ||
            (side_by_side && (!e_.mask || traits.masked_moves)));
  }

  /// Whether the lanes are written out one by one, as native operations are; loops save code for the rest.
  bool writes_out_lanes() const {
    for (const PartInfo& part : info_.parts)
      if (part.count != 1 || (!alone_ && is_floating(part.scalar))) return false;
    // Loops around compare-and-swap, blocks and masks take too much code to be written W times.
    return !active_ && e_.W > 1 && (alone_ ? info_.parts.size() <= 4 : info_.parts.size() == 1);
  }

  void by_lane() {
    if (at_.fast_if) pointers_ = at_.pointers_slow();
    const bool apart = (at_.pointers || at_.fast_if) && is_lanes(pointers_);
    if (apart && !alone_ && !in_bucket_ && !active_ && e_.unit.hooks->prefetches()) fetch_all();
    if (in_bucket_ && e_.W > 1) return to_bucket_lanes();
    each_lane();
  }

  void each_lane() {
    if (!writes_out_lanes()) return e_.for_each_lane(active_, [&](llvm::Value* lane) { one_lane(lane); });
    if (alone_ && adds() && !wanted_ && e_.W % 4 == 0) {
      if (AddQueue::takes(e_, op_)) return e_.queue->put(e_, info_, values_, pointers_, at_.offset);
      if (info_.parts.size() > 1) return add_by_lane(e_, info_, values_, pointers_, at_.offset);
    }
    for (int lane = 0; lane < e_.W; ++lane) one_lane(b_.getInt64(std::uint64_t(lane)));
  }

  /// Asks for the places of all lanes: an atomic operation waits for its own, and no later one begins meanwhile.
  void fetch_all() {
    for (int lane = 0; lane < e_.W; ++lane) {
      llvm::Value* place = b_.CreateExtractElement(pointers_, std::uint64_t(lane));
      place = b_.CreateConstGEP1_64(e_.unit.i8, place, at_.offset);
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {e_.unit.ptr},
                         {place, b_.getInt32(1) /* to write */, b_.getInt32(3) /* near */, b_.getInt32(1) /* data */});
    }
  }

  /// Whether these are an odd number of neighbouring floats, vectors of three above all, that processors with words of 64
  /// bits add by fewer operations than numbers.
  bool adds_pairs() const {
    if (!adds() || wanted_ || alone_ || anywhere_ || in_block_ || joins_lanes_ || !e_.unit.hooks->prefetches())
      return false;
    const auto& parts = info_.parts;
    if (parts.size() < 3 || parts.size() % 2 == 0) return false;
    for (std::size_t k = 0; k < parts.size(); ++k)
      if (parts[k].scalar != ScalarKind::f32 || parts[k].count != 1 || parts[k].kind == PartKind::block ||
          parts[k].offset != parts[0].offset + 4 * k)
        return false;
    return true;
  }

  /// Two at a time from the first place on that is a multiple of eight bytes, and the one that is left, at the begin or at
  /// the end. Without branches: neighbouring elements take turns.
  void add_pairs(llvm::Value* element, llvm::Value* lane) {
    const std::size_t count = info_.parts.size();
    llvm::SmallVector<llvm::Value*, 9> own;
    for (const Part& part : values_) own.push_back(e_.lane_of(e_.plain(part), lane));
    llvm::Value* begin = e_.byte_offset(element, b_.getInt64(at_.offset + info_.parts[0].offset));
    llvm::Value* gap = b_.CreateAnd(b_.CreatePtrToInt(begin, e_.unit.i64), 4);
    llvm::Value* shifted = b_.CreateICmpNE(gap, b_.getInt64(0));
    llvm::Value* pairs = e_.byte_offset(begin, gap);
    for (std::size_t k = 0; k + 1 < count; k += 2) {
      llvm::Value* both = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getFloatTy(), 2));
      for (std::size_t j = 0; j < 2; ++j)
        both = b_.CreateInsertElement(both, b_.CreateSelect(shifted, own[k + j + 1], own[k + j]), std::uint64_t(j));
      add_pair(e_.byte_offset(pairs, b_.getInt64(4 * k)), both);
    }
    llvm::Value* left = e_.byte_offset(begin, b_.CreateSelect(shifted, b_.getInt64(0), b_.getInt64(4 * (count - 1))));
    llvm::Value* last = b_.CreateSelect(shifted, own.front(), own.back());
    emit_scalar_atomic(e_, {op_.atomic, ScalarKind::f32, left, last, nullptr}, false);
  }

  void add_pair(llvm::Value* place, llvm::Value* both) {
    const llvm::MaybeAlign align(8);
    llvm::LoadInst* first = b_.CreateAlignedLoad(e_.unit.i64, place, align);
    first->setAtomic(kAtomicOrder);
    llvm::BasicBlock *before = b_.GetInsertBlock(), *loop = e_.block("pair"), *done = e_.block("pair.done");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* seen = b_.CreatePHI(e_.unit.i64, 2);
    seen->addIncoming(first, before);
    llvm::Value* sums = e_.arith(OpCode::add, ScalarKind::f32, {b_.CreateBitCast(seen, both->getType()), both});
    llvm::Value* next = b_.CreateBitCast(sums, e_.unit.i64);
    auto* result = b_.CreateAtomicCmpXchg(place, seen, next, align, kAtomicOrder, kAtomicOrder);
    seen->addIncoming(b_.CreateExtractValue(result, 0), b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateExtractValue(result, 1), done, loop);
    b_.SetInsertPoint(done);
  }

  void one_lane(llvm::Value* lane) {
    llvm::Value* element = e_.lane_of(pointers_, lane);
    if (in_bucket_) return to_bucket(bucket_place(e_, op_, first_scalar(element)), lane);
    if (adds_pairs()) return add_pairs(element, lane);
    for (std::size_t k = 0; k < info_.parts.size(); ++k) {
      const PartInfo& part = info_.parts[k];
      if (part.count == 1)
        one_component(element, k, b_.getInt64(0), lane);
      else
        e_.counted_loop(part.count, [&](llvm::Value* i) { one_component(element, k, i, lane); });
    }
  }

  /// An addition that is written down, or made at once where nobody else adds meanwhile.
  void to_bucket(BucketPlace place, llvm::Value* lane) {
    e_.either(
        is_own(e_, op_, place), [&] { in_place([&] { one_lane(lane); }); }, [&] { write_down(place, lane, values_); });
  }

  /// The same for all lanes: where neighbouring threads add to neighbouring places, all of them are the worker's own, and otherwise
  /// hardly ever.
  void to_bucket_lanes() {
    const BucketPlace places = bucket_place(e_, op_, first_scalar(pointers_));
    llvm::Value* own = is_own(e_, op_, places);
    if (is_lanes(own)) {
      if (active_) own = b_.CreateOr(own, b_.CreateNot(active_));
      own = b_.CreateAndReduce(own);
    }
    e_.either(own, [&] { in_place([&] { each_lane(); }); }, [&] { write_down_lanes(places); });
  }

  template <class Fn>
  void in_place(Fn fn) {
    in_bucket_ = false, alone_ = true;
    fn();
    in_bucket_ = true, alone_ = false;
  }

  /// All components of an addition, for one lane or for all of them where they were joined.
  void write_down(BucketPlace place, llvm::Value* lane, const Parts& values) {
    llvm::SmallVector<llvm::Value*, 16> scalars;
    for (std::size_t k = 0; k < info_.parts.size(); ++k) {
      WEFT_CHECK(info_.parts[k].count == 1 && info_.parts[k].kind != PartKind::block, "streams are of few scalars");
      llvm::Value* all = e_.plain(values[k]);
      scalars.push_back(joins_lanes_ ? of_all_lanes(info_.parts[k].scalar, all) : e_.lane_of(all, lane));
    }
    put_in_bucket(e_, op_, place, scalars);
  }

  /// Its address in an element, or in those of all lanes.
  llvm::Value* first_scalar(llvm::Value* elements) {
    return b_.CreateConstGEP1_64(e_.unit.i8, elements, std::uint64_t(at_.offset) + info_.parts[0].offset);
  }

  /// The same for each lane, by way of memory: LLVM would write whole vectors there for every lane that is taken out of them.
  void write_down_lanes(BucketPlace places) {
    auto kept = [&](llvm::Value* v) -> llvm::AllocaInst* {
      if (!is_lanes(v)) return nullptr;
      llvm::AllocaInst* memory = e_.entry_alloca(v->getType()->getScalarType(), std::uint64_t(e_.W), 64);
      b_.CreateAlignedStore(v, memory, llvm::Align(64));
      return memory;
    };
    auto lane_in = [&](llvm::AllocaInst* memory, llvm::Value* all, llvm::Value* lane) -> llvm::Value* {
      if (!memory) return all;
      llvm::Type* type = all->getType()->getScalarType();
      return b_.CreateLoad(type, b_.CreateGEP(type, memory, b_.CreateZExtOrTrunc(lane, e_.unit.i64)));
    };
    llvm::AllocaInst *words = kept(places.word), *buckets = kept(places.bucket);
    llvm::SmallVector<llvm::AllocaInst*, 16> memory;
    for (const Part& part : values_) memory.push_back(kept(e_.plain(part)));
    auto one = [&](llvm::Value* lane) {
      Parts own;
      for (std::size_t k = 0; k < memory.size(); ++k) own.push_back({lane_in(memory[k], e_.plain(values_[k]), lane)});
      write_down({lane_in(words, places.word, lane), lane_in(buckets, places.bucket, lane)}, nullptr, own);
    };
    // One behind the other where all take part and that is little code: the end of a loop is foretold badly between branches that
    // nobody can foretell.
    constexpr std::size_t kMostScalars = 24;  // of a kernel: eight vectors
    if (active_ || e_.written_out + info_.parts.size() > kMostScalars) return e_.for_each_lane(active_, one);
    e_.written_out += info_.parts.size();
    for (int lane = 0; lane < e_.W; ++lane) one(b_.getInt64(std::uint64_t(lane)));
  }

  /// One number at one address: component i of part k, for one lane, or for all of them where they were joined.
  void one_component(llvm::Value* element, std::size_t k, llvm::Value* i, llvm::Value* lane) {
    const PartInfo& part = info_.parts[k];
    const std::uint32_t bytes = e_.unit.memory_type(part.scalar)->getScalarSizeInBits() / 8;
    llvm::Value* offset = b_.CreateAdd(b_.CreateMul(i, b_.getInt64(bytes)), b_.getInt64(at_.offset + part.offset));
    auto read = [&](const Parts& from) {
      llvm::Value* all = part.kind == PartKind::block ? e_.block_get(from[k], part.scalar, i) : e_.plain(from[k]);
      return joins_lanes_ ? of_all_lanes(part.scalar, all) : e_.lane_of(all, lane);
    };
    llvm::Value* place = e_.byte_offset(element, offset);
    llvm::Value *next = read(values_), *if_equal = op_.atomic == AtomicKind::cas ? read(expected_) : nullptr;
    if (adds() && !wanted_ && e_.unit.hooks->add_exactly(e_, op_, place, next)) return;
    const ScalarAtomic atomic{op_.atomic, part.scalar, place, next, if_equal};
    // A GPU adds without waiting for an answer.
    if (!wanted_ && !alone_ && !anywhere_ && !in_block_ && e_.unit.hooks->reduce(e_, atomic)) return;
    llvm::Value* old = anywhere_ ? e_.unit.hooks->atomic_anywhere(e_, atomic) : emit_scalar_atomic(e_, atomic, alone_);
    if (!wanted_) return;
    llvm::Value* index = i;
    if (lane) {
      // Slots lie as blocks do: component i of all lanes, then the next.
      llvm::Value* row = b_.CreateMul(i, b_.getInt64(std::uint64_t(e_.W)));
      index = b_.CreateAdd(row, b_.CreateZExtOrTrunc(lane, e_.unit.i64));
    }
    llvm::Value* slot = b_.CreateGEP(e_.unit.memory_type(part.scalar), slots_[k].v, index);
    b_.CreateAlignedStore(old, slot, llvm::Align(bytes));
  }

  /// What all lanes do to one place as one value.
  llvm::Value* of_all_lanes(ScalarKind scalar, llvm::Value* v) {
    if (is_extreme()) return is_lanes(v) ? extreme_of_lanes(scalar, v) : v;
    if (!is_lanes(v)) v = e_.splat(v);
    if (active_) v = b_.CreateSelect(active_, v, llvm::Constant::getNullValue(v->getType()));
    if (!is_floating(scalar)) return b_.CreateAddReduce(v);
    llvm::CallInst* sum = b_.CreateFAddReduce(llvm::ConstantFP::getNegativeZero(v->getType()->getScalarType()), v);
    // Float sums of threads have no order to begin with. From −0, which adds nothing to anything.
    sum->setHasAllowReassoc(true);
    return sum;
  }

  /// Halves of the lanes, down to one: of equal ones the last counts, as if they came in their order.
  llvm::Value* extreme_of_lanes(ScalarKind scalar, llvm::Value* v) {
    for (int half = e_.W / 2; half > 0; half /= 2) {
      llvm::SmallVector<int, 16> low, high;
      for (int lane = 0; lane < half; ++lane) low.push_back(2 * lane), high.push_back(2 * lane + 1);
      llvm::Value *x = b_.CreateShuffleVector(v, low), *y = b_.CreateShuffleVector(v, high);
      if (half == 1) x = b_.CreateExtractElement(x, std::uint64_t(0)), y = b_.CreateExtractElement(y, std::uint64_t(0));
      v = e_.arith(plain_op(op_.atomic), scalar, {x, y});
    }
    return v;
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const ir::Op& op_;
  const Address at_;
  const TypeParts& info_;
  const Parts values_, expected_;
  const bool wanted_;  // the old values are
  bool halves_ = false;
  bool alone_ = false;          // no other thread takes part
  bool anywhere_ = false;       // nobody knows whose memory it is
  bool in_block_ = false;       // the block's
  bool in_bucket_ = false;      // written down, to be added later
  bool joins_lanes_ = false;    // all lanes go to one place, as one
  bool draws_numbers_ = false;  // the same, and each wants what it found there
  Parts slots_;
  llvm::Value* pointers_ = nullptr;  // of the lanes, or one for all
  llvm::Value* active_ = nullptr;    // lanes that take part; null: all
};

}  // namespace

void Emitter::emit_atomic(const ir::Op& op) {
  const Type* type = op.result()->type;
  const bool in_block = ir::is_block_memory(op.operand(0));
  if (!in_block && unit.hooks->keep_addition(*this, op)) return set(op.result(), zero_parts(type));
  const std::size_t values = op.atomic == AtomicKind::cas ? 2 : 1, first_path = 1u + op.num_indices;
  Address at = address(op, op.operands.subspan(first_path, op.operands.size() - first_path - values));
  const bool nowhere = at.valid && llvm::isa<llvm::ConstantInt>(at.valid);
  if (nowhere || (!in_block && unit.hooks->group_addition(*this, op, at))) return set(op.result(), zero_parts(type));
  set(op.result(), ElementAtomic(*this, op, std::move(at)).emit());
}

}  // namespace weft::codegen
