// All compiled forms of one kernel: per argument types a signature with its parameter layout, per rank of the grid and
// overlap of arguments a variant with machine code (or, for the interpreter, optimised IR). Variants are built on first
// use and shared by all threads. C++ programs and the Python binding both launch through this.
#pragma once
#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "driver/kernel_binary.h"
#include "runtime/launch.h"
#include "sema/sema.h"

namespace weft::driver {

/// One form of a kernel, ready to run.
struct KernelVariant {
  std::shared_ptr<const KernelBinary> binary;  // machine code
  std::unique_ptr<ir::Module> module;          // interpreter
  std::vector<runtime::CheckSite> sites;       // interpreter
};

/// A kernel for one list of argument types.
struct KernelSignature {
  std::vector<const Type*> types;
  ParamLayout layout;
  /// By rank − 1 and "no overlap": set once, read without a lock; owned by `owned`.
  std::atomic<const KernelVariant*> variants[kMaxRank][2] = {};
  std::vector<std::unique_ptr<const KernelVariant>> owned;
};

struct LaunchRequest {
  std::span<const std::int64_t> dims;
  runtime::LaunchOptions options;
};

class KernelFamily {
 public:
  KernelFamily(std::shared_ptr<const sema::FunctionDecl> decl, CompileOptions options, Hash128 source_hash,
               bool interpret);

  const std::string& name() const { return name_; }
  /// The signature of a kernel without generic parameters once it was asked for, else null. No lock.
  KernelSignature* plain_signature() const { return plain_.load(std::memory_order_acquire); }
  /// The parameters as annotated; read on first use. Errors go to the sink; then the result is null.
  const std::vector<sema::KernelParam>* params(DiagnosticSink& sink);
  /// The signature for these types, one per parameter, which must fit the annotations.
  KernelSignature& signature(const std::vector<const Type*>& types);
  /// Finds or builds a form; null with errors in the sink.
  const KernelVariant* variant(KernelSignature& signature, int rank, bool no_overlap, DiagnosticSink& sink);
  /// Runs a form on a finished parameter block. Throws the runtime's errors.
  void run(const KernelVariant& variant, const void* block, const LaunchRequest& request) const;

 private:
  std::string name_;
  std::shared_ptr<const sema::FunctionDecl> decl_;
  CompileOptions options_;
  Hash128 source_hash_;
  bool interpret_;
  mutable std::shared_mutex mutex_;  // guards the rest
  bool params_known_ = false;
  std::vector<sema::KernelParam> params_;
  std::vector<std::unique_ptr<KernelSignature>> signatures_;
  std::atomic<KernelSignature*> plain_{nullptr};
};

/// Whether any two arrays in a parameter block, fields of structs included, share memory.
bool any_overlap(const ParamLayout& layout, const void* block);

}  // namespace weft::driver
