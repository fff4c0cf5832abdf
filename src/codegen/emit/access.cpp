// Loads and stores of array elements. Uniform addresses are scalar accesses; consecutive ones vector accesses, small
// aggregates de-interleaved by shuffles (larger ones: emit/quads.cpp); everything else gathers and scatters, which LLVM
// breaks up lane by lane (in lane order) where the target has none. A masked region always has an active lane, so uniform
// loads need no guard.
#include "codegen/emit/emitter.h"
#include "codegen/emit/lane_pointers.h"
#include "codegen/emit/limits.h"
#include "codegen/emit/target_hooks.h"
#include "ir/fixed_memory.h"
#include "ir/infer.h"

namespace weft::codegen {

namespace {

std::uint32_t leaf_bytes(CodeUnit& unit, const PartInfo& leaf) {
  return leaf.kind == PartKind::pointer ? 8 : unit.memory_type(leaf.scalar)->getScalarSizeInBits() / 8;
}

/// The alignment of a scalar in an element: its own unless elements are known to have more, or none.
std::uint32_t leaf_align(CodeUnit& unit, const PartInfo& leaf, const Address& at) {
  if (at.align == 1) return 1;
  const std::uint32_t place = at.offset + leaf.offset;
  return std::max(leaf_bytes(unit, leaf), place ? std::min(at.align, place & (0u - place)) : at.align);
}

/// Neighbours of one type of 32 bits, which can be gathered and scattered as one of 64.
bool are_pair(CodeUnit& unit, const PartInfo& a, const PartInfo& b) {
  return unit.hooks->pairs_words() && a.kind == PartKind::scalar && b.kind == PartKind::scalar &&
         unit.memory_type(a) == unit.memory_type(b) && leaf_bytes(unit, a) == 4 && b.offset == a.offset + 4;
}

}  // namespace

/// Booleans are a byte in memory and a bit in registers. Any byte but 0 is true: arrays come from others, too.
llvm::Value* Emitter::from_memory(const PartInfo& leaf, llvm::Value* v) {
  if (leaf.kind != PartKind::scalar && leaf.kind != PartKind::block) return v;
  return leaf.scalar == ScalarKind::boolean ? b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

llvm::Value* Emitter::to_memory(const PartInfo& leaf, llvm::Value* v) {
  if (leaf.kind == PartKind::pointer || leaf.scalar != ScalarKind::boolean) return v;
  return b.CreateZExt(v, v->getType()->isVectorTy() ? unit.wide(unit.i8) : unit.i8);
}

llvm::Value* Emitter::load_scalar(llvm::Type* type, llvm::Value* from, std::uint32_t align, std::int32_t scope) {
  llvm::LoadInst* load = b.CreateAlignedLoad(type, from, llvm::Align(align));
  mark_scope(load, scope);
  return load;
}

void Emitter::store_scalar(llvm::Value* value, llvm::Value* to, std::uint32_t align, std::int32_t scope) {
  mark_scope(b.CreateAlignedStore(value, to, llvm::Align(align)), scope);
}

llvm::Value* Emitter::replicate_mask(llvm::Value* m, unsigned times) {
  llvm::SmallVector<int, 64> order;
  // A lane's bit once for each of the scalars that it owns in a wide access.
  for (int lane = 0; lane < W; ++lane) order.append(times, lane);
  return b.CreateShuffleVector(m, order);
}

/// Gather of one leaf.
llvm::Value* Emitter::load_leaf(const PartInfo& leaf, const Address& at, llvm::Value* pointers) {
  llvm::Type* type = unit.wide(unit.memory_type(leaf));
  llvm::Value* p = component_pointers(pointers, at.offset + leaf.offset);
  // Inactive lanes read nothing, for their indices may be anything, and come out as zero rather than poison.
  const std::uint32_t align = at.align == 1 ? 1 : leaf_bytes(unit, leaf);
  auto* gather = b.CreateMaskedGather(type, p, llvm::Align(align), mask_or_all(), llvm::Constant::getNullValue(type));
  mark_scope(gather, at.scope);
  return from_memory(leaf, gather);
}

/// Gathers of all leaves; two neighbours of 32 bits go as one of 64.
llvm::SmallVector<llvm::Value*, 4> Emitter::load_leaves(llvm::ArrayRef<PartInfo> leaves, const Address& at,
                                                        llvm::Value* pointers) {
  llvm::SmallVector<llvm::Value*, 4> out;
  // Without instructions for gathers, or good ones, lanes load one by one. Lanes that are not active read zeros, instead of a branch for each.
  llvm::Value* const active = mask;
  if (W > 1 && mask && !unit.traits.quick_gathers && unit.target.arch == TargetSpec::cpu && !leaves.empty() &&
      at.offset + leaves.back().offset + 8 <= kZeros) {
    pointers = b.CreateSelect(mask, pointers, splat(zeros(unit)));
    mask = nullptr;
  }
  // Both components of pairs that were read as doubles, which are moved here and never computed with.
  auto components = [&](const PartInfo* pair, llvm::Value* loaded) {
    auto* both = b.CreateBitCast(loaded, llvm::FixedVectorType::get(unit.memory_type(pair[0]), unsigned(2 * W)));
    llvm::SmallVector<int, 16> order[2];
    for (int k = 0; k < 2 * W; ++k) order[k % 2].push_back(k);
    for (int k = 0; k < 2; ++k) out.push_back(from_memory(pair[k], b.CreateShuffleVector(both, order[k])));
  };
  const bool apart = W > 1 && !mask && !unit.traits.quick_gathers && unit.target.arch == TargetSpec::cpu;
  const bool pair = leaves.size() == 2 && are_pair(unit, leaves[0], leaves[1]);
  if (apart && (leaves.size() == 1 || pair) && loads_stand_open(source_)) {
    llvm::Type* type = pair ? unit.f64 : unit.memory_type(leaves[0]);
    llvm::Value* all = llvm::PoisonValue::get(unit.wide(type));
    const std::uint32_t align = at.align == 1 ? 1 : leaf_bytes(unit, leaves[0]);
    for (int lane = 0; lane < W; ++lane) {
      llvm::Value* from = lane_pointer(*this, pointers, lane, at.offset + leaves[0].offset);
      all = b.CreateInsertElement(all, load_scalar(type, from, align, at.scope), std::uint64_t(lane));
    }
    mask = active;
    if (!pair) return {from_memory(leaves[0], all)};
    components(leaves.data(), all);
    return out;
  }
  if (apart && W > 4) {
    // More lanes than a register has: a loop over them is a fraction of the code, and of the time to compile it.
    out = load_in_fours(leaves, at, pointers);
    mask = active;
    return out;
  }
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (W == 1 || k + 1 == leaves.size() || !are_pair(unit, leaves[k], leaves[k + 1])) {
      out.push_back(load_leaf(leaves[k], at, pointers));
      continue;
    }
    llvm::Value* p = component_pointers(pointers, at.offset + leaves[k].offset);
    llvm::Type* wide = unit.wide(unit.f64);
    llvm::CallInst* load =
        b.CreateMaskedGather(wide, p, llvm::Align(4), mask_or_all(), llvm::Constant::getNullValue(wide));
    mark_scope(load, at.scope);
    components(&leaves[k++], load);
  }
  mask = active;
  return out;
}

/// Scatter of two neighbours of 32 bits.
void Emitter::store_pair(const PartInfo& first, std::pair<llvm::Value*, llvm::Value*> values, const Address& at,
                         llvm::Value* pointers) {
  llvm::SmallVector<int, 32> order;
  for (int lane = 0; lane < W; ++lane) order.append({lane, W + lane});
  llvm::Value* both = b.CreateShuffleVector(vector({values.first}), vector({values.second}), order);
  llvm::Value* p = component_pointers(pointers, at.offset + first.offset);
  mark_scope(b.CreateMaskedScatter(b.CreateBitCast(both, unit.wide(unit.f64)), p, llvm::Align(4), mask_or_all()),
             at.scope);
}

/// All leaves from a linear address: vector loads if consecutive, wide loads and shuffles for small
/// aggregates, quads (emit/quads.cpp) for larger ones.
llvm::SmallVector<llvm::Value*, 4> Emitter::load_linear(llvm::ArrayRef<PartInfo> leaves, const Address& at) {
  llvm::SmallVector<llvm::Value*, 4> out(leaves.size(), nullptr);
  for (const Run& run : quad_runs(leaves, at))
    // Elements of exactly four scalars are left to the wide loads below.
    if (at.lane_stride != kMaxInterleave * run.bytes) load_quads(run, leaves, at, out);
  llvm::SmallDenseMap<llvm::Type*, llvm::SmallVector<llvm::Value*, 4>, 2>
      whole;                             // the element's memory as scalars of one type
  llvm::SmallVector<PartInfo, 8> apart;  // what vectors don't bring
  llvm::SmallVector<std::size_t, 8> places;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (out[k]) continue;
    const PartInfo& leaf = leaves[k];
    llvm::Type* type = unit.memory_type(leaf);
    std::uint32_t bytes = leaf_bytes(unit, leaf);
    std::int64_t parts = at.lane_stride % bytes == 0 ? at.lane_stride / bytes : 0;
    // Lanes own elements that follow each other, so that a wide load takes in nothing but those. Across a larger step
    // it would read what lies between, and beyond the array at its end.
    bool whole_elements = at.lane_stride == std::int64_t(at.element_size);
    if (parts == 1) {
      llvm::Value* p = b.CreateConstGEP1_64(unit.i8, at.pointer, at.offset + leaf.offset);
      llvm::Instruction* load =
          mask ? static_cast<llvm::Instruction*>(b.CreateMaskedLoad(unit.wide(type), p, llvm::Align(bytes), mask,
                                                                    llvm::Constant::getNullValue(unit.wide(type))))
               : b.CreateAlignedLoad(unit.wide(type), p, llvm::Align(bytes));
      mark_scope(load, at.scope);
      out[k] = from_memory(leaf, load);
      continue;
    }
    std::uint32_t place = at.offset + leaf.offset;
    if (whole_elements && parts > 1 && parts <= kMaxInterleave && place % bytes == 0 && type != unit.ptr &&
        // Under a mask a wide load must have a mask of its own, since a lane that is off may lie beyond the end.
        (!mask || (unit.traits.masked_moves && bytes >= 4))) {
      llvm::SmallVector<llvm::Value*, 4>& all = whole[type];
      const int component = int(place / bytes);
      if (fills_registers(parts, bytes)) {
        if (all.empty()) all = load_registers(type, int(parts), at);
        out[k] = from_memory(leaf, register_component(all, component));
        continue;
      }
      if (all.empty()) {
        // For vec3 and four lanes: x0 y0 z0 x1 y1 z1 x2 y2 z2 x3 y3 z3 in one load, of which component y is the
        // shuffle 1, 4, 7, 10. All components share the load.
        auto* wide_type = llvm::FixedVectorType::get(type, unsigned(W * parts));
        llvm::Instruction* load =
            mask ? static_cast<llvm::Instruction*>(b.CreateMaskedLoad(wide_type, at.pointer, llvm::Align(bytes),
                                                                      replicate_mask(mask, unsigned(parts)),
                                                                      llvm::Constant::getNullValue(wide_type)))
                 : b.CreateAlignedLoad(wide_type, at.pointer, llvm::Align(bytes));
        mark_scope(load, at.scope);
        all.push_back(load);
      }
      llvm::SmallVector<int, 16> order;
      for (int lane = 0; lane < W; ++lane) order.push_back(lane * int(parts) + component);
      out[k] = from_memory(leaf, b.CreateShuffleVector(all[0], order));
      continue;
    }
    apart.push_back(leaf);
    places.push_back(k);
  }
  if (apart.empty()) return out;
  llvm::SmallVector<llvm::Value*, 4> loaded = load_leaves(apart, at, lane_pointers(at));
  for (std::size_t k = 0; k < places.size(); ++k) out[places[k]] = loaded[k];
  return out;
}

