// nvPTXCompiler: the assembler of CUDA's toolkit as a library, which takes the place of the driver's own where CMake found
// it and linked it in (WEFT_NVPTXCOMPILER). Its few types are written out; tests hand in a table of their own.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace weft::cuda {

struct PtxOptions {
  int opt_level = 3;       // of the assembler: 0 to 4
  bool line_info = false;  // source lines for profilers
};

using PtxCompilerHandle = struct PtxCompilerRecord*;

/// The entry points; all are null where none is linked in.
struct PtxCompilerTable {
  int (*version)(unsigned* major, unsigned* minor) = nullptr;
  int (*create)(PtxCompilerHandle* compiler, std::size_t size, const char* ptx) = nullptr;
  int (*destroy)(PtxCompilerHandle* compiler) = nullptr;
  int (*compile)(PtxCompilerHandle compiler, int count, const char* const* options) = nullptr;
  int (*program_size)(PtxCompilerHandle compiler, std::size_t* size) = nullptr;
  int (*program)(PtxCompilerHandle compiler, void* image) = nullptr;
  int (*log_size)(PtxCompilerHandle compiler, std::size_t* size) = nullptr;
  int (*log)(PtxCompilerHandle compiler, char* text) = nullptr;
};
/// What this build links in.
const PtxCompilerTable& linked_ptx_compiler();

inline constexpr int kPtxCompilationFailure = 3, kPtxUnsupportedVersion = 7;

class PtxCompiler {
 public:
  explicit PtxCompiler(const PtxCompilerTable& table);

  /// 13040 for the compiler of CUDA 13.4; 0 without one.
  int version() const { return version_; }
  /// Whether a driver loads what it makes: one of the same major version or a later one.
  bool serves(int driver_version) const { return version_ > 0 && version_ / 1000 <= driver_version / 1000; }
  /// Machine code for an architecture. None if the compiler does not know the architecture or the PTX's version: then it
  /// is the driver's turn. Throws DriverError with the log; `what` says what is compiled.
  std::optional<std::string> compile(const std::string& ptx, int arch, const PtxOptions& options,
                                     const std::string& what) const;

 private:
  PtxCompilerTable table_;
  int version_ = 0;
};

}  // namespace weft::cuda
