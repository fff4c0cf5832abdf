// Products that stay in registers. A tile that products add to, and that is otherwise only touched element by element in loops
// that threads share, becomes each thread's own: the loops are dealt out anew, so that a thread has the elements that it has in
// the product (ir/block_functions.h). Operands that go from arrays to products only are laid out so that banks don't meet.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything was changed. Behind inlining, before loops are unrolled.
bool place_fragments(ir::Function& kernel);

}  // namespace weft::passes
