// Sizes are those after inlining what the function itself calls: callees come first.
#include "codegen/nvptx/inline_functions.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CallGraph.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace weft::codegen {
namespace {

constexpr std::uint64_t kMostAdded = 4000;  // instructions, in all places together

}  // namespace

void mark_inlined_functions(llvm::Module& module) {
  llvm::CallGraph calls(module);
  llvm::DenseMap<const llvm::Function*, std::uint64_t> sizes;  // of what is inlined
  for (llvm::CallGraphNode* node : llvm::post_order(&calls)) {
    llvm::Function* function = node->getFunction();
    // Functions of the program; those of the mathematical library are called for numbers that are rare.
    if (!function || function->isDeclaration() || !function->getName().starts_with("f.")) continue;
    std::uint64_t size = 0, places = 0;
    for (const llvm::Instruction& at : llvm::instructions(*function)) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&at);
      size += 1 + (call && call->getCalledFunction() ? sizes.lookup(call->getCalledFunction()) : 0);
    }
    for (const llvm::User* user : function->users()) places += llvm::isa<llvm::CallInst>(user);
    if (size * places > kMostAdded) continue;
    sizes[function] = size;
    function->addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

}  // namespace weft::codegen
