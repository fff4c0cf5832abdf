// Source text to syntax tree. Never throws on bad input: every error goes to the sink, and what could be understood is
// returned (an erroneous statement is left out). Nesting is limited, so no input can exhaust the stack.
#pragma once
#include <memory>

#include "support/diagnostic.h"
#include "syntax/ast.h"

namespace weft::syntax {

/// Parses a whole file (or the text of one function, decorators included; leading indentation common to all lines is
/// accepted and kept in the columns). Never null.
std::shared_ptr<Tree> parse(std::shared_ptr<const SourceFile> source, DiagnosticSink& sink);

/// Parses one expression that fills the text; null with an error in the sink otherwise. The tree owns it.
Expr* parse_expression(Tree& tree, DiagnosticSink& sink);

}  // namespace weft::syntax
