// Finds the id under the address of each marked load; equal loads become one.
#include "codegen/llvm_passes/hoist_descriptors.h"

#include <map>
#include <optional>
#include <tuple>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

namespace weft::codegen {

namespace {

/// As many bytes as a descriptor has, at most.
constexpr std::uint64_t kDescriptorBytes = 512;

struct Field {
  llvm::Value* id;
  std::uint64_t offset;
};

/// The id that a kernel got as a parameter, and how far behind it a load reads.
std::optional<Field> field_of(const llvm::LoadInst& load) {
  const llvm::DataLayout& layout = load.getModule()->getDataLayout();
  llvm::APInt offset(64, 0);
  llvm::Value* pointer = const_cast<llvm::Value*>(
      load.getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true));
  auto* cast = llvm::dyn_cast<llvm::IntToPtrInst>(pointer);
  if (!cast) return {};
  llvm::Value* id = cast->getOperand(0);
  llvm::ConstantInt* constant = nullptr;
  llvm::Value* under = nullptr;
  while (llvm::PatternMatch::match(
      id, llvm::PatternMatch::m_Add(llvm::PatternMatch::m_Value(under), llvm::PatternMatch::m_ConstantInt(constant)))) {
    offset += constant->getValue();
    id = under;
  }
  const auto* parameter = llvm::dyn_cast<llvm::LoadInst>(id);
  if (!parameter || parameter->getParent() != &load.getFunction()->getEntryBlock()) return {};
  if (offset.isNegative() || offset.getZExtValue() + layout.getTypeStoreSize(load.getType()) > kDescriptorBytes)
    return {};
  return Field{id, offset.getZExtValue()};
}

/// A descriptor of nobody.
llvm::GlobalVariable* nobody(llvm::Module& module) {
  constexpr const char* kName = "weft.nobody";
  if (llvm::GlobalVariable* made = module.getGlobalVariable(kName, true)) return made;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), kDescriptorBytes);
  auto* made = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::PrivateLinkage,
                                        llvm::Constant::getNullValue(type), kName);
  made->setAlignment(llvm::Align(16));
  return made;
}

}  // namespace

llvm::PreservedAnalyses HoistDescriptorsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
  llvm::SmallVector<std::pair<llvm::LoadInst*, Field>, 16> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (!load || !load->getMetadata(kDescriptorMark)) continue;
    if (std::optional<Field> field = field_of(*load)) found.push_back({load, *field});
  }
  if (found.empty()) return llvm::PreservedAnalyses::all();
  llvm::IRBuilder<> b(function.getEntryBlock().getTerminator());
  std::map<llvm::Value*, llvm::Value*> objects;
  std::map<std::tuple<llvm::Value*, std::uint64_t, llvm::Type*>, llvm::LoadInst*> loads;
  for (auto& [load, field] : found) {
    llvm::Value*& object = objects[field.id];
    if (!object)
      object = b.CreateSelect(b.CreateIsNull(field.id), nobody(*function.getParent()),
                              b.CreateIntToPtr(field.id, b.getPtrTy()));
    llvm::LoadInst*& made = loads[{field.id, field.offset, load->getType()}];
    if (!made) {
      made = b.CreateAlignedLoad(load->getType(), b.CreateConstGEP1_64(b.getInt8Ty(), object, field.offset),
                                 load->getAlign());
      made->copyMetadata(*load);
    }
    load->replaceAllUsesWith(made);
    load->eraseFromParent();
  }
  llvm::PreservedAnalyses kept;
  kept.preserveSet<llvm::CFGAnalyses>();
  return kept;
}

}  // namespace weft::codegen
