// Loads of the next turn while this one is multiplied: loops that only copy tiles from arrays and multiply them
// (ir/block_functions.h) get every tile twice. A turn waits for its own copies at its one barrier, then starts those of the next.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything was changed. Behind place_fragments, before loops are unrolled.
bool load_ahead(ir::Function& kernel);

}  // namespace weft::passes