/// False if the leaves can't be written by vector stores.
bool Emitter::store_linear(llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> values, const Address& at) {
  llvm::Type* type = unit.memory_type(leaves[0]);
  std::uint32_t bytes = leaf_bytes(unit, leaves[0]);
  std::size_t n = leaves.size();
  // Unlike a load, a store has to bring everything that it covers: the leaves must be the
  // whole element, in its order and without gaps.
  if (at.lane_stride != std::int64_t(bytes * n) || n > std::size_t(kMaxInterleave)) return false;
  for (std::size_t k = 0; k < n; ++k)
    if (unit.memory_type(leaves[k]) != type || at.offset + leaves[k].offset != k * bytes) return false;
  if (n > 1 && (type == unit.ptr || (mask && (!unit.traits.masked_moves || bytes < 4)))) return false;
  llvm::SmallVector<llvm::Value*, 4> parts;
  for (std::size_t k = 0; k < n; ++k) parts.push_back(to_memory(leaves[k], vector({values[k]})));
  if (fills_registers(std::int64_t(n), bytes)) {
    store_registers(parts, at);
    return true;
  }
  llvm::Value* all = parts[0];
  if (n > 1) {
    // Concatenate, then interleave.
    // Shuffles take two vectors of one length: the shorter one is padded with what nobody reads.
    auto join = [&](llvm::Value* x, llvm::Value* y, unsigned nx, unsigned ny) {
      unsigned larger = std::max(nx, ny);
      auto pad = [&](llvm::Value* v, unsigned have) -> llvm::Value* {
        if (have == larger) return v;
        llvm::SmallVector<int, 64> order;
        for (unsigned k = 0; k < larger; ++k) order.push_back(k < have ? int(k) : -1);
        return b.CreateShuffleVector(v, order);
      };
      llvm::SmallVector<int, 64> order;
      for (unsigned k = 0; k < nx; ++k) order.push_back(int(k));
      for (unsigned k = 0; k < ny; ++k) order.push_back(int(larger + k));
      return b.CreateShuffleVector(pad(x, nx), pad(y, ny), order);
    };
    for (std::size_t k = 1; k < n; ++k) all = join(all, parts[k], unsigned(k) * unsigned(W), unsigned(W));
    llvm::SmallVector<int, 64> order;
    for (int lane = 0; lane < W; ++lane)
      for (std::size_t k = 0; k < n; ++k) order.push_back(int(k) * W + lane);
    all = b.CreateShuffleVector(all, order);
  }
  llvm::Instruction* store = nullptr;
  if (mask)
    store = b.CreateMaskedStore(all, at.pointer, llvm::Align(bytes), n > 1 ? replicate_mask(mask, unsigned(n)) : mask);
  else
    store = b.CreateAlignedStore(all, at.pointer, llvm::Align(bytes));
  mark_scope(store, at.scope);
  return true;
}

