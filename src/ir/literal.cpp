// Constants and quoted strings as text.
#include "ir/literal.h"

#include <charconv>
#include <cmath>

#include "ir/ir.h"

namespace weft::ir {
namespace {

std::uint64_t canonical_nan(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::f16: return 0x7e00;
    case ScalarKind::bf16: return 0x7fc0;
    case ScalarKind::f32: return 0x7fc00000;
    default: return 0x7ff8000000000000;
  }
}

std::uint64_t sign_of(ScalarKind kind) { return std::uint64_t(1) << (scalar_bits(kind) - 1); }

/// Digits of a finite, non-negative float.
std::string decimal(ScalarKind kind, double value) {
  char buffer[64];
  std::to_chars_result end{};
  if (kind == ScalarKind::f64) {
    end = std::to_chars(buffer, buffer + sizeof buffer, value);
  } else if (kind == ScalarKind::f32) {
    end = std::to_chars(buffer, buffer + sizeof buffer, float(value));
  } else {
    // No shortest form in the library: the fewest digits that round back to the same number.
    double read = 0;
    for (int digits = 1; digits <= 9; ++digits) {
      end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, digits);
      std::from_chars(buffer, end.ptr, read);
      if (float_to_bits(kind, read) == float_to_bits(kind, value)) break;
    }
    end = std::to_chars(buffer, buffer + sizeof buffer, read);
  }
  std::string text(buffer, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string hex(std::uint64_t bits, std::uint32_t digits) {
  std::string text = "0x";
  for (std::uint32_t i = digits; i-- > 0;) text += "0123456789abcdef"[bits >> (4 * i) & 15];
  return text;
}

/// The scalar type a literal ends in, cut off. Hexadecimal digits may look like the start of a suffix ("0x7fc1bf16"):
/// there the number of digits decides.
const Type* cut_suffix(std::string_view& text) {
  const Type* best = nullptr;
  std::size_t length = 0;
  for (int k = int(ScalarKind::i8); k < kScalarKinds; ++k) {
    std::string_view suffix = scalar_text(ScalarKind(k));
    if (!text.ends_with(suffix) || suffix.size() <= length) continue;
    if (text.starts_with("0x") && text.size() != 2 + scalar_bits(ScalarKind(k)) / 4 + suffix.size()) continue;
    best = types::scalar(ScalarKind(k));
    length = suffix.size();
  }
  text.remove_suffix(length);
  return best;
}

template <class T>
bool read_all(std::string_view text, T& value, bool& too_large, int base = 10) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  too_large = code == std::errc::result_out_of_range;
  return code != std::errc::invalid_argument && end == text.data() + text.size();
}

template <class T>
bool read_float(std::string_view text, T& value, bool& too_large) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  too_large = code == std::errc::result_out_of_range;
  return code != std::errc::invalid_argument && end == text.data() + text.size();
}

std::optional<Literal> read_int(const Type* type, std::string_view digits, std::string& error) {
  ScalarKind kind = type->scalar_kind();
  bool too_large = false, well_formed = false;
  std::uint64_t bits = 0;
  if (type->is_signed_int()) {
    std::int64_t value = 0;
    well_formed = read_all(digits, value, too_large);
    bits = int_to_bits(kind, value);
    too_large |= bits_to_int(kind, bits) != value;
  } else {
    std::uint64_t value = 0;
    well_formed = read_all(digits, value, too_large);
    bits = int_to_bits(kind, std::int64_t(value));
    too_large |= bits != value;
  }
  if (!well_formed) {
    error = "'" + std::string(digits) + "' is not an integer";
    return {};
  }
  if (too_large) {
    error = std::string(digits) + " does not fit " + type->text();
    return {};
  }
  return Literal{type, bits};
}

std::optional<Literal> read_decimal(const Type* type, std::string_view digits, std::string& error) {
  ScalarKind kind = type->scalar_kind();
  bool too_large = false, well_formed = false;
  std::uint64_t bits = 0;
  std::string_view magnitude = digits.starts_with('-') ? digits.substr(1) : digits;
  if (!magnitude.empty() && ((magnitude[0] >= '0' && magnitude[0] <= '9') || magnitude[0] == '.')) {
    if (kind == ScalarKind::f32) {
      float value = 0;
      well_formed = read_float(digits, value, too_large);
      bits = float_to_bits(kind, value);
    } else {
      double value = 0;
      well_formed = read_float(digits, value, too_large);
      bits = float_to_bits(kind, value);
      too_large |= std::isinf(bits_to_float(kind, bits));
    }
  }
  if (!well_formed) {
    error = "'" + std::string(digits) + "' is not a number";
    return {};
  }
  if (too_large) {
    error = std::string(digits) + " is out of the range of " + type->text();
    return {};
  }
  return Literal{type, bits};
}

}  // namespace

std::string literal_text(ScalarKind kind, std::uint64_t bits) {
  if (kind == ScalarKind::boolean) return bits ? "true" : "false";
  std::string suffix(scalar_text(kind));
  if (kind < ScalarKind::f16) {
    bool is_signed = types::scalar(kind)->is_signed_int();
    return (is_signed ? std::to_string(bits_to_int(kind, bits)) : std::to_string(bits)) + suffix;
  }
  std::uint64_t magnitude = bits & ~sign_of(kind);
  double value = bits_to_float(kind, magnitude);
  if (std::isnan(value))
    return bits == canonical_nan(kind) ? "nan" + suffix : hex(bits, scalar_bits(kind) / 4) + suffix;
  std::string sign = bits == magnitude ? "" : "-";
  return sign + (std::isinf(value) ? std::string("inf") : decimal(kind, value)) + suffix;
}

std::optional<Literal> read_literal(std::string_view text, std::string& error) {
  if (text == "true" || text == "false") return Literal{types::boolean(), text == "true"};
  std::string_view digits = text;
  const Type* type = cut_suffix(digits);
  if (!type) {
    error = "'" + std::string(text) + "' does not end in the name of its type";
    return {};
  }
  if (type->is_int()) return read_int(type, digits, error);
  ScalarKind kind = type->scalar_kind();
  if (digits == "nan") return Literal{type, canonical_nan(kind)};
  if (digits == "inf") return Literal{type, float_to_bits(kind, HUGE_VAL)};
  if (digits == "-inf") return Literal{type, float_to_bits(kind, -HUGE_VAL)};
  if (!digits.starts_with("0x")) return read_decimal(type, digits, error);
  std::uint64_t bits = 0;
  bool too_large = false;
  if (!read_all(digits.substr(2), bits, too_large, 16) || too_large) {
    error = "'" + std::string(digits) + "' is not a hexadecimal number";
    return {};
  }
  return Literal{type, bits};
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          out += "\\x";
          out += "0123456789abcdef"[byte >> 4];
          out += "0123456789abcdef"[byte & 15];
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return true;
}

}  // namespace weft::ir
