// Addresses of array elements, and the operations that only compute with descriptors. An index that grows by a constant
// from lane to lane, times a stride known at compile time, keeps the address linear: a scalar pointer and a distance.
#include "codegen/emit/emitter.h"
#include "codegen/emit/index_numbers.h"
#include "codegen/emit/target_hooks.h"
#include "ir/fixed_memory.h"
#include "ir/infer.h"
#include "ir/tile_memory.h"

namespace weft::codegen {

using ir::OpCode;
using ir::Value;

namespace {

/// True if the index can't be negative, as far as a short look shows.
bool never_negative(const Value* v, int depth = 4) {
  if (!v->type->is_signed_int()) return true;
  if (v->is_constant()) return v->as_int() >= 0;
  if (depth == 0) return false;
  if (v->kind == ir::ValueKind::argument) {
    // The index of a loop that counts up from where it begins.
    const ir::Op* loop = v->region->parent_op;
    return loop && loop->code == OpCode::for_ && v->index == 0 && loop->operand(2)->is_constant() &&
           loop->operand(2)->as_int() > 0 && never_negative(loop->operand(0), depth - 1);
  }
  const ir::Op& op = *v->op;
  auto operand = [&](std::size_t k) { return never_negative(op.operand(k), depth - 1); };
  switch (op.code) {
    case OpCode::tid:
    case OpCode::thread:
    case OpCode::dim: return true;
    // One clear sign bit clears the result's.
    case OpCode::bit_and: return operand(0) || operand(1);
    // It has the sign of the dividend.
    case OpCode::rem: return operand(0);
    case OpCode::div:
    case OpCode::floordiv: return operand(0) && op.operand(1)->is_constant() && op.operand(1)->as_int() > 0;
    case OpCode::min: return operand(0) && operand(1);
    case OpCode::max: return operand(0) || operand(1);
    case OpCode::select: return operand(1) && operand(2);
    // Widening keeps the number; anything else may turn a large one into a negative one.
    case OpCode::cast:
      return op.operand(0)->type->is_int() && op.operand(0)->type->size() < v->type->size() && operand(0);
    default: return false;  // safe: it may be negative
  }
}

/// The same for an index itself: a sum that overflows is out of bounds.
bool index_never_negative(const Value* v, int depth = 4) {
  const bool sum = depth > 0 && v->kind == ir::ValueKind::result && v->op->code == OpCode::add;
  if (!sum || !v->type->is_signed_int()) return never_negative(v);
  return index_never_negative(v->op->operand(0), depth - 1) && index_never_negative(v->op->operand(1), depth - 1);
}

/// The 32-bit number that an extent is: of a GPU's array argument (kernel_entry.cpp), or of a private array; null if it may
/// be larger.
llvm::Value* small_extent(llvm::Value* extent) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(extent); known && known->getValue().isSignedIntN(32))
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(known->getContext()), known->getValue().trunc(32));
  auto* wide = llvm::dyn_cast<llvm::SExtInst>(extent);
  return wide && wide->getOperand(0)->getType()->isIntegerTy(32) ? wide->getOperand(0) : nullptr;
}

bool is_loop_index(const Value* v) {
  return v->kind == ir::ValueKind::argument && v->index == 0 && v->region->parent_op &&
         v->region->parent_op->code == OpCode::for_;
}

/// One summand of an offset, in bytes.
struct Term {
  llvm::Value* scalar = nullptr;                 // uniform: its value; linear: lane 0's; null: varying
  std::int64_t lane = 0;                         // linear: what a lane adds
  std::function<llvm::Value*()> index_by_lane;   // makes <W x i64>; set unless uniform
  std::function<llvm::Value*()> offset_by_lane;  // the same times the stride, where there is a shorter way
  llvm::Value* indices = nullptr;                // varying, of an array: as they were computed
  llvm::Value* element = nullptr;                // a GPU's loop index, with 64 bits: taken apart by the back end
  llvm::Value* stride = nullptr;                 // multiplies the index
};

