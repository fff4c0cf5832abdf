// The version at the head of PTX text. The back end writes the oldest one that knows the GPU, so that older drivers take
// it; each version has all that the ones before it had.
#include "codegen/nvptx/parameters.h"

#include <string_view>

#include <llvm/IR/Module.h>

namespace weft::codegen {
namespace {

constexpr std::uint64_t kSmallBlock = 4096;

}  // namespace

void allow_large_parameters(const llvm::Module& module, std::string& ptx) {
  for (const llvm::Function& one : module) {
    if (one.getCallingConv() != llvm::CallingConv::PTX_Kernel || one.arg_size() != 1 ||
        !one.hasParamAttribute(0, llvm::Attribute::ByVal))
      continue;
    if (module.getDataLayout().getTypeAllocSize(one.getParamByValType(0)) <= kSmallBlock) continue;
    constexpr std::string_view kWord = ".version ";
    if (const std::size_t at = ptx.find(kWord); at != std::string::npos) {
      const std::size_t number = at + kWord.size();
      ptx.replace(number, ptx.find('\n', number) - number, "8.1");
    }
    return;
  }
}

}  // namespace weft::codegen
