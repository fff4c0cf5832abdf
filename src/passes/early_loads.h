// For GPUs: loads of arrays that nobody writes move up before divisions, roots, elementary functions, branches and loops of
// the same region. These end a basic block for NVIDIA's assembler, which puts the loads of a block first but does not look
// beyond; a thread then waits for memory once, not once for each part of its formula.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool early_loads(ir::Function& function);

}  // namespace weft::passes