/// The offset of an element, being summed up.
struct Offset {
  std::vector<Term> terms;
  llvm::SmallVector<llvm::Value*, 4> steps;  // constants times strides come last: neighbours share what is before
  int differ = 0;                            // indices that are not the same in all lanes
  llvm::Value* grows = nullptr;  // bytes from lane to lane by the last of these, if it grows or shrinks steadily
};

/// One index of an access.
struct Index {
  const Value* value;
  Part part;
  llvm::Value* extent;
  bool wraps;  // it may be negative, and counts from the end then
  llvm::Value* stride;

  const Type* type() const { return value->type; }
  llvm::ConstantInt* known_stride() const { return llvm::dyn_cast<llvm::ConstantInt>(stride); }
};

Index index_of(Emitter& e, const ir::Op& op, const Parts& desc, std::uint32_t k) {
  const Value* value = op.indices()[k];
  const Part part = e.get(value)[0];
  // Views may keep leading dimensions.
  const std::uint32_t d = k + (op.code == OpCode::view ? std::uint32_t(op.imm) : 0);
  llvm::Value* extent = e.plain(desc[2 + d]);
  // Most indices with Python's meaning are thread numbers or loop indices, and cost nothing.
  const bool wraps = (op.wrap >> k & 1) && !index_never_negative(value);
  return {value, part, extent, wraps, e.plain(desc[2 + op.operand(0)->type->rank() + d])};
}

/// So many elements in bytes. They don't overflow, and LLVM must know that: its analysis of aliases takes indices that differ for places
/// that differ, and where only the low bits of a product count it may have changed the others in one of two equal indices.
llvm::Value* in_bytes(llvm::IRBuilder<>& b, llvm::Value* index, llvm::Value* stride) {
  return b.CreateNSWMul(index, stride);
}

/// The index, or those of all lanes, as i64 and from the beginning.
llvm::Value* resolved(Emitter& e, const Index& index, llvm::Value* v) {
  llvm::IRBuilder<>& b = e.b;
  const Type* type = index.type();
  // In 32 bits where index and extent have them: a GPU makes two instructions of an addition in 64.
  const bool narrow = index.wraps && type->size() == 4 && !v->getType()->isVectorTy();
  if (llvm::Value* small = narrow ? small_extent(index.extent) : nullptr)
    return e.to_i64(b.CreateSelect(b.CreateICmpSLT(v, b.getInt32(0)), b.CreateAdd(v, small), v), type);
  v = e.to_i64(v, type);
  if (!index.wraps) return v;
  llvm::Value* pair[] = {v, index.extent};
  e.unify(pair);
  llvm::Value* negative = b.CreateICmpSLT(pair[0], e.constant_like(pair[0], 0));
  return e.select(negative, b.CreateAdd(pair[0], pair[1]), pair[0]);
}

/// Offsets of all lanes, wrapped around after scaling: arrays of one element size then share the product.
llvm::Value* scaled_first(Emitter& e, const Index& index) {
  llvm::IRBuilder<>& b = e.b;
  llvm::ConstantInt* stride = index.known_stride();
  llvm::Value* v = e.to_i64(e.vector(index.part), index.type());
  llvm::Value* negative = b.CreateICmpSLT(v, e.constant_like(v, 0));
  llvm::Value* around = e.select(negative, in_bytes(b, index.extent, stride), b.getInt64(0));
  return b.CreateAdd(in_bytes(b, v, e.splat(stride)), around);
}

/// An index that grows by a constant from lane to lane.
void add_linear(Emitter& e, const Index& index, Term& term, Address& at) {
  llvm::Value* first = e.to_i64(index.part.v, index.type());
  term.scalar = in_bytes(e.b, first, term.stride);
  term.lane = index.part.stride * index.known_stride()->getSExtValue();
  if (!index.wraps) return;
  // All lanes are at least 0 if the lowest is: lane 0, or the last one where the index falls. Otherwise some count
  // from the end, and the lanes' addresses are no longer in line.
  const std::int64_t lowest = index.part.stride < 0 ? -std::int64_t(index.part.stride) * (e.W - 1) : 0;
  at.fast_if = e.both(at.fast_if, e.b.CreateICmpSGE(first, e.b.getInt64(std::uint64_t(lowest))));
}

