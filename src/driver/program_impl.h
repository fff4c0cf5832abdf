// What is behind the public handles: programs, kernels with their compiled variants, arrays.
#pragma once
#include <mutex>

#include "driver/kernel.h"
#include "runtime/array.h"
#include "runtime/params.h"
#include "sema/file_scope.h"
#include "weft/weft.h"

namespace weft {

struct Array::Impl {
  runtime::Array array;
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
  Impl(Program::Impl& program, std::shared_ptr<const sema::FunctionDecl> decl, Hash128 source_hash);

  const std::vector<sema::KernelParam>& known_params();
  driver::KernelSignature& signature_for(std::span<const Argument> args);

  const driver::KernelVariant& build(driver::KernelSignature& signature, std::size_t rank, driver::ArrayFacts arrays,
                                     cuda::Device* device) override;
  runtime::LaunchOptions cpu_options() const override;
  void warn(const std::string& text) override;

  Program::Impl& program;  // owns this; every handle keeps it alive
};

namespace driver {

/// Messages in public form.
std::vector<Message> to_messages(const DiagnosticSink& sink);
/// Throws CompileError if the sink holds errors.
void throw_on_errors(const DiagnosticSink& sink);
CompileOptions to_compile_options(const Options& options);

}  // namespace driver
}  // namespace weft
