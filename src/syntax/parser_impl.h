// The recursive-descent parser, private to this folder. One class whose functions are spread over files by what they
// parse: parse_expr (operators), parse_atom (literals, displays), parse_trailer (calls, subscripts), parse_stmt (simple
// statements), parse_compound (blocks), parse_def (functions, classes), parse_skip (what kernels may not use).
//
// A function that fails has reported the error and returns null; callers pass the null on up to the statement, where
// the parser goes on with the next one. Recursion is counted (`depth_`), and so is the height of trees built by loops.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/ast.h"
#include "syntax/lexer.h"

namespace weft::syntax {

inline constexpr int kMaxNesting = 200;      // of expressions, and of blocks; as in CPython
inline constexpr int kMaxTreeHeight = 2000;  // of an expression: a + b + c + … grows to the left without nesting
inline constexpr int kMaxStmtDepth = 1000;   // of statements: each elif lies inside the one before

/// A list under construction: items go to a shared pool, `take` copies those of this list into the arena.
template <class T>
class Gather {
 public:
  explicit Gather(std::vector<T>& pool) : pool_(pool), begin_(pool.size()) {}
  ~Gather() { pool_.resize(begin_); }
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  void add(T item) { pool_.push_back(item); }
  std::size_t size() const { return pool_.size() - begin_; }
  T& operator[](std::size_t i) { return pool_[begin_ + i]; }
  std::span<T> take(Arena& arena) {
    return arena.copy(std::span<const T>(pool_.data() + begin_, pool_.size() - begin_));
  }

 private:
  std::vector<T>& pool_;
  std::size_t begin_;
};

class Parser {
 public:
  Parser(Tree& tree, DiagnosticSink& sink);

  Block parse_file();
  /// Lists the names of the text.
  void list_names();
  Expr* parse_whole_expression();

 private:
  using K = TokenKind;

  // parser.cpp: the token cursor, nodes, errors
  const Token& cur() const { return *token_; }
  const Token& peek() const { return token_->kind == K::end ? *token_ : token_[1]; }
  bool at(K kind) const { return token_->kind == kind; }
  bool at_word(std::string_view word) const { return at(K::name) && text(cur()) == word; }
  void advance();
  bool accept(K kind);
  std::string_view text(const Token& token) const { return source_text_.substr(token.offset, token.length); }
  std::string quote(const Token& token) const { return "'" + shorten(text(token)) + "'"; }
  SourceLoc loc(const Token& token) const { return {tree_.source.get(), token.line, token.col}; }

  template <class T>
  T* make_expr(const Token& start) {
    T* node = tree_.arena.make<T>();
    node->kind = T::kKind;
    node->loc = loc(start);
    return node;
  }
  template <class T>
  T* make_stmt(const Token& start) {
    T* node = tree_.arena.make<T>();
    node->kind = T::kKind;
    node->loc = loc(start);
    return node;
  }
  Expr* finish(Expr* node, std::initializer_list<const Expr*> children = {}, std::span<Expr* const> more = {});
  Expr* unsupported(const Token& start, std::string_view construct);
  template <class T>
  T* end_here(T* node) {
    node->end_line = previous_->end_line;
    node->end_col = previous_->end_col;
    return node;
  }

  std::nullptr_t fail(const Token& at, std::string message, std::string cure = {}, const Token* opener = nullptr);
  std::nullptr_t expected(std::string_view what, std::string cure = {});
  std::string cure_for_operand() const;
  bool expect(K kind, std::string_view where, std::string cure = {});
  bool expect_closer(const Token& opener, std::string_view alternative);
  bool expect_name(std::string_view what, const Token*& name);
  bool too_deep(int depth, std::string_view what);

  class Nested {
   public:
    explicit Nested(int& depth) : depth_(depth) { ++depth_; }
    ~Nested() { --depth_; }

   private:
    int& depth_;
  };

