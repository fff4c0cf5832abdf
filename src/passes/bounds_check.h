// Debug mode: every array access is checked and made safe, integer divisions report a zero divisor, and every loop ends
// when the launch is told to stop. A failed check is recorded (first one wins) and execution goes on: the load gives
// zero, the store is dropped, the view is null.
//
//   load a[i~]   →  k = i < 0 ? i + dim : i;  ok = 0 ≤ k < dim;  check bounds ok, i, dim;
//                   if ok { load a[k] } else { 0 }
//   for …        →  while with the trip count worked out before, so that its test can ask `running`
//   while        →  `running` joins the test; a test with accesses of its own moves into the body first, since a test
//                   must stay pure
//
// Runs first in the pipeline: later passes may compute pure operations where they were not asked for (a division under
// an `if`), which must not report. Works on one function; run it on every function of a module before any other pass.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

struct CheckOptions {
  bool bounds = true;       // array and component indices
  bool divisions = true;    // integer division and remainder by zero
  bool stop = true;         // loops test `running`
  bool not_finite = false;  // floats that are stored must be finite
};

/// Returns whether anything changed.
bool bounds_check(ir::Function& function, const CheckOptions& options = {});

}  // namespace weft::passes
