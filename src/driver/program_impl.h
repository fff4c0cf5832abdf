// What is behind the public handles: programs, kernels with their compiled variants, arrays.
#pragma once
#include <mutex>

#include "driver/api_errors.h"
#include "driver/kernel.h"
#include "runtime/array.h"
#include "runtime/command_list.h"
#include "runtime/params.h"
#include "sema/file_scope.h"
#include "weft/weft.h"

namespace weft {

struct Array::Impl {
  runtime::Array array;
  bool retains_grad = false;
};

struct Program::Impl {
  std::shared_ptr<const SourceFile> source;
  std::shared_ptr<sema::FileScope> scope;
  Options options;
  Hash128 source_hash;
  mutable std::mutex mutex;  // guards messages and kernels
  std::vector<Message> messages;
  std::vector<std::shared_ptr<Kernel::Impl>> kernels;

  void add_messages(const DiagnosticSink& sink);
};

/// A kernel of a C++ program: errors are the public exceptions, warnings go to the program.
struct Kernel::Impl final : driver::Kernel {
  Impl(Program::Impl& program, std::shared_ptr<const sema::FunctionDecl> decl, driver::CompileOptions options,
       Hash128 source_hash);

  const std::vector<sema::KernelParam>& known_params();
  driver::KernelSignature& signature_for(std::span<const Argument> args);

  /// A launch on this kernel or, if its threads turn out to share memory, on the one for such blocks. `self`: a handle.
  void launch(const std::shared_ptr<Impl>& self, const Dims& dims, std::span<const Argument> args,
              driver::LaunchPlace where);
  /// A launch that is watched, or one of a kind for the first time. `self` is a handle of this.
  void launch_slowly(const std::shared_ptr<Impl>& self, std::span<const std::int64_t> dims,
                     std::span<const Argument> args, const driver::LaunchPlace& where);

  const driver::KernelVariant& build(driver::KernelSignature& signature, driver::LaunchForm form, cuda::Device* device,
                                     driver::Effort effort = driver::Effort::full) override;
  runtime::LaunchOptions cpu_options() const override;
  void warn(const std::string& text) const override;

  Program::Impl& program;  // owns this; every handle keeps it alive

 private:
  std::shared_ptr<driver::Kernel> under(driver::CompileOptions options) const override;
  void launch_as_it_is(const std::shared_ptr<Impl>& self, std::span<const std::int64_t> dims,
                       std::span<const Argument> args, const driver::LaunchPlace& where);
};

namespace driver {

/// Arrays that a launch holds, on a tape or in a graph (WatchedLaunch::owner).
struct ArrayOwner {
  std::vector<std::shared_ptr<Array::Impl>> arrays;
};

/// The GPU that an array lies on; null: the host reaches it.
inline cuda::Device* gpu_of(const runtime::Array& array) {
  return array.on_host() ? nullptr : static_cast<cuda::Device*>(array.space());
}

CompileOptions to_compile_options(const Options& options);

}  // namespace driver
}  // namespace weft
