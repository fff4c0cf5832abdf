// Loops that wait until another thread of the same launch writes. Lanes of one group can't wait for each other: the one
// that waits is in the same instruction stream as the one that would write.
#pragma once
#include "ir/ir.h"

namespace weft::codegen {

/// True if a loop's exit, in the kernel or in what it calls, may wait for what other threads do: lanes in lockstep could
/// wait for each other for ever.
bool has_spin_loop(const ir::Function& kernel);

}  // namespace weft::codegen
