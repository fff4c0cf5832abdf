// Result types of operations: the one place that knows the typing rules. Used by the builder, the textual parser and
// the verifier.
#pragma once
#include <optional>
#include <string>

#include "ir/ir.h"

namespace weft::ir {

/// Checks operand types and attributes of an operation whose code, operands, path, callee etc. are set. For operations
/// whose result type follows from the operands, fills `result_types`; for those with a given type (cast, bitcast,
/// construct, splat, dim, local, from_ptr, if, for, while) checks `result_types` as passed in. An error text if
/// ill-typed.
std::optional<std::string> infer(const Op& op, std::vector<const Type*>& result_types);

/// The type that a path leads to, or null if it does not fit.
const Type* type_at(const Type* aggregate, std::span<const PathStep> path);
/// The type of one step.
const Type* step_type(const Type* aggregate, const PathStep& step);
/// How many values an index step ranges over (vec n, mat rows, row columns, quat 4, transform 7).
std::uint32_t step_extent(const Type* aggregate);

}  // namespace weft::ir
