// Makes small private arrays values: every component of every element becomes a place in a vector that `if` and loops
// carry on. Differentiation wants this: what a loop does to an array then is ordinary carried state, which is remembered
// and restored like any other. Arrays whose descriptor goes anywhere else than into accesses, and arrays with more than
// `most` numbers, stay in memory.
#pragma once
#include <cstdint>

#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool promote_locals(ir::Function& function, std::int64_t most = 64);

}  // namespace weft::passes
