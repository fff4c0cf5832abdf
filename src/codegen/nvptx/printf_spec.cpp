// Splitting of printf formats.
#include "codegen/nvptx/printf_spec.h"

namespace weft::codegen {

std::vector<PrintfPiece> split_printf(std::string_view format) {
  std::vector<PrintfPiece> pieces;
  std::string literal;
  auto flush = [&] {
    if (!literal.empty()) pieces.push_back({literal, 0});
    literal.clear();
  };
  for (std::size_t k = 0; k < format.size(); ++k) {
    if (format[k] != '%') {
      literal += format[k];
      continue;
    }
    std::size_t at = k + 1;
    std::string flags;
    while (at < format.size() && std::string_view("-+ #0123456789.").find(format[at]) != std::string_view::npos)
      flags += format[at++];
    while (at < format.size() && std::string_view("hlqLjzt").find(format[at]) != std::string_view::npos) ++at;
    if (at >= format.size() || format[at] == '%') {
      literal += '%';
    } else {
      flush();
      pieces.push_back({flags, format[at]});
    }
    k = at;
  }
  flush();
  return pieces;
}

}  // namespace weft::codegen
