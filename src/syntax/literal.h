// Values of literals from their text. The lexer has checked the form, so only string escapes can still be wrong.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::syntax {

struct IntValue {
  std::uint64_t value = 0;
  bool too_large = false;  // over 2^64−1; the value is then 0
};

/// The value of an integer literal of any base.
IntValue int_value(std::string_view literal);
/// The nearest double; infinity for literals beyond the range.
double float_value(std::string_view literal);

/// What came of decoding one string literal.
struct StringResult {
  enum { ok, bad_escape, named_escape } status = ok;
  std::size_t offset = 0;  // of the escape, in the literal's text
};

/// Appends the contents of a string literal (with prefix and quotes; the closing ones may be missing) to `out`. Line
/// ends become "\n", unknown escapes are kept as they are, both as in Python. \N{…} is not known.
StringResult decode_string(std::string_view literal, std::string& out);

}  // namespace weft::syntax
