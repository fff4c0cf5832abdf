// Descriptors of objects (geometry/descriptors.h), read once for all threads of a kernel.
#pragma once
#include <llvm/IR/PassManager.h>

namespace weft::codegen {

/// Marks loads of a descriptor, whose address is an id and a constant.
inline constexpr const char* kDescriptorMark = "weft.descriptor";

/// Moves marked loads in front of the loop over threads, where the id is one of the kernel's parameters. A kernel that asks whether
/// there is an object hides from LLVM that these loads can't fail: launches have looked up every id, only 0 is none, and then
/// zeros are read.
class HoistDescriptorsPass : public llvm::PassInfoMixin<HoistDescriptorsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weft::codegen
