// Packed vectors and calls lane by lane. A lanewise function runs for one thread at a time, so lanes have no use for the
// processor's vector registers, but its own vectors have: the eight children of a tree's node, the four triangles of a
// leaf. On CPUs a vector of 4 or 8 numbers of 32 bits is therefore one part there, an LLVM vector, and so it is in every
// function that a lanewise one calls. Operations that work component by component, choices, moves and control flow take
// such parts as they are; all others are emitted on components that are taken out before and put together behind.
#include "codegen/emit/emitter.h"
#include "codegen/emit/together.h"
#include "ir/infer.h"

namespace weft::codegen {

using ir::OpCode;

bool fills_register(const Type* type) {
  return type->kind() == TypeKind::vec && (type->component_count() == 4 || type->component_count() == 8) &&
         type->element()->size() == 4 && !type->element()->is_bool();
}

namespace {

bool is_packed_part(const PartInfo& part) { return part.kind == PartKind::scalar && part.count > 1; }

/// Rows of matrices are vectors, but matrices are not packed.
bool names_row(const ir::Op& op) {
  if (op.code != OpCode::extract && op.code != OpCode::insert) return false;
  const Type* at = ir::type_at(op.operand(0)->type, op.path.first(op.path.size() - 1));
  return at && at->is_mat();
}

/// The same where lanes go together (together_form):
///
///   for lane in active lanes:  structs[lane] = S(x[lane])
///   f(structs, bits of the active lanes)
///   r = structs[…].r as a vector
void emit_together_call(Emitter& e, const ir::Op& op, const ir::Function& together) {
  CodeUnit& unit = e.unit;
  llvm::IRBuilder<>& b = e.b;
  const int W = e.W;
  const Type* type = together.params()[0]->type->element();
  const auto fields = type->fields();
  const std::uint32_t size = type->size();
  llvm::AllocaInst* structs = e.entry_alloca(unit.i8, size * unsigned(W), 16);
  const auto field_of = [&](llvm::Value* lane, const Field& field) {
    llvm::Value* offset = b.CreateAdd(b.CreateMul(lane, b.getInt64(size)), b.getInt64(field.offset));
    return b.CreateGEP(unit.i8, structs, offset);
  };
  e.for_each_lane(e.mask, [&](llvm::Value* lane) {
    for (std::size_t k = 0; k < op.operands.size(); ++k)
      e.write_bytes(op.operand(k)->type, e.lane_parts(op.operand(k), lane), field_of(lane, fields[k]), nullptr);
  });
  const Variant* variant = nullptr;
  {
    BodyForm own(unit, 1, true);
    const std::size_t units = analysis::lane_units(together.params()[0]->type) + 1;
    variant = &unit.variant(together, std::vector<analysis::LaneShape>(units, analysis::kUniform));
  }
  llvm::SmallVector<llvm::Value*, 8> args = {e.thread.context, e.base(e.thread.linear)};
  const bool counts = unit.turns && unit.turns->counts(together);
  if (counts) args.push_back(e.turns_left());
  // The array: data, no gradient, how many, how far apart.
  args.append({structs, llvm::ConstantPointerNull::get(unit.ptr), b.getInt64(std::uint64_t(W)), b.getInt64(size)});
  args.push_back(e.mask ? b.CreateZExt(e.mask_bits(e.mask), unit.i32) : b.getInt32((1u << W) - 1));
  llvm::CallInst* call = b.CreateCall(variant->function, args);
  call->setDoesNotThrow();
  if (counts) {
    b.CreateStore(b.CreateExtractValue(call, call->getType()->getStructNumElements() - 1), e.thread.turns);
    e.leave_if_stopped();
  }
  for (std::size_t r = 0; r < op.results.size(); ++r) {
    const std::vector<PartInfo>& info = e.parts_of(op.results[r]).parts;
    Parts out;
    for (const PartInfo& part : info) {
      WEFT_CHECK(part.kind == PartKind::scalar && part.scalar != ScalarKind::boolean, "results are numbers");
      llvm::Type* wide = unit.wide(unit.memory_type(part));
      llvm::AllocaInst* all = e.entry_alloca(wide, 1, 0);
      if (e.mask) b.CreateStore(llvm::Constant::getNullValue(wide), all);
      e.for_each_lane(e.mask, [&](llvm::Value* lane) {
        llvm::Value* from = b.CreateConstGEP1_64(unit.i8, field_of(lane, fields[op.operands.size() + r]), part.offset);
        llvm::Type* one = unit.memory_type(part);
        b.CreateStore(b.CreateLoad(one, from), b.CreateGEP(one, all, lane));
      });
      out.push_back({b.CreateLoad(wide, all)});
    }
    e.set(op.results[r], std::move(out));
  }
}

}  // namespace

/// No operation is forgotten by this: whoever can't take packed parts says so, or is of a class that says
/// so for it, and is slow instead of wrong.
bool Emitter::needs_components(const ir::Op& op) {
  if (!unit.packed) return false;
  auto packed_inside = [&](const ir::Value* v) { return llvm::any_of(parts_of(v).parts, is_packed_part); };
  if (llvm::none_of(op.operands, packed_inside) && llvm::none_of(op.results, packed_inside)) return false;
  switch (ir::class_of(op.code)) {
    // The one that calls a function of scalars.
    case ir::OpClass::arith: return op.code == OpCode::rem && is_floating(op.result()->type->scalar_kind());
    case ir::OpClass::data: return names_row(op);
    case ir::OpClass::bits:
    case ir::OpClass::round:
    case ir::OpClass::control: return false;
    case ir::OpClass::whole:
      return op.code == OpCode::dot || op.code == OpCode::matmul || op.code == OpCode::transpose ||
             op.code == OpCode::outer;
    case ir::OpClass::memory: return op.code != OpCode::load && op.code != OpCode::store;
    case ir::OpClass::compare:
    case ir::OpClass::math:
    case ir::OpClass::effect: return true;
  }
  WEFT_UNREACHABLE();
}

Parts Emitter::component_parts(const Type* type, const Parts& packed) {
  BodyForm own(unit, W, true);
  Parts out;
  const std::vector<PartInfo>& info = unit.parts(type).parts;
  for (std::size_t k = 0; k < info.size(); ++k) {
    if (!is_packed_part(info[k])) {
      out.push_back(packed[k]);
      continue;
    }
    for (std::uint32_t c = 0; c < info[k].count; ++c) out.push_back({b.CreateExtractElement(packed[k].v, c)});
  }
  return out;
}

Parts Emitter::packed_parts(const Type* type, const Parts& components) {
  BodyForm own(unit, W, true);
  Parts out;
  std::size_t next = 0;
  for (const PartInfo& part : unit.parts(type).parts) {
    if (!is_packed_part(part)) {
      out.push_back(components[next++]);
      continue;
    }
    llvm::Value* whole = llvm::PoisonValue::get(unit.part_type(part, false));
    for (std::uint32_t c = 0; c < part.count; ++c) whole = b.CreateInsertElement(whole, components[next++].v, c);
    out.push_back({whole});
  }
  return out;
}

void Emitter::emit_on_components(const ir::Op& op) {
  // For the length of one operation the operands are what they would be in a body without packed vectors, and that is
  // what is emitted; nothing of it needs to know.
  std::vector<Parts> before;
  for (const ir::Value* v : op.operands) before.push_back(get(v));
  for (std::size_t k = 0; k < op.operands.size(); ++k)
    values_[op.operand(k)->id] = component_parts(op.operand(k)->type, before[k]);
  {
    BodyForm own(unit, W, false);
    emit_op(op);
  }
  for (std::size_t k = 0; k < op.operands.size(); ++k) values_[op.operand(k)->id] = before[k];
  for (const ir::Value* v : op.results) set(v, packed_parts(v->type, values_[v->id]));
}

void Emitter::emit_packed_arith(const ir::Op& op) {
  const Type* type = op.result()->type;
  llvm::SmallVector<llvm::Value*, 3> args;
  for (const ir::Value* v : op.operands)
    // A number beside a vector serves every component.
    args.push_back(v->type == type ? plain(v) : b.CreateVectorSplat(type->component_count(), plain(v)));
  OpCode code = op.code == OpCode::scale ? OpCode::mul : op.code == OpCode::unscale ? OpCode::div : op.code;
  set(op.result(), {Part{arith(code, type->scalar_kind(), args)}});
}

/// A lane's own parts of a value: scalars out of vectors, a copy of its components out of a wide block.
Parts Emitter::lane_parts(const ir::Value* value, llvm::Value* lane) {
  const std::vector<PartInfo>& info = parts_of(value).parts;
  const Parts parts = get(value);
  Parts out;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (info[k].kind != PartKind::block) {
      out.push_back({lane_of(vector(parts[k]), lane)});
      continue;
    }
    if (!parts[k].wide) {
      out.push_back(parts[k]);
      continue;
    }
    // The callee has one lane and knows blocks of scalars only.
    Part own = new_block(info[k].scalar, info[k].count, false);
    counted_loop(info[k].count, [&](llvm::Value* i) {
      block_put(own, info[k].scalar, i, lane_of(block_get(parts[k], info[k].scalar, i), lane));
    });
    out.push_back(own);
  }
  return out;
}

