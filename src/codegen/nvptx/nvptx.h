// NVPTX's own parts: libdevice and the kernel entry.
#pragma once
#include <string>
#include <string_view>

namespace llvm {
class Module;
}

namespace weft::codegen {

/// libdevice's name of an elementary function: sin → __nv_sinf, __nv_sin.
std::string libdevice_name(std::string_view op, bool is_double);

/// Links what the module uses of libdevice into it, internal and without flushing of denormals. Throws Error when a
/// function is used and the path is empty or unreadable.
void link_libdevice(llvm::Module& module, const std::string& path);

}  // namespace weft::codegen
