// Dispatch over operations, and `if`: a branch where all lanes agree, both sides under masks where they do not, selects
// without any branch for short pure sides.
#include "codegen/emit/draw_queue.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/line_table.h"
#include "codegen/emit/target_hooks.h"

namespace weft::codegen {

using ir::OpCode;

namespace {

/// Divergent sides up to this many operations are computed for all lanes and selected.
constexpr int kMaxFlatOps = 12;

}  // namespace

void Emitter::emit_region(const ir::Region& region) {
  // Before anything is emitted: what store_row_product writes as one piece must
  // not be emitted in its own place as well.
  find_row_products(region);
  for (const ir::Op& op : region)
    if (draws && draws->waits(op))
      draws->pass(*this, op);
    else if (ir::effect_of(op.code) != ir::Effect::end && !deferred_.contains(&op))
      emit_op(op);
}

void Emitter::emit_op(const ir::Op& op) {
  if (unit.lines)
    // Code of the library has no line of its own and counts to the last one of the program's.
    if (llvm::DebugLoc here = unit.lines->at(*function_, op.loc)) b.SetCurrentDebugLocation(here);
  if (needs_components(op)) return emit_on_components(op);
  switch (op.code) {
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::div:
    case OpCode::floordiv:
    case OpCode::rem:
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest:
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::fma:
    case OpCode::bit_and:
    case OpCode::bit_or:
    case OpCode::bit_xor:
    case OpCode::bit_not:
    case OpCode::bit_count:
    case OpCode::trailing_zeros:
    case OpCode::handle:
    case OpCode::shl:
    case OpCode::shr:
    case OpCode::floor:
    case OpCode::ceil:
    case OpCode::trunc:
    case OpCode::round:
    case OpCode::rint:
    case OpCode::sqrt:
    case OpCode::sin:
    case OpCode::cos:
    case OpCode::tan:
    case OpCode::sin_large:
    case OpCode::cos_large:
    case OpCode::tan_large:
    case OpCode::asin:
    case OpCode::acos:
    case OpCode::atan:
    case OpCode::atan2:
    case OpCode::sinh:
    case OpCode::cosh:
    case OpCode::tanh:
    case OpCode::exp:
    case OpCode::exp2:
    case OpCode::log:
    case OpCode::log2:
    case OpCode::log10:
    case OpCode::pow:
    case OpCode::cbrt:
    case OpCode::erf:
    case OpCode::erfc:
    case OpCode::erfinv:
    case OpCode::erfcinv: return emit_elementwise(op);
    case OpCode::eq:
    case OpCode::ne:
    case OpCode::lt:
    case OpCode::le:
    case OpCode::gt:
    case OpCode::ge: return emit_compare(op);
    case OpCode::select: return emit_select(op);
    case OpCode::cast: return emit_cast(op);
    case OpCode::bitcast: return emit_bitcast(op);
    case OpCode::construct: return emit_construct(op);
    case OpCode::splat: return emit_splat(op);
    case OpCode::extract: return emit_extract(op);
    case OpCode::insert: return emit_insert(op);
    case OpCode::scale:
    case OpCode::unscale: return emit_scale(op);
    case OpCode::dot: return emit_dot(op);
    case OpCode::matmul: return emit_matmul(op);
    case OpCode::transpose: return emit_transpose(op);
    case OpCode::outer: return emit_outer(op);
    case OpCode::less_bits:
    case OpCode::less_equal_bits: return emit_mask_of(op);
    case OpCode::choose_bits: return emit_choose_bits(op);
    case OpCode::load: return emit_load(op);
    case OpCode::store: return emit_store(op);
    case OpCode::atomic: return emit_atomic(op);
    case OpCode::prefetch: return emit_prefetch(op);
    case OpCode::view: return emit_view(op);
    case OpCode::slice: return emit_slice(op);
    case OpCode::dim: return emit_dim(op);
    case OpCode::nonnull:
    case OpCode::data_ptr: return emit_pointer_query(op);
    case OpCode::from_ptr: return emit_from_ptr(op);
    case OpCode::gradient:
    case OpCode::with_gradient: return emit_gradient(op);
    case OpCode::local: return emit_local(op);
    case OpCode::if_: return emit_if(op);
    case OpCode::for_: return emit_for(op);
    case OpCode::while_: return emit_while(op);
    case OpCode::call: return emit_call(op);
    case OpCode::tid: return emit_tid(op);
    case OpCode::thread: return set(op.result(), {thread.linear});
    case OpCode::print:
    case OpCode::printf: return emit_print(op);
    case OpCode::assert_:
    case OpCode::check: return emit_failure(op);
    case OpCode::running: return emit_running(op);
    case OpCode::any: return emit_any(op);
    case OpCode::block_dim: return emit_block_dim(op);
    case OpCode::block_thread: return emit_block_thread(op);
    case OpCode::objects: return set(op.result(), {Part{unit.hooks->object_table(*this)}});
    case OpCode::on_gpu: WEFT_UNREACHABLE("passes/settle_target comes first");
    case OpCode::breakpoint: return emit_breakpoint();
    case OpCode::barrier: return unit.hooks->barrier(*this, op.imm);
    case OpCode::tally: return set(op.result(), {Part{unit.hooks->tally(*this, plain(op.operand(0)))}});
    case OpCode::warp_sync: return unit.hooks->warp_barrier(*this, plain(op.operand(0)));
    case OpCode::meet: return;  // barriers are set
    case OpCode::fence: return unit.hooks->fence(*this);
    case OpCode::warp:
    case OpCode::lane:
    case OpCode::vote:
    case OpCode::shuffle: return emit_warp(op);
    case OpCode::texture: return emit_texture(op);
    case OpCode::recall: WEFT_UNREACHABLE("a value that nothing can recall is an error before code is made");
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test: break;
  }
  WEFT_UNREACHABLE("a terminator is emitted by what owns its region");
}

/// Whether both sides run and each lane picks its own. A branch that lanes disagree on costs a test, two jumps and a
/// mask for all it holds; a few cheap operations cost less than that. What touches memory, has an effect or is slow
/// is never run for lanes that don't want it.
bool Emitter::flattens(const ir::Op& op) {
  int count = 0;
  for (const ir::Value* result : op.results)
    for (const PartInfo& part : parts_of(result).parts)
      if (part.kind == PartKind::block) return false;
  for (const ir::Region* region : op.regions)
    for (const ir::Op& inner : *region) {
      if (ir::effect_of(inner.code) == ir::Effect::end) continue;
      switch (ir::class_of(inner.code)) {
        case ir::OpClass::math:
        case ir::OpClass::whole:
        case ir::OpClass::memory:
        case ir::OpClass::control:
        case ir::OpClass::effect: return false;
        case ir::OpClass::arith:
        case ir::OpClass::bits:
        case ir::OpClass::compare:
        case ir::OpClass::round:
        case ir::OpClass::data: break;
      }
      // Vector units have no integer division: it is taken apart lane by lane.
      bool slow = (inner.code == OpCode::div || inner.code == OpCode::floordiv || inner.code == OpCode::rem) &&
                  !is_floating(inner.result()->type->scalar_kind());
      const Type* type = inner.result()->type;
      if (slow || inner.code == OpCode::sqrt || is_block(type)) return false;
      for (const ir::Value* v : inner.operands)
        if (is_block(v->type)) return false;
      // What counts is instructions: an addition of vec3 is three of them.
      count += type->is_numeric() ? int(type->component_count()) : 1;
      if (count > kMaxFlatOps) return false;
    }
  return true;
}

void Emitter::emit_if(const ir::Op& op) {
  llvm::Value* c = plain(op.operand(0));
  // All lanes agree: an ordinary branch, whatever the mask. The mask stays as it is inside of both sides.
  if (!c->getType()->isVectorTy()) return emit_branch(op);
  if (flattens(op)) return emit_flat_if(op);
  if (int side = guarded_side(op); side >= 0) return emit_agreeing_if(op, side);
  emit_masked_if(op);
}

void Emitter::emit_branch(const ir::Op& op) {
  llvm::Value* c = plain(op.operand(0));
  // Tests on what is constant for this form of the kernel (a rank, a null gradient) are known only here; the other
  // side may not even have code.
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(c)) {
    const ir::Region& taken = *op.regions[known->isOne() ? 0 : 1];
    emit_region(taken);
    for (std::size_t r = 0; r < op.results.size(); ++r)
      set(op.results[r], shaped_parts(op.results[r], get(taken.terminator()->operand(r))));
    return;
  }
  // Where a side ends need not be where it began: it may have branches and loops of its own.
  llvm::BasicBlock* ends[2];
  llvm::BasicBlock *starts[2] = {block("then"), block("else")}, *merge = block("merge");
  b.CreateCondBr(c, starts[0], starts[1]);
  for (int side = 0; side < 2; ++side) {
    b.SetInsertPoint(starts[side]);
    emit_region(*op.regions[std::size_t(side)]);
    ends[side] = b.GetInsertBlock();
  }
  // The sides stay open until both are known: what they yield is brought to one form at their ends.
  std::vector<Parts> results(op.results.size());
  struct Join {
    std::size_t result, part;
    llvm::Value* v[2];
  };
  std::vector<Join> joins;
  for (std::size_t r = 0; r < op.results.size(); ++r) {
    const TypeParts& info = parts_of(op.results[r]);
    results[r].resize(info.parts.size());
    const Parts sides[2] = {get(op.regions[0]->terminator()->operand(r)), get(op.regions[1]->terminator()->operand(r))};
    for (std::size_t k = 0; k < info.parts.size(); ++k) {
      const PartInfo& part = info.parts[k];
      analysis::LaneShape want = shape(op.results[r], part.unit);
      Part p = sides[0][k], q = sides[1][k];
      // Both sides pass a value on from before: no phi, so that it stays known to be linear or uniform.
      if (p.v == q.v && p.stride == q.stride && p.wide == q.wide) {
        results[r][k] = p;
        results[r][k].scope = p.scope == q.scope ? p.scope : -1;
        continue;
      }
      if (part.kind == PartKind::block) {
        // A block is memory: instead of a phi both sides copy into one, each at its own end.
        Part into = new_block(part.scalar, part.count, W > 1 && want != analysis::kUniform);
        for (int side = 0; side < 2; ++side) {
          b.SetInsertPoint(ends[side]);
          block_copy(into, sides[side][k], part.scalar, part.count);
          ends[side] = b.GetInsertBlock();
        }
        results[r][k] = into;
        continue;
      }
      Join join{r, k, {}};
      for (int side = 0; side < 2; ++side) {
        b.SetInsertPoint(ends[side]);
        join.v[side] = shaped(part, sides[side][k], want).v;
        ends[side] = b.GetInsertBlock();
      }
      joins.push_back(join);
      // The analysis promised this shape before anything was emitted, so both ends agree on it.
      results[r][k].stride = W > 1 && want != analysis::kVarying ? want : 0;
      results[r][k].scope = p.scope == q.scope ? p.scope : -1;
    }
  }
  for (llvm::BasicBlock* end : ends) {
    b.SetInsertPoint(end);
    b.CreateBr(merge);
  }
  b.SetInsertPoint(merge);
  for (const Join& join : joins) {
    llvm::PHINode* phi = b.CreatePHI(join.v[0]->getType(), 2);
    phi->addIncoming(join.v[0], ends[0]);
    phi->addIncoming(join.v[1], ends[1]);
    results[join.result][join.part].v = phi;
  }
  for (std::size_t r = 0; r < op.results.size(); ++r) set(op.results[r], std::move(results[r]));
}

