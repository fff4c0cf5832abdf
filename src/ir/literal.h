// Constants and quoted strings as text, both ways: the printer and the parser of the IR share this, so that what is
// written is what is read.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "types/type.h"

namespace weft::ir {

/// "true", "-3i64", "0.5f32", "nanf64", "0x7fc00001f32"…: a scalar constant; floats as the shortest decimals that read
/// back to the same bits.
std::string literal_text(ScalarKind kind, std::uint64_t bits);

/// A scalar constant read back.
struct Literal {
  const Type* type = nullptr;
  std::uint64_t bits = 0;
};
/// Reads what literal_text writes (any decimal is accepted); the error is a sentence.
std::optional<Literal> read_literal(std::string_view text, std::string& error);

/// The text in double quotes; control characters, quotes and backslashes are escaped, other bytes stay.
std::string quoted(std::string_view text);
/// True for letters, digits and underscores that do not start with a digit.
bool is_identifier(std::string_view text);

}  // namespace weft::ir
