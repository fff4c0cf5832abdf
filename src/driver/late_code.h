// Code for launches on GPUs that need not wait for it (docs/design/tiers.md, "GPUs"). Such a launch says so by a scope; a build
// then ends where everything that may be wrong with a program was found, and the rest goes on in other threads.
#pragma once
#include <exception>
#include <memory>

#include "driver/full_versions.h"
#include "support/hash.h"

namespace weft::driver {

/// Thrown in place of code: it is being made, and will be found under the source key.
struct LateCode : std::exception {
  LateCode(std::shared_ptr<FullVersion> code, const Hash128& source_hash)
      : code(std::move(code)), source_hash(source_hash) {}
  const char* what() const noexcept override { return "the code is being made"; }

  std::shared_ptr<FullVersion> code;
  Hash128 source_hash;  // BuildRequest's
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

/// What assemblers of GPUs have taken in this process, in seconds of all threads together.
double assembler_seconds() noexcept;
void add_assembler_seconds(double seconds) noexcept;

}  // namespace weft::driver
