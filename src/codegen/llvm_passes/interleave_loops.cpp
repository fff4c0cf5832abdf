// Which loops: innermost ones of one block whose turns depend on each other by nothing but the count, with enough arithmetic
// for each number read or written that latency counts, and not so much that registers run out. Measured on NEON with tanh over
// tiles of 256: 1 vector 215 M/s, 4 vectors 367 M/s. Turns with many accesses (passes of transforms, factors) gain nothing,
// and their code would take twice the time to make.
#include "codegen/llvm_passes/interleave_loops.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace weft::codegen {
namespace {

constexpr unsigned kLeast = 8, kMost = 120;                 // operations on floats in a turn
constexpr unsigned kMostAccesses = 4, kLeastForAccess = 4;  // accesses of a turn, and operations for each of them
constexpr unsigned kVectors = 4;

/// How many operations on floats a turn has; 0 if turns depend on each other, or on what a call does, or mostly move numbers.
unsigned float_operations(const llvm::BasicBlock& turn) {
  unsigned count = 0, accesses = 0;
  for (const llvm::Instruction& i : turn) {
    if (llvm::isa<llvm::PHINode>(i) && !i.getType()->isIntegerTy() && !i.getType()->isPointerTy()) return 0;
    if (llvm::isa<llvm::CallBase>(i) && !llvm::isa<llvm::IntrinsicInst>(i)) return 0;
    if (i.mayReadOrWriteMemory())
      ++accesses;
    else if (i.getType()->isFloatingPointTy())
      ++count;
  }
  return accesses <= kMostAccesses && count >= kLeastForAccess * accesses ? count : 0;
}

}  // namespace

llvm::PreservedAnalyses InterleaveLoopsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (!loop->isInnermost() || loop->getNumBlocks() != 1) continue;
    const unsigned count = float_operations(*loop->getHeader());
    if (count >= kLeast && count <= kMost) llvm::addStringMetadataToLoop(loop, "llvm.loop.interleave.count", kVectors);
  }
  return llvm::PreservedAnalyses::all();
}

}  // namespace weft::codegen
