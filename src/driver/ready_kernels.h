// Kernels of the library's own for GPUs that were compiled to PTX when the library was built, so that whoever needs one waits for
// the driver's assembler alone. PTX of the oldest architecture that there is code for runs on all.
#pragma once
#include <span>
#include <string_view>

#include "driver/kernel_binary.h"
#include "weft/weft.h"

namespace weft::driver {

struct KernelMetadata;

struct ReadyKernel {
  Hash128 key;  // driver/kernel_keys.h: ready_key
  std::string_view ptx;
  std::string_view metadata;  // as in the cache
};

inline constexpr int kReadyArch = 70;

/// Those that the binary was linked with. `weftc --library-kernels` writes the file that defines this; binaries without that
/// file have none, and compile.
std::span<const ReadyKernel> ready_kernels();
/// A program of such kernels, of their text (src/driver/kernels), for the length of the process; they have no adjoints.
const Program& library_program(const char* text, const char* name);
/// An array as launches of such a program take it.
weft::Array handle(const runtime::Array& array);
/// What to compile ahead of a program of the library's: its kernels, for arrays that don't overlap.
std::vector<BuildRequest> requests_of(const Program& program);
/// PTX of a module whose kernel is to run on GPUs, which is optimised on the way, and what launches must know of it. Throws
/// codegen::Error.
std::string emit_ptx(ir::Module& module, const BuildRequest& request, const codegen::TargetSpec& target,
                     KernelMetadata& meta);
/// The one for a request, or null.
const ReadyKernel* find_ready_kernel(const BuildRequest& request);

}  // namespace weft::driver
