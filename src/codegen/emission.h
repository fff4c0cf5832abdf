// Code generation in two steps: what may fail because of the program, and what takes the time.
#pragma once
#include <memory>

#include "codegen/codegen.h"

namespace weft::codegen {

/// A kernel whose LLVM IR is made. What may be wrong with a program was found by then, and what launches must know is known; LLVM's
/// passes and its code generation, which take the time, are left.
class Emission {
 public:
  /// Throws Error for the user's problems, InternalError for bugs.
  Emission(const ir::Module& module, const ir::Function& kernel, const TargetSpec& target, const EmitOptions& options,
           Output output);
  ~Emission();
  Emission(const Emission&) = delete;
  Emission& operator=(const Emission&) = delete;

  /// All but `bytes`.
  const Emitted& begun() const;
  /// The rest, on any thread; the module may be gone. Once.
  Emitted finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::codegen
