// Targets: GPUs by compute capability, what targets can do, and target machines kept per thread (host.cpp: the host).
#include "codegen/target.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include "codegen/own_target.h"

namespace weft::codegen {

namespace {

bool has_feature(const TargetSpec& target, const std::string& name) {
  std::string list = "," + target.features + ",";
  return list.find(",+" + name + ",") != std::string::npos;
}

bool is_x86(const TargetSpec& target) { return target.triple.starts_with("x86_64"); }

/// Intel's processors from Skylake to Rocket Lake: on a Cascade Lake 16 lanes take 21 ns by two gathers, 8 by single loads; by the name alone
/// we take all to be so whose microcode of 2023 slows gathers down (CVE-2022-40982). A virtual machine doesn't tell whether it has that. And AMD's
/// with AVX-512, whose gathers are some forty and more operations: nobody of us has one; ARM's encoder for ASTC became an eighth faster on a Zen 4 without
/// them (its request 511).
bool has_slow_gathers(std::string_view cpu) {
  static constexpr std::string_view kNames[] = {"skylake",    "skylake-avx512", "cascadelake",    "cooperlake",
                                                "cannonlake", "icelake-client", "icelake-server", "tigerlake",
                                                "rocketlake", "znver4",         "znver5"};
  return std::ranges::find(kNames, cpu) != std::end(kNames);
}

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

}  // namespace

TargetSpec nvptx_target(int sm) {
  if (sm < 70 || sm > 90) throw Error("sm_" + std::to_string(sm) + " is not supported: sm_70 to sm_90 are");
  TargetSpec gpu;
  gpu.arch = TargetSpec::nvptx;
  gpu.triple = "nvptx64-nvidia-cuda";
  gpu.cpu_name = "sm_" + std::to_string(sm);
  // The oldest PTX version that knows the GPU: older drivers then take it too.
  gpu.features = sm >= 87 ? "+ptx78" : "+ptx71";
  gpu.sm = sm;
  return gpu;
}

TargetSpec with_own(TargetSpec gpu) {
  if (gpu.sm != kOwnArch) throw Error("sm_" + std::to_string(gpu.sm) + " has nothing that later ones lack");
  gpu.cpu_name = "sm_" + std::to_string(gpu.sm) + "a";
  gpu.features = "+ptx80";
  return gpu;
}

bool has_own(const TargetSpec& target) { return target.arch == TargetSpec::nvptx && target.cpu_name.ends_with('a'); }

int natural_lanes(const TargetSpec& target) {
  if (target.arch == TargetSpec::nvptx) return 1;
  if (is_x86(target)) return has_feature(target, "avx512f") ? 16 : has_feature(target, "avx2") ? 8 : 4;
  return 4;
}

TargetTraits traits_of(const TargetSpec& target) {
  TargetTraits traits;
  traits.x86 = is_x86(target);
  traits.half_convert = !traits.x86 || has_feature(target, "f16c") || has_feature(target, "avx512f");
  traits.masked_moves = traits.x86 && has_feature(target, "avx");
  traits.scatters = traits.x86 && has_feature(target, "avx512f");
  // AVX2 has gathers. LLVM knows which processors they are worth it on (Skylake and later, no Zen before AVX-512), and takes them apart
  // on all others, with a branch for each lane under a mask.
  traits.gathers = traits.scatters || (traits.x86 && has_feature(target, "avx2") &&
                                       target_machine(target, 2).getMCSubtargetInfo()->checkFeatures("+fast-gather"));
  traits.quick_gathers = traits.gathers && !has_slow_gathers(target.cpu_name);
  return traits;
}

llvm::TargetMachine& target_machine(const TargetSpec& target, int opt_level) {
  initialize_llvm();
  using Key = std::tuple<std::string, std::string, std::string, int>;
  thread_local std::map<Key, std::unique_ptr<llvm::TargetMachine>> machines;
  std::unique_ptr<llvm::TargetMachine>& machine =
      machines[{target.triple, target.cpu_name, target.features, opt_level}];
  if (!machine) {
    std::string problem;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, problem);
    if (!found) throw Error("no code generator for " + target.triple + ": " + problem);
    llvm::TargetOptions options;
    options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // contraction is a pass of ours
    using Level = llvm::CodeGenOptLevel;
    Level level = opt_level >= 3   ? Level::Aggressive
                  : opt_level == 2 ? Level::Default
                  : opt_level == 1 ? Level::Less
                                   : Level::None;
    machine.reset(found->createTargetMachine(target.triple, target.cpu_name, target.features, options,
                                             llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
    if (!machine) throw Error("no code generator for " + target.triple);
    // At its lowest level AArch64 takes GlobalISel, and LLVM 19's turns <4 x float> into <4 x half> by bfcvtn, the
    // instruction for bfloat16, where the processor has it. FastISel, next in line, wrote code for random programs that
    // ends in a bus error. So every level goes by SelectionDAG there (machine_passes.cpp), which all other levels use.
    machine->setGlobalISel(false);
  }
  return *machine;
}

}  // namespace weft::codegen
