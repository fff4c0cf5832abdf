// The lexer's main loop: lines, indentation, comments, names and punctuation. Any byte sequence is accepted; what is no
// token is reported once and becomes an error token, which the parser passes over in silence.
#include "syntax/lexer.h"

#include <limits>

#include "syntax/unicode.h"

namespace weft::syntax {
namespace {

bool is_name_start(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}
bool is_name_part(unsigned char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\f'; }

std::string hex(std::uint32_t value, int digits) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (int i = digits - 1; i >= 0; --i) out += kDigits[value >> (4 * i) & 15];
  return out;
}

struct Punctuation {
  TokenKind kind;
  std::uint32_t length;
};

// The longest operator that begins with these three characters; length 0 if there is none.
Punctuation punctuation(char a, char b, char c) {
  using K = TokenKind;
  auto or_assign = [&](K plain, K assign) { return b == '=' ? Punctuation{assign, 2} : Punctuation{plain, 1}; };
  auto doubled = [&](K plain, K assign, K twice, K twice_assign) {
    if (b != a) return or_assign(plain, assign);
    return c == '=' ? Punctuation{twice_assign, 3} : Punctuation{twice, 2};
  };
  switch (a) {
    case '(': return {K::lparen, 1};
    case ')': return {K::rparen, 1};
    case '[': return {K::lbracket, 1};
    case ']': return {K::rbracket, 1};
    case '{': return {K::lbrace, 1};
    case '}': return {K::rbrace, 1};
    case ',': return {K::comma, 1};
    case ';': return {K::semicolon, 1};
    case '~': return {K::tilde, 1};
    case ':': return or_assign(K::colon, K::walrus);
    case '.': return b == '.' && c == '.' ? Punctuation{K::ellipsis, 3} : Punctuation{K::dot, 1};
    case '+': return or_assign(K::plus, K::plus_assign);
    case '-': return b == '>' ? Punctuation{K::arrow, 2} : or_assign(K::minus, K::minus_assign);
    case '*': return doubled(K::star, K::star_assign, K::double_star, K::double_star_assign);
    case '/': return doubled(K::slash, K::slash_assign, K::double_slash, K::double_slash_assign);
    case '%': return or_assign(K::percent, K::percent_assign);
    case '@': return or_assign(K::at, K::at_assign);
    case '&': return or_assign(K::amp, K::amp_assign);
    case '|': return or_assign(K::pipe, K::pipe_assign);
    case '^': return or_assign(K::caret, K::caret_assign);
    case '=': return or_assign(K::assign, K::eq);
    case '<': return doubled(K::lt, K::le, K::lshift, K::lshift_assign);
    case '>': return doubled(K::gt, K::ge, K::rshift, K::rshift_assign);
    case '!':
      if (b == '=') return {K::ne, 2};
      return {K::error, 0};
    default: return {K::error, 0};
  }
}

std::string_view cure_for_character(char c) {
  switch (c) {
    case '!': return "write 'not' for negation and '!=' for inequality";
    case '?': return "a conditional expression is written 'a if condition else b'";
    case '$': return "names consist of letters, digits and underscores";
    case '`': return "strings are written in ' or \" quotes";
    default: return {};
  }
}

}  // namespace

Lexer::Lexer(const SourceFile& source, DiagnosticSink& sink)
    : source_(source), sink_(sink), text_(source.text()), line_(source.first_line()) {}

RawTokens Lexer::run() {
  out_.tokens.reserve(text_.size() / 4 + 8);
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  measure_indentation();
  while (!done()) {
    char c = text_[at_];
    if (c == '\n' || c == '\r') {
      lex_line_end();
    } else if (is_space(c)) {
      ++at_;
    } else if (c == '#') {
      skip_comment();
    } else if (c == '\\') {
      line_continuation();
    } else {
      lex_token();
    }
  }
  begin_token();
  out_.end = token_;
  out_.end.end_line = token_.line;
  out_.end.end_col = token_.col;
  return std::move(out_);
}

void Lexer::measure_indentation() {
  std::uint32_t col = 0;
  std::uint32_t alt = 0;
  for (;; ++at_) {
    char c = peek();
    if (c == ' ') {
      ++col;
      ++alt;
    } else if (c == '\t') {
      col = (col / 8 + 1) * 8;
      ++alt;
    } else if (c == '\f') {
      col = alt = 0;
    } else {
      break;
    }
  }
  indentation_ = {0, col, alt};
  at_line_start_ = true;
}

void Lexer::skip_comment() {
  while (!done() && !at_line_end()) ++at_;
}

void Lexer::pass_line_end() {
  if (text_[at_] == '\r' && peek(1) == '\n') ++at_;
  ++at_;
  ++line_;
  line_begin_ = at_;
}

void Lexer::lex_line_end() {
  pass_line_end();
  measure_indentation();
}

void Lexer::line_continuation() {
  std::size_t slash = at_++;
  SourceLoc slash_loc = here(slash);
  if (!done() && at_line_end()) {
    pass_line_end();
    if (!done()) return;
  }
  if (done()) {
    sink_.report(DiagCode::bad_token, slash_loc, "a backslash at the end of the text continues nothing",
                 "remove the backslash");
    return;
  }
  std::size_t after = at_;
  while (after < text_.size() && is_space(text_[after])) ++after;
  bool only_spaces = after >= text_.size() || text_[after] == '\n' || text_[after] == '\r';
  sink_.report(DiagCode::bad_token, slash_loc, "unexpected character after the backslash that continues a line",
               only_spaces ? "remove the spaces after the backslash" : "the backslash must be the last on its line");
  if (only_spaces) {
    at_ = after;
    if (!done()) pass_line_end();
    return;
  }
  at_ = slash;
  begin_token();
  ++at_;
  end_token(TokenKind::error);
}

void Lexer::begin_token() {
  token_ = Token{};
  token_.offset = std::uint32_t(at_);
  token_.line = line_;
  token_.col = column(at_);
}

void Lexer::end_token(TokenKind kind) {
  token_.kind = kind;
  token_.length = std::uint32_t(at_ - token_.offset);
  token_.end_line = line_;
  token_.end_col = column(at_);
  if (at_line_start_) {
    indentation_.token = std::uint32_t(out_.tokens.size());
    out_.lines.push_back(indentation_);
    at_line_start_ = false;
  }
  out_.tokens.push_back(token_);
}

void Lexer::lex_token() {
  begin_token();
  unsigned char c = static_cast<unsigned char>(text_[at_]);
  if (is_name_start(c)) {
    lex_name();
  } else if (is_digit(char(c)) || (c == '.' && is_digit(peek(1)))) {
    lex_number();
  } else if (c == '"' || c == '\'') {
    lex_string(TokenKind::string, false);
  } else {
    lex_punctuation();
  }
}

void Lexer::lex_name() {
  bool foreign = false;
  while (!done()) {
    unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (!is_name_part(c)) break;
    if (c >= 0x80) {
      DecodedChar decoded = decode_utf8(text_, at_);
      if (!decoded.valid || !may_be_in_name(decoded.code)) {
        foreign = true;
        break;
      }
      at_ += decoded.length;
    } else {
      ++at_;
    }
  }
  std::size_t length = at_ - token_.offset;
  if (length == 0) return lex_foreign_character();
  if (!foreign && (peek() == '"' || peek() == '\'')) {
    TokenKind kind;
    bool raw;
    if (string_prefix(length, kind, raw)) return lex_string(kind, raw);
  }
  end_token(keyword_or_name(text_.substr(token_.offset, length)));
}

void Lexer::lex_foreign_character() {
  DecodedChar decoded = decode_utf8(text_, at_);
  std::size_t start = at_;
  at_ += decoded.length;
  if (!decoded.valid) {
    while (!done() && static_cast<unsigned char>(text_[at_]) >= 0x80 && !decode_utf8(text_, at_).valid) ++at_;
    sink_.report(DiagCode::bad_token, here(start), "byte 0x" + hex(decoded.code, 2) + " is not valid UTF-8",
                 "save the file in UTF-8", std::uint32_t(at_ - start));
    return end_token(TokenKind::error);
  }
  std::string text = "invalid character U+" + hex(decoded.code, decoded.code > 0xFFFF ? 6 : 4);
  std::string_view twin = ascii_twin(decoded.code);
  Diagnostic& d = sink_.report(DiagCode::bad_token, here(start), text, decoded.length);
  if (!twin.empty()) {
    d.notes.push_back({{}, twin == " " ? "replace it by a space" : "write " + std::string(twin) + " instead"});
  }
  if (twin == " ") return;  // a space that is not ASCII's: reported, and otherwise taken for one
  end_token(TokenKind::error);
}

void Lexer::lex_punctuation() {
  char c = text_[at_];
  Punctuation found = punctuation(c, peek(1), peek(2));
  if (found.length != 0) {
    at_ += found.length;
    return end_token(found.kind);
  }
  std::size_t start = at_++;
  unsigned char byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7F) {  // a binary file must not give one message per byte
    while (!done() && text_[at_] == c) ++at_;
    sink_.report(DiagCode::bad_token, here(start), "invalid control character 0x" + hex(byte, 2),
                 std::uint32_t(at_ - start));
  } else {
    Diagnostic& d = sink_.report(DiagCode::bad_token, here(start), std::string("invalid character '") + c + "'");
    if (std::string_view cure = cure_for_character(c); !cure.empty()) d.notes.push_back({{}, std::string(cure)});
  }
  end_token(TokenKind::error);
}

std::vector<Token> tokenize(const SourceFile& source, DiagnosticSink& sink) {
  if (source.text().size() > std::size_t(std::numeric_limits<std::int32_t>::max())) {
    sink.report(DiagCode::syntax_error, {&source, source.first_line(), 1}, "the text is longer than 2 GiB",
                "split it into several files");
    Token end;
    end.line = end.end_line = source.first_line();
    end.col = end.end_col = 1;
    return {end};
  }
  return lay_out(Lexer(source, sink).run(), source, sink);
}

}  // namespace weft::syntax
