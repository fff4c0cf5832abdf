// What goes into a tile is rounded there: products that are stored in memory of a tile are marked, so that contraction leaves
// them alone even if later passes take the memory away. Which tiles become values hangs on the number of threads: those of one
// element where a block is one thread, those of which each thread has one element where it is several. Without the mark
// `wp.tile_sum(t) * s`, taken from something, would be fused on one device and not on another.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool round_tiles(ir::Function& function);

}  // namespace weft::passes
