// Whether the memory that the threads of a block share fits a device, and what is said if it does not.
#pragma once
#include "cuda/device.h"
#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::driver {

/// Reports a kernel that wants more than the device has: bytes, the largest tiles with their lines, what to do.
bool fits_shared_memory(const ir::Function& kernel, const cuda::Device& device, bool adjoint, DiagnosticSink& sink);

}  // namespace weft::driver