void Emitter::load_block(const PartInfo& info, const Address& at, Part& into) {
  std::uint32_t bytes = leaf_bytes(unit, info);
  bool uniform = at.pointer && at.lane_stride == 0;
  into = new_block(info.scalar, info.count, !uniform && W > 1);
  // Blocks are rare and large: gathers by lane, which are right whether or
  // not `fast_if` holds, rather than two loops.
  llvm::Value* from = uniform ? at.pointer : at.fast_if ? at.pointers_slow() : lane_pointers(at);
  counted_loop(info.count, [&](llvm::Value* i) {
    llvm::Value* offset = b.CreateAdd(b.CreateMul(i, b.getInt64(bytes)), b.getInt64(at.offset + info.offset));
    PartInfo leaf{PartKind::scalar, info.scalar, 1, 0, 0};
    if (uniform) {
      llvm::Value* v = load_scalar(unit.memory_type(info.scalar), byte_offset(from, offset), bytes, at.scope);
      return block_put(into, info.scalar, i, from_memory(leaf, v));
    }
    Address here = at;
    // The offset has gone into the pointers.
    here.offset = 0;
    block_put(into, info.scalar, i, load_leaf(leaf, here, byte_offset(from, splat(offset))));
  });
}

/// Uniform addresses are scalar loads, blocks are loops; all other leaves go together, by vectors if the address is
/// linear, else by gathers, or, where only a test at run time can tell, by one of both.
Parts Emitter::load_parts(const Type* type, Address& at) {
  const TypeParts& info = unit.parts(type);
  Parts out(info.parts.size());
  bool uniform = at.pointer && at.lane_stride == 0;
  llvm::SmallVector<PartInfo, 8> leaves;
  llvm::SmallVector<std::size_t, 8> place;
  for (std::size_t k = 0; k < info.parts.size(); ++k) {
    const PartInfo& part = info.parts[k];
    if (part.kind == PartKind::block) {
      load_block(part, at, out[k]);
    } else if (uniform) {
      llvm::Value* p = b.CreateConstGEP1_64(unit.i8, at.pointer, at.offset + part.offset);
      out[k].v = from_memory(part, load_scalar(unit.memory_type(part), p, leaf_align(unit, part, at), at.scope));
    } else {
      leaves.push_back(part);
      place.push_back(k);
    }
  }
  if (leaves.empty()) return out;
  llvm::SmallVector<llvm::Value*, 4> values;
  auto gather = [&](llvm::Value* pointers) { return load_leaves(leaves, at, pointers); };
  if (at.pointers) {
    values = gather(at.pointers);
  } else if (at.align == 1) {  // numbers at any byte: lanes read one each
    values = gather(lane_pointers(at));
  } else if (!at.fast_if) {
    values = load_linear(leaves, at);
  } else {
    llvm::BasicBlock *fast = block("linear"), *slow = block("wrapped"), *done = block("loaded");
    b.CreateCondBr(at.fast_if, fast, slow);
    b.SetInsertPoint(fast);
    auto v1 = load_linear(leaves, at);
    llvm::BasicBlock* fast_end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(slow);
    auto v2 = gather(at.pointers_slow());
    llvm::BasicBlock* slow_end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(done);
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      llvm::PHINode* phi = b.CreatePHI(v1[k]->getType(), 2);
      phi->addIncoming(v1[k], fast_end);
      phi->addIncoming(v2[k], slow_end);
      values.push_back(phi);
    }
  }
  for (std::size_t k = 0; k < leaves.size(); ++k) out[place[k]].v = values[k];
  return out;
}

