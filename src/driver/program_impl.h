// What is behind the public handles: programs, kernels with their compiled variants, arrays.
#pragma once
#include <mutex>

#include "driver/kernel_family.h"
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

struct Kernel::Impl {
  Program::Impl* program = nullptr;  // owns this; every handle keeps it alive
  std::unique_ptr<driver::KernelFamily> family;

  const std::vector<sema::KernelParam>& params();
  driver::KernelSignature& signature(std::span<const Argument> args);
};

namespace driver {

/// Messages in public form.
std::vector<Message> to_messages(const DiagnosticSink& sink);
/// Throws CompileError if the sink holds errors.
void throw_on_errors(const DiagnosticSink& sink);
CompileOptions to_compile_options(const Options& options);

}  // namespace driver
}  // namespace weft
