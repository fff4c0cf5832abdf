// An index as a base and a number: a GPU's loads and stores have numbers in their addresses, and accesses beside each other share the
// rest.
#pragma once
#include "codegen/emit/emitter.h"

namespace weft::codegen {

/// index = base + a constant of the IR, where nothing wraps around.
struct Moved {
  const ir::Value* base;
  std::int64_t by;
};
Moved take_constant(const ir::Value* index);

/// The same in loops that are written out, where parts of an index are numbers of which the IR knows nothing.
struct Taken {
  llvm::Value* base;  // null: all of it is a number
  std::int64_t by;
};
Taken take_numbers(Emitter& e, const ir::Value* index, int depth = 4);

}  // namespace weft::codegen