void Emitter::emit_load(const ir::Op& op) {
  const Type* type = op.result()->type;
  Address at = address(op, op.operands.subspan(1u + op.num_indices));
  // A constant here is always false: the path leads out of the element.
  if (at.valid && llvm::isa<llvm::ConstantInt>(at.valid)) return set(op.result(), zero_parts(type));
  if (is_fixed(at.scope)) at.align = ir::fixed_align(op.operand(0));
  // Dynamic steps were clamped into the element, so that reading is safe; lanes out of range take zero after.
  Parts out = load_parts(type, at);
  if (at.valid) {
    const TypeParts& info = unit.parts(type);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const PartInfo& part = info.parts[k];
      if (part.kind != PartKind::block) {
        out[k].v = select(at.valid, out[k].v, zero_like(part, false));
        continue;
      }
      Part clean = new_block(part.scalar, part.count, out[k].wide || at.valid->getType()->isVectorTy());
      counted_loop(part.count, [&](llvm::Value* i) {
        llvm::Value* zero = llvm::Constant::getNullValue(unit.type(part.scalar));
        block_put(clean, part.scalar, i, select(at.valid, block_get(out[k], part.scalar, i), zero));
      });
      out[k] = clean;
    }
  }
  set(op.result(), std::move(out));
}

/// The best that the address allows: vector stores of whole elements, quads, scatters for what is left. Scatters go
/// in lane order, so that of lanes with one address the last one wins, as if threads ran one after the other.
void Emitter::store_leaves(llvm::ArrayRef<PartInfo> leaves, llvm::ArrayRef<llvm::Value*> values, const Address& at) {
  if (leaves.empty()) return;
  llvm::SmallVector<bool, 16> written(leaves.size(), false);
  auto scatter = [&](llvm::Value* pointers) {
    llvm::Value* const active = mask;
    if (const std::uint32_t end = at.offset + leaves.back().offset + 8; end <= kSpare)
      pointers = by_all_lanes(pointers);
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      if (written[k]) continue;
      if (k + 1 < leaves.size() && !written[k + 1] && are_pair(unit, leaves[k], leaves[k + 1])) {
        store_pair(leaves[k], {values[k], values[k + 1]}, at, pointers);
        ++k;
        continue;
      }
      llvm::Value* p = component_pointers(pointers, at.offset + leaves[k].offset);
      llvm::Value* v = to_memory(leaves[k], vector({values[k]}));
      mark_scope(b.CreateMaskedScatter(v, p, llvm::Align(leaf_bytes(unit, leaves[k])), mask_or_all()), at.scope);
    }
    mask = active;
  };
  if (at.pointers) return scatter(at.pointers);
  auto linear = [&] {
    if (store_linear(leaves, values, at)) return;
    for (const Run& run : quad_runs(leaves, at)) {
      store_quads(run, leaves, values, at);
      std::fill(written.begin() + run.first, written.begin() + run.end, true);
    }
    if (llvm::is_contained(written, false)) scatter(lane_pointers(at));
    // Cleared for the other side of a choice, which knows nothing of what was written here.
    std::fill(written.begin(), written.end(), false);
  };
  if (!at.fast_if) return linear();
  either(at.fast_if, linear, [&] { scatter(at.pointers_slow()); });
}

