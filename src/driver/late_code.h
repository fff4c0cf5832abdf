// Code for launches on GPUs that need not wait for it (docs/design/tiers.md, "GPUs"). Such a launch says so by a scope; a build
// then ends where everything that may be wrong with a program was found, and the rest goes on in other threads.
#pragma once
#include <exception>
#include <memory>

#include "driver/full_versions.h"

namespace weft::driver {

/// Thrown in place of code: it is being made.
struct LateCode : std::exception {
  explicit LateCode(std::shared_ptr<FullVersion> code) : code(std::move(code)) {}
  const char* what() const noexcept override { return "the code is being made"; }

  std::shared_ptr<FullVersion> code;
};

/// While it lives, builds of this kernel by the calling thread may throw LateCode. Others, of launches that evaluating its
/// wp.static runs, do not.
class MayBeLate {
 public:
  explicit MayBeLate(const sema::FunctionDecl& kernel) noexcept;
  ~MayBeLate();
  MayBeLate(const MayBeLate&) = delete;
  MayBeLate& operator=(const MayBeLate&) = delete;
  static bool asked(const BuildRequest& request) noexcept;

 private:
  const sema::FunctionDecl* before_;
};

/// Whether a kernel may touch memory that is not among its arguments (KernelBinary::uses_addresses): arrays made of addresses,
/// objects whose ids lie in memory, native functions; or tells where its arguments are. Launches of such kernels do not wait.
bool uses_addresses(const ir::Module& module);

/// What assemblers of GPUs have taken in this process, in seconds of all threads together.
double assembler_seconds() noexcept;
void add_assembler_seconds(double seconds) noexcept;

}  // namespace weft::driver
