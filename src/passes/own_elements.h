// Adjoints add to the gradients of tiles atomically and take them by exchanges, for threads may meet there. Mostly they don't: an
// element whose number is the thread's plus a multiple of the block's size is its own. There a plain load and store do; what nobody
// looks at again needs no zero behind it; and a gradient that is first added to as a whole needs none in front.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. Before barriers are set: they are what keeps plain accesses apart from others.
bool own_elements(ir::Function& kernel);

}  // namespace weft::passes
