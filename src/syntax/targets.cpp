// What may stand to the left of an assignment: names, attributes, subscripts, and tuples or lists of these with at most
// one starred element each.
#include "syntax/parser_impl.h"

namespace weft::syntax {
namespace {

std::string_view noun(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::name: return "a name";
    case ExprKind::int_literal:
    case ExprKind::float_literal:
    case ExprKind::string_literal: return "a literal";
    case ExprKind::bool_literal: return expr.as<BoolLiteral>().value ? "True" : "False";
    case ExprKind::none_literal: return "None";
    case ExprKind::ellipsis: return "'...'";
    case ExprKind::unary:
    case ExprKind::binary:
    case ExprKind::logical: return "an operation";
    case ExprKind::compare: return "a comparison";
    case ExprKind::ternary: return "a conditional expression";
    case ExprKind::call: return "a function call";
    case ExprKind::attribute: return "an attribute";
    case ExprKind::subscript: return "a subscript";
    case ExprKind::slice: return "a slice";
    case ExprKind::tuple: return "a tuple";
    case ExprKind::list: return "a list";
    case ExprKind::starred: return "a starred expression";
    case ExprKind::unsupported: return expr.as<UnsupportedExpr>().construct;
  }
  return "an expression";
}

}  // namespace

bool Parser::check_target(const Expr& target, std::string_view verb) {
  std::span<Expr*> elements;
  switch (target.kind) {
    case ExprKind::name:
    case ExprKind::attribute:
    case ExprKind::subscript: return true;
    case ExprKind::starred:
      sink_.report(DiagCode::syntax_error, target.loc, "a starred target must stand in a tuple or list",
                   "write '*x, = …'", target.underline());
      return false;
    case ExprKind::tuple: elements = target.as<TupleExpr>().elements; break;
    case ExprKind::list: elements = target.as<ListExpr>().elements; break;
    default: {
      Diagnostic& d = sink_.report(DiagCode::syntax_error, target.loc,
                                   "can't " + std::string(verb) + " " + std::string(noun(target)), target.underline());
      if (verb == "assign to" && target.kind != ExprKind::unsupported) d.notes.push_back({{}, "did you mean '=='?"});
      return false;
    }
  }
  bool starred_seen = false;
  for (const Expr* element : elements) {
    if (const StarredExpr* starred = element->as_if<StarredExpr>()) {
      if (starred_seen) {
        sink_.report(DiagCode::syntax_error, element->loc, "a second starred target", "only one can take the rest",
                     element->underline());
        return false;
      }
      starred_seen = true;
      element = starred->value;
    }
    if (!check_target(*element, verb)) return false;
  }
  return true;
}

bool Parser::check_single_target(const Expr& target, std::string_view use) {
  if (target.kind == ExprKind::name || target.kind == ExprKind::attribute || target.kind == ExprKind::subscript) {
    return true;
  }
  sink_.report(DiagCode::syntax_error, target.loc, std::string(noun(target)) + " can't be " + std::string(use),
               "it must be a name, an attribute or a subscript", target.underline());
  return false;
}

}  // namespace weft::syntax
