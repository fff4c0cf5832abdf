// Splits a printf format into literal text and conversions.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace weft::codegen {

struct PrintfPiece {
  std::string text;     // literal text, or flags, width and precision of a conversion
  char conversion = 0;  // 0: literal
};

/// Length modifiers are dropped; "%%" becomes literal text. A stray '%' at the end is literal.
std::vector<PrintfPiece> split_printf(std::string_view format);

}  // namespace weft::codegen
