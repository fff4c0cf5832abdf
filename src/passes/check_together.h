// Debug mode, kernels whose threads work on tiles together: where nobody can tell whether they go the same way, or hold the same
// number, they compare it. Thread 0's is the block's: a thread that holds another one reports a failed check and goes on with that,
// so that nobody waits for ever.
//
//   if c { … meet … }   →  if thread == 0 { cell = c };  k = cell;  check together c == k;  if k { … }
//
// Barriers come later (passes/block_barriers.h). Runs when all is in the kernel. What would be an error (passes/find_parting.h) fails
// here: loops have other tests in debug mode, and nobody could tell such an error from a false one.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool check_together(ir::Function& kernel);

}  // namespace weft::passes
