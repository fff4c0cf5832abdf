// What the typing rules share: errors that name the operation, and demands on its operands. For infer*.cpp alone.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/infer.h"
#include "ir/text.h"

namespace weft::ir::typing {

using Error = std::optional<std::string>;
using Types = std::vector<const Type*>;

inline bool is_int_kind(ScalarKind kind) { return kind >= ScalarKind::i8 && kind <= ScalarKind::u64; }
inline bool is_float_kind(ScalarKind kind) { return kind >= ScalarKind::f16; }
/// Made of numbers (not bool), scalar or composite.
inline bool is_number(const Type* t) { return t->is_numeric() && t->scalar_kind() != ScalarKind::boolean; }
inline bool is_floating(const Type* t) { return t->is_numeric() && is_float_kind(t->scalar_kind()); }
inline bool is_integral(const Type* t) { return t->is_numeric() && is_int_kind(t->scalar_kind()); }

inline const Type* component(const Type* t) { return t->is_scalar() ? t : t->element(); }

inline const Type* operand_type(const Op& op, std::size_t i) { return op.operands[i]->type; }

inline std::string head(const Op& op) { return std::string(name_of(op.code)) + ": "; }

inline Error fail(const Op& op, const std::string& text) { return head(op) + text; }

inline Error fail_operand(const Op& op, std::size_t i, const std::string& wanted) {
  return fail(op, "operand " + std::to_string(i) + " must be " + wanted + ", not " + short_text(operand_type(op, i)));
}

inline Error need_operands(const Op& op, std::size_t n) {
  if (op.operands.size() == n) return {};
  return fail(op, "takes " + std::to_string(n) + (n == 1 ? " operand" : " operands") + ", not " +
                      std::to_string(op.operands.size()));
}

inline Error need_one_type(const Op& op) {
  for (std::size_t i = 1; i < op.operands.size(); ++i)
    if (operand_type(op, i) != operand_type(op, 0))
      return fail(op, "operands must have one type, not " + short_text(operand_type(op, 0)) + " and " +
                          short_text(operand_type(op, i)));
  return {};
}

/// Operations with a given result type: exactly one.
inline Error need_given(const Op& op, const Types& results) {
  if (results.size() == 1) return {};
  return fail(op, "has one result, not " + std::to_string(results.size()));
}

inline Error need_dimension(const Op& op, std::int64_t rank) {
  if (op.imm >= 0 && op.imm < rank) return {};
  return fail(op, "dimension " + std::to_string(op.imm) + " does not exist");
}

/// Path indices that are operands.
inline std::size_t dynamic_steps(const Op& op) {
  std::size_t n = 0;
  for (const PathStep& step : op.path) n += step.dynamic;
  return n;
}

/// Follows the path from `from`, whose dynamic indices are the operands from `first` on; checks those too.
Error follow_path(const Op& op, const Type* from, std::size_t first, const Type*& at);

/// The rules of class memory.
Error infer_memory(const Op& op, Types& results);

}  // namespace weft::ir::typing
