// Arrays that a launch writes in full: each thread writes the element at its own indices, whatever way it takes. Of an array of
// the launch's own shape nothing is left of what it held before, so that nobody has to clear it: results of jax_kernel and of
// wp.torch.op.
#pragma once
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

/// By parameter: whether it is an array of as many dimensions as the launch has, each thread writes its own element of it as a
/// whole, and no thread looks at what it holds. To be asked of optimised kernels, in which calls are inlined.
std::vector<bool> full_writes(const ir::Function& kernel);

}  // namespace weft::analysis
