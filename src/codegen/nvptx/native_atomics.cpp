// Memory operations with an order as relaxed ones between fences of the whole system.
#include "codegen/nvptx/native_atomics.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace weft::codegen {
namespace {

void put_fence(llvm::Instruction* before) {
  llvm::IRBuilder<>(before).CreateIntrinsic(llvm::Intrinsic::nvvm_membar_sys, {}, {});
}

void put_fences(llvm::Instruction& around, llvm::AtomicOrdering order) {
  if (llvm::isReleaseOrStronger(order)) put_fence(&around);
  if (llvm::isAcquireOrStronger(order)) put_fence(around.getNextNode());
}

/// A volatile access is one that other threads see whole, in the order of this thread's accesses to the same place.
template <class Access>
void lower_access(Access& access) {
  const llvm::AtomicOrdering order = access.getOrdering();
  const bool alone = access.getSyncScopeID() == llvm::SyncScope::SingleThread;
  access.setAtomic(llvm::AtomicOrdering::NotAtomic);
  access.setVolatile(true);
  if (alone) return;
  if (order == llvm::AtomicOrdering::SequentiallyConsistent) {
    put_fence(&access);
    put_fence(access.getNextNode());
  } else {
    put_fences(access, order);
  }
}

}  // namespace

void lower_native_atomics(llvm::Module& module) {
  for (llvm::Function& f : module) {
    const bool relaxed = f.getName().starts_with("_ZN2wp") || f.getName().starts_with("__atomic_");
    for (llvm::Instruction& i : llvm::make_early_inc_range(llvm::instructions(f))) {
      if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&i)) {
        if (fence->getSyncScopeID() == llvm::SyncScope::System) put_fence(fence);
        fence->eraseFromParent();
      } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
        if (load->isAtomic()) lower_access(*load);
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
        if (store->isAtomic()) lower_access(*store);
      } else if (auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) {
        if (!relaxed) put_fences(*change, change->getOrdering());
        change->setOrdering(llvm::AtomicOrdering::Monotonic);
      } else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) {
        if (!relaxed) put_fences(*swap, swap->getMergedOrdering());
        swap->setSuccessOrdering(llvm::AtomicOrdering::Monotonic);
        swap->setFailureOrdering(llvm::AtomicOrdering::Monotonic);
      }
    }
  }
}

}  // namespace weft::codegen