/// An index that is the same in all lanes.
void add_uniform(Emitter& e, const Index& index, Term& term, Offset& offset) {
  llvm::IRBuilder<>& b = e.b;
  // `a[i - 1]`, `a[i]`, `a[i + 1]` then share one address, and the constants ride in the instructions.
  const bool splits = e.unit.hooks->addresses_take_constants() && e.W == 1 && !index.wraps;
  const Moved moved = splits ? take_constant(index.value) : Moved{index.value, 0};
  if (moved.by) {
    term.scalar = in_bytes(b, e.to_i64(e.base(e.get(moved.base)[0]), moved.base->type), term.stride);
    offset.steps.push_back(b.CreateMul(b.getInt64(std::uint64_t(moved.by)), term.stride));
    return;
  }
  const bool adds_up = e.W == 1 && !index.wraps && index.value->type == types::i32();
  if (splits && adds_up)
    if (const Taken taken = take_numbers(e, index.value); taken.base && taken.by) {
      term.scalar = in_bytes(b, e.to_i64(taken.base, index.value->type), term.stride);
      offset.steps.push_back(b.CreateMul(b.getInt64(std::uint64_t(taken.by)), term.stride));
      return;
    }
  term.scalar = in_bytes(b, adds_up ? e.wide_index(index.value) : resolved(e, index, index.part.v), term.stride);
  // An array that is read backwards has no type of its elements' distance.
  const auto* known = llvm::dyn_cast<llvm::ConstantInt>(term.stride);
  if (splits && index.known_stride() && is_loop_index(index.value) && known && !known->isNegative())
    term.element = e.to_i64(index.part.v, index.type());
}

/// One summand of the address by what its index is:  `a[i]` of a thread index is linear (lane k
/// is k elements further),  `a[n]` of a parameter uniform,  `a[b[i]]` a vector. One vector among
/// the summands makes the whole address one.
void add_index(Emitter& e, const Index& index, Offset& offset, Address& at) {
  const Part& part = index.part;
  const bool is_known = index.known_stride() != nullptr, one_extent = !index.extent->getType()->isVectorTy();
  // A wrapped-around unsigned index would not be linear in 64 bits; a signed one that overflows is out of bounds.
  const bool is_linear = part.stride != 0 && index.type()->is_signed_int();
  Term term;
  term.stride = index.stride;
  term.index_by_lane = [&e, index] { return resolved(e, index, e.vector(index.part)); };
  if (index.wraps && is_known && one_extent) term.offset_by_lane = [&e, index] { return scaled_first(e, index); };
  if (is_linear && is_known)
    add_linear(e, index, term, at);
  else if (e.is_uniform(part) && !term.stride->getType()->isVectorTy() && (!index.wraps || one_extent))
    add_uniform(e, index, term, offset);
  else if (part.stride == 0 && !e.is_uniform(part))
    term.indices = part.v;
  if (!e.is_uniform(part)) {
    ++offset.differ;
    // Only asked where it is the one index that differs (apart_if), so that the last one is it.
    offset.grows = is_linear && !index.wraps ? term.stride : nullptr;
  }
  offset.terms.push_back(std::move(term));
}

/// The path inside the element: constant steps add up, dynamic ones are range-checked and clamped.
void add_path(Emitter& e, const ir::Op& op, std::span<Value* const> path_operands, Offset& offset, Address& at) {
  llvm::IRBuilder<>& b = e.b;
  const Type* type = op.operand(0)->type->element();
  std::size_t next = 0;
  for (const ir::PathStep& step : op.path) {
    const Type* inner = ir::step_type(type, step);
    if (step.kind == ir::PathStep::field) {
      at.offset += type->fields()[std::size_t(step.value)].offset;
    } else {
      Emitter::Step s = e.resolve_step(step, type, step.dynamic ? path_operands[next++] : nullptr);
      if (s.dynamic) {
        // The index itself was clamped: the address stays inside of the
        // element, so that a load may read it in any case.
        // What LLVM's builder could tell to be inside needs no test; a test that is known means nowhere (below).
        if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(s.valid); !known || known->isZero())
          at.valid = e.both(at.valid, s.valid);
        Term term;
        term.stride = b.getInt64(inner->size());
        if (s.index->getType()->isVectorTy()) {
          ++offset.differ;
          term.index_by_lane = [&e, s] { return e.b.CreateZExt(s.index, e.unit.wide(e.unit.i64)); };
        } else {
          term.scalar = in_bytes(b, b.CreateZExt(s.index, e.unit.i64), term.stride);
        }
        offset.terms.push_back(std::move(term));
      } else if (s.in_range()) {
        at.offset += s.value * inner->size();
      } else {
        // A constant step out of range, known now: the caller emits no access at all.
        at.valid = b.getFalse();
      }
    }
    type = inner;
  }
}

