// Contraction of float products into sums, the only place where rounding steps are dropped (the numerics contract):
//   a·b + c → fma(a, b, c)      c + a·b → fma(a, b, c)
//   a·b − c → fma(a, b, −c)     c − a·b → fma(−a, b, c)
// when sums alone use the product; where both operands are such products, the left one is fused. What a sum rounds to
// depends on its own operands then, not on whether another sum has the same product, which the same text elsewhere, or the
// adjoint, may not have. `scale` counts as a product with a scalar factor. dot and matmul of floats accumulate with fma from here on. Runs last in the pipeline,
// so that every executor sees the same fused operations.
#pragma once
#include <unordered_set>

#include "ir/ir.h"

namespace weft::passes {

/// Returns whether anything changed. `unfused`: sums that stay as they are (compared_values.h).
bool contract(ir::Function& function, const std::unordered_set<const ir::Value*>& unfused = {});

}  // namespace weft::passes
