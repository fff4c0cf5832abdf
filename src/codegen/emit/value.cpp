// Values of the IR as parts: the table of emitted values, constants, and changes of representation between uniform,
// linear and varying.
#include "codegen/emit/emitter.h"

#include "codegen/emit/line_table.h"
#include "runtime/kernel_abi.h"

namespace weft::codegen {

using analysis::kUniform;
using analysis::kVarying;
using analysis::LaneShape;

Emitter::Emitter(CodeUnit& unit, llvm::Function* into, const ir::Function& function, const analysis::Uniformity* shapes)
    : unit(unit),
      b(unit.context),
      W(unit.lanes),
      guesses(unit.guesses),
      function_(into),
      source_(function),
      shapes_(shapes),
      values_(function.value_count) {
  // Only on request: without flags LLVM may neither reorder nor fuse, and every lane count gives the same bits.
  if (unit.options.fast_math) {
    // But what is infinite or no number stays so: programs ask for it (isinf of a stiffness that means a hard constraint).
    llvm::FastMathFlags flags = llvm::FastMathFlags::getFast();
    flags.setNoInfs(false);
    flags.setNoNaNs(false);
    b.setFastMathFlags(flags);
  }
  if (unit.lines) b.SetCurrentDebugLocation(unit.lines->at(*into, function.loc));
}

void Emitter::set(const ir::Value* value, Parts parts) {
  // The one place where emission is held against the layout of types: a missing
  // part would show up as another one's value.
  WEFT_CHECK(parts.size() == parts_of(value).parts.size(), "wrong number of parts for " + value->type->text());
  values_[value->id] = std::move(parts);
}

const Parts& Emitter::get(const ir::Value* value) {
  Parts& parts = values_[value->id];
  // Constants stand in no region: they are made at their first use, and cost nothing where they are.
  if (!parts.empty() || !value->is_constant()) return parts;
  if (!value->type->is_scalar()) return parts = zero_parts(value->type);
  llvm::Type* type = unit.type(value->type->scalar_kind());
  llvm::Constant* c = nullptr;
  if (type->isIntegerTy()) {
    c = llvm::ConstantInt::get(type, value->bits);
  } else {
    // By its bits, so that a NaN keeps its payload.
    llvm::APInt bits(type->getScalarSizeInBits(), value->bits);
    c = llvm::ConstantFP::get(unit.context, llvm::APFloat(type->getFltSemantics(), bits));
  }
  return parts = {Part{c}};
}

namespace {

void mark_used(const ir::Region& region, std::vector<bool>& used) {
  for (const ir::Op& op : region) {
    for (const ir::Value* v : op.operands) used[v->id] = true;
    for (const ir::Region* inner : op.regions) mark_used(*inner, used);
  }
}

}  // namespace

bool Emitter::is_used(const ir::Value* value) {
  // One walk for all questions, made when the first is asked: few kernels
  // have operations whose unused results matter.
  if (used_.empty()) {
    used_.resize(source_.value_count);
    mark_used(*source_.body, used_);
  }
  return used_[value->id];
}

LaneShape Emitter::shape(const ir::Value* value, std::uint32_t unit_index) const {
  // With one lane there is no analysis, and everything is uniform.
  return shapes_ ? shapes_->shape(value, unit_index) : kUniform;
}

bool Emitter::is_uniform(const Part& part) const {
  return part.stride == 0 && !part.wide && !part.v->getType()->isVectorTy();
}

llvm::Value* Emitter::plain(const Part& part) { return part.stride == 0 ? part.v : vector(part); }

llvm::Value* Emitter::vector(const Part& part) {
  if (W == 1 || part.v->getType()->isVectorTy()) return part.v;
  llvm::Value* v = splat(part.v);
  // In the type's own arithmetic, which wraps around as each lane's would.
  return part.stride == 0 ? v : b.CreateAdd(v, iota(part.v->getType(), part.stride));
}

llvm::Value* Emitter::base(const Part& part) const {
  WEFT_CHECK(!part.v->getType()->isVectorTy(), "lane analysis promised a uniform or linear value");
  return part.v;
}

Part Emitter::shaped(const PartInfo& info, const Part& part, LaneShape shape) {
  if (W == 1) return part;
  if (info.kind == PartKind::block) {
    if (shape == kUniform || part.wide) return part;
    Part copy = new_block(info.scalar, info.count, true);
    block_copy(copy, part, info.scalar, info.count);
    return copy;
  }
  // From less to more different is a broadcast. The other way round nothing can be done: which is why the analysis
  // must be no more optimistic than what is emitted, and this looks.
  if (shape == kUniform || (shape == part.stride && shape != kVarying)) {
    WEFT_CHECK(!part.v->getType()->isVectorTy() && part.stride == shape, "lane analysis and emission disagree");
    return part;
  }
  if (shape != kVarying) WEFT_UNREACHABLE("a linear value was emitted with another stride");
  return Part{vector(part), 0, part.scope};
}

Parts Emitter::shaped_parts(const ir::Value* as, const Parts& parts) {
  const TypeParts& info = parts_of(as);
  Parts out;
  for (std::size_t k = 0; k < parts.size(); ++k)
    out.push_back(shaped(info.parts[k], parts[k], shape(as, info.parts[k].unit)));
  return out;
}

llvm::Value* Emitter::zero_like(const PartInfo& info, bool varying) {
  return llvm::Constant::getNullValue(unit.part_type(info, varying));
}

Parts Emitter::zero_parts(const Type* type) {
  Parts parts;
  for (const PartInfo& info : unit.parts(type).parts) {
    if (info.kind != PartKind::block) {
      parts.push_back({zero_like(info, false)});
      continue;
    }
    // Blocks of zeros are read-only data. Whoever wants to write makes a copy: emit_insert
    // works in place on memory of the stack alone.
    llvm::Type* array = llvm::ArrayType::get(unit.memory_type(info.scalar), info.count);
    auto* zeros = new llvm::GlobalVariable(*unit.module, array, true, llvm::GlobalValue::PrivateLinkage,
                                           llvm::Constant::getNullValue(array), "zeros");
    zeros->setAlignment(llvm::Align(8));
    llvm::Constant* pointer = zeros;
    parts.push_back({pointer});
  }
  return parts;
}

Parts Emitter::load_params(const Type* type, llvm::Value* from, std::uint32_t offset, std::int32_t scope) {
  Parts parts;
  bool data = true;  // data pointers carry the parameter's scope, gradient pointers none
  for (const PartInfo& info : unit.parts(type).parts) {
    llvm::Value* at = b.CreateConstInBoundsGEP1_64(unit.i8, from, offset + info.offset);
    if (info.kind == PartKind::block) {
      parts.push_back({at});  // the parameter block has a block's layout
      continue;
    }
    llvm::Type* type_here = unit.memory_type(info);
    auto* load = b.CreateAlignedLoad(type_here, at,
                                     llvm::Align(type_here->isPointerTy() ? 8 : type_here->getScalarSizeInBits() / 8));
    // Nothing writes to the parameter block while kernels run, so that loads of it can move in front of loops.
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(unit.context, {}));
    Part part{info.scalar == ScalarKind::boolean ? b.CreateICmpNE(load, b.getInt8(0)) : load};
    if (info.kind == PartKind::pointer) {
      if (data && type->is_array()) part.scope = scope;
      data = !data;
    }
    parts.push_back(part);
  }
  return parts;
}

}  // namespace weft::codegen
