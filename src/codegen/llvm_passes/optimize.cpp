// The pass pipeline. Our own passes have already folded, merged, hoisted and inlined, and the emitter writes loops in
// rotated form, so a short hand-picked list does: it takes a few milliseconds where LLVM's O2 takes tens. Level 3 is
// LLVM's own O3. Huge modules get less, so that compile time stays near linear: above 10,000 LLVM instructions level 1,
// above 200,000 none and the fast instruction selector.
#include "codegen/llvm_passes/optimize.h"

#include <map>

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/DeadArgumentElimination.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DeadStoreElimination.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/InferAlignment.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Vectorize/LoopVectorize.h>
#include <llvm/Transforms/Vectorize/SLPVectorizer.h>

#include "codegen/background.h"
#include "codegen/llvm_passes/hoist_descriptors.h"
#include "codegen/llvm_passes/interleave_loops.h"
#include "codegen/nvptx/aligned_rows.h"
#include "codegen/nvptx/inline_functions.h"
#include "codegen/nvptx/narrow_products.h"
#include "codegen/nvptx/wide_fills.h"
#include "support/check.h"

namespace weft::codegen {

namespace {

constexpr unsigned kMaxFullLevel = 10'000;
constexpr unsigned kMaxAnyLevel = 200'000;

/// LLVM's analyses for one target machine, kept from one kernel to the next; what they found is not.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks between;
  llvm::PassBuilder builder;

  explicit Analyses(llvm::TargetMachine& machine) : builder(&machine, {}, std::nullopt, &between) {
    between.registerBeforeNonSkippedPassCallback([](llvm::StringRef, const llvm::Any&) { stay_if_ending(); });
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graph, modules);
  }

  void clear() {
    loops.clear();
    functions.clear();
    graph.clear();
    modules.clear();
  }
};

llvm::FunctionPassManager function_pipeline(int level, bool of_block) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(level >= 2));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  if (level < 2) return passes;
  passes.addPass(HoistDescriptorsPass());
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass(true, false));
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops), true, false));
  passes.addPass(
      llvm::LoopUnrollPass(llvm::LoopUnrollOptions(2, true).setPartial(false).setRuntime(false).setUpperBound(false)));
  passes.addPass(llvm::GVNPass());
  // Stores to memory of a block are seen by others; what is to be found among them takes a sixth of all passes.
  if (!of_block) passes.addPass(llvm::DSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::ADCEPass());
  return passes;
}

}  // namespace

int effective_level(const llvm::Module& module, int wished) {
  unsigned count = module.getInstructionCount();
  return count > kMaxAnyLevel ? 0 : count > kMaxFullLevel ? std::min(wished, 1) : wished;
}

/// For code of one lane over tiles: loops over their elements, and what is left of unrolled ones, become vectors.
llvm::FunctionPassManager vector_pipeline() {
  llvm::FunctionPassManager passes;
  passes.addPass(InterleaveLoopsPass());
  passes.addPass(llvm::LoopVectorizePass());
  passes.addPass(llvm::SLPVectorizerPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  return passes;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level, bool linked, bool vectors, bool of_block) {
  thread_local std::map<llvm::TargetMachine*, Analyses> kept;
  Analyses& analyses = kept.try_emplace(&machine, machine).first->second;
  llvm::PassBuilder& builder = analyses.builder;
  llvm::ModulePassManager passes;
  const bool gpu = machine.getTargetTriple().isNVPTX();
  if (level >= 3) {
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  } else {
    if (linked || gpu) {
      if (linked && gpu)  // libdevice asks how denormals are treated
        if (llvm::Error error = builder.parsePassPipeline(passes, "function(nvvm-reflect)"))
          WEFT_UNREACHABLE(llvm::toString(std::move(error)));
      if (gpu && level >= 1) mark_inlined_functions(module);
      passes.addPass(llvm::AlwaysInlinerPass(false));
      passes.addPass(llvm::GlobalDCEPass());
      // A function that gets the launch's parameters without a need makes the kernel copy them.
      if (gpu) passes.addPass(llvm::DeadArgumentEliminationPass());
    }
    // Lanes of a GPU thread are for its loads and stores; the back end knows few other operations on vectors.
    if (gpu) passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ScalarizerPass()));
    if (level >= 1) passes.addPass(llvm::createModuleToFunctionPassAdaptor(function_pipeline(level, gpu && of_block)));
    if (level >= 2 && vectors) passes.addPass(llvm::createModuleToFunctionPassAdaptor(vector_pipeline()));
    // GPU kernels know arrays that are aligned; the target's own passes then join their accesses.
    // How memory of a block is aligned shows only in its own space.
    constexpr unsigned kAnySpace = 0;
    if (level >= 1 && gpu && !module.global_empty())
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::InferAddressSpacesPass(kAnySpace)));
    if (level >= 1 && gpu) passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::InferAlignmentPass()));
    if (level >= 1 && gpu && of_block) passes.addPass(llvm::createModuleToFunctionPassAdaptor(AlignedRowsPass()));
  }
  if (level >= 1 && gpu) {
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(WideFillsPass()));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(NarrowProductsPass()));
  }
  passes.run(module, analyses.modules);
  analyses.clear();
}

}  // namespace weft::codegen
