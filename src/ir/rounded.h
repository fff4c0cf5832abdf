// Products that are rounded on their own, whatever is done with them: those that go into a tile.
#pragma once
#include "ir/ir.h"

namespace weft::ir {

/// imm of `mul` and `scale` of floats: contraction leaves the product alone.
inline constexpr std::int64_t kRounded = 1;
inline bool is_rounded(const Op& op) {
  return (op.code == OpCode::mul || op.code == OpCode::scale) && op.imm == kRounded;
}

}  // namespace weft::ir