/// A load, an addition and a store for all lanes at once: right only because no two lanes have the same element.
void Emitter::add_apart(llvm::ArrayRef<PartInfo> leaves, const Parts& values, Address at) {
  // The caller has asked already, and stands on the side where it holds.
  at.fast_if = nullptr;
  llvm::SmallVector<llvm::Value*, 4> sums;
  if (at.pointers)
    for (const PartInfo& leaf : leaves) sums.push_back(load_leaf(leaf, at, at.pointers));
  else
    sums = load_linear(leaves, at);
  for (std::size_t k = 0; k < leaves.size(); ++k)
    sums[k] = arith(ir::OpCode::add, leaves[k].scalar, {sums[k], vector(values[k])});
  store_leaves(leaves, sums, at);
}

void Emitter::store_block(const PartInfo& info, const Part& from, const Address& at) {
  std::uint32_t bytes = leaf_bytes(unit, info);
  llvm::Value* to = at.fast_if ? at.pointers_slow() : lane_pointers(at);
  counted_loop(info.count, [&](llvm::Value* i) {
    llvm::Value* offset = b.CreateAdd(b.CreateMul(i, b.getInt64(bytes)), b.getInt64(at.offset + info.offset));
    PartInfo leaf{PartKind::scalar, info.scalar, 1, 0, 0};
    llvm::Value* p = byte_offset(to, W > 1 ? splat(offset) : offset);
    llvm::Value* v = to_memory(leaf, vector({block_get(from, info.scalar, i)}));
    if (W == 1) return store_scalar(v, p, bytes, at.scope);
    mark_scope(b.CreateMaskedScatter(v, p, llvm::Align(bytes), mask_or_all()), at.scope);
  });
}

