// LLVM's own list of machine passes, kept from one kernel to the next: to make its 150 passes takes a tenth of what a
// small kernel takes to compile. One difference: huge kernels, which run at a lowered level, skip the machine
// scheduler. Its graph of a block and its search for cyclic critical paths grow faster than the block does: for a
// kernel of 10,000 lines, one block after if-conversion, it took four fifths of all code generation.
#include "codegen/llvm_passes/machine_passes.h"

#include <map>
#include <tuple>

#include <llvm/ADT/SmallString.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Pass.h>
#include <llvm/PassRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/background.h"
#include "support/check.h"

namespace weft::codegen {

namespace {

/// A place between two passes where a compile in the background may be left for good.
class MayStay final : public llvm::MachineFunctionPass {
 public:
  static char ID;
  MayStay() : MachineFunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "weft: may stay here"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(llvm::MachineFunction&) override {
    stay_if_ending();
    return false;
  }
};
char MayStay::ID = 0;

/// What TargetMachine::addPassesToEmitFile does, with places to stay, and maybe a pass taken out. True when the target can't.
bool add_passes(llvm::legacy::PassManager& passes, llvm::TargetMachine& machine, llvm::raw_pwrite_stream& out,
                llvm::CodeGenFileType type, bool scheduled) {
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);
  // By its name, of which the pipeline makes as many as it has places: one made here would be nobody's where a place is missing.
  [[maybe_unused]] static const bool known = [] {
    auto* described = new llvm::PassInfo("weft: may stay here", "weft-may-stay", &MayStay::ID,
                                         llvm::PassInfo::NormalCtor_t(llvm::callDefaultCtor<MayStay>), true, false);
    llvm::PassRegistry::getPassRegistry()->registerPass(*described, /*ShouldFree=*/true);
    return true;
  }();
  auto* info = new llvm::MachineModuleInfoWrapperPass(&target);
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  if (!scheduled) config->disablePass(&llvm::MachineSchedulerID);
  for (char* behind : {&llvm::MachineCSEID, &llvm::PHIEliminationID, &llvm::MachineSchedulerID,
                       &llvm::VirtRegRewriterID, &llvm::PostRASchedulerID})
    config->insertPass(behind, &MayStay::ID);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses()) return true;
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, out, nullptr, type, info->getMMI().getContext())) return true;
  passes.add(llvm::createFreeMachineFunctionPass());
  return false;
}

/// The passes for one target machine, and where they write.
struct Pipeline {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out{bytes};
  llvm::legacy::PassManager passes;
};

/// The pipeline of this thread for this kind of output; target machines live as long as the thread, too.
Pipeline& pipeline(llvm::TargetMachine& machine, llvm::CodeGenFileType type, bool scheduled) {
  thread_local std::map<std::tuple<llvm::TargetMachine*, llvm::CodeGenFileType, bool>, Pipeline> known;
  auto [it, fresh] = known.try_emplace({&machine, type, scheduled});
  Pipeline& made = it->second;
  if (!fresh) return made;
  WEFT_CHECK(!add_passes(made.passes, machine, made.out, type, scheduled), "the target can't write this kind of file");
  // Asked for while the passes run: on AArch64 every level goes by SelectionDAG, see target.cpp.
  if (machine.getTargetTriple().isAArch64()) machine.setFastISel(false);
  return made;
}

}  // namespace

std::string write_machine_code(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                               int level) {
  Pipeline& through = pipeline(machine, type, level >= 2);
  through.bytes.clear();
  through.passes.run(module);
  return std::string(through.bytes.begin(), through.bytes.end());
}

}  // namespace weft::codegen
