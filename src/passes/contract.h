// Contraction of float products into sums, the only place where rounding steps are dropped (the numerics contract):
//   a·b + c → fma(a, b, c)      c + a·b → fma(a, b, c)
//   a·b − c → fma(a, b, −c)     c − a·b → fma(−a, b, c)
// when the product has no other use; where both operands are such products, the left one is fused. `scale` counts as a
// product with a scalar factor. dot and matmul of floats accumulate with fma from here on. Runs last in the pipeline,
// so that every executor sees the same fused operations.
#pragma once
#include <unordered_set>

#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. `unfused`: sums that stay as they are (compared_values.h).
bool contract(ir::Function& function, const std::unordered_set<const ir::Value*>& unfused = {});

}  // namespace weft::passes
