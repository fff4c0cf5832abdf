// For GPUs: small innermost loops whose index may be negative as far as one can tell (`for j in range(starts[i], …): x[j]`)
// and would count from the end then, at the price of three instructions for each access. The loop is there twice: where it
// does not begin below zero, the index needs no look.
//   for j = lo to hi { … x[j~] … }  →  if lo >= 0 { for … { … x[j] … } } else { for … { … x[j~] … } }
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed.
bool split_signs(ir::Function& function);

}  // namespace weft::passes
