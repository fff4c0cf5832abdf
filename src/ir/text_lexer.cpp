// Tokens of the IR's text form.
#include "ir/text_lexer.h"

namespace weft::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_char(char c) { return is_letter(c) || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool TextLexer::skip_blanks() {
  std::size_t before = at_;
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == '\n') {
      ++at_, ++line_;
      line_start_ = at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else {
      break;
    }
  }
  return at_ != before;
}

std::string_view TextLexer::take_word() {
  std::size_t start = at_;
  while (is_word_char(peek())) ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view TextLexer::take_number() {
  std::size_t start = at_;
  if (after_dot_) {
    while (is_digit(peek())) ++at_;
    return text_.substr(start, at_ - start);
  }
  if (peek() == '-') ++at_;
  bool hex = peek() == '0' && peek(1) == 'x';
  while (true) {
    char c = peek();
    bool exponent_sign =
        !hex && (c == '+' || c == '-') && at_ > start && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    if (!is_word_char(c) && c != '.' && !exponent_sign) break;
    ++at_;
  }
  return text_.substr(start, at_ - start);
}

void TextLexer::fail(Token& token, std::string message) {
  token.kind = TokenKind::bad;
  token.decoded = std::move(message);
  at_ = text_.size();
}

void TextLexer::take_string(Token& token) {
  ++at_;
  while (true) {
    char c = peek();
    if (at_ >= text_.size() || c == '\n') return fail(token, "the string does not end");
    ++at_;
    if (c == '"') return;
    if (c != '\\') {
      token.decoded += c;
      continue;
    }
    char escape = peek();
    ++at_;
    switch (escape) {
      case 'n': token.decoded += '\n'; break;
      case 't': token.decoded += '\t'; break;
      case '"': token.decoded += '"'; break;
      case '\\': token.decoded += '\\'; break;
      case 'x': {
        int high = hex_digit(peek()), low = hex_digit(peek(1));
        if (high < 0 || low < 0) return fail(token, "\\x needs two hexadecimal digits");
        token.decoded += char(high * 16 + low);
        at_ += 2;
        break;
      }
      default: return fail(token, "unknown escape in a string");
    }
  }
}

Token TextLexer::next() {
  Token token;
  token.glued = !skip_blanks();
  token.loc = {file_, line_, std::uint32_t(at_ - line_start_ + 1)};
  bool after_dot = after_dot_ && token.glued;
  after_dot_ = after_dot;
  if (at_ >= text_.size()) return token;
  char c = peek();
  if (is_letter(c)) {
    token.kind = TokenKind::word;
    token.text = take_word();
  } else if (is_digit(c) || (c == '-' && (is_word_char(peek(1)) || peek(1) == '.'))) {
    token.kind = TokenKind::number;
    token.text = take_number();
  } else if (c == '%' || c == '@') {
    ++at_;
    token.kind = c == '%' ? TokenKind::value : TokenKind::function;
    if (c == '@' && peek() == '"') {
      take_string(token);
    } else {
      token.text = take_word();
      if (token.text.empty())
        fail(token, std::string("a name must follow ") + c);
      else if (c == '@')
        token.decoded = token.text;
    }
  } else if (c == '"') {
    token.kind = TokenKind::string;
    take_string(token);
  } else if (std::string_view("(){}[]<>,:=.~-").find(c) != std::string_view::npos) {
    token.kind = TokenKind::punct;
    std::size_t length = c == '-' && peek(1) == '>' ? 2 : 1;
    token.text = text_.substr(at_, length);
    at_ += length;
  } else {
    fail(token, "unexpected character");
  }
  after_dot_ = token.is('.');
  return token;
}

}  // namespace weft::ir