/// r = f(x) of a lanewise f in code of W lanes:
///
///   for lane in active lanes:  slots[lane] = f(context, linear + lane, x[lane])
///   r = slots as a vector
///
/// By memory, since the number of a lane is not known before run time: a scalar stored beside the last one costs less
/// than an insertion into a vector at a varying place.
void Emitter::emit_lanewise_call(const ir::Op& op) {
  const ir::Function& callee = *op.callee;
  if (const ir::Function* together = W > 1 ? together_form(callee) : nullptr)
    return emit_together_call(*this, op, *together);
  std::size_t units = 0;
  for (const ir::Value* v : op.operands) units += analysis::lane_units(v->type);
  const Variant* variant = nullptr;
  {
    BodyForm own(unit, 1, true);
    // One lane: everything is uniform in there, and one variant serves every call.
    variant = &unit.variant(callee, std::vector<analysis::LaneShape>(units, analysis::kUniform));
  }
  // Results of lanes that are not active are zero; they come together in memory, a number of each lane beside the other.
  std::vector<Parts> results(op.results.size());
  for (std::size_t r = 0; r < op.results.size(); ++r)
    for (const PartInfo& part : parts_of(op.results[r]).parts) {
      if (part.kind == PartKind::block) {
        results[r].push_back(new_block(part.scalar, part.count, W > 1));
      } else if (W > 1) {
        llvm::Type* type = unit.wide(unit.memory_type(part));
        results[r].push_back({entry_alloca(type, 1, 0)});
        if (mask) b.CreateStore(llvm::Constant::getNullValue(type), results[r].back().v);
      } else {
        results[r].push_back({});
      }
    }
  const bool counts = unit.turns && unit.turns->counts(callee);
  for_each_lane(mask, [&](llvm::Value* lane) {
    // Lanes are neighbours in the launch, so that a lane's own number is that far from the first one's.
    llvm::Value* linear = base(thread.linear);
    llvm::SmallVector<llvm::Value*, 16> args = {thread.context, lane ? b.CreateAdd(linear, lane) : linear};
    // Loaded inside of the loop: what one lane has used up is gone for the next.
    if (counts) args.push_back(turns_left());
    for (const ir::Value* v : op.operands)
      for (const Part& part : packed_parts(v->type, lane_parts(v, lane))) args.push_back(part.v);
    llvm::SmallVector<Part, 2> blocks;
    for (const ir::Value* v : op.results)
      for (const PartInfo& part : parts_of(v).parts)
        if (part.kind == PartKind::block) {
          blocks.push_back(new_block(part.scalar, part.count, false));
          args.push_back(blocks.back().v);
        }
    llvm::CallInst* call = b.CreateCall(variant->function, args);
    call->setDoesNotThrow();
    if (counts) {
      b.CreateStore(b.CreateExtractValue(call, call->getType()->getStructNumElements() - 1), thread.turns);
      leave_if_stopped();
    }
    unsigned field = 0;
    std::size_t next_block = 0;
    for (std::size_t r = 0; r < op.results.size(); ++r) {
      const std::vector<PartInfo>& info = parts_of(op.results[r]).parts;
      // The callee's struct has parts as packed bodies have them; here they are taken apart again.
      Parts packed;
      {
        BodyForm own(unit, W, true);
        for (const PartInfo& part : unit.parts(op.results[r]->type).parts)
          packed.push_back(part.kind == PartKind::block
                               ? blocks[next_block++]
                               : Part{result_part(call, field++, unit.part_type(part, false))});
      }
      const Parts out = component_parts(op.results[r]->type, packed);
      for (std::size_t k = 0; k < info.size(); ++k) {
        if (info[k].kind == PartKind::block)
          put_lane(results[r][k], info[k], out[k], lane);
        else if (lane)
          b.CreateStore(to_memory(info[k], out[k].v), b.CreateGEP(unit.memory_type(info[k]), results[r][k].v, lane));
        else
          results[r][k] = out[k];
      }
    }
  });
  for (std::size_t r = 0; r < op.results.size(); ++r) {
    const std::vector<PartInfo>& info = parts_of(op.results[r]).parts;
    for (std::size_t k = 0; k < info.size(); ++k)
      if (W > 1 && info[k].kind != PartKind::block) {
        llvm::Value* all = b.CreateLoad(unit.wide(unit.memory_type(info[k])), results[r][k].v);
        results[r][k] = {from_memory(info[k], all)};
      }
    set(op.results[r], std::move(results[r]));
  }
}

/// Copies a block of one thread to its place in that of all lanes.
void Emitter::put_lane(const Part& into, const PartInfo& info, const Part& from, llvm::Value* lane) {
  if (!lane) return block_copy(into, from, info.scalar, info.count);
  llvm::Type* element = unit.memory_type(info.scalar);
  counted_loop(info.count, [&](llvm::Value* i) {
    // Component i of lane k lies at i·W + k.
    llvm::Value* at = b.CreateAdd(b.CreateMul(i, b.getInt64(std::uint64_t(W))), lane);
    PartInfo one{PartKind::scalar, info.scalar, 1, 0, 0};
    b.CreateStore(to_memory(one, block_get(from, info.scalar, i)), b.CreateGEP(element, into.v, at));
  });
}

}  // namespace weft::codegen
