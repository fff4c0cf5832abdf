// Tangents of operations on scalars: choices, quotients and elementary functions.
#pragma once
#include "ir/builder.h"

namespace weft::autodiff {

/// A number and how it moves.
struct Moving {
  ir::Value* value = nullptr;
  ir::Value* tangent = nullptr;
};

/// The tangent of an elementwise operation on scalars with result r.
ir::Value* elementary_tangent(ir::Builder& b, ir::OpCode code, const Moving& first, const Moving& second, ir::Value* r);

}  // namespace weft::autodiff
