// `verify_fp` outside of debug mode: what is not finite is printed, with its place, and the launch goes on.
//
//   c = div a, b     →  if finite(a) & finite(b) & !finite(c) { print "file:line:col: not finite: ", c }
//   store x[i], v    →  if !finite(v) { print "file:line:col: not finite: ", v }; of atomic additions the sum counts
//
// An operation reports only what it made itself: a value that is not finite would otherwise be reported by everything
// that is computed from it. Calls of library functions count as operations; what happens inside of them is theirs, since
// they compute infinities on purpose. So it is with adjoints, which take products with infinities back: there only what
// is written is looked at. Each place prints one line for a launch (support/print_marks.h).
//
// Runs first in the pipeline, on one function.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool report_not_finite(ir::Function& function, bool only_writes = false);

}  // namespace weft::passes
