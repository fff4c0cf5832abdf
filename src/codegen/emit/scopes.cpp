// What LLVM is told of who else may touch the memory of an access: arrays of a launch that lie apart, and memory that nothing writes.
#include <llvm/IR/MDBuilder.h>

#include "analysis/read_only.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"
#include "codegen/llvm_passes/hoist_descriptors.h"
#include "ir/fixed_memory.h"

namespace weft::codegen {

/// The launch saw that no two arrays overlap: one alias scope an array, so that LLVM keeps loads across stores.
void Emitter::use_scopes() {
  // Without that, two parameters may be one array, and a scope would be a lie.
  if (!source_.form.no_overlap) return;
  llvm::MDBuilder metadata(unit.context);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("weft");
  for (std::size_t k = 0; k < source_.params().size(); ++k)
    scopes_.push_back(metadata.createAnonymousAliasScope(domain, "param"));
  if (unit.hooks->marks_read_only_arrays()) read_only_ = analysis::read_only_arrays(source_);
}

void Emitter::mark_scope(llvm::Instruction* access, std::int32_t scope) {
  if (is_fixed(scope)) {
    // Memory that nothing writes overlaps no array that is written.
    if (!scopes_.empty()) access->setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(unit.context, scopes_));
    if (!llvm::isa<llvm::LoadInst>(access)) return;
    access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(unit.context, {}));
    if (scope == kDescriptorScope) access->setMetadata(kDescriptorMark, llvm::MDNode::get(unit.context, {}));
    return;
  }
  // Of unknown descent: it may be any of the arrays, and says nothing.
  if (scope < 0 || std::size_t(scope) >= scopes_.size()) return;
  // In LLVM's terms: this access is in the scope of its array, and touches nothing of all others.
  llvm::SmallVector<llvm::Metadata*, 8> others;
  for (std::size_t k = 0; k < scopes_.size(); ++k)
    if (std::int32_t(k) != scope) others.push_back(scopes_[k]);
  access->setMetadata(llvm::LLVMContext::MD_alias_scope,
                      llvm::MDNode::get(unit.context, {scopes_[std::size_t(scope)]}));
  if (!others.empty()) access->setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(unit.context, others));
  if (!read_only_.empty() && read_only_[std::size_t(scope)] && llvm::isa<llvm::LoadInst>(access))
    access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(unit.context, {}));
}

}  // namespace weft::codegen