/// Indices that were read or computed often grow by one from lane to lane, as those of ordered meshes and of grids that
/// wrap around do. A few instructions tell; whole vectors then take the place of gathers and scatters. Without that, the
/// address stays as it is.
void guess_neighbours(Emitter& e, std::vector<Term>& terms, Address& at, bool runs) {
  if (!e.guesses) return;
  // Exactly one term may differ between lanes, and it must be a vector of indices: linear ones need no guess.
  Term* varying = nullptr;
  for (Term& term : terms) {
    if (term.scalar && term.lane == 0) continue;
    if (varying) return;
    varying = &term;
  }
  if (!varying || !varying->indices || (e.mask && !e.unit.traits.masked_moves)) return;
  auto* stride = llvm::dyn_cast<llvm::ConstantInt>(varying->stride);
  const unsigned bits = varying->indices->getType()->getScalarSizeInBits();
  if (!stride || (stride->getSExtValue() != at.element_size && !runs) || bits < 32) return;
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* first = b.CreateExtractElement(varying->indices, std::uint64_t(0));
  llvm::Value* expected = b.CreateAdd(e.splat(first), e.iota(b.getIntNTy(bits), 1));
  llvm::Value* stray = b.CreateICmpNE(varying->indices, expected);
  if (e.mask) stray = b.CreateAnd(stray, e.mask);
  // Neither negative, which wraps around, nor so large that the last lane's overflows.
  auto limit = llvm::APInt::getSignedMaxValue(bits) - unsigned(e.W);
  at.fast_if = e.both(at.fast_if, b.CreateAnd(b.CreateICmpULT(first, b.getInt(limit)), b.CreateNot(e.any(stray))));
  // Lane 0 must be active, or what it holds is no index that anybody checked.
  if (e.mask) at.fast_if = e.both(at.fast_if, b.CreateExtractElement(e.mask, std::uint64_t(0)));
  varying->scalar = in_bytes(b, b.CreateZExtOrTrunc(first, e.unit.i64), stride);
  varying->lane = stride->getSExtValue();
}

/// The address of each lane, whatever the terms are.
llvm::Value* pointers_by_lane(Emitter& e, const std::vector<Term>& terms, llvm::Value* from) {
  llvm::IRBuilder<>& b = e.b;
  llvm::SmallVector<const Term*, 4> varying;
  for (const Term& term : terms) {
    if (term.scalar && term.lane == 0)
      // What all lanes share first, as scalars: the vector part is then as small as it can be.
      from = e.byte_offset(from, from->getType()->isVectorTy() ? e.splat(term.scalar) : term.scalar);
    else
      varying.push_back(&term);
  }
  // One index scaled by a machine-friendly stride is what gather instructions take.
  if (varying.size() == 1 && !from->getType()->isVectorTy())
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(varying[0]->stride)) {
      std::int64_t bytes = known->getSExtValue();
      // The scale of an address on x86 and Arm: LLVM finds it in a GEP of that type.
      if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)
        return b.CreateGEP(b.getIntNTy(unsigned(bytes) * 8), from, varying[0]->index_by_lane());
    }
  for (const Term* term : varying) {
    if (term->offset_by_lane) {
      from = e.byte_offset(from, term->offset_by_lane());
      continue;
    }
    llvm::Value* pair[] = {term->index_by_lane(), term->stride};
    e.unify(pair);
    from = e.byte_offset(from, in_bytes(b, pair[0], pair[1]));
  }
  return e.W > 1 && !from->getType()->isVectorTy() ? e.splat(from) : from;
}

