// Puts the bodies of elementary functions (math/library.h) where they are used, after contraction: the library says
// itself where products are fused, so results do not depend on `fuse_fp`. What stays behind because a function would grow
// too much is called by generated code instead; the bits are the same.
#pragma once
#include <cstddef>
#include <functional>

#include "ir/ir.h"

namespace weft::math {

struct MathLimits {
  std::size_t growth = 500;                          // operations that one function may gain
  std::function<bool(ir::OpCode, ScalarKind)> keep;  // functions that the target computes itself; empty: none
};

/// Returns whether anything changed. Idempotent as far as limits allow.
bool inline_math(ir::Function& function, const MathLimits& limits = {});

}  // namespace weft::math
