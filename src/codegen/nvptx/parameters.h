// How large the parameter block of a GPU kernel may be. Up to 4 KB every driver takes; up to 32 KB those of CUDA 12.1 and
// later do, of PTX that says so by its version.
#pragma once
#include <cstdint>
#include <string>

namespace llvm {
class Module;
}

namespace weft::codegen {

/// The most bytes of a block: parameters and trailer.
inline constexpr std::uint32_t kMaxGpuParameters = 32764;

/// Raises the version that PTX of the module asks for, if a kernel has more parameters than older versions allow.
void allow_large_parameters(const llvm::Module& module, std::string& ptx);

}  // namespace weft::codegen
