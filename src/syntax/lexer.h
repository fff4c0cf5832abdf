// Source text to tokens, in two steps: the lexer cuts the text into tokens and notes where physical lines begin
// (lexer.cpp, lex_string.cpp, lex_number.cpp); the layout step pairs brackets and turns lines and their indentation
// into newline, indent and dedent tokens (layout.cpp). Both are linear in the text and report every error they see.
#pragma once
#include <string_view>
#include <vector>

#include "support/diagnostic.h"
#include "syntax/token.h"

namespace weft::syntax {

/// All tokens of a text, layout included; the last one is `end`. Erroneous pieces are reported and come as
/// TokenKind::error (or, for an unclosed string, as the string token).
std::vector<Token> tokenize(const SourceFile& source, DiagnosticSink& sink);

/// The beginning of a physical line that holds a token and does not continue the line above by a backslash.
struct LineStart {
  std::uint32_t token;    // index of the line's first token
  std::uint32_t col;      // indentation, tabs reaching to multiples of eight
  std::uint32_t alt_col;  // indentation, tabs counted as one; lines must compare the same way in both
};

/// The tokens as written, before layout.
struct RawTokens {
  std::vector<Token> tokens;
  std::vector<LineStart> lines;
  Token end;  // the place after the last character
};

/// Cuts source text into raw tokens.
class Lexer {
 public:
  Lexer(const SourceFile& source, DiagnosticSink& sink);
  RawTokens run();

 private:
  void measure_indentation();
  void skip_comment();
  void line_continuation();
  void lex_line_end();
  void lex_token();
  void lex_name();
  void lex_punctuation();
  void lex_foreign_character();

  void lex_number();
  bool digits(int base);
  bool number_fails(std::string_view text, std::string_view cure = {});

  bool string_prefix(std::size_t length, TokenKind& kind, bool& raw) const;
  void lex_string(TokenKind kind, bool raw);
  bool skip_plain_string(char quote, bool triple);
  bool skip_format_string(char quote, bool triple, bool raw);
  void check_text(std::string_view text, const Token& token);

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool done() const { return at_ >= text_.size(); }
  bool at_line_end() const { return text_[at_] == '\n' || text_[at_] == '\r'; }
  void pass_line_end();
  std::uint32_t column(std::size_t offset) const { return std::uint32_t(offset - line_begin_ + 1); }
  SourceLoc here(std::size_t offset) const { return {&source_, line_, column(offset)}; }
  void begin_token();
  void end_token(TokenKind kind);

  const SourceFile& source_;
  DiagnosticSink& sink_;
  std::string_view text_;
  RawTokens out_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_;
  bool at_line_start_ = true;      // the next token begins a physical line
  bool fields_span_lines_ = true;  // off once an f-string's fields were followed over lines in vain
  LineStart indentation_{};
  Token token_;
};

/// Pairs brackets, joins lines, and adds newline, indent and dedent tokens.
std::vector<Token> lay_out(RawTokens raw, const SourceFile& source, DiagnosticSink& sink);

}  // namespace weft::syntax
