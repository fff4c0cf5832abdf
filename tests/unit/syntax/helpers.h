// Helpers for the syntax tests: parse a text, show an expression's shape as an s-expression, list errors as text.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "syntax/ast.h"

namespace weft::syntax::testing {

struct Parsed {
  DiagnosticSink sink;
  std::shared_ptr<Tree> tree;

  /// The only statement, or the n-th.
  const Stmt& stmt(std::size_t n = 0) const { return *tree->body[n]; }
};

/// Parses a text; errors are in the sink.
Parsed parse_text(std::string text, std::uint32_t first_line = 1);
/// Parses a text that must have no errors.
Parsed parse_clean(std::string text);
/// An expression fully parenthesised, operator first: a + b * c is "(+ a (* b c))".
std::string shape(const Expr& expr);
/// The shape of a text that is one expression; the first error if there is one.
std::string shape(const std::string& text);
/// "code line:col" of each error, joined by "; ".
std::string errors(const std::string& text);
/// The first error's text with its notes, joined by " | ".
std::string first_error(const std::string& text);
/// `piece` n times.
std::string repeat(std::string_view piece, std::size_t n);

}  // namespace weft::syntax::testing
