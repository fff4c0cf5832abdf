// The meaning of scalar operations on bits: the numerics contract in one place. Constant folding and the interpreter
// both use it, so they can't disagree. Elementary functions are not here: they are library code.
#pragma once
#include <cstdint>

#include "ir/ir.h"

namespace weft::ir {

/// arith (add…max), bits; `kind` is that of the operands and result.
std::uint64_t eval_binary(OpCode code, ScalarKind kind, std::uint64_t a, std::uint64_t b);
/// neg, abs, bit_not, floor, ceil, trunc, round, rint, sqrt.
std::uint64_t eval_unary(OpCode code, ScalarKind kind, std::uint64_t a);
/// a·b + c with one rounding (16-bit kinds: computed in f32 with fma, rounded once more).
std::uint64_t eval_fma(ScalarKind kind, std::uint64_t a, std::uint64_t b, std::uint64_t c);
bool eval_compare(OpCode code, ScalarKind kind, std::uint64_t a, std::uint64_t b);
std::uint64_t eval_cast(ScalarKind from, ScalarKind to, std::uint64_t a);

}  // namespace weft::ir
