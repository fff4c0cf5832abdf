// Whether the memory of tiles fits: what the threads of a block share a device, what is a thread's own the CPU. And what is said
// if it does not.
#pragma once
#include "cuda/device.h"
#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::driver {

/// Reports a kernel that wants more than the device has: bytes, the largest tiles with their lines, what to do.
bool fits_shared_memory(const ir::Function& kernel, const cuda::Device& device, bool adjoint, DiagnosticSink& sink);

/// Reports a kernel whose tiles take more than a thread of the CPU may have.
bool fits_private_memory(const ir::Function& kernel, bool adjoint, DiagnosticSink& sink);

}  // namespace weft::driver
