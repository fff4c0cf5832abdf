// The little of Unicode that a lexer needs: UTF-8 decoding and encoding, and which characters can't be part of a name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::syntax {

struct DecodedChar {
  std::uint32_t code = 0;
  std::uint32_t length = 0;  // bytes taken, at least 1
  bool valid = false;
};

/// The character at `at`, which lies inside `text`. Overlong forms, surrogates and cut sequences are invalid, length 1.
DecodedChar decode_utf8(std::string_view text, std::size_t at);
/// Appends a code point. Lone surrogates (from "\ud800") are written in the same manner, as three bytes.
void append_utf8(std::string& out, std::uint32_t code);
/// False for spaces, quotation marks, dashes, arrows, mathematical signs and the like above ASCII: what word processors
/// and web pages put where code needs an ASCII character. Everything else may stand in a name.
bool may_be_in_name(std::uint32_t code);
/// The ASCII text that was probably meant by a character that can't be in a name; empty if there is none.
std::string_view ascii_twin(std::uint32_t code);

}  // namespace weft::syntax