/// Where lanes go by an index that grows steadily they don't meet, if it grows by an element at least.
llvm::Value* apart_if(Emitter& e, const Offset& offset, const Address& at) {
  if (offset.differ != 1 || !offset.grows || offset.grows->getType()->isVectorTy()) return nullptr;
  llvm::Value* size = e.b.getInt64(at.element_size);
  // Strides may be negative, in arrays that a program has turned around.
  llvm::Value* distance = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, offset.grows, e.b.getFalse());
  return e.b.CreateICmpUGE(distance, size);
}

/// A scalar pointer and what lanes add to it: for terms that all have scalars.
void move_pointer(Emitter& e, const Offset& offset, Address& at) {
  for (const Term& term : offset.terms) {
    if (term.element) {  // a type of that size: the back end finds constants in the index of an unrolled loop
      const auto size = llvm::cast<llvm::ConstantInt>(term.stride)->getZExtValue();
      at.pointer = e.b.CreateGEP(llvm::ArrayType::get(e.unit.i8, size), at.pointer, term.element);
      continue;
    }
    at.pointer = e.byte_offset(at.pointer, term.scalar);
    at.lane_stride += term.lane;
  }
  for (llvm::Value* step : offset.steps) at.pointer = e.byte_offset(at.pointer, step);
}

}  // namespace

/// Sums index·stride terms: scalars where all lanes agree, a scalar and a distance where they are linear, else vectors.
Address Emitter::address(const ir::Op& op, std::span<Value* const> path_operands) {
  const Value* array = op.operand(0);
  const Type* element = array->type->element();
  const Parts desc = get(array);
  Address at;
  at.element_size = element->size();
  at.scope = desc[0].scope;
  Offset offset;
  for (std::uint32_t k = 0; k < op.num_indices; ++k) add_index(*this, index_of(*this, op, desc, k), offset, at);
  add_path(*this, op, path_operands, offset, at);

  llvm::Value* data = plain(desc[0]);
  // A copy of the terms: guess_neighbours turns one of them into a scalar, and
  // this is the way for when its guess is wrong.
  auto by_lane = [this, terms = offset.terms, data] { return pointers_by_lane(*this, terms, data); };
  if (auto own = woven_.find(array); own != woven_.end()) {  // lanes' elements side by side
    data = own->second;
    at.lane_stride = element->size();
  }
  bool scalar = !data->getType()->isVectorTy();
  // Not for views: their pointers are kept, and a branch would have to be joined again.
  if (scalar && at.lane_stride == 0 && op.code != OpCode::view && !ir::is_loose(array))
    guess_neighbours(*this, offset.terms, at, ir::is_runs(array));
  for (const Term& term : offset.terms) scalar &= term.scalar != nullptr;
  if (!scalar) {
    // The test of another term means nothing if the pointers are made lane by lane anyway.
    at.fast_if = nullptr;
    at.lane_stride = 0;
    at.pointers = by_lane();
    if (op.code == OpCode::atomic && !data->getType()->isVectorTy()) at.apart_if = apart_if(*this, offset, at);
    return at;
  }
  at.pointer = data;
  move_pointer(*this, offset, at);
  if (at.fast_if) at.pointers_slow = by_lane;
  return at;
}

void Emitter::emit_view(const ir::Op& op) {
  Address at = address(op, {});
  const Value* array = op.operand(0);
  const Parts& desc = get(array);
  std::uint32_t rank = array->type->rank(), left = op.result()->type->rank();
  Parts out;
  // Both pointers move by the same distance; a null gradient or null data stays null.
  llvm::Value* data = plain(desc[0]);
  llvm::Value* moved = at.pointer && at.lane_stride == 0 ? at.pointer : lane_pointers(at);
  llvm::Value* null = llvm::ConstantPointerNull::get(unit.ptr);
  auto is_null = [&](llvm::Value* p) { return b.CreateICmpEQ(p, p->getType()->isVectorTy() ? splat(null) : null); };
  out.push_back({select(is_null(data), data, moved), 0, desc[0].scope});
  llvm::Value* grad = plain(desc[1]);
  auto as_int = [&](llvm::Value* p) {
    return b.CreatePtrToInt(p, p->getType()->isVectorTy() ? unit.wide(unit.i64) : unit.i64);
  };
  llvm::Value* pair[] = {as_int(moved), as_int(data)};
  unify(pair);
  llvm::Value* offset = b.CreateSub(pair[0], pair[1]);
  // Lanes with memory of their own still move by the same amount where their indices are the same.
  if (offset->getType()->isVectorTy() && shape(op.result(), analysis::kUnitGrad) == analysis::kUniform)
    offset = b.CreateExtractElement(offset, std::uint64_t(0));
  out.push_back({select(is_null(grad), grad, byte_offset(grad, offset))});
  auto from = [&](std::uint32_t d) { return d < op.imm ? d : d + rank - left; };
  for (std::uint32_t d = 0; d < left; ++d) out.push_back(desc[2 + from(d)]);
  for (std::uint32_t d = 0; d < left; ++d) out.push_back(desc[2 + rank + from(d)]);
  set(op.result(), std::move(out));
}