  // parse_expr.cpp
  Expr* parse_named_expression();
  Expr* parse_expression();
  Expr* parse_or();
  Expr* parse_and();
  Expr* parse_not();
  Expr* parse_comparison();
  Expr* parse_binary(int least);
  Expr* parse_unary();
  Expr* parse_power();
  Expr* parse_lambda();
  Expr* parse_yield();
  Expr* parse_starred(bool any_expression);
  Expr* parse_star_expressions(bool lone_star = false);
  Expr* parse_target_list();
  bool starts_expression() const;
  bool accept_compare_op(CompareOp& op);

  // parse_atom.cpp
  Expr* parse_atom();
  Expr* parse_number();
  Expr* parse_strings();
  Expr* parse_brackets();
  Expr* parse_parenthesised();
  Expr* parse_list();
  Expr* parse_braces();
  Expr* parse_display_item(const Token& opener, Gather<Expr*>& items);
  bool parse_comprehension(const Token& element);

  // parse_trailer.cpp
  Expr* parse_postfix();
  Expr* parse_attribute(const Token& start, Expr* object);
  Expr* parse_call(const Token& start, Expr* callee);
  bool parse_argument(const Token& opener, Gather<Expr*>& args, Gather<Keyword>& keywords, bool& mapping_seen);
  bool add_keyword(Gather<Keyword>& keywords, const Token& name);
  Expr* parse_subscript(const Token& start, Expr* object);
  Expr* parse_index();

  // parse_stmt.cpp
  void parse_statements(Gather<Stmt*>& out);
  void parse_statement(Gather<Stmt*>& out);
  void parse_simple_line(Gather<Stmt*>& out);
  Stmt* parse_simple();
  Stmt* parse_expression_statement();
  Stmt* parse_assignment(const Token& start, Expr* first);
  Stmt* parse_augmented(const Token& start, Expr* target, BinaryOp op);
  Stmt* parse_annotated(const Token& start, Expr* target);
  Stmt* parse_return();
  Stmt* parse_assert();
  template <class T>
  Stmt* parse_word_statement();
  std::string cure_for_statement_end(const Stmt* statement) const;
  bool at_statement_end() const { return at(K::newline) || at(K::semicolon) || at(K::end); }
  void skip_statement();
  void skip_line();

  // parse_import.cpp
  Stmt* parse_import();
  Stmt* parse_from_import();
  bool parse_dotted_name(std::string_view& name);
  bool parse_import_name(Gather<ImportStmt::Name>& names, bool dotted);

  // targets.cpp
  bool check_target(const Expr& target, std::string_view verb);
  bool check_single_target(const Expr& target, std::string_view use);

  // parse_compound.cpp
  bool parse_compound(Gather<Stmt*>& out);
  bool parse_suite(const Token& header, bool header_ok, Block& out);
  bool parse_block(Block& out);
  Stmt* parse_if();
  Stmt* parse_while();
  Stmt* parse_for();
  bool parse_else(Block& out);
  void stray_clause();
  void skip_block();

  // parse_def.cpp
  Stmt* parse_decorated();
  Stmt* parse_function(std::span<Expr*> decorators, bool ok);
  Stmt* parse_class(std::span<Expr*> decorators, bool ok);
  bool parse_params(K closer, bool annotated, Gather<Param>& params);
  bool parse_type_params();

  // parse_skip.cpp
  Stmt* skip_simple(std::string_view construct);
  Stmt* skip_try();
  Stmt* skip_compound(std::string_view construct, const Token& start);
  Stmt* skip_async();
  bool skip_clause();
  bool at_match_statement() const;
  Stmt* unsupported_stmt(const Token& start, std::string_view construct);

  Tree& tree_;
  DiagnosticSink& sink_;
  std::string_view source_text_;
  std::vector<Token> tokens_;
  const Token* token_;     // the one to be looked at
  const Token* previous_;  // the last one taken that is not layout
  int depth_ = 0;          // of expressions
  int block_depth_ = 0;
  int stmt_depth_ = 0;  // block_depth_ and the elif chains on the way

  // Pools of the lists under construction.
  std::vector<Expr*> exprs_;
  std::vector<Stmt*> stmts_;
  std::vector<Keyword> keywords_;
  std::vector<Param> params_;
  std::vector<CompareOp> compare_ops_;
  std::vector<ImportStmt::Name> import_names_;
};

}  // namespace weft::syntax
