// Statement lists and simple statements. An error ends its statement only: the parser skips to the next ';' or line and
// goes on, so that one run tells all.
#include "syntax/parser_impl.h"

namespace weft::syntax {

// Statements up to the end of the block or text.
void Parser::parse_statements(Gather<Stmt*>& out) {
  while (!at(K::dedent) && !at(K::end)) parse_statement(out);
}

void Parser::parse_statement(Gather<Stmt*>& out) {
  if (at(K::indent)) {
    sink_.report(DiagCode::bad_indentation, loc(cur()), "unexpected indentation",
                 "align this line with the one above; only a line that ends in ':' opens a block");
    Block block;
    parse_block(block);
    for (Stmt* statement : block) out.add(statement);
    return;
  }
  if (!parse_compound(out)) parse_simple_line(out);
}

void Parser::parse_simple_line(Gather<Stmt*>& out) {
  bool failed = false;
  do {
    if (at(K::newline)) break;  // after the last ';'
    Stmt* statement = parse_simple();
    if (statement && !at_statement_end()) {
      if (is_closer(cur().kind)) {
        statement = fail(cur(), "unmatched " + quote(cur()), "nothing opens this bracket");
      } else {
        statement = expected("the end of the statement", cure_for_statement_end(statement));
      }
    }
    if (statement) {
      out.add(statement);
    } else {
      failed = true;
      skip_statement();
    }
  } while (accept(K::semicolon));
  accept(K::newline);
  if (failed && at(K::indent)) {  // the line was to open a block: look for errors in it, but blame no indentation
    Block block;
    parse_block(block);
  }
}

std::string Parser::cure_for_statement_end(const Stmt* statement) const {
  if (const ExprStmt* expr = statement->as_if<ExprStmt>()) {
    const NameExpr* name = expr->value->as_if<NameExpr>();
    if (name && name->name == "print") return "call it: print(…)";
    if (name && name->name == "elseif") return "write 'elif'";
  }
  if (at(K::walrus)) return "assign with '='";
  if (at(K::assign)) return {};
  return cure_for_operand();
}

void Parser::skip_statement() {
  while (!at_statement_end()) advance();
}

void Parser::skip_line() {
  while (!at(K::newline) && !at(K::end)) advance();
  accept(K::newline);
}

template <class T>
Stmt* Parser::parse_word_statement() {
  const Token& start = cur();
  advance();
  return end_here(make_stmt<T>(start));
}

Stmt* Parser::parse_simple() {
  switch (cur().kind) {
    case K::kw_pass: return parse_word_statement<PassStmt>();
    case K::kw_break: return parse_word_statement<BreakStmt>();
    case K::kw_continue: return parse_word_statement<ContinueStmt>();
    case K::kw_return: return parse_return();
    case K::kw_assert: return parse_assert();
    case K::kw_import: return parse_import();
    case K::kw_from: return parse_from_import();
    case K::kw_raise: return skip_simple("raise");
    case K::kw_del: return skip_simple("del");
    case K::kw_global: return skip_simple("global");
    case K::kw_nonlocal: return skip_simple("nonlocal");
    case K::kw_if:
    case K::kw_while:
    case K::kw_for:
    case K::kw_def:
    case K::kw_class:
    case K::kw_try:
    case K::kw_with:
    case K::kw_async:
    case K::at: return fail(cur(), quote(cur()) + " must begin on a line of its own");
    default: break;
  }
  if (at_word("type") && peek().kind == K::name && (token_[2].kind == K::assign || token_[2].kind == K::lbracket)) {
    return skip_simple("type alias");
  }
  if (is_closer(cur().kind)) {
    return fail(cur(), "unmatched " + quote(cur()), "nothing opens this bracket");
  }
  return parse_expression_statement();
}

Stmt* Parser::parse_expression_statement() {
  const Token& start = cur();
  if (!starts_expression()) return expected("a statement", cure_for_operand());
  // A lone starred expression is let through: it is refused below, or in the words of an assignment.
  Expr* value = at(K::kw_yield) ? parse_yield() : parse_star_expressions(true);
  if (!value) return nullptr;
  if (at(K::assign)) return parse_assignment(start, value);
  if (at(K::colon)) return parse_annotated(start, value);
  if (cur().kind >= K::plus_assign && cur().kind <= K::rshift_assign) {
    static_assert(int(K::rshift_assign) - int(K::plus_assign) == int(BinaryOp::rshift), "same order in both lists");
    return parse_augmented(start, value, BinaryOp(int(cur().kind) - int(K::plus_assign)));
  }
  if (value->kind == ExprKind::starred) {
    return fail(start, "a starred expression can't stand alone", "write '*x,' for a tuple");
  }
  ExprStmt* node = make_stmt<ExprStmt>(start);
  node->value = value;
  return end_here(node);
}

Stmt* Parser::parse_assignment(const Token& start, Expr* first) {
  Gather<Expr*> targets(exprs_);
  Expr* value = first;
  while (at(K::assign)) {
    if (!check_target(*value, "assign to")) return nullptr;
    targets.add(value);
    advance();
    value = at(K::kw_yield) ? parse_yield() : parse_star_expressions();
    if (!value) return nullptr;
  }
  AssignStmt* node = make_stmt<AssignStmt>(start);
  node->targets = targets.take(tree_.arena);
  node->value = value;
  return end_here(node);
}

Stmt* Parser::parse_augmented(const Token& start, Expr* target, BinaryOp op) {
  std::string sign(spelling(cur().kind));
  if (!check_single_target(*target, "the target of '" + sign + "'")) return nullptr;
  advance();
  Expr* value = at(K::kw_yield) ? parse_yield() : parse_star_expressions();
  if (!value) return nullptr;
  AugmentedAssignStmt* node = make_stmt<AugmentedAssignStmt>(start);
  node->target = target;
  node->op = op;
  node->value = value;
  return end_here(node);
}

Stmt* Parser::parse_annotated(const Token& start, Expr* target) {
  if (peek().kind == K::newline && target->kind != ExprKind::name) {
    return fail(cur(), "unexpected ':' at the end of the statement",
                "only 'if', 'for', 'def' and the like open a block");
  }
  if (!check_single_target(*target, "an annotated target")) return nullptr;
  advance();
  Expr* annotation = parse_expression();
  if (!annotation) return nullptr;
  Expr* value = nullptr;
  if (accept(K::assign)) {
    value = at(K::kw_yield) ? parse_yield() : parse_star_expressions();
    if (!value) return nullptr;
  }
  AnnotatedAssignStmt* node = make_stmt<AnnotatedAssignStmt>(start);
  node->target = target;
  node->annotation = annotation;
  node->value = value;
  return end_here(node);
}

Stmt* Parser::parse_return() {
  const Token& start = cur();
  advance();
  Expr* value = nullptr;
  if (!at_statement_end() && !(value = parse_star_expressions())) return nullptr;
  ReturnStmt* node = make_stmt<ReturnStmt>(start);
  node->value = value;
  return end_here(node);
}

Stmt* Parser::parse_assert() {
  const Token& start = cur();
  advance();
  Expr* condition = parse_expression();
  if (!condition) return nullptr;
  Expr* message = nullptr;
  if (accept(K::comma) && !(message = parse_expression())) return nullptr;
  AssertStmt* node = make_stmt<AssertStmt>(start);
  node->condition = condition;
  node->message = message;
  return end_here(node);
}

}  // namespace weft::syntax
