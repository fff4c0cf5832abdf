// Compiling PTX by nvPTXCompiler.
#include "cuda/ptx_compiler.h"

#include <string_view>

#include "cuda/driver.h"
#include "cuda/own_code.h"

#ifdef WEFT_HAS_NVPTXCOMPILER
extern "C" {
int nvPTXCompilerGetVersion(unsigned* major, unsigned* minor);
int nvPTXCompilerCreate(weft::cuda::PtxCompilerHandle* compiler, std::size_t size, const char* ptx);
int nvPTXCompilerDestroy(weft::cuda::PtxCompilerHandle* compiler);
int nvPTXCompilerCompile(weft::cuda::PtxCompilerHandle compiler, int count, const char* const* options);
int nvPTXCompilerGetCompiledProgramSize(weft::cuda::PtxCompilerHandle compiler, std::size_t* size);
int nvPTXCompilerGetCompiledProgram(weft::cuda::PtxCompilerHandle compiler, void* image);
int nvPTXCompilerGetErrorLogSize(weft::cuda::PtxCompilerHandle compiler, std::size_t* size);
int nvPTXCompilerGetErrorLog(weft::cuda::PtxCompilerHandle compiler, char* text);
}
#endif

namespace weft::cuda {
namespace {

[[noreturn]] void fail(int code, const char* call, const std::string& what, const std::string& log) {
  throw DriverError(std::string(call) + " gave error " + std::to_string(code) + "; while compiling " + what +
                        (log.empty() ? "" : ":\n" + log),
                    call, code);
}

}  // namespace

const PtxCompilerTable& linked_ptx_compiler() {
#ifdef WEFT_HAS_NVPTXCOMPILER
  static constexpr PtxCompilerTable table{&nvPTXCompilerGetVersion,
                                          &nvPTXCompilerCreate,
                                          &nvPTXCompilerDestroy,
                                          &nvPTXCompilerCompile,
                                          &nvPTXCompilerGetCompiledProgramSize,
                                          &nvPTXCompilerGetCompiledProgram,
                                          &nvPTXCompilerGetErrorLogSize,
                                          &nvPTXCompilerGetErrorLog};
#else
  static constexpr PtxCompilerTable table{};
#endif
  return table;
}

PtxCompiler::PtxCompiler(const PtxCompilerTable& table) : table_(table) {
  unsigned major = 0, minor = 0;
  if (table.version && table.version(&major, &minor) == 0) version_ = int(major * 1000 + minor * 10);
}

std::optional<std::string> PtxCompiler::compile(const std::string& ptx, int arch, const PtxOptions& options,
                                                const std::string& what) const {
  PtxCompilerHandle compiler = nullptr;
  if (int code = table_.create(&compiler, ptx.size(), ptx.c_str()); code != 0)
    fail(code, "nvPTXCompilerCreate", what, "");
  struct Destroy {
    const PtxCompilerTable& table;
    PtxCompilerHandle compiler;
    ~Destroy() { table.destroy(&compiler); }
  } destroy{table_, compiler};
  const std::string gpu = "--gpu-name=sm_" + std::to_string(arch) + (is_for_own(ptx, arch) ? "a" : "");
  const std::string level = "--opt-level=" + std::to_string(options.opt_level);
  const char* texts[] = {gpu.c_str(), level.c_str(), "--generate-line-info"};
  const int code = table_.compile(compiler, options.line_info ? 3 : 2, texts);
  if (code == kPtxUnsupportedVersion) return std::nullopt;
  if (code != 0) {
    std::string log;
    if (std::size_t size = 0; table_.log_size(compiler, &size) == 0 && size > 0) {
      log.resize(size + 1);
      if (table_.log(compiler, log.data()) != 0) log.clear();
      log.resize(std::string_view(log.c_str()).size());
      while (!log.empty() && (log.back() == '\n' || log.back() == ' ')) log.pop_back();
    }
    // An architecture that is older or newer than the compiler is told as a bad option.
    if (log.find("gpu-name") != std::string::npos) return std::nullopt;
    fail(code, "nvPTXCompilerCompile", what, log);
  }
  std::size_t size = 0;
  if (int failed = table_.program_size(compiler, &size); failed != 0)
    fail(failed, "nvPTXCompilerGetCompiledProgramSize", what, "");
  std::string image(size, '\0');
  if (int failed = table_.program(compiler, image.data()); failed != 0)
    fail(failed, "nvPTXCompilerGetCompiledProgram", what, "");
  return image;
}

}  // namespace weft::cuda
