// Private arrays whose every read follows a write need not be cleared: `local` becomes `local(raw)`. Found are arrays of one
// dimension that are written from the front on: by constants, by a counting loop, or as a stack whose depth a loop carries.
// On a GPU clearing the stack of a tree walk took an eighth of its time.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. For the end of the pipeline: differentiation reads arrays in an order of its own.
bool raw_locals(ir::Function& function);

}  // namespace weft::passes
