// The parser of the IR's text form: recursive descent with one token of look-ahead. The first error ends it (Failure);
// depths and sizes are limited, so that no text can exhaust the stack or the type table. Operations are typed by
// ir/infer.h as they are read.
#pragma once
#include <unordered_map>

#include "ir/text.h"
#include "ir/text_lexer.h"

namespace weft::ir {

class TextParser {
 public:
  /// Thrown after the error was reported.
  struct Failure {};

  TextParser(const SourceFile& file, Module& module, DiagnosticSink& sink)
      : lexer_(file), module_(module), sink_(sink), token_(lexer_.next()) {}

  /// Reads all of the text.
  void module();

 private:
  struct OpText;  // what stands on one operation's line, before it is typed

  // Tokens.
  [[noreturn]] void fail(const SourceLoc& loc, std::string text);
  [[noreturn]] void unexpected(std::string_view wanted);
  void advance() { token_ = lexer_.next(); }
  bool accept(char c);
  bool accept_word(std::string_view word);
  void expect(char c);
  void expect_word(std::string_view word);
  std::int64_t integer(std::string_view what, std::int64_t largest);
  std::string string_literal();
  Token value_name();

  // Module level and types.
  void structure();
  void function(FunctionKind kind);
  void form(Function& function);
  const Type* type(int depth = 0);
  const Type* struct_type();
  std::uint32_t extent(std::uint32_t largest);
  const Type* scalar_argument();
  int depth_of(const Type* type);
  void limit_parts(std::span<const Field> fields, const SourceLoc& loc);

  // Values and operations.
  Value* value();
  Value* literal();
  void value_list(std::vector<Value*>& list);
  void define(const Token& name, Value* value);
  void close_scope(std::size_t mark);
  void region(Region* region, int depth);
  void operation(Region* region, int depth);
  void opcode(OpText& op);
  void operands(OpText& op);
  void data_operands(OpText& op);
  void memory_operands(OpText& op);
  void control_operands(OpText& op);
  void effect_operands(OpText& op);
  void path(OpText& op);
  void indices(OpText& op);
  void carried(OpText& op);
  void regions(const OpText& text, Op& op, int depth);

  TextLexer lexer_;
  Module& module_;
  DiagnosticSink& sink_;
  Token token_;
  Function* function_ = nullptr;
  struct Link {
    Function* of;
    Function* Function::* member;
    Token name;
  };
  std::vector<Link> links_;  // to functions by name, made when all are there
  std::unordered_map<std::string, const Type*> structs_;
  std::unordered_map<std::string, Function*> functions_;
  std::unordered_map<const Type*, int> depths_;
  std::unordered_map<std::string_view, Value*> names_;  // visible values; the views point into the source
  std::vector<std::string_view> scope_;                 // names in the order of their definition
};

}  // namespace weft::ir