/// Python's slice: negative bounds count from the end, both clamp to the extent; with a negative step to the last element
/// and the place before the first. A step of 0 counts as 1.
void Emitter::emit_slice(const ir::Op& op) {
  const Value* array = op.operand(0);
  Parts out = get(array);
  std::uint32_t rank = array->type->rank(), d = std::uint32_t(op.imm);
  llvm::Value* v[] = {plain(out[2 + d]), plain(out[2 + rank + d]), plain(op.operand(1)), plain(op.operand(2)),
                      plain(op.operand(3))};
  unify(v);
  llvm::Value *extent = v[0], *stride = v[1];
  auto c = [&](std::int64_t k) { return constant_like(extent, k); };
  auto least = [&](llvm::Value* x, llvm::Value* y) { return select(b.CreateICmpSLT(x, y), x, y); };
  auto most = [&](llvm::Value* x, llvm::Value* y) { return select(b.CreateICmpSGT(x, y), x, y); };
  // Most steps are written in the kernel, and forwards: then nothing of the way back is emitted.
  const Value* given = op.operand(3);
  const bool forwards = given->is_constant() && given->as_int() >= 0;
  llvm::Value* step = select(b.CreateICmpEQ(v[4], c(0)), c(1), v[4]);
  llvm::Value* backwards = forwards ? nullptr : b.CreateICmpSLT(step, c(0));
  llvm::Value* low = forwards ? c(0) : select(backwards, c(-1), c(0));
  llvm::Value* high = forwards ? extent : select(backwards, b.CreateSub(extent, c(1)), extent);
  auto bound = [&](llvm::Value* x) {
    x = select(b.CreateICmpSLT(x, c(0)), b.CreateAdd(x, extent), x);
    return least(most(x, low), high);
  };
  llvm::Value *from = bound(v[2]), *to = bound(v[3]);
  llvm::Value *by = step, *length = b.CreateSub(to, from);
  if (!forwards) {
    by = select(backwards, b.CreateNeg(step), step);
    length = select(backwards, b.CreateNeg(length), length);
  }
  length = most(length, c(0));
  // ceil(length / by) without overflow for huge steps; unsigned, since the smallest step has no positive counterpart.
  llvm::Value* whole = b.CreateUDiv(length, by);
  llvm::Value* rest = b.CreateICmpNE(b.CreateMul(whole, by), length);
  llvm::Value* count = b.CreateAdd(whole, b.CreateZExt(rest, whole->getType()));
  // An empty view has no first element, which on the way back would lie outside of the array.
  if (!forwards) from = select(b.CreateICmpEQ(count, c(0)), c(0), from);
  llvm::Value* offset = b.CreateMul(from, stride);
  llvm::Value* null = llvm::ConstantPointerNull::get(unit.ptr);
  for (int k = 0; k < 2; ++k) {
    llvm::Value* p = plain(out[std::size_t(k)]);
    llvm::Value* is_null = b.CreateICmpEQ(p, p->getType()->isVectorTy() ? splat(null) : null);
    out[std::size_t(k)].v = select(is_null, p, byte_offset(p, offset));
  }
  out[2 + d] = Part{count};
  out[2 + rank + d] = Part{b.CreateMul(stride, step)};
  set(op.result(), std::move(out));
}

