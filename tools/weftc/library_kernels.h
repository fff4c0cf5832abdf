// The library's own kernels for GPUs, as a file of its build.
#pragma once
#include "arguments.h"

namespace weftc {

/// Writes C++ that defines weft::driver::ready_kernels().
int write_library_kernels(const Arguments& args);

}  // namespace weftc
