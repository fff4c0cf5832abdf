// The format of wp.printf, held against its values while the program is compiled.
#include "sema/lowering.h"

namespace weft::sema {

bool FunctionLowering::check_printf(std::string_view format, std::span<ir::Value* const> operands,
                                    std::span<const Argument> args, const syntax::Node& at_node) {
  constexpr std::string_view integers = "diuoxXcp", floats = "fFeEgGaA";
  constexpr int kWidest = 1024;
  const syntax::Node& format_node = *args[0].expr;
  auto bad = [&](const syntax::Node& node, std::string text, std::string cure) {
    fail(DiagCode::bad_call, node, "printf(): " + std::move(text), std::move(cure));
    return false;
  };
  std::size_t used = 0;
  for (std::size_t at_char = 0; at_char < format.size();) {
    if (format[at_char] != '%') {
      ++at_char;
      continue;
    }
    std::size_t begin = at_char++;
    auto peek = [&] { return at_char < format.size() ? format[at_char] : '\0'; };
    auto skip = [&](std::string_view set) {
      while (at_char < format.size() && set.find(format[at_char]) != std::string_view::npos) ++at_char;
    };
    auto skip_number = [&] {  // false: too large
      int value = 0;
      for (; peek() >= '0' && peek() <= '9' && value <= kWidest; ++at_char) value = value * 10 + (peek() - '0');
      return value <= kWidest;
    };
    if (peek() == '%') {
      ++at_char;
      continue;
    }
    skip("-+ #0");
    bool fits = skip_number();
    if (peek() == '.') {
      ++at_char;
      fits = fits && skip_number();
    }
    if (!fits) return bad(format_node, "a width or precision is too large", "at most " + std::to_string(kWidest));
    skip("hljztLq");
    if (at_char >= format.size())
      return bad(format_node, "the format ends within a conversion", "write '%%' for a percent sign");
    char letter = format[at_char++];
    std::string shown = "'" + std::string(format.substr(begin, at_char - begin)) + "'";
    if (letter == 's')
      return bad(format_node, shown + " shows text that is written in the call, kernels have no other",
                 "use %d for integers and %f for floats");
    bool wants_float = floats.find(letter) != std::string_view::npos;
    if (letter == '\0' || (!wants_float && integers.find(letter) == std::string_view::npos))
      return bad(format_node, shown + " is not a conversion", "use one of d i u o x X c f F e E g G a A p");
    if (used >= operands.size())
      return bad(at_node, "the format asks for more values than the " + std::to_string(operands.size()) + " given",
                 "give a value for each conversion");
    const Type* type = operands[used]->type;
    const syntax::Node& value_node = *args[1 + used].expr;
    if (wants_float != type->is_float())
      return bad(value_node, shown + " can't show " + type->user_name(),
                 wants_float ? "use %d, or convert the value: float(…)" : "use %f, or convert the value: int(…)");
    if (letter == 'p' && type->size() != 8)
      return bad(value_node, "'%p' needs a 64-bit integer", "convert the value: wp.uint64(…)");
    ++used;
  }
  if (used < operands.size())
    return bad(
        *args[1 + used].expr,
        "the format shows only " + std::to_string(used) + " of the " + std::to_string(operands.size()) + " values",
        "add a conversion, or drop the value");
  return true;
}

}  // namespace weft::sema
