// Moves what does not change in a loop to before it: pure operations that stand directly in a loop's regions, and loads
// that are certain to happen and whose memory the loop does not write (in the body of a `for` known to run, and in the
// test of a `while`, which always runs once). Operations under an `if` stay: they may not be needed at all.
#pragma once
#include "analysis/effects.h"
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. `effects` may be shared between functions of one module.
bool licm(ir::Function& function, analysis::Effects* effects = nullptr);

}  // namespace weft::passes
