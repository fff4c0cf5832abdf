// Roots and quotients of which somebody has seen to it that the numbers are in the middle of the range of floats, so that a
// target may leave out the cases of all others.
#pragma once
#include "ir/ir.h"

namespace weft::ir {

/// imm of `sqrt` and `div` of float32. A dividend is zero or at least 2^-90, what it is divided by lies between 2^-60 and 2^30 (both may be
/// negative, but nothing divided by a negative number has any sign),
/// what a root is taken of between 2^-90 and 2^60. The result then has the bits of the plain operation; of other numbers it is
/// any number or none, but it is none where one of the operands is none.
inline constexpr std::int64_t kTame = 1;
inline bool is_tame(const Op& op) { return (op.code == OpCode::sqrt || op.code == OpCode::div) && op.imm == kTame; }

}  // namespace weft::ir
