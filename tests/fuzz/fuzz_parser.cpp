// Lexer and parser on any bytes: no crash, every place inside the text, bounded trees; and if the text has no error,
// every expression's source form parses again to the same source form.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "syntax/parser.h"
#include "syntax/print.h"

namespace {

using namespace weft;
using namespace weft::syntax;

void require(bool condition, const char* what, const std::string& detail) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

void check_round_trip(const Expr* expr) {
  if (!expr) return;
  std::string text = to_source(*expr);
  Tree tree;
  tree.source = std::make_shared<SourceFile>("round_trip", text);
  DiagnosticSink sink;
  const Expr* again = parse_expression(tree, sink);
  bool limit = !sink.all().empty() && sink.all()[0].code == DiagCode::nesting_too_deep;
  if (!again && limit) return;  // a bare tuple has gained parentheses at the very limit
  require(again != nullptr, "the source form of an expression does not parse", text + "\n" + sink.render_all());
  require(to_source(*again) == text, "the source form of an expression is not stable", text + "\n" + to_source(*again));
}

void check_block(Block block) {
  for (const Stmt* statement : block) {
    if (const auto* value = statement->as_if<ExprStmt>()) {
      check_round_trip(value->value);
    } else if (const auto* assign = statement->as_if<AssignStmt>()) {
      for (const Expr* target : assign->targets) check_round_trip(target);
      check_round_trip(assign->value);
    } else if (const auto* augmented = statement->as_if<AugmentedAssignStmt>()) {
      check_round_trip(augmented->value);
    } else if (const auto* annotated = statement->as_if<AnnotatedAssignStmt>()) {
      check_round_trip(annotated->annotation);
    } else if (const auto* result = statement->as_if<ReturnStmt>()) {
      check_round_trip(result->value);
    } else if (const auto* branch = statement->as_if<IfStmt>()) {
      check_round_trip(branch->condition);
      check_block(branch->then_body);
      check_block(branch->else_body);
    } else if (const auto* loop = statement->as_if<WhileStmt>()) {
      check_round_trip(loop->condition);
      check_block(loop->body);
    } else if (const auto* each = statement->as_if<ForStmt>()) {
      check_round_trip(each->iterable);
      check_block(each->body);
    } else if (const auto* function = statement->as_if<FunctionDef>()) {
      for (const Expr* decorator : function->decorators) check_round_trip(decorator);
      for (const Param& param : function->params) {
        check_round_trip(param.default_value);
        if (param.kind != Param::star_args) check_round_trip(param.annotation);
      }
      check_block(function->body);
    } else if (const auto* type = statement->as_if<ClassDef>()) {
      check_block(type->body);
    }
  }
}

void check_places(const DiagnosticSink& sink, const SourceFile& source) {
  for (const Diagnostic& d : sink.all()) {
    std::size_t width = source.line(d.loc.line).size();
    require(d.loc.line >= source.first_line() && d.loc.col >= 1 && d.loc.col <= width + 1,
            "a diagnostic's place lies outside the text", d.text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto source = std::make_shared<SourceFile>("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  DiagnosticSink sink;
  std::shared_ptr<Tree> tree = parse(source, sink);
  check_places(sink, *source);
  sink.render_all();
  print(*tree);
  if (!sink.has_errors()) check_block(tree->body);

  Tree lone;
  lone.source = source;
  DiagnosticSink lone_sink;
  const Expr* expr = parse_expression(lone, lone_sink);
  require((expr == nullptr) == lone_sink.has_errors(), "an error and an expression, or neither", {});
  check_round_trip(expr);

  DiagnosticSink token_sink;
  print_tokens(*source, token_sink);
  return 0;
}
