// Lines of the kernel's source beside its instructions: .file and .loc in PTX, by which profilers and sanitizers show
// where in the program an instruction comes from. No other debug information is written.
#pragma once
#include <memory>

#include <llvm/IR/DebugLoc.h>

#include "support/source.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace weft::codegen {

class LineTable {
 public:
  explicit LineTable(llvm::Module& module);
  ~LineTable();

  /// The location of an instruction of `function`; the empty one if `loc` is not known or lies in the library.
  llvm::DebugLoc at(llvm::Function& function, const SourceLoc& loc);
  /// To be called once, when all is emitted.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::codegen
