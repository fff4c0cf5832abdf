// A builtin is one row of a table (src/builtins/*.def):
//
//   quat_rotate(q: quat[F], v: vec[3,F]) -> vec[3,F]
//     doc    "Rotates v by the quaternion q."
//     lib                                     a function of that name in src/stdlib (or: lib other_name)
//     older  q quat, v p vec                  optional: other keywords that the parameters q and v answer to
//     sample unit_quat, [-10, 10]
//
// Instead of `lib`: `op NAME [params…]` for one IR operation on the parameters in that order, or `special` for what the
// front end builds itself (constructors, tid, print…). Type words: bool, int, float, uint32…, T (any), S (Scalar), I
// (Int), F (Float), each optionally numbered (S2); vec[N,S], mat[R,C,S], quat[F], transform[F], array[T] of any rank,
// array[T,1]; ref[T] for a variable that the builtin updates. `= value` gives a default.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "builtins/pattern.h"
#include "ir/ir.h"

namespace weft::builtins {

struct RowParam {
  std::string name;
  Pattern pattern;
  std::string default_text;  // source text; empty: required
  std::vector<std::string> older_names;

  /// True if a call may name this parameter so.
  bool answers_to(std::string_view keyword) const;
};

struct Row {
  enum class Definition : std::uint8_t { operation, library, special };
  std::string name;
  std::vector<RowParam> params;
  std::string result;  // as written, for documentation
  Definition definition = Definition::special;
  ir::OpCode op = ir::OpCode::add;           // operation
  std::vector<std::uint32_t> operand_order;  // operation: parameter numbers
  std::string library_name;                  // library
  std::string doc;
  std::string sample;
  std::string signature;  // first line as written
};

/// All rows of a name, in table order; empty if there is no such builtin. Parsed on first use and kept; thread-safe.
const std::vector<Row>& rows(std::string_view name);
/// The names of all builtins, sorted.
std::vector<std::string_view> builtin_names();
/// True if some row has that name (no parsing).
bool is_builtin(std::string_view name);

/// Parses one row; throws InternalError on a malformed one (tests parse them all).
Row parse_row(std::string_view text);

}  // namespace weft::builtins
