// Strings: prefixes, quotes, and where a string ends. An f-string's replacement fields hold arbitrary expressions with
// strings of their own (also in the same quotes), so they are followed with a stack of contexts, without recursion.
#include "syntax/lexer.h"
#include "syntax/unicode.h"

namespace weft::syntax {

// True if the `length` letters before the quote are a string prefix.
bool Lexer::string_prefix(std::size_t length, TokenKind& kind, bool& raw) const {
  if (length > 2) return false;
  kind = TokenKind::string;
  raw = false;
  bool unicode = false;
  for (std::size_t i = at_ - length; i < at_; ++i) {
    switch (text_[i] | 0x20) {
      case 'r':
        if (raw) return false;
        raw = true;
        break;
      case 'b':
      case 'f':
        if (kind != TokenKind::string) return false;
        kind = (text_[i] | 0x20) == 'b' ? TokenKind::bytes : TokenKind::format_string;
        break;
      case 'u': unicode = true; break;
      default: return false;
    }
  }
  return !unicode || length == 1;
}

void Lexer::lex_string(TokenKind kind, bool raw) {
  char quote = text_[at_];
  bool triple = peek(1) == quote && peek(2) == quote;
  std::size_t body = at_ += triple ? 3 : 1;
  bool has_fields = kind == TokenKind::format_string && (fields_span_lines_ || !triple);
  bool closed = has_fields ? skip_format_string(quote, triple, raw) : skip_plain_string(quote, triple);
  if (!closed) {
    std::string text = has_fields ? "this f-string, or a replacement field in it, is not closed"
                       : triple   ? "this string is never closed"
                                  : "this string is not closed on its line";
    std::string cure =
        triple ? "close it with three quotes" : "add the closing quote; a string over several lines needs three quotes";
    sink_.report(DiagCode::bad_token, {&source_, token_.line, token_.col}, std::move(text), std::move(cure));
  }
  check_text(text_.substr(body, at_ - body), token_);
  end_token(kind);
}

// Passes the body and closing quotes of a string without fields; stops at the line's or text's end if there are none.
bool Lexer::skip_plain_string(char quote, bool triple) {
  while (!done()) {
    char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size()) {
      ++at_;
      if (at_line_end()) {
        pass_line_end();
      } else {
        ++at_;
      }
    } else if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) {
      at_ += triple ? 3 : 1;
      return true;
    } else if (c == '\n' || c == '\r') {
      if (!triple) return false;
      pass_line_end();
    } else {
      ++at_;
    }
  }
  return false;
}

bool Lexer::skip_format_string(char quote, bool triple, bool raw) {
  struct Context {
    enum { literal, field, spec } kind;
    char quote;
    bool triple, raw;
    std::uint32_t brackets = 0;
  };
  std::vector<Context> stack{{Context::literal, quote, triple, raw}};
  std::size_t start_at = at_, start_line_begin = line_begin_;
  std::uint32_t start_line = line_;

  // A string whose fields can't be followed ends where it would without them. Having looked far ahead in vain once, the
  // lexer does not do so again: that keeps it linear.
  auto give_up = [&] {
    if (done() || line_ != start_line) fields_span_lines_ = false;
    at_ = start_at;
    line_begin_ = start_line_begin;
    line_ = start_line;
    if (triple) {
      skip_plain_string(quote, triple);
    } else {
      while (!done() && !at_line_end()) ++at_;
    }
    return false;
  };

  while (!done()) {
    Context& top = stack.back();
    char c = text_[at_];
    if (c == '\n' || c == '\r') {
      bool allowed = top.kind == Context::field ? fields_span_lines_ || triple : top.triple;
      if (!allowed) return give_up();
      pass_line_end();
      continue;
    }
    if (top.kind != Context::field) {
      bool closes = c == top.quote && (!top.triple || (peek(1) == c && peek(2) == c));
      if (closes) {
        if (top.kind == Context::spec) return give_up();  // a field without its brace
        at_ += top.triple ? 3 : 1;
        stack.pop_back();
        if (stack.empty()) return true;
      } else if (c == '\\') {
        ++at_;
        if (!top.raw && peek() == 'N' && peek(1) == '{') {
          at_ += 2;
        } else if (!done() && text_[at_] != '{' && text_[at_] != '}' && !at_line_end()) {
          ++at_;
        } else if (!done() && at_line_end()) {
          pass_line_end();
        }
      } else if (c == '{') {
        bool doubled = top.kind == Context::literal && peek(1) == '{';
        at_ += doubled ? 2 : 1;
        if (!doubled) stack.push_back({Context::field, top.quote, top.triple, top.raw});
      } else {
        ++at_;
        if (c == '}' && top.kind == Context::spec) stack.pop_back();
      }
      continue;
    }
    switch (c) {
      case '(':
      case '[':
      case '{':
        ++top.brackets;
        ++at_;
        break;
      case ')':
      case ']':
      case '}':
        ++at_;
        if (top.brackets > 0) {
          --top.brackets;
        } else if (c == '}') {
          stack.pop_back();
        } else {
          return give_up();
        }
        break;
      case ':':
        ++at_;
        if (top.brackets == 0) top.kind = Context::spec;
        break;
      case '#': skip_comment(); break;
      case '"':
      case '\'': {
        std::size_t letters = 0;
        while (letters < 3 && at_ > start_at + letters &&
               ((text_[at_ - letters - 1] | 0x20) >= 'a' && (text_[at_ - letters - 1] | 0x20) <= 'z')) {
          ++letters;
        }
        TokenKind kind = TokenKind::string;
        bool inner_raw = false;
        if (letters != 0 && !string_prefix(letters, kind, inner_raw)) kind = TokenKind::string;
        bool inner_triple = peek(1) == c && peek(2) == c;
        at_ += inner_triple ? 3 : 1;
        if (kind == TokenKind::format_string) {
          stack.push_back({Context::literal, c, inner_triple, inner_raw});
        } else if (!skip_plain_string(c, inner_triple)) {
          return give_up();
        }
        break;
      }
      default: ++at_; break;
    }
  }
  return give_up();
}

// A string may hold any character, but the text must be UTF-8 and free of NUL, as in Python.
void Lexer::check_text(std::string_view text, const Token& token) {
  for (std::size_t i = 0; i < text.size();) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c != 0 && c < 0x80) {
      ++i;
      continue;
    }
    DecodedChar decoded = decode_utf8(text, i);
    if (c == 0 || !decoded.valid) {
      sink_.report(DiagCode::bad_literal, {&source_, token.line, token.col},
                   c == 0 ? "this string holds a NUL byte" : "this string is not valid UTF-8",
                   c == 0 ? "write \\0" : "save the file in UTF-8");
      return;
    }
    i += decoded.length;
  }
}

}  // namespace weft::syntax
