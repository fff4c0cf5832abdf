// The floats inside of a value, one by one: where each lies, and of which type it is.
#pragma once
#include <vector>

#include "ir/ir.h"

namespace weft::autodiff {

/// A float inside a value.
struct FloatLeaf {
  const Type* type;
  std::vector<ir::PathStep> path;
};

std::vector<FloatLeaf> float_leaves(const Type* type);

}  // namespace weft::autodiff
