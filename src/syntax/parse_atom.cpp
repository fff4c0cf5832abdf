// Atoms: names, literals, and what stands in brackets. Displays and comprehensions that kernels may not use are parsed
// in full and then stand in the tree as one UnsupportedExpr.
#include "syntax/literal.h"
#include "syntax/parser_impl.h"

namespace weft::syntax {

Expr* Parser::parse_atom() {
  const Token& start = cur();
  switch (start.kind) {
    case K::name: {
      advance();
      NameExpr* node = make_expr<NameExpr>(start);
      node->name = text(start);
      return finish(node);
    }
    case K::integer:
    case K::floating:
    case K::imaginary: return parse_number();
    case K::string:
    case K::bytes:
    case K::format_string: return parse_strings();
    case K::kw_true:
    case K::kw_false: {
      advance();
      BoolLiteral* node = make_expr<BoolLiteral>(start);
      node->value = start.kind == K::kw_true;
      return finish(node);
    }
    case K::kw_none: advance(); return finish(make_expr<NoneLiteral>(start));
    case K::ellipsis: advance(); return finish(make_expr<EllipsisExpr>(start));
    case K::lparen:
    case K::lbracket:
    case K::lbrace: return parse_brackets();
    default: return expected("an expression", cure_for_operand());
  }
}

Expr* Parser::parse_brackets() {
  Nested nested(depth_);
  if (too_deep(depth_, "expressions")) return nullptr;
  return at(K::lparen) ? parse_parenthesised() : at(K::lbracket) ? parse_list() : parse_braces();
}

Expr* Parser::parse_number() {
  const Token& start = cur();
  advance();
  if (start.kind == K::imaginary) return unsupported(start, "complex literal");
  if (start.kind == K::floating) {
    FloatLiteral* node = make_expr<FloatLiteral>(start);
    node->value = float_value(text(start));
    return finish(node);
  }
  IntValue value = int_value(text(start));
  IntLiteral* node = make_expr<IntLiteral>(start);
  node->value = value.value;
  node->too_large = value.too_large;
  return finish(node);
}

// Adjacent literals are one. Bytes don't mix with the others, and one f-string makes the whole an f-string.
Expr* Parser::parse_strings() {
  const Token& start = cur();
  bool bytes = at(K::bytes);
  bool format = false;
  bool named_escape = false;
  std::string value;
  while (at(K::string) || at(K::bytes) || at(K::format_string)) {
    const Token& token = cur();
    if (at(K::bytes) != bytes) return fail(token, "bytes and text can't be joined into one literal");
    format |= at(K::format_string);
    if (at(K::string)) {
      StringResult result = decode_string(text(token), value);
      if (result.status == StringResult::bad_escape) {
        std::string_view before = text(token).substr(0, result.offset);
        SourceLoc place = loc(token);
        for (std::size_t i = 0; i < before.size(); ++i) {  // the escape may stand on a later line of the string
          bool line_end = before[i] == '\n' || (before[i] == '\r' && !(i + 1 < before.size() && before[i + 1] == '\n'));
          place.col = line_end ? 1 : place.col + 1;
          place.line += line_end;
        }
        sink_.report(DiagCode::bad_literal, place, "malformed escape in the string",
                     "\\x takes two hexadecimal digits, \\u four, \\U eight (to 10FFFF); write \\\\ for a backslash");
        return nullptr;
      }
      named_escape |= result.status == StringResult::named_escape;
    }
    advance();
  }
  if (bytes) return unsupported(start, "bytes literal");
  if (format) return unsupported(start, "f-string");
  if (named_escape) return unsupported(start, "named unicode escape");
  StringLiteral* node = make_expr<StringLiteral>(start);
  node->value = tree_.arena.copy(std::string_view(value));
  return finish(node);
}

// An element of a display; the elements that follow the first are gathered by the callers' loops.
Expr* Parser::parse_display_item(const Token& opener, Gather<Expr*>& items) {
  if (!starts_expression()) {
    expect_closer(opener, items.size() == 0 ? "an expression" : "another element");
    return nullptr;
  }
  Expr* item = at(K::star) ? parse_starred(false) : parse_named_expression();
  if (item) items.add(item);
  return item;
}

Expr* Parser::parse_parenthesised() {
  const Token& opener = cur();
  advance();
  Gather<Expr*> items(exprs_);
  bool tuple = at(K::rparen);
  if (at(K::kw_yield)) {
    Expr* value = parse_yield();
    return value && expect_closer(opener, {}) ? value : nullptr;
  }
  while (!at(K::rparen)) {
    Expr* item = parse_display_item(opener, items);
    if (!item) return nullptr;
    if (items.size() == 1 && (at(K::kw_for) || at(K::kw_async))) {
      bool ok = parse_comprehension((&opener)[1]) && expect_closer(opener, {});
      return ok ? unsupported(opener, "generator expression") : nullptr;
    }
    if (!accept(K::comma)) break;
    tuple = true;
  }
  if (!expect_closer(opener, "','")) return nullptr;
  if (tuple) {
    TupleExpr* node = make_expr<TupleExpr>(opener);
    node->elements = items.take(tree_.arena);
    return finish(node, {}, node->elements);
  }
  if (items[0]->kind == ExprKind::starred) {
    return fail((&opener)[1], "a starred expression can't stand alone", "write '(*x,)' for a tuple");
  }
  return items[0];
}

Expr* Parser::parse_list() {
  const Token& opener = cur();
  advance();
  Gather<Expr*> items(exprs_);
  while (!at(K::rbracket)) {
    if (!parse_display_item(opener, items)) return nullptr;
    if (items.size() == 1 && (at(K::kw_for) || at(K::kw_async))) {
      bool ok = parse_comprehension((&opener)[1]) && expect_closer(opener, {});
      return ok ? unsupported(opener, "list comprehension") : nullptr;
    }
    if (!accept(K::comma)) break;
  }
  if (!expect_closer(opener, "','")) return nullptr;
  ListExpr* node = make_expr<ListExpr>(opener);
  node->elements = items.take(tree_.arena);
  return finish(node, {}, node->elements);
}

Expr* Parser::parse_braces() {
  const Token& opener = cur();
  advance();
  Gather<Expr*> items(exprs_);
  bool dict = at(K::rbrace);
  bool first = true;
  for (; !at(K::rbrace); first = false) {
    if (at(K::double_star) && (first || dict)) {
      dict = true;
      advance();
      if (!parse_binary(1)) return nullptr;
    } else {
      bool starred = at(K::star);
      if (!parse_display_item(opener, items)) return nullptr;
      if (first && !starred && at(K::colon)) dict = true;
      if (dict) {
        if (!expect(K::colon, "between key and value")) return nullptr;
        if (!parse_expression()) return nullptr;
      }
    }
    if (first && (at(K::kw_for) || at(K::kw_async))) {
      if (!parse_comprehension((&opener)[1]) || !expect_closer(opener, {})) return nullptr;
      return unsupported(opener, dict ? "dict comprehension" : "set comprehension");
    }
    if (!accept(K::comma)) break;
  }
  if (!expect_closer(opener, "','")) return nullptr;
  return unsupported(opener, dict ? "dict display" : "set display");
}

// The for and if clauses of a comprehension, whose element has been parsed from `element` on.
bool Parser::parse_comprehension(const Token& element) {
  if (element.kind == K::star || element.kind == K::double_star) {
    fail(element, "a comprehension's element can't be unpacked");
    return false;
  }
  while (at(K::kw_for) || at(K::kw_async)) {
    accept(K::kw_async);
    if (!expect(K::kw_for, "in the comprehension") || !parse_target_list()) return false;
    if (!expect(K::kw_in, "after the target of the comprehension") || !parse_or()) return false;
    while (accept(K::kw_if)) {
      if (!parse_or()) return false;
    }
  }
  return true;
}

}  // namespace weft::syntax
