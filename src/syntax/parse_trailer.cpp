// What follows a primary expression: attributes, calls and subscripts, in a loop.
#include <unordered_set>

#include "syntax/parser_impl.h"

namespace weft::syntax {

Expr* Parser::parse_postfix() {
  const Token& start = cur();
  Expr* value = parse_atom();
  while (value) {
    switch (cur().kind) {
      case K::dot: value = parse_attribute(start, value); break;
      case K::lparen: value = parse_call(start, value); break;
      case K::lbracket: value = parse_subscript(start, value); break;
      default: return value;
    }
  }
  return nullptr;
}

Expr* Parser::parse_attribute(const Token& start, Expr* object) {
  advance();
  const Token* name;
  if (!expect_name("an attribute name after '.'", name)) return nullptr;
  AttributeExpr* node = make_expr<AttributeExpr>(start);
  node->object = object;
  node->name = text(*name);
  node->name_loc = loc(*name);
  return finish(node, {object});
}

Expr* Parser::parse_call(const Token& start, Expr* callee) {
  Nested nested(depth_);
  if (too_deep(depth_, "expressions")) return nullptr;
  const Token& opener = cur();
  advance();
  Gather<Expr*> args(exprs_);
  Gather<Keyword> keywords(keywords_);
  bool mapping_seen = false;
  while (!at(K::rparen)) {
    if (!parse_argument(opener, args, keywords, mapping_seen)) return nullptr;
    if (!accept(K::comma)) break;
  }
  if (!expect_closer(opener, "','")) return nullptr;
  CallExpr* node = make_expr<CallExpr>(start);
  node->callee = callee;
  node->args = args.take(tree_.arena);
  node->keywords = keywords.take(tree_.arena);
  const Expr* tallest = callee;
  for (const Keyword& keyword : node->keywords) {
    if (keyword.value->height > tallest->height) tallest = keyword.value;
  }
  if (node->keywords.size() > 1) {
    std::unordered_set<std::string_view> seen;
    for (const Keyword& keyword : node->keywords) {
      if (keyword.name.empty() || seen.insert(keyword.name).second) continue;
      sink_.report(DiagCode::syntax_error, keyword.loc,
                   "keyword argument '" + shorten(keyword.name) + "' is given twice",
                   std::uint32_t(keyword.name.size()));
      return nullptr;
    }
  }
  return finish(node, {tallest}, node->args);
}

bool Parser::parse_argument(const Token& opener, Gather<Expr*>& args, Gather<Keyword>& keywords, bool& mapping_seen) {
  const Token& start = cur();
  if (at(K::double_star)) {
    advance();
    Expr* value = parse_expression();
    if (!value) return false;
    keywords.add({{}, loc(start), value});
    return mapping_seen = true;
  }
  if (at(K::name) && peek().kind == K::assign) return add_keyword(keywords, start);
  if (!starts_expression()) return expect_closer(opener, "an argument");
  Expr* value = at(K::star) ? parse_starred(true) : parse_named_expression();
  if (!value) return false;
  if (at(K::kw_for) || at(K::kw_async)) {
    if (!parse_comprehension(start)) return false;
    bool alone = args.size() + keywords.size() == 0 && at(K::rparen);
    if (!alone) {
      fail(start, "a generator expression beside other arguments needs parentheses", "write '(… for …)'");
      return false;
    }
    // Alone in the call it shares the call's parentheses; they belong to its text.
    value = unsupported(opener, "generator expression");
    value->end_line = cur().end_line;
    value->end_col = cur().end_col;
  }
  if (at(K::assign)) {
    fail(cur(), "only a name can stand before '=' in an argument", "did you mean '=='?");
    return false;
  }
  if (value->kind == ExprKind::starred ? mapping_seen : keywords.size() != 0) {
    fail(start, mapping_seen ? "an argument without name follows '**'" : "an argument without name follows a named one",
         "put the arguments without name first");
    return false;
  }
  args.add(value);
  return true;
}

bool Parser::add_keyword(Gather<Keyword>& keywords, const Token& name) {
  advance();
  advance();
  Expr* value = parse_expression();
  if (!value) return false;
  keywords.add({text(name), loc(name), value});
  return true;
}

Expr* Parser::parse_subscript(const Token& start, Expr* object) {
  Nested nested(depth_);
  if (too_deep(depth_, "expressions")) return nullptr;
  const Token& opener = cur();
  advance();
  Gather<Expr*> indices(exprs_);
  bool comma = false;
  do {
    if (!starts_expression() && !at(K::colon)) {
      if (indices.size() == 0 || !at(K::rbracket)) {
        return expected("an index");
      }
      break;
    }
    Expr* index = parse_index();
    if (!index) return nullptr;
    indices.add(index);
    comma |= at(K::comma);
  } while (accept(K::comma));
  if (!expect_closer(opener, "','")) return nullptr;
  SubscriptExpr* node = make_expr<SubscriptExpr>(start);
  node->object = object;
  const TupleExpr* tuple = !comma ? indices[0]->as_if<TupleExpr>() : nullptr;
  node->indices = tuple ? tuple->elements : indices.take(tree_.arena);
  return finish(node, {object}, node->indices);
}

// One index or slice.
Expr* Parser::parse_index() {
  const Token& start = cur();
  if (at(K::star)) return parse_starred(false);
  Expr* parts[3] = {nullptr, nullptr, nullptr};
  if (!at(K::colon) && !(parts[0] = parse_named_expression())) return nullptr;
  if (!at(K::colon)) return parts[0];
  for (int i = 1; i < 3 && accept(K::colon); ++i) {
    if (at(K::colon) || at(K::comma) || at(K::rbracket)) continue;
    if (!(parts[i] = parse_expression())) return nullptr;
  }
  SliceExpr* node = make_expr<SliceExpr>(start);
  node->lower = parts[0];
  node->upper = parts[1];
  node->step = parts[2];
  return finish(node, {parts[0], parts[1], parts[2]});
}

}  // namespace weft::syntax
