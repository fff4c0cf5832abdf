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
// array[T,1]; ref[T] for a variable that the builtin updates; every other word is a struct of src/stdlib. `= value` gives
// a default, a number.
//
// `sample` gives the values that the generated tests (tests/python/rows) run the row over, a domain per parameter:
//
//   [low, high]             each component within; integers at random, of unsigned types from 0. Rows of numbers alone are
//                           also run over special values: zeros, infinities, NaN, denormals, the ends of integer types
//   any, bool               every value of the type, special ones among them
//   unit_vec, unit_quat, transform
//   rotation                a 3x3 rotation; a 4x4 matrix that turns and moves
//   scaled                  a 4x4 matrix that scales by positive factors, turns and moves
//   symmetric, regular      matrices: equal to their transpose; far from singular
//   state                   a generator's state
//   sorted [low, high]      an array of rising numbers
//   out                     a variable that is only written
//
// A row that has no values to compare (threads, printing, atomics, structs) says `sample none TEST`: the file tests/python/TEST.py
// tests it by name. weft_embed rejects a row without a sample line. Rows whose parameters and results hold floats are
// differentiable, and their gradients are tested over the same values; a line `nograd` says that no gradient goes through
// the row, `nograd b` that none goes to its parameter b.
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
  bool differentiable = true;  // as far as it has floats

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
  std::string sample;     // domains of the generated tests, or "none TEST"
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
