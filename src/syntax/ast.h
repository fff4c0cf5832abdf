// The syntax tree of the kernel language: what the parser makes of source text and what sema reads. Nodes live in the
// tree's arena and are plain structs; `kind` says which. Names and string contents are views into the arena or the
// source. Everything Python's grammar allows that kernels may not use is an `UnsupportedExpr`/`UnsupportedStmt` that
// names the construct, so that sema can refuse it at the right place.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "support/arena.h"
#include "support/check.h"
#include "support/source.h"

namespace weft::syntax {

enum class ExprKind : std::uint8_t {
  name,
  int_literal,
  float_literal,
  bool_literal,
  none_literal,
  string_literal,
  ellipsis,
  unary,
  binary,
  compare,
  logical,
  ternary,
  call,
  attribute,
  subscript,
  slice,
  tuple,
  list,
  starred,
  unsupported,
};

enum class StmtKind : std::uint8_t {
  expr,
  assign,
  augmented_assign,
  annotated_assign,
  if_stmt,
  while_stmt,
  for_stmt,
  break_stmt,
  continue_stmt,
  pass_stmt,
  return_stmt,
  assert_stmt,
  import_stmt,
  function_def,
  class_def,
  unsupported,
};

enum class UnaryOp : std::uint8_t { neg, pos, invert, logical_not };
enum class BinaryOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  floordiv,
  mod,
  pow,
  matmul,
  bit_and,
  bit_or,
  bit_xor,
  lshift,
  rshift,
};
enum class CompareOp : std::uint8_t { eq, ne, lt, le, gt, ge, in, not_in, is, is_not };
enum class LogicalOp : std::uint8_t { and_, or_ };

/// "+", "//", "and"… as written in source.
std::string_view text_of(UnaryOp op);
std::string_view text_of(BinaryOp op);
std::string_view text_of(CompareOp op);
std::string_view text_of(LogicalOp op);

struct Node {
  SourceLoc loc;               // first character
  std::uint32_t end_line = 0;  // one past the last character
  std::uint32_t end_col = 0;
  /// Columns to underline in a message: to the end of the node, or of its first line.
  std::uint32_t underline() const { return end_line == loc.line && end_col > loc.col ? end_col - loc.col : 1; }
};

struct Expr : Node {
  ExprKind kind;
  /// Levels of the tree below and including this node. The parser bounds it, so consumers may recurse.
  std::uint16_t height = 1;
  /// Checked downcast.
  template <class T>
  const T& as() const {
    WEFT_CHECK(kind == T::kKind);
    return static_cast<const T&>(*this);
  }
  template <class T>
  const T* as_if() const {
    return kind == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
};

struct NameExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::name;
  std::string_view name;
};
/// Decimal, hex, octal, binary, with underscores. Values over 2^64−1 set `too_large`.
struct IntLiteral : Expr {
  static constexpr ExprKind kKind = ExprKind::int_literal;
  std::uint64_t value;
  bool too_large;
};
struct FloatLiteral : Expr {
  static constexpr ExprKind kKind = ExprKind::float_literal;
  double value;
};
struct BoolLiteral : Expr {
  static constexpr ExprKind kKind = ExprKind::bool_literal;
  bool value;
};
struct NoneLiteral : Expr {
  static constexpr ExprKind kKind = ExprKind::none_literal;
};
/// Escapes are decoded, adjacent literals joined.
struct StringLiteral : Expr {
  static constexpr ExprKind kKind = ExprKind::string_literal;
  std::string_view value;
};
struct EllipsisExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::ellipsis;
};
struct UnaryExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::unary;
  UnaryOp op;
  Expr* operand;
};
struct BinaryExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::binary;
  BinaryOp op;
  SourceLoc op_loc;
  Expr* left;
  Expr* right;
};
/// a < b <= c: operands one more than ops.
struct CompareExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::compare;
  std::span<CompareOp> ops;
  std::span<Expr*> operands;
};
/// a and b and c: two or more operands of one operator.
struct LogicalExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::logical;
  LogicalOp op;
  std::span<Expr*> operands;
};
struct TernaryExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::ternary;
  Expr* condition;
  Expr* then_value;
  Expr* else_value;
};
struct Keyword {
  std::string_view name;  // empty for **mapping
  SourceLoc loc;
  Expr* value;
};
/// Positional arguments may be StarredExpr.
struct CallExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::call;
  Expr* callee;
  std::span<Expr*> args;
  std::span<Keyword> keywords;
};
struct AttributeExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::attribute;
  Expr* object;
  std::string_view name;
  SourceLoc name_loc;
};
/// a[i, j]: indices in order; a parenthesised or bare tuple index is flattened. Each may be a SliceExpr.
struct SubscriptExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::subscript;
  Expr* object;
  std::span<Expr*> indices;
};
/// lower:upper:step; absent parts are null.
struct SliceExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::slice;
  Expr* lower;
  Expr* upper;
  Expr* step;
};
struct TupleExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::tuple;
  std::span<Expr*> elements;
};
struct ListExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::list;
  std::span<Expr*> elements;
};
struct StarredExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::starred;
  Expr* value;
};
/// Valid Python that kernels may not use: "lambda", "list comprehension", "f-string", "walrus assignment", "await"…
struct UnsupportedExpr : Expr {
  static constexpr ExprKind kKind = ExprKind::unsupported;
  std::string_view construct;
};

