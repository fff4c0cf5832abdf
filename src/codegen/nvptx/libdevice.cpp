// NVIDIA's device library of math functions: finding it and linking the functions that a module uses.
#include <array>
#include <cstdlib>
#include <filesystem>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include "codegen/codegen.h"
#include "codegen/nvptx/nvptx.h"

namespace weft::codegen {

namespace fs = std::filesystem;

std::string libdevice_name(std::string_view op, bool is_double) {
  return "__nv_" + std::string(op) + (is_double ? "" : "f");
}

namespace {

std::string bitcode_below(const fs::path& folder) {
  std::error_code ignored;
  for (const char* place : {"nvvm/libdevice", "nvidia/cuda_nvcc/nvvm/libdevice", "nvidia/cu13/nvvm/libdevice",
                            "nvidia/cuda_nvvm/nvvm/libdevice", "cuda_nvcc/nvvm/libdevice", "cu13/nvvm/libdevice", ""}) {
    fs::path file = folder / place / "libdevice.10.bc";
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return {};
}

/// A function that the module calls and libdevice would define.
const llvm::Function* first_needed(const llvm::Module& module) {
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && function.getName().starts_with("__nv_") && !function.use_empty()) return &function;
  return nullptr;
}

}  // namespace

std::string find_libdevice(std::span<const std::string> search) {
  std::error_code ignored;
  if (const char* given = std::getenv("WEFT_LIBDEVICE"); given && *given) {
    if (fs::is_regular_file(given, ignored)) return given;
    if (std::string found = bitcode_below(given); !found.empty()) return found;
  }
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

void link_libdevice(llvm::Module& module, const std::string& path) {
  const llvm::Function* needed = first_needed(module);
  if (!needed) return;
  std::string name = needed->getName().str();
  if (path.empty())
    throw Error("the kernel uses " + name +
                " of NVIDIA's libdevice, which was not found: install the CUDA toolkit or the "
                "nvidia-cuda-nvcc package, or set WEFT_LIBDEVICE to libdevice.10.bc");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) throw Error("can't read " + path + ": " + buffer.getError().message());
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
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", std::uint32_t(0));
}

}  // namespace weft::codegen