namespace {

/// The load of what a store of zeros clears, if it stands right before it: adjoints take gradients away like this.
const ir::Op* cleared_load(const ir::Op& store) {
  const ir::Op* load = store.prev;
  if (!load || load->code != ir::OpCode::load || !store.path.empty() || !load->path.empty() ||
      load->num_indices != store.num_indices || load->wrap != store.wrap || !store.operands.back()->is_zero())
    return nullptr;
  for (std::size_t k = 0; k <= store.num_indices; ++k)
    if (load->operand(k) != store.operand(k)) return nullptr;
  return load;
}

}  // namespace

/// Whether any bit of what was loaded is set; null if that is not to be told.
llvm::Value* Emitter::any_bit(const ir::Value* loaded) {
  llvm::Value* bits = nullptr;
  const TypeParts& info = parts_of(loaded);
  const Parts parts = get(loaded);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    llvm::Type* type = parts[k].v ? parts[k].v->getType() : nullptr;
    if (info.parts[k].kind != PartKind::scalar || type->getScalarSizeInBits() < 8) return nullptr;
    // By bits, not by value: −0 is not what a store of zeros would leave (retained gradients look at that).
    llvm::Type* whole = b.getIntNTy(unsigned(type->getPrimitiveSizeInBits()));
    llvm::Value* own = b.CreateIsNotNull(b.CreateBitCast(parts[k].v, whole));
    bits = bits ? b.CreateOr(bits, own) : own;
  }
  return bits;
}