void Emitter::emit_flat_if(const ir::Op& op) {
  llvm::Value* c = plain(op.operand(0));
  // Under the mask of outside, which both sides share: nothing in them looks at it.
  for (const ir::Region* region : op.regions) emit_region(*region);
  for (std::size_t r = 0; r < op.results.size(); ++r) {
    const Parts &x = get(op.regions[0]->terminator()->operand(r)), &y = get(op.regions[1]->terminator()->operand(r));
    Parts out;
    for (std::size_t k = 0; k < x.size(); ++k) {
      Part part{select(c, vector(x[k]), vector(y[k]))};
      part.scope = x[k].scope == y[k].scope ? x[k].scope : -1;
      out.push_back(part);
    }
    set(op.results[r], std::move(out));
  }
}

/// One side after the other, each under the mask of its lanes and skipped where it has none:
///
///   br any(m & c), then, between
///   then:     …                       ; mask = m & c
///   between:  p = phi(then's, 0)
///   br any(m & !c), else, merge
///   else:     …                       ; mask = m & !c
///   merge:    q = phi(else's, 0)
///             r = select(c, p, q)
///
/// Lanes outside of m get either; nobody reads theirs.
void Emitter::emit_masked_if(const ir::Op& op) {
  llvm::Value* c = plain(op.operand(0));
  llvm::Value* outer = mask;
  // Inside of a side the mask is what lanes get there by all branches around it.
  llvm::Value* masks[2] = {both(outer, c), both(outer, b.CreateNot(c))};
  // chosen[side][result][part]: the side's value, or anything where no lane went there.
  std::vector<Parts> chosen[2];
  std::vector<Parts> blocks(op.results.size());
  for (int side = 0; side < 2; ++side) {
    const ir::Region& region = *op.regions[std::size_t(side)];
    const ir::Op* yield = region.terminator();
    chosen[side].resize(op.results.size());
    bool empty = region.first == yield;
    bool any_block = false;
    for (const ir::Value* result : op.results)
      for (const PartInfo& part : parts_of(result).parts) any_block |= part.kind == PartKind::block;
    // A side that only passes values on needs no branch. Its yields are vectors here, as those of the other side are.
    if (empty && !any_block) {
      for (std::size_t r = 0; r < op.results.size(); ++r)
        for (const Part& part : get(yield->operand(r))) chosen[side][r].push_back({vector(part), 0, part.scope});
      continue;
    }
    llvm::BasicBlock *start = block(side ? "else" : "then"), *done = block(side ? "merge" : "between");
    llvm::BasicBlock* before = b.GetInsertBlock();
    // Skipped where no lane goes there: neighbouring threads often agree, and a masked region may rely on an active
    // lane (uniform loads have no guard).
    b.CreateCondBr(any(masks[side]), start, done);
    b.SetInsertPoint(start);
    mask = masks[side];
    emit_region(region);
    for (std::size_t r = 0; r < op.results.size(); ++r) {
      const TypeParts& info = parts_of(op.results[r]);
      const Parts yielded = get(yield->operand(r));
      blocks[r].resize(info.parts.size());
      for (std::size_t k = 0; k < info.parts.size(); ++k) {
        const PartInfo& part = info.parts[k];
        if (part.kind != PartKind::block) {
          chosen[side][r].push_back({vector(yielded[k]), 0, yielded[k].scope});
          continue;
        }
        // The first side's block is copied only if the second does not work on the same memory.
        chosen[side][r].push_back(yielded[k]);
        if (side == 0) {
          // Of the second side nothing is emitted yet: what it yields is known
          // here only if it comes from before the `if`.
          const Parts& other = get(op.regions[1]->terminator()->operand(r));
          bool same = !other.empty() && other[k].v == yielded[k].v && yielded[k].wide;
          // Wide, whatever the sides have: lanes come together in it.
          blocks[r][k] = same ? yielded[k] : new_block(part.scalar, part.count, true);
          block_copy(blocks[r][k], yielded[k], part.scalar, part.count, masks[0]);
        } else {
          block_copy(blocks[r][k], yielded[k], part.scalar, part.count, masks[1]);
        }
      }
    }
    llvm::BasicBlock* end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(done);
    for (std::size_t r = 0; r < op.results.size(); ++r) {
      const TypeParts& info = parts_of(op.results[r]);
      for (std::size_t k = 0; k < info.parts.size(); ++k) {
        if (info.parts[k].kind == PartKind::block) continue;
        Part& part = chosen[side][r][k];
        llvm::PHINode* phi = b.CreatePHI(part.v->getType(), 2);
        phi->addIncoming(part.v, end);
        // Zero, not poison: the select below reads it for lanes of the other side, too.
        phi->addIncoming(llvm::Constant::getNullValue(part.v->getType()), before);
        part.v = phi;
      }
    }
  }
  mask = outer;
  for (std::size_t r = 0; r < op.results.size(); ++r) {
    const TypeParts& info = parts_of(op.results[r]);
    Parts out;
    for (std::size_t k = 0; k < info.parts.size(); ++k) {
      if (info.parts[k].kind == PartKind::block) {
        out.push_back(blocks[r][k]);
        continue;
      }
      const Part &p = chosen[0][r][k], &q = chosen[1][r][k];
      Part part{select(c, p.v, q.v)};
      part.scope = p.scope == q.scope ? p.scope : -1;
      out.push_back(part);
    }
    set(op.results[r], std::move(out));
  }
}

}  // namespace weft::codegen
