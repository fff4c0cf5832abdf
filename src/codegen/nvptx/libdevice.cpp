// libdevice is a file of LLVM bitcode that comes with CUDA toolkits and with packages of PyPI. Its functions ask for the
// treatment of denormals by __nvvm_reflect, which LLVM answers from a flag of the module.
#include "codegen/nvptx/libdevice.h"

#include <cstdlib>
#include <filesystem>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include "codegen/codegen.h"

namespace weft::codegen {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = "__nv_";

/// The library in a toolkit's folder, in a folder of Python packages, or in the folder itself.
std::string bitcode_below(const fs::path& folder) {
  std::error_code ignored;
  for (const char* place : {"nvvm/libdevice", "nvidia/cuda_nvcc/nvvm/libdevice", "nvidia/cu13/nvvm/libdevice",
                            "nvidia/cu12/nvvm/libdevice", "nvidia/cuda_nvvm/nvvm/libdevice", ""}) {
    fs::path file = folder / place / "libdevice.10.bc";
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return {};
}

const llvm::Function* first_needed(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && function.getName().starts_with(kPrefix) && !function.use_empty()) return &function;
  return nullptr;
}

}  // namespace

std::string find_libdevice(const std::string& given, std::span<const std::string> search) {
  std::error_code ignored;
  if (!given.empty()) return fs::is_regular_file(given, ignored) ? given : bitcode_below(given);
  if (const char* named = std::getenv("WEFT_LIBDEVICE"); named && *named) return find_libdevice(named, {});
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable); folder && *folder)
      if (std::string found = bitcode_below(folder); !found.empty()) return found;
  for (const std::string& folder : search)
    if (std::string found = bitcode_below(folder); !found.empty()) return found;
  for (const char* folder : {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit"})
    if (std::string found = bitcode_below(folder); !found.empty()) return found;
  // Versioned toolkits: the last in name order, so that the choice does not depend on the file system.
  std::string best;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/local", ignored))
    if (entry.path().filename().string().starts_with("cuda-"))
      if (std::string found = bitcode_below(entry.path()); found > best) best = found;
  return best;
}

bool link_libdevice(llvm::Module& module, const std::string& path, bool flush) {
  if (!first_needed(module)) return false;
  if (path.empty())
    throw Error(
        "native functions take elementary functions from libdevice on GPUs, and none was found: install a CUDA "
        "toolkit or the package nvidia-cuda-nvcc, or set WEFT_LIBDEVICE to libdevice.10.bc");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) throw Error("can't read libdevice at " + path + ": " + buffer.getError().message());
  // Functions are read from the file only as they are linked.
  auto library = llvm::getOwningLazyBitcodeModule(std::move(*buffer), module.getContext());
  if (!library) throw Error(path + " is no bitcode: " + llvm::toString(library.takeError()));
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  auto internalize = [](llvm::Module& linked, const llvm::StringSet<>& names) {
    llvm::internalizeModule(
        linked, [&](const llvm::GlobalValue& value) { return !value.hasName() || !names.contains(value.getName()); });
  };
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded, internalize))
    throw Error(path + " could not be linked");
  if (const llvm::Function* missing = first_needed(module))
    throw Error(path + " does not define " + missing->getName().str());
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", std::uint32_t(flush));
  return true;
}

}  // namespace weft::codegen
