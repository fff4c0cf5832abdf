// The parser's ground: entry points, the token cursor, node bookkeeping and the wording of errors.
#include "syntax/parser.h"

#include <algorithm>
#include <unordered_set>

#include "syntax/parser_impl.h"

namespace weft::syntax {

Parser::Parser(Tree& tree, DiagnosticSink& sink)
    : tree_(tree), sink_(sink), source_text_(tree.source->text()), tokens_(tokenize(*tree.source, sink)) {
  token_ = previous_ = tokens_.data();
}

Block Parser::parse_file() {
  Gather<Stmt*> body(stmts_);
  while (!at(K::end)) {
    parse_statements(body);
    if (at(K::dedent)) advance();
  }
  return body.take(tree_.arena);
}

void Parser::list_names() {
  std::unordered_set<std::string_view> seen;  // names, and from their beginning to their end those with attributes
  seen.reserve(64);
  std::vector<std::string_view> names, words;
  std::vector<DottedName> dotted;
  for (const Token* token = tokens_.data(); token->kind != K::end; ++token) {
    if (token->kind != K::name || (token != tokens_.data() && token[-1].kind == K::dot)) continue;
    const Token& first = *token;
    if (seen.insert(text(first)).second) names.push_back(text(first));
    if (token[1].kind != K::dot) continue;
    words.assign(1, text(first));
    for (; token[1].kind == K::dot && token[2].kind == K::name; token += 2) words.push_back(text(token[2]));
    const std::size_t length = token->offset + token->length - first.offset;
    if (seen.insert(source_text_.substr(first.offset, length)).second) dotted.push_back(tree_.arena.copy(words));
  }
  tree_.names = tree_.arena.copy(names);
  tree_.dotted_names = tree_.arena.copy(dotted);
}

Expr* Parser::parse_whole_expression() {
  Expr* expr = parse_star_expressions();
  if (!expr) return nullptr;
  accept(K::newline);
  if (!at(K::end)) return expected("the end of the expression", cure_for_operand());
  return expr;
}

void Parser::advance() {
  if (!is_layout(token_->kind)) previous_ = token_;
  if (token_->kind != K::end) ++token_;
}

bool Parser::accept(K kind) {
  if (!at(kind)) return false;
  advance();
  return true;
}

// Closes a node at the last token taken and notes its height, which consumers rely on when they recurse.
Expr* Parser::finish(Expr* node, std::initializer_list<const Expr*> children, std::span<Expr* const> more) {
  int tallest = 0;
  for (const Expr* child : children) {
    if (child) tallest = std::max<int>(tallest, child->height);
  }
  for (const Expr* child : more) tallest = std::max<int>(tallest, child->height);
  if (tallest >= kMaxTreeHeight) {
    sink_.report(DiagCode::nesting_too_deep, loc(*previous_),
                 "the expression is too long: its tree is more than " + std::to_string(kMaxTreeHeight) + " levels high",
                 "split it into several assignments, or write a loop");
    return nullptr;
  }
  node->height = std::uint16_t(tallest + 1);
  return end_here(node);
}

Expr* Parser::unsupported(const Token& start, std::string_view construct) {
  UnsupportedExpr* node = make_expr<UnsupportedExpr>(start);
  node->construct = construct;
  return finish(node);
}

bool Parser::too_deep(int depth, std::string_view what) {
  if (depth <= kMaxNesting) return false;
  sink_.report(DiagCode::nesting_too_deep, loc(cur()),
               std::string(what) + " are nested more than " + std::to_string(kMaxNesting) + " deep",
               what == "blocks" ? "move the inner blocks into a function of their own"
                                : "split the expression into several assignments");
  return true;
}

// What the lexer has already complained about is not reported again.
std::nullptr_t Parser::fail(const Token& at, std::string message, std::string cure, const Token* opener) {
  if (at.kind == K::error) return nullptr;
  std::uint32_t length = at.line == at.end_line && at.end_col > at.col ? at.end_col - at.col : 1;
  Diagnostic& d = sink_.report(DiagCode::syntax_error, loc(at), std::move(message), length);
  if (!cure.empty()) d.notes.push_back({{}, std::move(cure)});
  if (opener) {
    std::string bracket = "'" + std::string(spelling(opener->kind)) + "'";
    d.notes.push_back({loc(*opener), opener->unclosed ? bracket + " is never closed" : bracket + " is opened here"});
  }
  return nullptr;
}

std::nullptr_t Parser::expected(std::string_view what, std::string cure) {
  return fail(cur(), "expected " + std::string(what) + ", found " + describe(cur(), source_text_), std::move(cure));
}

bool Parser::expect(K kind, std::string_view where, std::string cure) {
  if (accept(kind)) return true;
  expected("'" + std::string(spelling(kind)) + "' " + std::string(where), std::move(cure));
  return false;
}

// The closing bracket, or an error with a note at the opening one. `alternative` is what else could follow ("','").
bool Parser::expect_closer(const Token& opener, std::string_view alternative) {
  K closer = closer_of(opener.kind);
  if (accept(closer)) return true;
  std::string open = "'" + std::string(spelling(opener.kind)) + "'";
  std::string close = "'" + std::string(spelling(closer)) + "'";
  std::string message;
  if (is_closer(cur().kind)) {
    message = "closing " + describe(cur(), source_text_) + " does not match " + open;
  } else {
    message = "expected ";
    if (!alternative.empty() && !is_layout(cur().kind)) message += std::string(alternative) + " or ";
    message += close + ", found " + describe(cur(), source_text_);
  }
  fail(cur(), std::move(message), cure_for_operand(), &opener);
  return false;
}

bool Parser::expect_name(std::string_view what, const Token*& name) {
  name = &cur();
  if (accept(K::name)) return true;
  expected(what, is_keyword(cur().kind) ? "a keyword can't be used as a name; choose another" : "");
  return false;
}

// Hints for slips that come from other languages, seen where an operand or the end of an expression was expected.
std::string Parser::cure_for_operand() const {
  bool adjacent = previous_ != &cur() && previous_->offset + previous_->length == cur().offset;
  if (at(K::assign)) return "did you mean '=='?";
  if (at(K::walrus)) return "put an assignment inside an expression into parentheses";
  if (adjacent && at(K::amp) && previous_->kind == K::amp) return "write 'and' for '&&'";
  if (adjacent && at(K::pipe) && previous_->kind == K::pipe) return "write 'or' for '||'";
  if (adjacent && at(K::gt) && previous_->kind == K::lt) return "write '!=' for '<>'";
  if (at(K::newline) && previous_ > tokens_.data() && previous_[-1].kind == previous_->kind &&
      (previous_->kind == K::plus || previous_->kind == K::minus)) {
    std::string op(spelling(previous_->kind));
    return "there is no '" + op + op + "': write '" + op + "= 1'";
  }
  if (is_keyword(cur().kind) && peek().kind == K::assign) return "a keyword can't be used as a name; choose another";
  return {};
}

std::shared_ptr<Tree> parse(std::shared_ptr<const SourceFile> source, DiagnosticSink& sink) {
  auto tree = std::make_shared<Tree>();
  tree->source = std::move(source);
  std::size_t before = sink.all().size();
  Parser parser(*tree, sink);
  tree->body = parser.parse_file();
  parser.list_names();
  if (sink.all().size() != before) sink.keep(tree->source);
  return tree;
}

Expr* parse_expression(Tree& tree, DiagnosticSink& sink) {
  std::size_t errors = sink.error_count();
  std::size_t before = sink.all().size();
  Expr* expr = Parser(tree, sink).parse_whole_expression();
  if (sink.all().size() != before) sink.keep(tree.source);
  return sink.error_count() == errors ? expr : nullptr;
}

}  // namespace weft::syntax
