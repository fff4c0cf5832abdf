// The definitions of the elementary functions: library functions `_<operation>_<kind>` of src/stdlib/math_*.py as IR,
// lowered when first asked for and kept. `sin` stays one operation through the passes, so that derivative rules, merging
// and hoisting see it; the interpreter runs its body, generated code calls or (math/inline_math) contains it.
// docs/design/math.md has the reasons.
#pragma once
#include "ir/ir.h"

namespace weft::math {

/// The body of an operation of the math class, or of `rem`, on a float kind: parameters and result of that kind, pure,
/// without calls; sine, cosine and tangent have the operation for large angles in them.
/// Never changes and lives as long as the process; thread-safe.
const ir::Function& math_function(ir::OpCode code, ScalarKind kind);

/// A body of fewer operations with the same results for numbers of float32 that are neither large nor small nor odd, where
/// there is one: exp for |x| < kExpCore, log of positive numbers that are neither denormal nor infinite. Null: none.
const ir::Function* math_core(ir::OpCode code);
constexpr float kExpCore = 87;

/// Whether the operation stands in rare branches of the bodies above only: it is never inlined, so that there is one copy.
inline bool is_rare_math(ir::OpCode code) {
  return code == ir::OpCode::sin_large || code == ir::OpCode::cos_large || code == ir::OpCode::tan_large;
}

}  // namespace weft::math
