// Numbers: decimal, hexadecimal, octal and binary integers, floats and imaginary literals, with underscores between
// digits. Only the form is checked here; literal.cpp computes values.
#include "syntax/lexer.h"

namespace weft::syntax {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

bool is_word(char c) {
  unsigned char u = static_cast<unsigned char>(c);
  return (u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || (u >= '0' && u <= '9') || u == '_' || u >= 0x80;
}

}  // namespace

// Takes digits with single underscores between them; false if there is no digit, or an underscore stands badly.
bool Lexer::digits(int base) {
  bool any = false;
  for (;;) {
    if (digit_value(peek()) < base) {
      any = true;
      ++at_;
    } else if (peek() == '_' && any && digit_value(peek(1)) < base) {
      ++at_;
    } else {
      return any && peek() != '_';
    }
  }
}

// Reports a malformed number, and takes the rest of the word so that it gives no second error.
bool Lexer::number_fails(std::string_view text, std::string_view cure) {
  while (!done() && is_word(text_[at_])) ++at_;
  SourceLoc loc = here(token_.offset);
  Diagnostic& d = sink_.report(DiagCode::bad_literal, loc, std::string(text), std::uint32_t(at_ - token_.offset));
  if (!cure.empty()) d.notes.push_back({{}, std::string(cure)});
  end_token(TokenKind::error);
  return false;
}

void Lexer::lex_number() {
  TokenKind kind = TokenKind::integer;
  char second = char(peek(1) | 0x20);
  int base = peek() != '0' ? 10 : second == 'x' ? 16 : second == 'o' ? 8 : second == 'b' ? 2 : 10;
  if (base != 10) {
    at_ += 2;
    if (peek() == '_') ++at_;  // 0x_ff is allowed
    if (!digits(base)) {
      number_fails(base == 16  ? "malformed hexadecimal number"
                   : base == 8 ? "malformed octal number"
                               : "malformed binary number");
      return;
    }
  } else {
    if (peek() != '.' && !digits(10)) {
      number_fails("malformed number", "an underscore must stand between two digits");
      return;
    }
    std::string_view whole = text_.substr(token_.offset, at_ - token_.offset);
    bool leading_zero = whole.size() > 1 && whole[0] == '0' && whole.find_first_not_of("0_") != whole.npos;
    if (peek() == '.') {
      ++at_;
      kind = TokenKind::floating;
      if (peek() == '_' || (digit_value(peek()) < 10 && !digits(10))) {
        number_fails("malformed number", "an underscore must stand between two digits");
        return;
      }
    }
    if ((peek() | 0x20) == 'e') {
      std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 2 : 1;
      if (digit_value(peek(sign)) < 10) {
        at_ += sign;
        kind = TokenKind::floating;
        if (!digits(10)) {
          number_fails("malformed exponent", "an underscore must stand between two digits");
          return;
        }
      }
    }
    if ((peek() | 0x20) == 'j') {
      ++at_;
      kind = TokenKind::imaginary;
    }
    if (kind == TokenKind::integer && leading_zero) {
      number_fails("a decimal number may not begin with 0", "drop the zeros, or write 0o for an octal number");
      return;
    }
  }
  if (!done() && is_word(text_[at_])) {
    // Python takes `1if x else 2`: a keyword may follow directly.
    std::size_t stop = at_;
    while (stop < text_.size() && is_word(text_[stop])) ++stop;
    TokenKind word = keyword_or_name(text_.substr(at_, stop - at_));
    bool operator_word = word == TokenKind::kw_and || word == TokenKind::kw_else || word == TokenKind::kw_for ||
                         word == TokenKind::kw_if || word == TokenKind::kw_in || word == TokenKind::kw_is ||
                         word == TokenKind::kw_not || word == TokenKind::kw_or;
    if (!operator_word) {
      bool suffix = stop - at_ <= 2;
      number_fails("malformed number", suffix ? "numbers have no type suffix: convert, as in float(…) or wp.int64(…)"
                                              : "a name may not begin with a digit");
      return;
    }
  }
  end_token(kind);
}

}  // namespace weft::syntax
