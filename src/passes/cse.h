// Merges equal computations. An operation sees equal ones before it in its own region and in those around it; loads
// too, as long as nothing in between may write to what they read (analysis/alias), and a load of what was just stored
// is the stored value.
#pragma once
#include "analysis/effects.h"
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. `effects` may be shared between functions of one module.
bool cse(ir::Function& function, analysis::Effects* effects = nullptr);

}  // namespace weft::passes
