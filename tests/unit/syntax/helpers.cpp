// Helpers for the syntax tests.
#include "helpers.h"

#include <gtest/gtest.h>

#include "syntax/parser.h"
#include "syntax/print.h"

namespace weft::syntax::testing {
namespace {

std::string join(std::string head, std::span<Expr* const> items) {
  std::string out = "(" + std::move(head);
  for (const Expr* item : items) out += " " + shape(*item);
  return out + ")";
}

std::string part(const Expr* expr) { return expr ? shape(*expr) : "_"; }

}  // namespace

Parsed parse_text(std::string text, std::uint32_t first_line) {
  Parsed parsed;
  parsed.tree = parse(std::make_shared<SourceFile>("test.py", std::move(text), first_line), parsed.sink);
  return parsed;
}

Parsed parse_clean(std::string text) {
  Parsed parsed = parse_text(std::move(text));
  EXPECT_EQ(parsed.sink.render_all(), "");
  return parsed;
}

std::string shape(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::unary:
      return "(" + std::string(text_of(expr.as<UnaryExpr>().op)) + " " + shape(*expr.as<UnaryExpr>().operand) + ")";
    case ExprKind::binary: {
      const auto& binary = expr.as<BinaryExpr>();
      return "(" + std::string(text_of(binary.op)) + " " + shape(*binary.left) + " " + shape(*binary.right) + ")";
    }
    case ExprKind::compare: {
      const auto& compare = expr.as<CompareExpr>();
      std::string out = "(" + shape(*compare.operands[0]);
      for (std::size_t i = 0; i < compare.ops.size(); ++i) {
        out += " " + std::string(text_of(compare.ops[i])) + " " + shape(*compare.operands[i + 1]);
      }
      return out + ")";
    }
    case ExprKind::logical:
      return join(std::string(text_of(expr.as<LogicalExpr>().op)), expr.as<LogicalExpr>().operands);
    case ExprKind::ternary: {
      const auto& ternary = expr.as<TernaryExpr>();
      return "(? " + shape(*ternary.condition) + " " + shape(*ternary.then_value) + " " + shape(*ternary.else_value) +
             ")";
    }
    case ExprKind::call: {
      const auto& call = expr.as<CallExpr>();
      std::string out = "(call " + shape(*call.callee);
      for (const Expr* arg : call.args) out += " " + shape(*arg);
      for (const Keyword& keyword : call.keywords) {
        out += " " + (keyword.name.empty() ? "**" : std::string(keyword.name) + "=") + shape(*keyword.value);
      }
      return out + ")";
    }
    case ExprKind::attribute: {
      const auto& attribute = expr.as<AttributeExpr>();
      return "(. " + shape(*attribute.object) + " " + std::string(attribute.name) + ")";
    }
    case ExprKind::subscript: {
      const auto& subscript = expr.as<SubscriptExpr>();
      return join("[] " + shape(*subscript.object), subscript.indices);
    }
    case ExprKind::slice: {
      const auto& slice = expr.as<SliceExpr>();
      return "(: " + part(slice.lower) + " " + part(slice.upper) + " " + part(slice.step) + ")";
    }
    case ExprKind::tuple: return join("tuple", expr.as<TupleExpr>().elements);
    case ExprKind::list: return join("list", expr.as<ListExpr>().elements);
    case ExprKind::starred: return "(* " + shape(*expr.as<StarredExpr>().value) + ")";
    case ExprKind::unsupported: return "<" + std::string(expr.as<UnsupportedExpr>().construct) + ">";
    default: return to_source(expr);
  }
}

std::string shape(const std::string& text) {
  Tree tree;
  tree.source = std::make_shared<SourceFile>("test.py", text);
  DiagnosticSink sink;
  const Expr* expr = parse_expression(tree, sink);
  return expr ? shape(*expr) : sink.all().empty() ? "null" : sink.all()[0].text;
}

std::string errors(const std::string& text) {
  Parsed parsed = parse_text(text);
  std::string out;
  for (const Diagnostic& d : parsed.sink.all()) {
    if (!out.empty()) out += "; ";
    out += std::string(name_of(d.code)) + " " + std::to_string(d.loc.line) + ":" + std::to_string(d.loc.col);
  }
  return out;
}

std::string first_error(const std::string& text) {
  Parsed parsed = parse_text(text);
  if (parsed.sink.all().empty()) return "";
  const Diagnostic& d = parsed.sink.all()[0];
  std::string out = d.text;
  for (const Diagnostic::Note& note : d.notes) out += " | " + note.text;
  return out;
}

std::string repeat(std::string_view piece, std::size_t n) {
  std::string out;
  out.reserve(piece.size() * n);
  for (std::size_t i = 0; i < n; ++i) out += piece;
  return out;
}

}  // namespace weft::syntax::testing
