// Choosing, building and taking apart values. Constant steps of a path rename parts; dynamic ones become select chains
// over few components and memory accesses over many.
#include "codegen/emit/emitter.h"
#include "ir/infer.h"

namespace weft::codegen {

namespace {

/// Register composites with more components than this are indexed through memory.
constexpr std::uint32_t kMaxSelectChain = 16;

}  // namespace

void Emitter::emit_select(const ir::Op& op) {
  llvm::Value* c = plain(op.operand(0));
  const ir::Value *x = op.operand(1), *y = op.operand(2);
  const TypeParts& info = parts_of(op.result());
  Parts out;
  for (std::size_t k = 0; k < info.parts.size(); ++k) {
    const PartInfo& part = info.parts[k];
    Part p = get(x)[k], q = get(y)[k];
    if (part.kind == PartKind::block) {
      Part block = new_block(part.scalar, part.count, W > 1 && (p.wide || q.wide || c->getType()->isVectorTy()));
      counted_loop(part.count, [&](llvm::Value* i) {
        block_put(block, part.scalar, i, select(c, block_get(p, part.scalar, i), block_get(q, part.scalar, i)));
      });
      out.push_back(block);
      continue;
    }
    // Two linear values of one stride under a uniform condition stay linear.
    bool linear = p.stride != 0 && p.stride == q.stride && !c->getType()->isVectorTy();
    Part r{linear ? select(c, p.v, q.v) : select(c, plain(p), plain(q)), linear ? p.stride : 0};
    r.scope = p.scope == q.scope ? p.scope : -1;
    out.push_back(r);
  }
  set(op.result(), std::move(out));
}

void Emitter::emit_construct(const ir::Op& op) {
  const Type* type = op.result()->type;
  if (is_block(type)) {
    Parts components;
    for (const ir::Value* v : op.operands) components.push_back(get(v)[0]);
    // A table of numbers that the program wrote down: data of the module, instead of
    // a store for each of them in every thread.
    if (std::optional<Part> table = constant_block(type->scalar_kind(), components)) return set(op.result(), {*table});
    bool wide = false;
    for (const Part& component : components) wide |= !is_uniform(component);
    Part block = new_block(type->scalar_kind(), type->component_count(), wide && W > 1);
    for (std::size_t k = 0; k < op.operands.size(); ++k)
      block_put(block, type->scalar_kind(), b.getInt64(k), plain(op.operand(k)));
    return set(op.result(), {block});
  }
  Parts out;
  for (const ir::Value* v : op.operands)
    // A composite is uniform or varying as a whole and never linear; fields of a struct stay as they are.
    for (const Part& part : get(v)) out.push_back(type->is_composite() ? Part{plain(part)} : part);
  set(op.result(), is_packed(type) ? packed_parts(type, out) : std::move(out));
}

void Emitter::emit_splat(const ir::Op& op) {
  const Type* type = op.result()->type;
  llvm::Value* v = plain(op.operand(0));
  if (is_packed(type)) return set(op.result(), {Part{b.CreateVectorSplat(type->component_count(), v)}});
  if (!is_block(type)) return set(op.result(), Parts(type->component_count(), Part{v}));
  Part block = new_block(type->scalar_kind(), type->component_count(), v->getType()->isVectorTy());
  counted_loop(type->component_count(), [&](llvm::Value* i) { block_put(block, type->scalar_kind(), i, v); });
  set(op.result(), {block});
}

llvm::Value* Emitter::to_i64(llvm::Value* v, const Type* type) {
  llvm::Type* to = v->getType()->isVectorTy() ? unit.wide(unit.i64) : unit.i64;
  return type->is_signed_int() ? b.CreateSExt(v, to) : b.CreateZExt(v, to);
}

Emitter::Step Emitter::resolve_step(const ir::PathStep& step, const Type* at, const ir::Value* dynamic) {
  Step out;
  out.extent = ir::step_extent(at);
  // A dynamic step may still be a constant, which has become known since the front end: then it is as cheap as one.
  if (step.dynamic && dynamic->is_constant()) {
    std::int64_t value = dynamic->as_int();
    bool beyond = !dynamic->type->is_signed_int() && value < 0;  // a u64 above the signed range
    if (step.wrap && value < 0 && !beyond) value += out.extent;
    // The extent itself stands for "out of range" (Step::in_range).
    out.value = beyond || value < 0 || value >= std::int64_t(out.extent) ? out.extent : std::uint32_t(value);
    return out;
  }
  if (!step.dynamic) {
    out.value = std::uint32_t(step.value);
    return out;
  }
  out.dynamic = true;
  // Narrow indices are widened to 32 bits; 64-bit ones are checked at full width first.
  llvm::Value* index = plain(dynamic);
  const Type* type = dynamic->type;
  bool vector = index->getType()->isVectorTy();
  if (type->size() < 4) {
    llvm::Type* to = vector ? unit.wide(unit.i32) : unit.i32;
    index = type->is_signed_int() ? b.CreateSExt(index, to) : b.CreateZExt(index, to);
  }
  auto c = [&](std::int64_t k) { return constant_like(index, k); };
  if (step.wrap && type->is_signed_int())
    index = select(b.CreateICmpSLT(index, c(0)), b.CreateAdd(index, c(out.extent)), index);
  // Unsigned: negative ones are large, and one comparison finds both ends.
  out.valid = b.CreateICmpULT(index, c(out.extent));
  index = select(out.valid, index, c(0));
  out.index = type->size() == 8 ? b.CreateTrunc(index, vector ? unit.wide(unit.i32) : unit.i32) : index;
  return out;
}

namespace {

/// The place a path leads to: first part of the innermost composite or field, then steps inside the composite.
struct Place {
  std::size_t part = 0;        // first part
  const Type* type = nullptr;  // what the field steps lead to
  std::size_t steps = 0;       // how many field steps there are
};

Place follow_fields(CodeUnit& unit, const Type* type, std::span<const ir::PathStep> path) {
  Place place{0, type, 0};
  for (const ir::PathStep& step : path) {
    if (step.kind != ir::PathStep::field) break;
    // The parts of a struct are those of its fields, one field after the other.
    for (std::int32_t k = 0; k < step.value; ++k)
      place.part += unit.parts(place.type->fields()[std::size_t(k)].type).parts.size();
    place.type = place.type->fields()[std::size_t(step.value)].type;
    ++place.steps;
  }
  return place;
}

}  // namespace

void Emitter::emit_extract(const ir::Op& op) {
  const ir::Value* from = op.operand(0);
  Place place = follow_fields(unit, from->type, op.path);
  std::size_t count = unit.parts(place.type).parts.size();
  Parts here(get(from).begin() + std::ptrdiff_t(place.part), get(from).begin() + std::ptrdiff_t(place.part + count));
  if (place.steps == op.path.size()) return set(op.result(), std::move(here));

  // One or two steps into a composite: component `row·cols + col`, or a whole row of a matrix.
  ScalarKind kind = place.type->scalar_kind();
  std::uint32_t cols = place.type->cols();
  std::size_t operand = 1;
  auto next = [&](const Type* at, const ir::PathStep& step) {
    return resolve_step(step, at, step.dynamic ? op.operand(operand++) : nullptr);
  };
  const ir::PathStep& first = op.path[place.steps];
  Step row = next(place.type, first);
  Step col;
  col.extent = 1;
  bool whole_row = place.type->is_mat() && place.steps + 1 == op.path.size();
  if (place.type->is_mat() && !whole_row) col = next(ir::step_type(place.type, first), op.path[place.steps + 1]);
  std::uint32_t width = whole_row ? cols : 1;
  if (!row.in_range() || !col.in_range()) return set(op.result(), zero_parts(op.result()->type));
  if (is_packed(place.type)) {
    llvm::Value* v = b.CreateExtractElement(here[0].v, row.dynamic ? row.index : b.getInt32(row.value));
    if (row.valid) v = select(row.valid, v, llvm::Constant::getNullValue(v->getType()));
    return set(op.result(), {Part{v}});
  }

  if (!row.dynamic && !col.dynamic) {
    std::uint32_t at = row.value * cols + col.value;
    if (!is_block(place.type)) return set(op.result(), Parts(here.begin() + at, here.begin() + at + width));
    if (!is_block(op.result()->type)) {
      Parts out;
      for (std::uint32_t k = 0; k < width; ++k) out.push_back({block_get(here[0], kind, b.getInt64(at + k))});
      return set(op.result(), std::move(out));
    }
  }

  llvm::Value* valid = both(row.valid, col.valid);
  if (!is_block(place.type) && place.type->component_count() <= kMaxSelectChain) {
    Parts out;
    for (std::uint32_t k = 0; k < width; ++k) {
      llvm::Value* v = llvm::Constant::getNullValue(unit.type(kind));
      std::uint32_t row_begin = row.dynamic ? 0 : row.value, row_end = row.dynamic ? row.extent : row.value + 1;
      std::uint32_t col_begin = whole_row ? k : col.dynamic ? 0 : col.value;
      std::uint32_t col_end = !whole_row && col.dynamic ? col.extent : col_begin + 1;
      // v = i == 0 ? a0 : i == 1 ? a1 : … 0: every component is looked at, which beats a way through memory as long
      // as they are few, and has nothing to gather.
      for (std::uint32_t i = row_begin; i < row_end; ++i)
        for (std::uint32_t j = col_begin; j < col_end; ++j) {
          llvm::Value* hit = valid;
          if (row.dynamic) hit = both(hit, b.CreateICmpEQ(row.index, constant_like(row.index, i)));
          if (!whole_row && col.dynamic) hit = both(hit, b.CreateICmpEQ(col.index, constant_like(col.index, j)));
          v = select(hit, plain(here[i * cols + j]), v);
        }
      out.push_back({v});
    }
    return set(op.result(), std::move(out));
  }

  // Through memory. The index is in range (clamped), so every lane may read; lanes out of range take zero after.
  Part block = as_block(place.type, here);
  llvm::Value* row_index = row.dynamic ? row.index : b.getInt32(row.value);
  llvm::Value* col_index = col.dynamic ? col.index : b.getInt32(col.value);
  llvm::Value* pair[] = {row_index, col_index};
  unify(pair);
  llvm::Value* start = b.CreateAdd(b.CreateMul(pair[0], constant_like(pair[0], cols)), pair[1]);
  llvm::Type* element = unit.memory_type(kind);
  auto read = [&](llvm::Value* offset) -> llvm::Value* {  // offset: i32 scalar within the row
    llvm::Value* index = start;
    if (start->getType()->isVectorTy()) {
      index = b.CreateZExt(b.CreateAdd(start, splat(offset)), unit.wide(unit.i64));
      // Each lane in its own column.
      if (block.wide) index = b.CreateAdd(b.CreateMul(index, constant_like(index, W)), iota(unit.i64, 1));
      llvm::Value* at = b.CreateGEP(element, block.v, index);
      llvm::Value* v = b.CreateMaskedGather(unit.wide(element), at, llvm::Align(element->getScalarSizeInBits() / 8),
                                            all_mask(), llvm::Constant::getNullValue(unit.wide(element)));
      return kind == ScalarKind::boolean ? b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
    }
    return block_get(block, kind, b.CreateZExt(b.CreateAdd(start, offset), unit.i64));
  };
  auto zero = [&] { return llvm::Constant::getNullValue(unit.type(kind)); };
  auto guarded = [&](llvm::Value* v) { return valid ? select(valid, v, zero()) : v; };
  if (is_block(op.result()->type)) {
    bool wide = block.wide || start->getType()->isVectorTy() || (valid && valid->getType()->isVectorTy());
    Part out = new_block(kind, width, wide && W > 1);
    counted_loop(width, [&](llvm::Value* i) { block_put(out, kind, i, guarded(read(b.CreateTrunc(i, unit.i32)))); });
    return set(op.result(), {out});
  }
  Parts out;
  for (std::uint32_t k = 0; k < width; ++k) out.push_back({guarded(read(b.getInt32(k)))});
  set(op.result(), std::move(out));
}

void Emitter::emit_insert(const ir::Op& op) {
  const ir::Value *from = op.operand(0), *part = op.operand(1);
  Place place = follow_fields(unit, from->type, op.path);
  Parts out = get(from);
  if (place.steps == op.path.size()) {
    // A field: its parts take the place of those before, and no instruction is made.
    std::copy(get(part).begin(), get(part).end(), out.begin() + std::ptrdiff_t(place.part));
    return set(op.result(), std::move(out));
  }
  ScalarKind kind = place.type->scalar_kind();
  std::uint32_t cols = place.type->cols();
  std::size_t operand = 2;
  auto next = [&](const Type* at, const ir::PathStep& step) {
    return resolve_step(step, at, step.dynamic ? op.operand(operand++) : nullptr);
  };
  const ir::PathStep& first = op.path[place.steps];
  Step row = next(place.type, first);
  Step col;
  col.extent = 1;
  bool whole_row = place.type->is_mat() && place.steps + 1 == op.path.size();
  if (place.type->is_mat() && !whole_row) col = next(ir::step_type(place.type, first), op.path[place.steps + 1]);
  std::uint32_t width = whole_row ? cols : 1;
  if (!row.in_range() || !col.in_range()) return set(op.result(), std::move(out));
  llvm::Value* valid = both(row.valid, col.valid);
  if (is_packed(place.type)) {
    llvm::Value*& slot = out[place.part].v;
    llvm::Value* v = b.CreateInsertElement(slot, plain(part), row.dynamic ? row.index : b.getInt32(row.value));
    slot = row.valid ? select(row.valid, v, slot) : v;
    return set(op.result(), std::move(out));
  }
  auto component = [&](std::uint32_t k) { return plain(get(part)[k]); };

  if (!is_block(place.type)) {
    for (std::uint32_t i = row.dynamic ? 0 : row.value, row_end = row.dynamic ? row.extent : row.value + 1; i < row_end;
         ++i)
      for (std::uint32_t k = 0; k < width; ++k) {
        std::uint32_t j0 = whole_row ? k : col.dynamic ? 0 : col.value;
        std::uint32_t j1 = !whole_row && col.dynamic ? col.extent : j0 + 1;
        for (std::uint32_t j = j0; j < j1; ++j) {
          llvm::Value* hit = valid;
          if (row.dynamic) hit = both(hit, b.CreateICmpEQ(row.index, constant_like(row.index, i)));
          if (!whole_row && col.dynamic) hit = both(hit, b.CreateICmpEQ(col.index, constant_like(col.index, j)));
          Part& slot = out[place.part + i * cols + j];
          slot = Part{hit ? select(hit, component(k), plain(slot)) : component(k)};
        }
      }
    return set(op.result(), std::move(out));
  }

  // A block: in place when the source dies here, else into a copy.
  std::uint32_t unit_index = parts_of(op.result()).parts[place.part].unit;
  bool wide = W > 1 && shape(op.result(), unit_index) != analysis::kUniform;
  Part source = out[place.part];
  // Tables, zeros and parameters are no memory of this function's.
  bool writable = llvm::isa<llvm::AllocaInst>(source.v);
  // A uniform block is one for all lanes: under a mask the lanes that are off would see the change.
  bool in_place = writable && source.wide == wide && from->type->is_composite() && dies_at(from, op) && (wide || !mask);
  Part target = source;
  if (!in_place) {
    target = new_block(kind, place.type->component_count(), wide);
    block_copy(target, source, kind, place.type->component_count());
  }
  llvm::Value* row_index = row.dynamic ? row.index : b.getInt32(row.value);
  llvm::Value* col_index = col.dynamic ? col.index : b.getInt32(col.value);
  llvm::Value* pair[] = {row_index, col_index};
  unify(pair);
  llvm::Value* start = b.CreateAdd(b.CreateMul(pair[0], constant_like(pair[0], cols)), pair[1]);
  // In place, lanes that are not active here must keep their components.
  llvm::Value* under = both(in_place ? mask : nullptr, valid);
  Part row_block = is_block(part->type) ? get(part)[0] : Part{};
  llvm::Type* element = unit.memory_type(kind);
  auto write = [&](llvm::Value* offset, llvm::Value* v) {
    // One index for all lanes: a row of W numbers is written as a vector. Otherwise each
    // lane writes somewhere else in its column.
    if (!start->getType()->isVectorTy()) {
      llvm::Value* index = b.CreateZExt(b.CreateAdd(start, offset), unit.i64);
      if (under) v = select(under, v, block_get(target, kind, index));
      return block_put(target, kind, index, v);
    }
    llvm::Value* index = b.CreateZExt(b.CreateAdd(start, splat(offset)), unit.wide(unit.i64));
    index = b.CreateAdd(b.CreateMul(index, constant_like(index, W)), iota(unit.i64, 1));
    if (!v->getType()->isVectorTy()) v = splat(v);
    if (kind == ScalarKind::boolean) v = b.CreateZExt(v, unit.wide(element));
    llvm::Value* m = under ? under : all_mask();
    if (!m->getType()->isVectorTy()) m = splat(m);
    b.CreateMaskedScatter(v, b.CreateGEP(element, target.v, index), llvm::Align(element->getScalarSizeInBits() / 8), m);
  };
  if (row_block.v) {
    counted_loop(width, [&](llvm::Value* i) { write(b.CreateTrunc(i, unit.i32), block_get(row_block, kind, i)); });
  } else {
    for (std::uint32_t k = 0; k < width; ++k) write(b.getInt32(k), component(k));
  }
  out[place.part] = target;
  set(op.result(), std::move(out));
}

}  // namespace weft::codegen
