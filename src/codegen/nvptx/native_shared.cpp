// Uses go through a cast to a plain address; LLVM finds out where an access needs none.
#include "codegen/nvptx/native_shared.h"

#include <vector>

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>

namespace weft::codegen {

void place_shared_variables(llvm::Module& module) {
  constexpr unsigned kShared = 3;  // the address space in NVPTX
  std::vector<llvm::GlobalVariable*> found;
  for (llvm::GlobalVariable& variable : module.globals())
    if (variable.getSection() == "weft_shared") found.push_back(&variable);
  for (llvm::GlobalVariable* variable : found) {
    llvm::Type* type = variable->getValueType();
    auto* placed =
        new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                                 variable->getName() + ".shared", variable, llvm::GlobalValue::NotThreadLocal, kShared);
    placed->setAlignment(variable->getAlign());
    variable->replaceAllUsesWith(llvm::ConstantExpr::getAddrSpaceCast(placed, variable->getType()));
    variable->eraseFromParent();
  }
}

}  // namespace weft::codegen
