// Kernels that travel as IR: the text from which every form of a kernel can be made, and the kernel that such a text is.
// Texts come from anywhere: they are parsed and verified before anything is made of them.
#pragma once
#include <memory>
#include <string>

#include "driver/kernel.h"

namespace weft::driver {

/// The IR of a kernel for one list of argument types, of which forward, tangent and adjoint can be made elsewhere. Empty with
/// errors in the sink. Throws runtime::ArgumentError for kernels that can't travel: with C++ of their own.
std::string portable_ir(const Kernel& kernel, KernelSignature& signature, DiagnosticSink& sink);

/// A kernel with its one signature.
struct LoadedKernel {
  std::shared_ptr<Kernel> kernel;
  KernelSignature* signature = nullptr;
};
/// The kernel of such a text. Throws runtime::ArgumentError for a text that is no such kernel.
LoadedKernel kernel_from_ir(const std::string& name, const std::string& text, const CompileOptions& options);

}  // namespace weft::driver
