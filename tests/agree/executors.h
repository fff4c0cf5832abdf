// The executors side by side: a case compiled for one of them, run, and what it left in memory, printed or reported.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "driver/kernel.h"
#include "kernel_case.h"

namespace weft::agree {

/// Who runs a case, and compiled how.
struct Executor {
  enum class Kind : std::uint8_t { interpreter, native, gpu } kind = Kind::interpreter;
  bool optimized = true;    // interpreter: the passes ran
  bool free_masks = false;  // native: with the bodies that processors with AVX-512 get
  driver::CompileOptions options;

  static Executor interpreter(bool optimized = true);
  static Executor native(int lanes, int opt_level = 2);
  /// The first CUDA device; see has_gpu.
  static Executor gpu(int opt_level = 2);
  Executor debug() const;
  Executor with_free_masks() const;
  Executor unfused() const;
  std::string name() const;
};

/// Whether there is a CUDA device to run on.
bool has_gpu();

/// How a launch is cut. Interpreters run serially only.
struct Grid {
  bool serial = true;
  std::int64_t chunk_threads = 0;
};

/// What a run left behind.
struct Outcome {
  std::vector<Buffer> memory;
  std::string printed;
  std::string error;  // the message of a failed check; empty: none
};

/// A case made ready for one executor. Throws CaseError when the kernel does not compile.
class Prepared {
 public:
  Prepared(const Case& kernel_case, const Executor& executor);
  Outcome run(const Grid& grid = {}) const;
  const Executor& executor() const { return executor_; }
  const ir::Module& module() const { return *module_; }

 private:
  void run_on_gpu(runtime::ParamBlock& block, Outcome& out) const;

  const Case& case_;
  Executor executor_;
  std::unique_ptr<ir::Module> module_;
  ParamLayout layout_;
  std::vector<runtime::CheckSite> sites_;
  std::shared_ptr<codegen::LoadedCode> loaded_;
  runtime::KernelCode code_;
  driver::KernelVariant gpu_;
};

/// The first difference between two runs in words; empty when there is none. NaNs of any bits are equal, padding inside
/// structs does not count, guard bytes must be untouched. `signed_zeros`: 0 and −0 differ.
std::string first_difference(const Case& kernel_case, const Outcome& expected, const Outcome& actual,
                             bool signed_zeros = true);

/// The PTX of a case for a GPU.
std::string emit_ptx(const Case& kernel_case, int sm);

}  // namespace weft::agree
