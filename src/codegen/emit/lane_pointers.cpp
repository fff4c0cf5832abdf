// Takes vectors of addresses apart, and lanes that are not active out of them.
#include "codegen/emit/lane_pointers.h"

#include "analysis/uses.h"
#include "codegen/emit/emitter.h"
#include "types/handle.h"

namespace weft::codegen {

namespace {

bool has_texture(const ir::Region& region) {
  for (const ir::Op& op : region) {
    if (op.code == ir::OpCode::handle && HandleUse(op.imm).kind == HandleKind::texture) return true;
    for (const ir::Region* inner : op.regions)
      if (has_texture(*inner)) return true;
  }
  return false;
}

bool samples_textures(const ir::Function& function) {
  return function.from_library ? function.name.starts_with("_texture") : has_texture(*function.body);
}

}  // namespace

llvm::Value* lane_pointer(Emitter& e, llvm::Value* pointers, int lane, std::uint32_t offset) {
  llvm::IRBuilder<>& b = e.b;
  const auto number = std::uint64_t(lane);
  auto* from = llvm::dyn_cast<llvm::GetElementPtrInst>(pointers);
  if (!from || from->getNumIndices() != 1 || from->getPointerOperand()->getType()->isVectorTy())
    return b.CreateConstGEP1_64(e.unit.i8, b.CreateExtractElement(pointers, number), offset);
  llvm::Value* index = from->idx_begin()->get();
  auto* cast = llvm::dyn_cast<llvm::CastInst>(index);
  // The number as it was before it became one of 64 bits: that is what loads take.
  llvm::Value* own = cast && (llvm::isa<llvm::ZExtInst>(cast) || llvm::isa<llvm::SExtInst>(cast))
                         ? b.CreateCast(cast->getOpcode(), b.CreateExtractElement(cast->getOperand(0), number),
                                        cast->getType()->getScalarType())
                         : b.CreateExtractElement(index, number);
  return b.CreateConstGEP1_64(e.unit.i8, b.CreateGEP(from->getSourceElementType(), from->getPointerOperand(), own),
                              offset);
}

bool loads_stand_open(const ir::Function& function) {
  // Samples of textures have a way for each kind of texture, of which a launch takes one: there are more operations than run.
  constexpr std::size_t kMostOps = 200, kMostOfSamples = 500;
  const std::size_t most = samples_textures(function) ? kMostOfSamples : kMostOps;
  return analysis::count_ops(*function.body, most + 1) <= most;
}

llvm::Value* zeros(CodeUnit& unit) {
  if (llvm::GlobalVariable* made = unit.module->getGlobalVariable("weft.zeros", true)) return made;
  auto* type = llvm::ArrayType::get(unit.i8, kZeros);
  auto* made = new llvm::GlobalVariable(*unit.module, type, true, llvm::GlobalValue::PrivateLinkage,
                                        llvm::Constant::getNullValue(type), "weft.zeros");
  made->setAlignment(llvm::Align(16));
  return made;
}

/// Without instructions for scatters a masked one is a branch for every lane. There, lanes that are not active write to memory of
/// nobody's, and all lanes go: the mask is gone then.
llvm::Value* Emitter::by_all_lanes(llvm::Value* pointers) {
  if (W == 1 || !mask || unit.traits.scatters || unit.target.arch != TargetSpec::cpu) return pointers;
  if (!spare_) spare_ = entry_alloca(unit.i8, kSpare, 16);
  pointers = b.CreateSelect(mask, pointers, splat(spare_));
  mask = nullptr;
  return pointers;
}

}  // namespace weft::codegen