struct Stmt : Node {
  StmtKind kind;
  template <class T>
  const T& as() const {
    WEFT_CHECK(kind == T::kKind);
    return static_cast<const T&>(*this);
  }
  template <class T>
  const T* as_if() const {
    return kind == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
};
using Block = std::span<Stmt*>;

struct ExprStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::expr;
  Expr* value;
};
/// a = b = value: targets left to right.
struct AssignStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::assign;
  std::span<Expr*> targets;
  Expr* value;
};
struct AugmentedAssignStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::augmented_assign;
  Expr* target;
  BinaryOp op;
  Expr* value;
};
/// x: T = value; value may be null.
struct AnnotatedAssignStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::annotated_assign;
  Expr* target;
  Expr* annotation;
  Expr* value;
};
/// elif is an IfStmt alone in `else_body`.
struct IfStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::if_stmt;
  Expr* condition;
  Block then_body;
  Block else_body;
};
struct WhileStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::while_stmt;
  Expr* condition;
  Block body;
  Block else_body;
};
struct ForStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::for_stmt;
  Expr* target;
  Expr* iterable;
  Block body;
  Block else_body;
};
struct BreakStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::break_stmt;
};
struct ContinueStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::continue_stmt;
};
struct PassStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::pass_stmt;
};
struct ReturnStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::return_stmt;
  Expr* value;  // may be null
};
struct AssertStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::assert_stmt;
  Expr* condition;
  Expr* message;  // may be null
};
/// import a.b as c (module "a.b", names empty, alias "c") or from m import x as y, ….
struct ImportStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::import_stmt;
  struct Name {
    std::string_view name;   // dotted; "*" for a star import
    std::string_view alias;  // as bound; equal to name (its first part for import a.b) when there is no `as`
  };
  std::string_view from;  // empty for plain import
  std::span<Name> names;
};
struct Param {
  std::string_view name;
  SourceLoc loc;
  Expr* annotation;     // may be null
  Expr* default_value;  // may be null
  enum Kind : std::uint8_t { positional, keyword_only, star_args, star_kwargs } kind;
};
struct FunctionDef : Stmt {
  static constexpr StmtKind kKind = StmtKind::function_def;
  std::string_view name;
  SourceLoc name_loc;
  std::span<Expr*> decorators;
  std::span<Param> params;
  Expr* returns;  // annotation, may be null
  Block body;
};
struct ClassDef : Stmt {
  static constexpr StmtKind kKind = StmtKind::class_def;
  std::string_view name;
  SourceLoc name_loc;
  std::span<Expr*> decorators;
  std::span<Expr*> bases;
  Block body;
};
/// "try", "with", "raise", "del", "global", "nonlocal", "async", "match"…; the parser has skipped its body.
struct UnsupportedStmt : Stmt {
  static constexpr StmtKind kKind = StmtKind::unsupported;
  std::string_view construct;
};

/// A parsed file. Owns its nodes and keeps the source alive.
/// A name and the attributes behind it, as words: wp.vec3 in wp.vec3(x).
using DottedName = std::span<std::string_view>;

struct Tree {
  std::shared_ptr<const SourceFile> source;
  Arena arena;
  Block body;
  // Each once, in the order of the text. Of calls' keywords and the text's own variables, too.
  std::span<std::string_view> names;   // that no dot is in front of
  std::span<DottedName> dotted_names;  // that have attributes
};

}  // namespace weft::syntax
