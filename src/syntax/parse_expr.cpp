// Expressions by falling looseness of binding: conditional, or, and, not, comparison, binary operators, unary, power.
// Chains that lean left are built by loops. What recurses is counted where it does: brackets, signs, not, **, else and
// lambda; no way through the grammar comes back to the same function without passing one of these.
#include "syntax/parser_impl.h"

namespace weft::syntax {
namespace {

struct BinaryRow {
  int binding;  // 0: no binary operator; higher binds tighter
  BinaryOp op;
};

constexpr int kBitOr = 1;

BinaryRow binary_row(TokenKind kind) {
  switch (kind) {
    case TokenKind::pipe: return {kBitOr, BinaryOp::bit_or};
    case TokenKind::caret: return {2, BinaryOp::bit_xor};
    case TokenKind::amp: return {3, BinaryOp::bit_and};
    case TokenKind::lshift: return {4, BinaryOp::lshift};
    case TokenKind::rshift: return {4, BinaryOp::rshift};
    case TokenKind::plus: return {5, BinaryOp::add};
    case TokenKind::minus: return {5, BinaryOp::sub};
    case TokenKind::star: return {6, BinaryOp::mul};
    case TokenKind::slash: return {6, BinaryOp::div};
    case TokenKind::double_slash: return {6, BinaryOp::floordiv};
    case TokenKind::percent: return {6, BinaryOp::mod};
    case TokenKind::at: return {6, BinaryOp::matmul};
    default: return {0, BinaryOp::add};
  }
}

}  // namespace

bool Parser::starts_expression() const {
  switch (cur().kind) {
    case K::name:
    case K::integer:
    case K::floating:
    case K::imaginary:
    case K::string:
    case K::bytes:
    case K::format_string:
    case K::lparen:
    case K::lbracket:
    case K::lbrace:
    case K::ellipsis:
    case K::plus:
    case K::minus:
    case K::tilde:
    case K::star:
    case K::kw_not:
    case K::kw_lambda:
    case K::kw_await:
    case K::kw_true:
    case K::kw_false:
    case K::kw_none:
    case K::kw_yield:
    case K::error: return true;
    default: return false;
  }
}

Expr* Parser::parse_named_expression() {
  if (!at(K::name) || peek().kind != K::walrus) return parse_expression();
  const Token& start = cur();
  advance();
  advance();
  return parse_expression() ? unsupported(start, "walrus assignment") : nullptr;
}

Expr* Parser::parse_expression() {
  if (at(K::kw_lambda)) return parse_lambda();
  const Token& start = cur();
  Expr* value = parse_or();
  if (!value || !at(K::kw_if)) return value;
  advance();
  Expr* condition = parse_or();
  if (!condition) return nullptr;
  if (!expect(K::kw_else, "and a second value in the conditional expression",
              "write 'a if condition else b'; an if statement begins on its own line")) {
    return nullptr;
  }
  Nested nested(depth_);
  if (too_deep(depth_, "expressions")) return nullptr;
  Expr* other = parse_expression();
  if (!other) return nullptr;
  TernaryExpr* node = make_expr<TernaryExpr>(start);
  node->condition = condition;
  node->then_value = value;
  node->else_value = other;
  return finish(node, {condition, value, other});
}

Expr* Parser::parse_or() {
  const Token& start = cur();
  Expr* first = parse_and();
  if (!first || !at(K::kw_or)) return first;
  Gather<Expr*> operands(exprs_);
  operands.add(first);
  while (accept(K::kw_or)) {
    Expr* operand = parse_and();
    if (!operand) return nullptr;
    operands.add(operand);
  }
  LogicalExpr* node = make_expr<LogicalExpr>(start);
  node->op = LogicalOp::or_;
  node->operands = operands.take(tree_.arena);
  return finish(node, {}, node->operands);
}

Expr* Parser::parse_and() {
  const Token& start = cur();
  Expr* first = parse_not();
  if (!first || !at(K::kw_and)) return first;
  Gather<Expr*> operands(exprs_);
  operands.add(first);
  while (accept(K::kw_and)) {
    Expr* operand = parse_not();
    if (!operand) return nullptr;
    operands.add(operand);
  }
  LogicalExpr* node = make_expr<LogicalExpr>(start);
  node->op = LogicalOp::and_;
  node->operands = operands.take(tree_.arena);
  return finish(node, {}, node->operands);
}

Expr* Parser::parse_not() {
  if (!at(K::kw_not)) return parse_comparison();
  Nested nested(depth_);
  if (too_deep(depth_, "expressions")) return nullptr;
  const Token& start = cur();
  advance();
  Expr* operand = parse_not();
  if (!operand) return nullptr;
  UnaryExpr* node = make_expr<UnaryExpr>(start);
  node->op = UnaryOp::logical_not;
  node->operand = operand;
  return finish(node, {operand});
}

bool Parser::accept_compare_op(CompareOp& op) {
  switch (cur().kind) {
    case K::eq: op = CompareOp::eq; break;
    case K::ne: op = CompareOp::ne; break;
    case K::lt: op = CompareOp::lt; break;
    case K::le: op = CompareOp::le; break;
    case K::gt: op = CompareOp::gt; break;
    case K::ge: op = CompareOp::ge; break;
    case K::kw_in: op = CompareOp::in; break;
    case K::kw_is:
      op = CompareOp::is;
      if (peek().kind == K::kw_not) {
        op = CompareOp::is_not;
        advance();
      }
      break;
    case K::kw_not:
      if (peek().kind != K::kw_in) return false;
      op = CompareOp::not_in;
      advance();
      break;
    default: return false;
  }
  advance();
  return true;
}

Expr* Parser::parse_comparison() {
  const Token& start = cur();
  Expr* first = parse_binary(kBitOr);
  CompareOp op;
  if (!first || !accept_compare_op(op)) return first;
  Gather<Expr*> operands(exprs_);
  Gather<CompareOp> ops(compare_ops_);
  operands.add(first);
  do {
    Expr* operand = parse_binary(kBitOr);
    if (!operand) return nullptr;
    ops.add(op);
    operands.add(operand);
  } while (accept_compare_op(op));
  CompareExpr* node = make_expr<CompareExpr>(start);
  node->ops = ops.take(tree_.arena);
  node->operands = operands.take(tree_.arena);
  return finish(node, {}, node->operands);
}

// All left-associative binary operators that bind at least as tightly as `least`.
Expr* Parser::parse_binary(int least) {
  const Token& start = cur();
  Expr* left = parse_unary();
  while (left) {
    BinaryRow row = binary_row(cur().kind);
    if (row.binding < least || row.binding == 0) break;
    SourceLoc op_loc = loc(cur());
    advance();
    Expr* right = parse_binary(row.binding + 1);
    if (!right) return nullptr;
    BinaryExpr* node = make_expr<BinaryExpr>(start);
    node->op = row.op;
    node->op_loc = op_loc;
    node->left = left;
    node->right = right;
    left = finish(node, {left, right});
  }
  return left;
}

Expr* Parser::parse_unary() {
  UnaryOp op;
  switch (cur().kind) {
    case K::minus: op = UnaryOp::neg; break;
    case K::plus: op = UnaryOp::pos; break;
    case K::tilde: op = UnaryOp::invert; break;
    default: return parse_power();
  }
  Nested nested(depth_);
  if (too_deep(depth_, "expressions")) return nullptr;
  const Token& start = cur();
  advance();
  Expr* operand = parse_unary();
  if (!operand) return nullptr;
  UnaryExpr* node = make_expr<UnaryExpr>(start);
  node->op = op;
  node->operand = operand;
  return finish(node, {operand});
}

// ** binds tighter than a sign on its left and looser than one on its right.
Expr* Parser::parse_power() {
  const Token& start = cur();
  bool awaits = accept(K::kw_await);
  Expr* base = parse_postfix();
  if (base && awaits) base = unsupported(start, "await");
  if (!base || !at(K::double_star)) return base;
  Nested nested(depth_);
  if (too_deep(depth_, "expressions")) return nullptr;
  SourceLoc op_loc = loc(cur());
  advance();
  Expr* exponent = parse_unary();
  if (!exponent) return nullptr;
  BinaryExpr* node = make_expr<BinaryExpr>(start);
  node->op = BinaryOp::pow;
  node->op_loc = op_loc;
  node->left = base;
  node->right = exponent;
  return finish(node, {base, exponent});
}

Expr* Parser::parse_lambda() {
  Nested nested(depth_);
  if (too_deep(depth_, "expressions")) return nullptr;
  const Token& start = cur();
  advance();
  Gather<Param> params(params_);
  if (!parse_params(K::colon, false, params)) return nullptr;
  advance();
  return parse_expression() ? unsupported(start, "lambda") : nullptr;
}

Expr* Parser::parse_yield() {
  const Token& start = cur();
  advance();
  if (accept(K::kw_from)) return parse_expression() ? unsupported(start, "yield from") : nullptr;
  if (starts_expression() && !parse_star_expressions()) return nullptr;
  return unsupported(start, "yield");
}

// *value; in calls and annotations any expression may follow the star, elsewhere one that binds like '|'.
Expr* Parser::parse_starred(bool any_expression) {
  const Token& start = cur();
  advance();
  Expr* value = any_expression ? parse_expression() : parse_binary(kBitOr);
  if (!value) return nullptr;
  StarredExpr* node = make_expr<StarredExpr>(start);
  node->value = value;
  return finish(node, {value});
}

// One expression, or a tuple without parentheses.
Expr* Parser::parse_star_expressions(bool lone_star) {
  const Token& start = cur();
  auto item = [&] { return at(K::star) ? parse_starred(false) : parse_expression(); };
  Expr* first = item();
  if (!first) return nullptr;
  if (!at(K::comma)) {
    if (first->kind == ExprKind::starred && !lone_star) {
      return fail(start, "a starred expression can't stand alone", "write '*x,' for a tuple");
    }
    return first;
  }
  Gather<Expr*> items(exprs_);
  items.add(first);
  while (accept(K::comma) && starts_expression()) {
    Expr* next = item();
    if (!next) return nullptr;
    items.add(next);
  }
  TupleExpr* node = make_expr<TupleExpr>(start);
  node->elements = items.take(tree_.arena);
  return finish(node, {}, node->elements);
}

// The targets between `for` and `in`.
Expr* Parser::parse_target_list() {
  const Token& start = cur();
  auto item = [&] { return at(K::star) ? parse_starred(false) : parse_binary(kBitOr); };
  Expr* target = item();
  if (!target) return nullptr;
  if (at(K::comma)) {
    Gather<Expr*> items(exprs_);
    items.add(target);
    while (accept(K::comma) && !at(K::kw_in) && starts_expression()) {
      Expr* next = item();
      if (!next) return nullptr;
      items.add(next);
    }
    TupleExpr* node = make_expr<TupleExpr>(start);
    node->elements = items.take(tree_.arena);
    target = finish(node, {}, node->elements);
  }
  return target && check_target(*target, "loop over") ? target : nullptr;
}

}  // namespace weft::syntax