void Emitter::emit_dim(const ir::Op& op) {
  llvm::Value* extent = plain(get(op.operand(0))[2 + std::size_t(op.imm)]);
  set(op.result(), {Part{convert(extent, ScalarKind::i64, op.result()->type->scalar_kind())}});
}

void Emitter::emit_pointer_query(const ir::Op& op) {
  llvm::Value* data = plain(get(op.operand(0))[0]);
  bool varying = data->getType()->isVectorTy();
  if (op.code == OpCode::data_ptr)
    return set(op.result(), {Part{b.CreatePtrToInt(data, varying ? unit.wide(unit.i64) : unit.i64)}});
  set(op.result(), {Part{b.CreateICmpNE(data, llvm::Constant::getNullValue(data->getType()))}});
}

/// Whether an address is that of an object's descriptor, or of a field of it.
static bool is_descriptor(const ir::Value* address) {
  while (address->kind == ir::ValueKind::result && address->op->code == OpCode::add &&
         address->op->operand(1)->kind == ir::ValueKind::constant)
    address = address->op->operand(0);
  return address->kind == ir::ValueKind::result && address->op->code == OpCode::handle;
}

void Emitter::emit_from_ptr(const ir::Op& op) {
  const Type* type = op.result()->type;
  std::uint32_t rank = type->rank();
  llvm::Value* address = plain(op.operand(0));
  Parts out;
  const bool varying = address->getType()->isVectorTy(), fixed = op.imm != 0;
  llvm::Value* data = fixed && !varying ? unit.hooks->fixed_memory(*this, address)
                                        : b.CreateIntToPtr(address, varying ? unit.wide(unit.ptr) : unit.ptr);
  const bool descriptor = unit.target.arch == TargetSpec::cpu && is_descriptor(op.operand(0));
  out.push_back({data, 0, !fixed ? -1 : descriptor ? kDescriptorScope : kFixedScope});
  out.push_back({llvm::ConstantPointerNull::get(unit.ptr)});
  for (std::uint32_t d = 0; d < rank; ++d) out.push_back({plain(op.operand(1 + d))});
  llvm::SmallVector<llvm::Value*, 4> strides(rank);
  llvm::Value* stride = b.getInt64(std::uint64_t(ir::element_distance(op)));
  for (std::uint32_t d = rank; d-- > 0;) {
    strides[d] = stride;
    llvm::Value* pair[] = {stride, plain(op.operand(1 + d))};
    unify(pair);
    if (d > 0) stride = b.CreateMul(pair[0], pair[1]);
  }
  for (llvm::Value* s : strides) out.push_back({s});
  set(op.result(), std::move(out));
}

/// Descriptors as they travel: data first, then gradient. The gradient's memory is no parameter's own, so no scope.
void Emitter::emit_gradient(const ir::Op& op) {
  Parts out = get(op.operand(0));
  if (op.code == OpCode::gradient) {
    out[0] = Part{out[1].v};
    out[1] = Part{llvm::ConstantPointerNull::get(unit.ptr)};
  } else {
    out[1] = Part{get(op.operand(1))[0].v};
  }
  set(op.result(), std::move(out));
}

