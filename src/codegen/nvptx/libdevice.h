// NVIDIA's device library of math functions, an option: finding it and linking the functions that a module uses.
#pragma once
#include <string>

namespace llvm {
class Module;
}

namespace weft::codegen {

/// Links what the module uses of libdevice into it, internal; with `flush` in the form that takes denormals for zero.
/// False if it uses nothing. Throws Error when the file can't be read or lacks a function.
bool link_libdevice(llvm::Module& module, const std::string& path, bool flush);

}  // namespace weft::codegen
