// Launches without threads: nothing is compiled or loaded for them, and a kernel that can't be compiled does no harm.
#pragma once
#include "bind/python_kernel.h"
#include "runtime/launch.h"
#include "support/hot.h"

namespace weft::bind {

/// Whether a grid has an extent of zero. Raises for what can't be a grid.
WEFT_HOT inline bool has_no_threads(const PythonKernel& kernel, std::span<const std::int64_t> dims) {
  bool none = false;
  for (std::int64_t n : dims) none |= n == 0;
  if (none) [[unlikely]] {
    runtime::KernelCode code;
    code.name = kernel.name();
    code.tid_dims_read = 0;
    runtime::launch_size(code, dims);
  }
  return none;
}

/// Whether the Python exception that is set is one of the compiler.
bool is_compile_error();

}  // namespace weft::bind
