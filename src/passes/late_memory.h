// Memory of a block is taken as late as it can be. Differentiation makes the gradient of a tile where the tile is made, and an array
// that says where its gradient lies: so a gradient lived through all of the forward part, where nobody asks for it. Calls that
// never ask get the array alone, and what is made moves down to where it is first used.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. For the end of the pipeline, before places are given out.
bool late_memory(ir::Module& module);

}  // namespace weft::passes
