// Functions, classes, decorators and parameter lists.
#include <unordered_set>

#include "syntax/parser_impl.h"

namespace weft::syntax {

Stmt* Parser::parse_decorated() {
  const Token& start = cur();
  Gather<Expr*> decorators(exprs_);
  bool ok = true;
  while (accept(K::at)) {
    Expr* decorator = parse_named_expression();
    if (decorator && !at(K::newline)) decorator = expected("the end of the line after the decorator");
    if (decorator) {
      decorators.add(decorator);
    } else {
      ok = false;
    }
    skip_line();
  }
  switch (cur().kind) {
    case K::kw_def: return parse_function(decorators.take(tree_.arena), ok);
    case K::kw_class: return parse_class(decorators.take(tree_.arena), ok);
    case K::kw_async: {
      Stmt* statement = skip_async();
      if (statement) statement->loc = loc(start);
      return ok ? statement : nullptr;
    }
    default:
      if (ok) expected("a function or class after the decorator");
      return nullptr;
  }
}

Stmt* Parser::parse_function(std::span<Expr*> decorators, bool ok) {
  const Token& head = cur();
  advance();
  FunctionDef* node = make_stmt<FunctionDef>(head);
  node->decorators = decorators;
  const Token* name;
  bool generic = false;
  auto header = [&] {
    if (!expect_name("the function's name", name)) return false;
    node->name = text(*name);
    node->name_loc = loc(*name);
    if (at(K::lbracket)) {
      generic = true;
      if (!parse_type_params()) return false;
    }
    const Token& opener = cur();
    if (!expect(K::lparen, "after the function's name")) return false;
    Gather<Param> params(params_);
    if (!parse_params(K::rparen, true, params) || !expect_closer(opener, "','")) return false;
    node->params = params.take(tree_.arena);
    if (accept(K::arrow) && !(node->returns = parse_expression())) return false;
    return true;
  };
  ok &= parse_suite(head, header(), node->body);
  if (!ok) return nullptr;
  return generic ? unsupported_stmt(head, "type parameters") : end_here(node);
}

Stmt* Parser::parse_class(std::span<Expr*> decorators, bool ok) {
  const Token& head = cur();
  advance();
  ClassDef* node = make_stmt<ClassDef>(head);
  node->decorators = decorators;
  const Token* name;
  bool generic = false;
  auto header = [&] {
    if (!expect_name("the class's name", name)) return false;
    node->name = text(*name);
    node->name_loc = loc(*name);
    if (at(K::lbracket)) {
      generic = true;
      if (!parse_type_params()) return false;
    }
    if (!at(K::lparen)) return true;
    const Token& opener = cur();
    advance();
    Gather<Expr*> bases(exprs_);
    Gather<Keyword> keywords(keywords_);
    bool mapping_seen = false;
    while (!at(K::rparen)) {
      const Token& start = cur();
      std::size_t before = keywords.size();
      if (!parse_argument(opener, bases, keywords, mapping_seen)) return false;
      if (keywords.size() != before) bases.add(unsupported(start, "class keyword argument"));
      if (!accept(K::comma)) break;
    }
    if (!expect_closer(opener, "','")) return false;
    node->bases = bases.take(tree_.arena);
    return true;
  };
  ok &= parse_suite(head, header(), node->body);
  if (!ok) return nullptr;
  return generic ? unsupported_stmt(head, "type parameters") : end_here(node);
}

// [T, *Ts, **P]: kernels have none, so only the brackets' end matters.
bool Parser::parse_type_params() {
  const Token& opener = cur();
  std::size_t open = 0;
  while (!at(K::newline) && !at(K::end)) {
    if (is_opener(cur().kind)) ++open;
    if (is_closer(cur().kind) && --open == 0) break;
    advance();
  }
  return expect_closer(opener, {});
}

// Parameters up to the closer, which is left. Lambda's have no annotations.
bool Parser::parse_params(K closer, bool annotated, Gather<Param>& params) {
  std::unordered_set<std::string_view> names;
  Param::Kind kind = Param::positional;
  bool default_seen = false;
  bool slash_seen = false;
  bool star_seen = false;
  const Token* bare_star = nullptr;  // a '*' that still waits for a parameter
  while (!at(closer)) {
    const Token& start = cur();
    if (params.size() != 0 && params[params.size() - 1].kind == Param::star_kwargs) {
      fail(start, "nothing may follow the parameter with '**'");
      return false;
    }
    Param param{};
    param.kind = kind;
    if (accept(K::slash)) {
      if (slash_seen || star_seen || params.size() == 0) {
        fail(start, slash_seen  ? "'/' may appear only once"
                    : star_seen ? "'/' must stand before '*'"
                                : "at least one parameter must stand before '/'");
        return false;
      }
      slash_seen = true;
      if (!accept(K::comma)) break;
      continue;
    }
    if (accept(K::star)) {
      if (star_seen) {
        fail(start, "'*' may appear only once");
        return false;
      }
      star_seen = true;
      kind = Param::keyword_only;
      if (at(K::comma) || at(closer)) {
        bare_star = &start;
        if (!accept(K::comma)) break;
        continue;
      }
      param.kind = Param::star_args;
    } else if (accept(K::double_star)) {
      if (bare_star) break;
      param.kind = Param::star_kwargs;
    }
    const Token* name;
    if (!expect_name("a parameter name", name)) return false;
    bare_star = nullptr;
    param.name = text(*name);
    param.loc = loc(*name);
    if (!names.insert(param.name).second) {
      fail(*name, "parameter '" + shorten(param.name) + "' appears twice");
      return false;
    }
    if (annotated && accept(K::colon)) {
      bool starred = param.kind == Param::star_args && at(K::star);
      param.annotation = starred ? parse_starred(true) : parse_expression();
      if (!param.annotation) return false;
    }
    if (at(K::assign)) {
      if (param.kind == Param::star_args || param.kind == Param::star_kwargs) {
        fail(cur(), "a parameter with '*' can't have a default value");
        return false;
      }
      advance();
      if (!(param.default_value = parse_expression())) return false;
      default_seen = true;
    } else if (param.kind == Param::positional && default_seen) {
      fail(*name, "parameter '" + shorten(param.name) + "' without default value follows one with a default value",
           "give it a default value, or move it to the front");
      return false;
    }
    params.add(param);
    if (!accept(K::comma)) break;
  }
  if (bare_star) {
    fail(*bare_star, "a named parameter must follow '*'");
    return false;
  }
  if (at(closer)) return true;
  if (closer == K::colon) expected("',' or ':' in the lambda");
  return closer != K::colon;  // the caller reports a missing bracket, with a note at the opening one
}

}  // namespace weft::syntax
