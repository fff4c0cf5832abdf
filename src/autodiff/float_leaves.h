// The floats inside of a value, one by one: where each lies, of which type it is, and which integer has its bits.
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

/// The unsigned integer that takes the bits of a number of this type.
const Type* bits_type(const Type* scalar);

}  // namespace weft::autodiff
