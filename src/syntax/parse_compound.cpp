// Blocks and the statements that own them. A header with an error still has its block parsed, and its else clauses
// taken, so that the errors in them are told and nothing is blamed on a missing header.
#include "syntax/parser_impl.h"

namespace weft::syntax {

// One compound statement; false (and nothing taken) if a simple one stands here.
bool Parser::parse_compound(Gather<Stmt*>& out) {
  Stmt* statement = nullptr;
  switch (cur().kind) {
    case K::kw_if: statement = parse_if(); break;
    case K::kw_while: statement = parse_while(); break;
    case K::kw_for: statement = parse_for(); break;
    case K::kw_def: statement = parse_function({}, true); break;
    case K::kw_class: statement = parse_class({}, true); break;
    case K::at: statement = parse_decorated(); break;
    case K::kw_try: statement = skip_try(); break;
    case K::kw_with: statement = skip_compound("with", cur()); break;
    case K::kw_async: statement = skip_async(); break;
    case K::kw_else:
    case K::kw_elif:
    case K::kw_except:
    case K::kw_finally: stray_clause(); break;
    default:
      if (!at_match_statement()) return false;
      statement = skip_compound("match", cur());
      break;
  }
  if (statement) out.add(statement);
  return true;
}

// The ':' of a header and the block or statements after it. `header_ok` is false if the header had an error; the rest
// of its line is then skipped. False if anything about the statement is wrong.
bool Parser::parse_suite(const Token& header, bool header_ok, Block& out) {
  std::string head = quote(header);
  if (header_ok && !accept(K::colon)) {
    std::string cure = cure_for_operand();
    if (at(K::newline)) cure = "add ':' at the end of the line";
    if (header.kind == K::kw_else && at(K::kw_if)) cure = "write 'elif'";
    expected("':' after the " + head + " header", std::move(cure));
    header_ok = false;
  }
  if (!header_ok) {
    skip_line();
    if (at(K::indent)) parse_block(out);
    return false;
  }
  if (!accept(K::newline)) {
    Gather<Stmt*> statements(stmts_);
    parse_simple_line(statements);
    out = statements.take(tree_.arena);
    return true;
  }
  if (!at(K::indent)) {
    sink_.report(DiagCode::bad_indentation, loc(cur()),
                 "expected an indented block after the " + head + " header on line " + std::to_string(header.line),
                 "indent the body, or write 'pass' for an empty one");
    return false;
  }
  return parse_block(out);
}

// An indented block.
bool Parser::parse_block(Block& out) {
  Nested block(block_depth_);
  Nested statement(stmt_depth_);
  if (block_depth_ > kMaxNesting || stmt_depth_ > kMaxStmtDepth) {
    too_deep(kMaxNesting + 1, "blocks");
    skip_block();
    return false;
  }
  advance();
  Gather<Stmt*> statements(stmts_);
  parse_statements(statements);
  accept(K::dedent);
  out = statements.take(tree_.arena);
  return true;
}

void Parser::skip_block() {
  std::size_t open = 0;
  do {
    if (at(K::indent)) ++open;
    if (at(K::dedent)) --open;
    advance();
  } while (open != 0 && !at(K::end));
}

Stmt* Parser::parse_if() {
  IfStmt* first = nullptr;
  IfStmt* last = nullptr;
  bool ok = true;
  bool reported = false;
  int outer_depth = stmt_depth_;
  do {
    const Token& head = cur();
    advance();
    Expr* condition = parse_named_expression();
    Block body;
    ok &= parse_suite(head, condition != nullptr, body);
    IfStmt* node = make_stmt<IfStmt>(head);
    node->condition = condition;
    node->then_body = body;
    if (last) {
      last->else_body = tree_.arena.make_array<Stmt*>(1);
      last->else_body[0] = node;
    } else {
      first = node;
    }
    last = node;
    if (!reported && at(K::kw_elif) && ++stmt_depth_ >= kMaxStmtDepth) {
      sink_.report(DiagCode::nesting_too_deep, loc(cur()),
                   "more than " + std::to_string(kMaxStmtDepth) + " branches lie inside one another",
                   "use a table, or split the branches over several functions", cur().length);
      reported = true;
      ok = false;
      stmt_depth_ = outer_depth;  // the rest is parsed for its errors, not for the tree
    }
  } while (at(K::kw_elif));
  ok &= parse_else(last->else_body);
  stmt_depth_ = outer_depth;
  if (!ok) return nullptr;
  for (IfStmt* node = first;; node = static_cast<IfStmt*>(node->else_body[0])) {
    end_here(node);
    if (node == last) return first;
  }
}

// An else clause, if there is one.
bool Parser::parse_else(Block& out) {
  if (!at(K::kw_else)) return true;
  const Token& head = cur();
  advance();
  return parse_suite(head, true, out);
}

Stmt* Parser::parse_while() {
  const Token& head = cur();
  advance();
  WhileStmt* node = make_stmt<WhileStmt>(head);
  node->condition = parse_named_expression();
  bool ok = parse_suite(head, node->condition != nullptr, node->body);
  ok &= parse_else(node->else_body);
  return ok ? end_here(node) : nullptr;
}

Stmt* Parser::parse_for() {
  const Token& head = cur();
  advance();
  ForStmt* node = make_stmt<ForStmt>(head);
  node->target = parse_target_list();
  bool header_ok = node->target && expect(K::kw_in, "after the loop variable");
  if (header_ok) {
    node->iterable = parse_star_expressions();
    header_ok = node->iterable != nullptr;
  }
  bool ok = parse_suite(head, header_ok, node->body);
  ok &= parse_else(node->else_body);
  return ok ? end_here(node) : nullptr;
}

// else, elif, except or finally without the statement it belongs to.
void Parser::stray_clause() {
  std::string_view owner = at(K::kw_else) ? "'if', 'for', 'while' or 'try'" : at(K::kw_elif) ? "'if'" : "'try'";
  fail(cur(), quote(cur()) + " without a matching " + std::string(owner),
       "check that it is indented like the statement it belongs to");
  Block block;
  parse_suite(cur(), false, block);
}

}  // namespace weft::syntax
