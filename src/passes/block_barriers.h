// Barriers for the threads of a block, where one needs what another wrote in shared memory, or overwrites what another may not
// have read yet. Threads agree on which way they go at the places where barriers stand: where they part (an `if` on the thread's
// number, a loop that counts from it) a barrier stands in front. Loops that threads share are units: their turns never need
// what other turns write.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything was added. For the end of the pipeline, when everything that touches shared memory is in the kernel.
bool block_barriers(ir::Function& kernel);

}  // namespace weft::passes
