// LLVM's own list of machine passes, with one difference: huge kernels, which run at a lowered level, skip the machine
// scheduler. Its graph of a block and its search for cyclic critical paths grow faster than the block does: for a
// kernel of 10,000 lines, one block after if-conversion, it took four fifths of all code generation.
#include "codegen/machine_passes.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "support/check.h"

namespace weft::codegen {

namespace {

/// What TargetMachine::addPassesToEmitFile does, with a pass taken out. True when the target can't.
bool add_passes_without_scheduler(llvm::legacy::PassManager& passes, llvm::TargetMachine& machine,
                                  llvm::raw_pwrite_stream& out, llvm::CodeGenFileType type) {
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);
  auto* info = new llvm::MachineModuleInfoWrapperPass(&target);
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::MachineSchedulerID);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses()) return true;
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, out, nullptr, type, info->getMMI().getContext())) return true;
  passes.add(llvm::createFreeMachineFunctionPass());
  return false;
}

}  // namespace

std::string write_machine_code(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                               int level) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  bool refused = level < 2 ? add_passes_without_scheduler(passes, machine, out, type)
                           : machine.addPassesToEmitFile(passes, out, nullptr, type);
  WEFT_CHECK(!refused, "the target can't write this kind of file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace weft::codegen
