// Compiling print and printf operations into format strings.
#include "runtime/print_format.h"

#include <cctype>
#include <stdexcept>

#include "types/library_struct.h"

namespace weft::runtime {
namespace {

constexpr int kMaxItems = 4096;  // a struct of more leaves prints its first ones
constexpr int kMaxWidth = 1024;  // of a printf field, and of its precision

std::string number(std::uint64_t value) { return std::to_string(value); }

void append_literal(std::string& out, std::string_view text) {
  for (char c : text) {
    if (c == '%')
      out += "%%";
    else if (c == '\0')
      out += "%z";
    else
      out += c;
  }
}

char kind_letter(ScalarKind kind) { return char('A' + int(kind)); }

void append_item(std::string& out, std::uint32_t offset, ScalarKind kind, std::uint32_t rows, std::uint32_t cols,
                 char style) {
  out += "%" + number(offset) + ":" + kind_letter(kind) + number(rows) + "x" + number(cols) + style;
}

/// Writes the items for one value. `nested` values stand inside a struct and stay on one line.
void append_value(std::string& out, const Type* type, std::uint32_t offset, bool nested, int& items) {
  if (++items > kMaxItems) {
    if (items == kMaxItems + 1) out += "...";
    return;
  }
  const ScalarKind kind = type->scalar_kind();
  switch (type->kind()) {
    case TypeKind::scalar: return append_item(out, offset, kind, 1, 1, 'p');
    case TypeKind::vec:
    case TypeKind::quat: return append_item(out, offset, kind, 1, type->component_count(), nested ? 'p' : 'v');
    case TypeKind::mat: return append_item(out, offset, kind, type->rows(), type->cols(), nested ? 'p' : 'm');
    case TypeKind::transform:
      out += "(";
      append_item(out, offset, kind, 1, 3, 'p');
      out += ") (";
      append_item(out, offset + 3 * type->element()->size(), kind, 1, 4, 'p');
      out += ")";
      return;
    case TypeKind::structure: {
      append_literal(out, is_library_struct(type) ? type->user_name() : type->name());
      out += "(";
      bool first = true;
      for (const Field& field : type->fields()) {
        if (items > kMaxItems) break;
        if (is_private(type, field)) continue;
        append_literal(out, (first ? "" : ", ") + std::string(field.name) + "=");
        append_value(out, field.type, offset + field.offset, true, items);
        first = false;
      }
      out += ")";
      return;
    }
    case TypeKind::array: {
      std::string name = type->user_name();
      name.pop_back();  // the closing parenthesis: the shape goes inside
      append_literal(out, name + ", shape=");
      out += "%" + number(offset) + ":a)";
      return;
    }
    case TypeKind::tuple:
    case TypeKind::function:
    case TypeKind::string: break;
  }
  throw std::invalid_argument("print can't show a value of type " + type->user_name());
}

/// One conversion of a printf format, read at the '%'.
struct Conversion {
  std::string spec;  // flags, width, precision and the letter, without '%' and length modifiers
  char letter = 0;
};

Conversion read_conversion(std::string_view format, std::size_t& at) {
  const std::size_t begin = at++;
  const auto peek = [&] { return at < format.size() ? format[at] : '\0'; };
  const auto shown = [&] { return "'" + std::string(format.substr(begin, at - begin + 1)) + "'"; };
  Conversion c;
  while (at < format.size() && std::string_view("-+ #0").find(peek()) != std::string_view::npos) c.spec += format[at++];
  const auto read_number = [&](const char* what) {
    if (peek() == '*')
      throw std::invalid_argument(std::string("printf: a ") + what + " of '*' is not supported: write the number");
    std::string digits;
    while (std::isdigit(static_cast<unsigned char>(peek()))) digits += format[at++];
    if (digits.size() > 4 || (!digits.empty() && std::stoi(digits) > kMaxWidth))
      throw std::invalid_argument(std::string("printf: a ") + what + " of " + digits + " is too large: at most " +
                                  std::to_string(kMaxWidth));
    c.spec += digits;
  };
  read_number("width");
  if (peek() == '.') {
    c.spec += format[at++];
    read_number("precision");
  }
  while (at < format.size() && std::string_view("hljztLq").find(peek()) != std::string_view::npos) ++at;
  if (at >= format.size())
    throw std::invalid_argument("printf: the format ends within the conversion " + shown() +
                                ": write '%%' for a percent sign");
  c.letter = format[at];
  if (c.letter == 's')
    throw std::invalid_argument(
        "printf: '%s' is not supported, kernels have no strings: write the text into the format");
  if (c.letter == '\0' || std::string_view("diuoxXcfFeEgGaAp").find(c.letter) == std::string_view::npos)
    throw std::invalid_argument("printf: " + shown() +
                                " is not a conversion: use one of d i u o x X c f F e E g G a A p");
  ++at;
  c.spec += c.letter;
  return c;
}

void check_operand(const Conversion& conversion, const Type* type, std::size_t position) {
  const std::string which = "printf: value " + std::to_string(position + 1) + " is of type " + type->user_name();
  if (!type->is_scalar()) throw std::invalid_argument(which + ", printf takes scalars: pass its components one by one");
  const std::string wrong = which + ", which '%" + conversion.spec + "' can't show: ";
  const bool wants_float = std::string_view("fFeEgGaA").find(conversion.letter) != std::string_view::npos;
  if (wants_float && !type->is_float()) throw std::invalid_argument(wrong + "use '%d' or convert it with float()");
  if (!wants_float && type->is_float()) throw std::invalid_argument(wrong + "use '%f' or convert it with int()");
  if (conversion.letter == 'p' && scalar_bits(type->scalar_kind()) != 64)
    throw std::invalid_argument(wrong + "'%p' needs a 64-bit integer");
}

}  // namespace

std::vector<std::uint32_t> operand_offsets(std::span<const Type* const> operands) {
  std::vector<std::uint32_t> offsets;
  std::uint32_t at = 0;
  for (const Type* type : operands) {
    offsets.push_back(at);
    at += (type->size() + 7) / 8 * 8;
  }
  offsets.push_back(at);
  return offsets;
}

std::string compile_print_format(std::string_view text, std::span<const Type* const> operands) {
  std::string out;
  append_literal(out, text);
  const std::vector<std::uint32_t> offsets = operand_offsets(operands);
  int items = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    append_value(out, operands[i], offsets[i], false, items);
    // Vectors and matrices end in a separator of their own.
    const bool separated = operands[i]->is_vec() || operands[i]->is_quat() || operands[i]->is_mat();
    if (i + 1 < operands.size() && !separated) out += ' ';
  }
  if (operands.empty() || !operands.back()->is_mat()) out += '\n';
  return out;
}

std::string compile_printf_format(std::string_view format, std::span<const Type* const> operands) {
  std::string out;
  const std::vector<std::uint32_t> offsets = operand_offsets(operands);
  std::size_t used = 0;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      append_literal(out, format.substr(at++, 1));
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == '%') {
      out += "%%";
      at += 2;
      continue;
    }
    const Conversion conversion = read_conversion(format, at);
    if (used >= operands.size())
      throw std::invalid_argument("printf: the format asks for more than the " + std::to_string(operands.size()) +
                                  (operands.size() == 1 ? " value" : " values") + " given: '%" + conversion.spec +
                                  "' has none");
    check_operand(conversion, operands[used], used);
    out += "%" + number(offsets[used]) + ":" + kind_letter(operands[used]->scalar_kind()) + "=" + conversion.spec + ";";
    ++used;
  }
  if (used < operands.size())
    throw std::invalid_argument("printf: " + std::to_string(operands.size()) + " values are given, the format shows " +
                                std::to_string(used) + " of them");
  return out;
}

}  // namespace weft::runtime
