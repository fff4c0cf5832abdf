// Statements that are Python but not for kernels: passed over whole, blocks and further clauses included, and left in
// the tree by name for sema to refuse.
#include "syntax/parser_impl.h"

namespace weft::syntax {

Stmt* Parser::unsupported_stmt(const Token& start, std::string_view construct) {
  UnsupportedStmt* node = make_stmt<UnsupportedStmt>(start);
  node->construct = construct;
  return end_here(node);
}

Stmt* Parser::skip_simple(std::string_view construct) {
  const Token& start = cur();
  skip_statement();
  return unsupported_stmt(start, construct);
}

// One header with its block or statements. Only the shape is checked.
bool Parser::skip_clause() {
  const Token& head = cur();
  bool colon = false;
  std::size_t brackets = 0;
  for (; !at(K::newline) && !at(K::end); advance()) {
    if (is_opener(cur().kind)) ++brackets;
    if (is_closer(cur().kind) && brackets > 0) --brackets;
    colon |= brackets == 0 && at(K::colon);
  }
  bool block_follows = previous_->kind == K::colon;
  if (!colon) expected("':' after the " + quote(head) + " header", "add ':' at the end of the line");
  accept(K::newline);
  if (at(K::indent)) {
    skip_block();
  } else if (colon && block_follows) {
    sink_.report(DiagCode::bad_indentation, loc(cur()),
                 "expected an indented block after the " + quote(head) + " header on line " + std::to_string(head.line),
                 "indent the body, or write 'pass' for an empty one");
    return false;
  }
  return colon;
}

Stmt* Parser::skip_compound(std::string_view construct, const Token& start) {
  return skip_clause() ? unsupported_stmt(start, construct) : nullptr;
}

Stmt* Parser::skip_try() {
  const Token& start = cur();
  bool ok = skip_clause();
  if (ok && !at(K::kw_except) && !at(K::kw_finally)) {
    expected("'except' or 'finally' after the 'try' block");
    ok = false;
  }
  while (at(K::kw_except) || at(K::kw_else) || at(K::kw_finally)) ok &= skip_clause();
  return ok ? unsupported_stmt(start, "try") : nullptr;
}

Stmt* Parser::skip_async() {
  const Token& start = cur();
  advance();
  bool loop = at(K::kw_for);
  if (!loop && !at(K::kw_def) && !at(K::kw_with)) {
    expected("'def', 'for' or 'with' after 'async'");
    Block block;
    parse_suite(start, false, block);
    return nullptr;
  }
  bool ok = skip_clause();
  if (loop && at(K::kw_else)) ok &= skip_clause();
  return ok ? unsupported_stmt(start, "async") : nullptr;
}

// `match` is a keyword only where a statement of that form stands: its line ends in ':' and a case follows.
bool Parser::at_match_statement() const {
  if (!at_word("match")) return false;
  const Token* token = token_ + 1;
  while (token->kind != K::newline && token->kind != K::end) ++token;
  if (token->kind == K::end || token[-1].kind != K::colon || token == token_ + 2) return false;
  return token[1].kind == K::indent && token[2].kind == K::name && text(token[2]) == "case";
}

}  // namespace weft::syntax
