// The syntax tree as indented text (--emit=ast) and tokens as lines (--emit=tokens), for people and golden tests.
#pragma once
#include <string>

#include "support/diagnostic.h"
#include "syntax/ast.h"

namespace weft::syntax {

/// One node per line, indented by depth: kind, fields, line:col.
std::string print(const Tree& tree);
/// An expression as Python text (for messages and wp.static), minimally parenthesised.
std::string to_source(const Expr& expr);
/// One token per line: line:col kind text.
std::string print_tokens(const SourceFile& source, DiagnosticSink& sink);

}  // namespace weft::syntax
