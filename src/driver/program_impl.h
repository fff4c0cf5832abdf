// What is behind the public handles: programs, kernels with their compiled variants, arrays.
#pragma once
#include <mutex>
#include <shared_mutex>

#include "driver/kernel_binary.h"
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
  mutable std::mutex mutex;               // guards messages and kernels
  std::vector<Message> messages;
  std::vector<std::shared_ptr<Kernel::Impl>> kernels;

  void add_messages(const DiagnosticSink& sink);
};

/// A kernel for one list of argument types: its layout, and machine code per form.
struct KernelSignature {
  std::vector<const Type*> types;
  ParamLayout layout;
  /// By rank − 1 and overlap; filled on first use. The interpreter keeps the optimised IR instead.
  struct Variant {
    std::shared_ptr<const driver::KernelBinary> binary;
    std::unique_ptr<ir::Module> module;
    std::vector<runtime::CheckSite> sites;
  };
  std::shared_ptr<const Variant> variants[kMaxRank][2];
};

struct Kernel::Impl {
  std::string name;
  std::shared_ptr<const sema::FunctionDecl> decl;
  std::weak_ptr<Program::Impl> program;
  std::shared_ptr<Program::Impl> keep_program;  // held by handles, not by the program itself
  std::vector<sema::KernelParam> params;
  bool params_known = false;
  mutable std::shared_mutex mutex;              // guards signatures
  std::vector<std::unique_ptr<KernelSignature>> signatures;

  void read_params(Program::Impl& owner);
  KernelSignature& signature(Program::Impl& owner, std::span<const Argument> args);
  std::shared_ptr<const KernelSignature::Variant> variant(Program::Impl& owner, KernelSignature& signature, int rank, bool no_overlap);
};

namespace driver {

/// Messages in public form.
std::vector<Message> to_messages(const DiagnosticSink& sink);
/// Throws CompileError if the sink holds errors.
void throw_on_errors(const DiagnosticSink& sink);
CompileOptions to_compile_options(const Options& options);

}  // namespace driver
}  // namespace weft