/// Private memory, zeroed each time it is executed. Lanes have copies of their own, one behind the other, or, where
/// nobody sees the difference, their elements side by side: what all of them do to the same element is then one vector
/// access. If all lanes write the same, there is one copy.
void Emitter::emit_local(const ir::Op& op) {
  if (ir::is_block_memory(op)) return emit_block_memory(op);
  const Type* type = op.result()->type;
  const std::uint64_t element = type->element()->size();
  std::uint64_t count = 1;
  for (std::int64_t n : op.ints) count *= std::uint64_t(n);
  const bool hidden = W > 1 && shapes_ && shapes_->only_accessed(op.result());
  const bool shared = hidden && shapes_->shape(op.result(), analysis::kUnitData) == analysis::kUniform;
  const bool woven = hidden && !shared;
  const std::uint64_t per_lane = (count * element + 15) / 16 * 16;
  const std::uint64_t copies = shared ? 1 : std::uint64_t(W);
  const std::uint64_t apart = woven ? element : per_lane;  // from lane to lane
  Parts out;
  llvm::Value* data = llvm::ConstantPointerNull::get(unit.ptr);
  if (count * element != 0) {
    llvm::AllocaInst* memory = entry_alloca(unit.i8, per_lane * copies, woven ? 64 : 16);
    data = memory;
    if (copies > 1) data = b.CreateGEP(unit.i8, memory, iota(unit.i64, std::int64_t(apart)));
    if (woven) woven_[op.result()] = memory;
    if (op.imm) {
      // Raw memory: whoever reads has written before.
    } else if (!mask || shared) {
      b.CreateMemSet(memory, b.getInt8(0), per_lane * copies, llvm::MaybeAlign(16));
    } else if (!woven) {
      for_each_lane(mask, [&](llvm::Value* lane) {
        llvm::Value* at = b.CreateGEP(unit.i8, memory, b.CreateMul(lane, b.getInt64(per_lane)));
        b.CreateMemSet(at, b.getInt8(0), count * element, llvm::MaybeAlign(16));
      });
    } else {
      clear_woven(memory, count, element);
    }
  } else if (copies > 1) {
    data = splat(data);
  }
  out.push_back({data});
  out.push_back({llvm::ConstantPointerNull::get(unit.ptr)});
  for (std::int64_t n : op.ints) out.push_back({b.getInt64(std::uint64_t(n))});
  llvm::SmallVector<std::uint64_t, 4> strides(op.ints.size());
  std::uint64_t stride = woven ? element * std::uint64_t(W) : element;
  for (std::size_t d = op.ints.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::uint64_t(op.ints[d]);
  }
  for (std::uint64_t s : strides) out.push_back({b.getInt64(s)});
  set(op.result(), std::move(out));
}

/// Zeroes the elements of the lanes that run.
void Emitter::clear_woven(llvm::Value* memory, std::uint64_t count, std::uint64_t element) {
  // Elements of a number: those of all lanes side by side are one vector, of which the mask keeps what is not ours.
  if (element <= 8 && (element & (element - 1)) == 0) {
    llvm::Type* lanes = unit.wide(b.getIntNTy(unsigned(element) * 8));
    counted_loop(b.getInt64(count), [&](llvm::Value* index) {
      llvm::Value* at = b.CreateGEP(unit.i8, memory, b.CreateMul(index, b.getInt64(element * std::uint64_t(W))));
      b.CreateMaskedStore(llvm::Constant::getNullValue(lanes), at, llvm::Align(element), mask);
    });
    return;
  }
  for_each_lane(mask, [&](llvm::Value* lane) {
    llvm::Value* own = b.CreateGEP(unit.i8, memory, b.CreateMul(lane, b.getInt64(element)));
    counted_loop(b.getInt64(count), [&](llvm::Value* index) {
      llvm::Value* at = b.CreateGEP(unit.i8, own, b.CreateMul(index, b.getInt64(element * std::uint64_t(W))));
      b.CreateMemSet(at, b.getInt8(0), element, llvm::MaybeAlign(1));
    });
  });
}

llvm::Value* Emitter::lane_pointers(const Address& at) {
  if (at.pointers) return at.pointers;
  llvm::Value* p = splat(at.pointer);
  // A scalar pointer and a vector of constants: targets with a base register
  // for gathers have both in one instruction.
  return at.lane_stride == 0 || W == 1 ? p : byte_offset(at.pointer, iota(unit.i64, at.lane_stride));
}

/// Pointers of every lane moved by a constant: the scalar they start from, where there is one, so that gathers have it as
/// their base.
llvm::Value* Emitter::component_pointers(llvm::Value* pointers, std::uint32_t offset) {
  auto* from = llvm::dyn_cast<llvm::GetElementPtrInst>(pointers);
  if (!offset || !from || from->getNumIndices() != 1 || from->getPointerOperand()->getType()->isVectorTy())
    return b.CreateConstGEP1_64(unit.i8, pointers, offset);
  llvm::Value* base = b.CreateConstGEP1_64(unit.i8, from->getPointerOperand(), offset);
  return b.CreateGEP(from->getSourceElementType(), base, from->idx_begin()->get());
}

}  // namespace weft::codegen
