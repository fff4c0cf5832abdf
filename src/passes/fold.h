// Constant folding: whatever follows from constants alone is computed here, through ir/scalar_eval, so that it has the
// bits that execution would give. Also reads through construct and insert chains, and resolves control flow whose
// condition is known. Elementary functions are left alone: their bits belong to the runtime.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool fold(ir::Function& function);

}  // namespace weft::passes
