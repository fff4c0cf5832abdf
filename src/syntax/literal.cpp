// Literal values. Floats go through std::from_chars, which rounds correctly and knows no locale.
#include "syntax/literal.h"

#include <charconv>
#include <limits>

#include "syntax/unicode.h"

namespace weft::syntax {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string without_underscores(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c != '_') out += c;
  }
  return out;
}

// from_chars gives no value when it is out of range; the decimal exponent of the first digit tells on which side.
double out_of_range_value(std::string_view text) {
  constexpr std::int64_t kFar = 1'000'000'000'000;
  std::size_t e = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, e);
  std::size_t first = mantissa.find_first_of("123456789");
  if (first == mantissa.npos) return 0.0;
  std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::int64_t exponent = 0;
  if (e != text.npos) {
    bool negative = text[e + 1] == '-';
    for (char c : text.substr(e + 1)) {
      if (c >= '0' && c <= '9') exponent = std::min(exponent * 10 + (c - '0'), kFar);
    }
    if (negative) exponent = -exponent;
  }
  return exponent + std::int64_t(point) - std::int64_t(first) > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

// Reads up to `most` hexadecimal digits; false unless all are there.
bool hex_code(std::string_view text, std::size_t& at, int most, std::uint32_t& code) {
  code = 0;
  for (int i = 0; i < most; ++i, ++at) {
    int digit = at < text.size() ? hex_digit(text[at]) : -1;
    if (digit < 0) return false;
    code = code << 4 | std::uint32_t(digit);
  }
  return code <= 0x10FFFF;
}

// A physical line end at `at`, of any of the three kinds, is passed.
void pass_line_end(std::string_view text, std::size_t& at) {
  at += text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
}

// One escape: `at` stands after the backslash. False if it is malformed.
bool decode_escape(std::string_view body, std::size_t& at, std::string& out) {
  char c = body[at];
  std::uint32_t code = 0;
  switch (c) {
    case '\n':
    case '\r': pass_line_end(body, at); return true;
    case '\\':
    case '\'':
    case '"': out += c; break;
    case 'a': out += '\a'; break;
    case 'b': out += '\b'; break;
    case 'f': out += '\f'; break;
    case 'n': out += '\n'; break;
    case 'r': out += '\r'; break;
    case 't': out += '\t'; break;
    case 'v': out += '\v'; break;
    case 'x':
    case 'u':
    case 'U':
      if (!hex_code(body, ++at, c == 'x' ? 2 : c == 'u' ? 4 : 8, code)) return false;
      append_utf8(out, code);
      return true;
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
      for (int i = 0; i < 3 && at < body.size() && body[at] >= '0' && body[at] <= '7'; ++i, ++at) {
        code = code * 8 + std::uint32_t(body[at] - '0');
      }
      append_utf8(out, code);
      return true;
    default: out += '\\'; return true;  // unknown: the backslash stands for itself
  }
  ++at;
  return true;
}

// Invalid bytes (reported by the lexer) become U+FFFD, so that the tree's strings are always UTF-8.
void copy_character(std::string_view body, std::size_t& at, std::string& out) {
  DecodedChar decoded = decode_utf8(body, at);
  if (decoded.valid) {
    out.append(body.substr(at, decoded.length));
  } else {
    append_utf8(out, 0xFFFD);
  }
  at += decoded.length;
}

}  // namespace

IntValue int_value(std::string_view literal) {
  unsigned base = 10;
  if (literal.size() > 2 && literal[0] == '0') {
    switch (literal[1] | 0x20) {
      case 'x': base = 16; break;
      case 'o': base = 8; break;
      case 'b': base = 2; break;
      default: break;
    }
  }
  IntValue result;
  for (char c : literal.substr(base == 10 ? 0 : 2)) {
    if (c == '_') continue;
    unsigned digit = unsigned(hex_digit(c));
    std::uint64_t next;
    if (__builtin_mul_overflow(result.value, std::uint64_t(base), &next) ||
        __builtin_add_overflow(next, std::uint64_t(digit), &next)) {
      return {0, true};
    }
    result.value = next;
  }
  return result;
}

double float_value(std::string_view literal) {
  std::string copy;
  if (literal.find('_') != literal.npos) {
    copy = without_underscores(literal);
    literal = copy;
  }
  double value = 0.0;
  auto [end, error] = std::from_chars(literal.data(), literal.data() + literal.size(), value);
  return error == std::errc::result_out_of_range ? out_of_range_value(literal) : value;
}

StringResult decode_string(std::string_view literal, std::string& out) {
  std::size_t begin = literal.find_first_of("'\"");
  bool raw = literal.substr(0, begin).find_first_of("rR") != literal.npos;
  char quote = literal[begin];
  bool triple = literal.size() >= begin + 3 && literal[begin + 1] == quote && literal[begin + 2] == quote;
  std::size_t width = triple ? 3 : 1;
  std::string_view body = literal.substr(begin + width);
  if (body.ends_with(triple ? std::string(3, quote) : std::string(1, quote))) body.remove_suffix(width);

  StringResult result;
  for (std::size_t at = 0; at < body.size();) {
    char c = body[at];
    if (c == '\r' || c == '\n') {
      pass_line_end(body, at);
      out += '\n';
    } else if (c != '\\') {
      copy_character(body, at, out);
    } else if (raw) {  // a quote or line end after it belongs to the string, and so does the backslash
      out += c;
      ++at;
    } else {
      std::size_t escape = at++;
      if (at >= body.size()) {
        out += c;
      } else if (body.substr(at).starts_with("N{")) {
        if (result.status == StringResult::ok) result = {StringResult::named_escape, begin + width + escape};
        at += 2;
      } else if (!decode_escape(body, at, out)) {
        return {StringResult::bad_escape, begin + width + escape};
      }
    }
  }
  return result;
}

}  // namespace weft::syntax
