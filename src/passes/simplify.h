// Algebra that is exact: identities of integers, of bool, and those few of floats that hold for every operand, signed
// zeros and NaN included; choices that are none; carried values that never change; views of views; wrap flags on
// indices that can't be negative. Short, cheap `if`s become selects. Never an identity that changes a float's value.
#pragma once
#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. Runs to a fixed point (bounded).
bool simplify(ir::Function& function);

}  // namespace weft::passes
