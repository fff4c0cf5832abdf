// Processor features of the host, apart from LLVM's types so that tests can look at them on any machine.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "codegen/codegen.h"

namespace weft::codegen {

/// What Linux says of an aarch64 processor (AT_HWCAP, AT_HWCAP2) under LLVM's names: every extension that generated code
/// could use, present or not.
std::map<std::string, bool> aarch64_features(std::uint64_t hwcap, std::uint64_t hwcap2);

/// LLVM's form of a feature list. Features that are absent come last: LLVM then also drops what builds on them.
std::string feature_list(const std::map<std::string, bool>& features);

}  // namespace weft::codegen
