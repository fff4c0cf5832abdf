// Tokens of the IR's text form. Any bytes are safe: what is no token becomes one of kind `bad` with a message.
#pragma once
#include <string>
#include <string_view>

#include "support/source.h"

namespace weft::ir {

enum class TokenKind : std::uint8_t {
  end,
  word,      // identifier or keyword
  value,     // %name, without the sign
  function,  // @name or @"any text", decoded
  number,    // digits with sign and type suffix, as written
  string,    // "…", decoded
  punct,     // one character, or ->
  bad,       // text is the message
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // as written, without % or @ or quotes
  std::string decoded;    // function, string: escapes resolved; bad: the message
  SourceLoc loc;
  bool glued = false;  // no blank before it

  bool is(char c) const { return kind == TokenKind::punct && text.size() == 1 && text[0] == c; }
  bool is_word(std::string_view word) const { return kind == TokenKind::word && text == word; }
};

class TextLexer {
 public:
  explicit TextLexer(const SourceFile& file) : file_(&file), text_(file.text()), line_(file.first_line()) {}
  /// The next token; after the end, or something bad, always the same.
  Token next();

 private:
  bool skip_blanks();
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  std::string_view take_word();
  std::string_view take_number();
  void take_string(Token& token);
  void fail(Token& token, std::string message);

  const SourceFile* file_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_;
  bool after_dot_ = false;  // a field number follows: "0.1" is then two steps of a path, not a float
};

}  // namespace weft::ir
