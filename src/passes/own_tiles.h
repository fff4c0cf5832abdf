// Tiles in registers. Memory of the block whose elements only the threads that they belong to touch, one by one in loops over elements, is each
// thread's own: what a tile is loaded to, mapped, added and stored from needs no shared memory and no barrier.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything was changed. Behind place_fragments, which wants sums of products first; before loops are unrolled.
bool own_tiles(ir::Function& kernel);

}  // namespace weft::passes
