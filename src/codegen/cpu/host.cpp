// The machine this process runs on, as LLVM names it. On aarch64 the kernel's word on each extension is added: LLVM takes
// most of them from the processor's name alone, but a hypervisor or the kernel may hide one that the model has.
#include "codegen/cpu/host.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace weft::codegen {

namespace {

/// An extension whose instructions LLVM chooses by itself, and its bits in AT_HWCAP and AT_HWCAP2 (Linux's
/// arch/arm64/include/uapi/asm/hwcap.h); all must be set.
struct Extension {
  const char* name;
  std::uint64_t bits, bits2;
};

constexpr std::uint64_t bit(int n) { return std::uint64_t(1) << n; }

constexpr Extension kExtensions[] = {
    {"bf16", 0, bit(14)},    {"complxnum", bit(14), 0}, {"crc", bit(7), 0},
    {"cssc", 0, bit(34)},    {"dotprod", bit(20), 0},   {"flagm", bit(27), 0},
    {"fp16fml", bit(23), 0}, {"fptoint", 0, bit(8)},    {"fullfp16", bit(9) | bit(10), 0},
    {"i8mm", 0, bit(13)},    {"lse", bit(8), 0},        {"mops", 0, bit(43)},
    {"rcpc", bit(15), 0},    {"rdm", bit(12), 0},       {"sha3", bit(17) | bit(21), 0},
    {"sve", bit(22), 0},     {"sve2", bit(22), bit(1)},
};

TargetSpec find_host() {
  TargetSpec host;
  host.triple = llvm::sys::getProcessTriple();
  host.cpu_name = llvm::sys::getHostCPUName().str();
  std::map<std::string, bool> features;
  // A map, so that the list is sorted: it is a part of the keys under which kernels are kept.
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) features[feature.first().str()] = feature.second;
#if defined(__aarch64__)
  for (const auto& [name, present] : aarch64_features(::getauxval(AT_HWCAP), ::getauxval(AT_HWCAP2)))
    features[name] = present;
#endif
  host.features = feature_list(features);
  return host;
}

}  // namespace

std::map<std::string, bool> aarch64_features(std::uint64_t hwcap, std::uint64_t hwcap2) {
  // Streaming mode is never entered: a processor with SME but without SVE must not be taken for one with vectors.
  std::map<std::string, bool> features = {{"sme", false}};
  for (const Extension& e : kExtensions) features[e.name] = (hwcap & e.bits) == e.bits && (hwcap2 & e.bits2) == e.bits2;
  return features;
}

std::string feature_list(const std::map<std::string, bool>& features) {
  std::string list;
  // What is present first: LLVM takes the list in its order, and a feature that is
  // switched off takes those with it that need it.
  for (bool present : {true, false})
    for (const auto& [name, is_present] : features)
      if (is_present == present) list += (list.empty() ? "" : ",") + std::string(present ? "+" : "-") + name;
  return list;
}

TargetSpec host_target() {
  static const TargetSpec host = find_host();
  return host;
}

}  // namespace weft::codegen