void Emitter::emit_store(const ir::Op& op) {
  if (store_row_product(op)) return;
  const ir::Value* value = op.operands.back();
  Address at = address(op, op.operands.subspan(1u + op.num_indices, op.operands.size() - 2u - op.num_indices));
  if (at.valid && llvm::isa<llvm::ConstantInt>(at.valid)) return;
  const TypeParts& info = parts_of(value);
  const Parts parts = get(value);
  llvm::Value* outer = mask;
  llvm::Value* uniform_guard = nullptr;
  if (at.valid) {
    // A path out of the element stores nothing: lanes that lead there drop out of the
    // mask, or, where all agree, a branch does it.
    if (at.valid->getType()->isVectorTy())
      mask = both(mask, at.valid);
    else
      uniform_guard = at.valid;
  }
  // It waits for what was there, and is left out where that was zero already.
  if (const ir::Op* load = unit.hooks->stores_wait_for_loads() ? cleared_load(op) : nullptr)
    if (llvm::Value* set = any_bit(load->result())) uniform_guard = both(uniform_guard, set);
  auto write = [&] {
    if (at.pointer && at.lane_stride == 0) {
      // All lanes write one place: the last active one wins, as it would running one after the other.
      auto last = [&](llvm::Value* v) -> llvm::Value* {
        if (W == 1 || !v->getType()->isVectorTy()) return v;
        if (!mask) return b.CreateExtractElement(v, std::uint64_t(W - 1));
        llvm::Value* bits = mask_bits(mask);
        // The highest bit that is set: the last of the active lanes.
        llvm::Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits, b.getFalse());
        return b.CreateExtractElement(v, b.CreateSub(llvm::ConstantInt::get(bits->getType(), unsigned(W - 1)), zeros));
      };
      for (std::size_t k = 0; k < parts.size(); ++k) {
        const PartInfo& part = info.parts[k];
        std::uint32_t bytes = leaf_bytes(unit, part);
        if (part.kind == PartKind::block) {
          counted_loop(part.count, [&](llvm::Value* i) {
            llvm::Value* offset = b.CreateAdd(b.CreateMul(i, b.getInt64(bytes)), b.getInt64(at.offset + part.offset));
            llvm::Value* v = last(block_get(parts[k], part.scalar, i));
            store_scalar(to_memory(part, v), byte_offset(at.pointer, offset), bytes, at.scope);
          });
          continue;
        }
        llvm::Value* p = b.CreateConstGEP1_64(unit.i8, at.pointer, at.offset + part.offset);
        store_scalar(to_memory(part, last(plain(parts[k]))), p, bytes, at.scope);
      }
      for (const TypeParts::Constant& c : info.constants)
        store_scalar(b.getIntN(c.bytes * 8, std::uint64_t(c.value)),
                     b.CreateConstGEP1_64(unit.i8, at.pointer, at.offset + c.offset), c.bytes, at.scope);
      return;
    }
    llvm::SmallVector<PartInfo, 8> leaves;
    llvm::SmallVector<llvm::Value*, 8> values;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (info.parts[k].kind == PartKind::block) {
        store_block(info.parts[k], parts[k], at);
        continue;
      }
      leaves.push_back(info.parts[k]);
      values.push_back(plain(parts[k]));
    }
    for (const TypeParts::Constant& c : info.constants) {
      // Descriptors in memory have fields that are no parts, their rank and what is beyond it:
      // whoever reads them from C++ wants them all.
      leaves.push_back({PartKind::extent, ScalarKind::i64, 1, c.offset, 0});
      values.push_back(b.getInt64(std::uint64_t(c.value)));
    }
    store_leaves(leaves, values, at);
  };
  // A varying range check can leave no lane at all for the uniform form.
  bool maybe_none = at.valid && mask != outer && at.pointer && at.lane_stride == 0;
  if (uniform_guard)
    when(uniform_guard, write);
  else if (maybe_none)
    when(any(mask), write);
  else
    write();
  mask = outer;
}

/// For what is read by C++: prints, native functions. Always to a scalar address, so that nothing of lanes is left.
void Emitter::write_bytes(const Type* type, const Parts& parts, llvm::Value* to, llvm::Value* lane) {
  const TypeParts& info = unit.parts(type);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const PartInfo& part = info.parts[k];
    std::uint32_t bytes = leaf_bytes(unit, part);
    if (part.kind == PartKind::block) {
      counted_loop(part.count, [&](llvm::Value* i) {
        llvm::Value* offset = b.CreateAdd(b.CreateMul(i, b.getInt64(bytes)), b.getInt64(part.offset));
        llvm::Value* v = to_memory(part, lane_of(block_get(parts[k], part.scalar, i), lane));
        b.CreateAlignedStore(v, byte_offset(to, offset), llvm::Align(bytes));
      });
      continue;
    }
    llvm::Value* v = to_memory(part, lane_of(plain(parts[k]), lane));
    b.CreateAlignedStore(v, b.CreateConstGEP1_64(unit.i8, to, part.offset), llvm::Align(bytes));
  }
  for (const TypeParts::Constant& c : info.constants)
    b.CreateAlignedStore(b.getIntN(c.bytes * 8, std::uint64_t(c.value)), b.CreateConstGEP1_64(unit.i8, to, c.offset),
                         llvm::Align(c.bytes));
}

}  // namespace weft::codegen
