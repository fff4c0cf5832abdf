// Loads of later turns while this one is multiplied: loops that only copy tiles from arrays and multiply them
// (ir/block_functions.h) get every tile two to four times. A turn waits for its own copies at its one barrier, then starts those
// of a turn that comes so much later.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything was changed. Behind place_fragments, before loops are unrolled. `sm`: the GPU's architecture, whose
/// shared memory says how often; 0: any.
bool load_ahead(ir::Function& kernel, int sm);

}  // namespace weft::passes
