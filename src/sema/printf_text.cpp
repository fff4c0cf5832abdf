// Reads conversions as C does: flags, width, precision, length, letter.
#include "sema/printf_text.h"

#include <algorithm>

namespace weft::sema {
namespace {

bool is_text(const Argument& argument) {
  return argument.keyword.empty() && argument.entity.kind == Entity::Kind::string;
}

/// A text as '%-8.3s' shows it, for use in a format.
std::string shown(std::string_view text, std::string_view conversion) {
  std::size_t at = 1;
  const bool left = conversion.find('-') != std::string_view::npos;
  auto number = [&] {
    std::size_t value = 0;
    for (; at < conversion.size() && conversion[at] >= '0' && conversion[at] <= '9'; ++at)
      value = std::min<std::size_t>(value * 10 + std::size_t(conversion[at] - '0'), 1024);
    return value;
  };
  at = std::min(conversion.find_first_not_of("-+ #0", at), conversion.size());
  const std::size_t width = number();
  if (at < conversion.size() && conversion[at] == '.') {
    ++at;
    text = text.substr(0, number());
  }
  std::string out;
  for (char c : text) out += c == '%' ? "%%" : std::string(1, c);
  const std::string gap(width > text.size() ? width - text.size() : 0, ' ');
  return left ? out + gap : gap + out;
}

}  // namespace

std::string with_text(std::vector<Argument>& args) {
  const std::string_view format = args[0].entity.symbol->constant.text;
  if (std::none_of(args.begin() + 1, args.end(), is_text)) return std::string(format);
  std::string out;
  std::size_t next = 1;  // the argument that the next conversion shows
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    std::size_t end = std::min(format.find_first_not_of("-+ #0123456789.hljztLq", at + 1), format.size());
    end += end < format.size();
    const std::string_view conversion = format.substr(at, end - at);
    at = end;
    if (conversion.back() == 's' && next < args.size() && is_text(args[next])) {
      out += shown(args[next].entity.symbol->constant.text, conversion);
      args.erase(args.begin() + std::ptrdiff_t(next));
      continue;
    }
    next += conversion != "%%";
    out += conversion;
  }
  return out;
}

}  // namespace weft::sema
