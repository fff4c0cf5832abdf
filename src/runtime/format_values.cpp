// Running a compiled print format over the operands' bytes.
#include <locale.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtime/half.h"
#include "runtime/print_format.h"

namespace weft::runtime {
namespace {

/// A scalar read from memory, widened.
struct Scalar {
  ScalarKind kind = ScalarKind::boolean;
  std::uint64_t bits = 0;  // integers: zero-extended
  double real = 0;         // floats

  bool is_float() const { return kind >= ScalarKind::f16; }
  bool is_signed() const {
    return kind == ScalarKind::i8 || kind == ScalarKind::i16 || kind == ScalarKind::i32 || kind == ScalarKind::i64;
  }
  std::int64_t sign_extended() const {
    const int unused = 64 - int(scalar_bits(kind));
    return std::int64_t(bits << unused) >> unused;
  }
};

Scalar read_scalar(ScalarKind kind, const char* at) {
  Scalar s;
  s.kind = kind;
  std::memcpy(&s.bits, at, scalar_bits(kind) / 8);
  switch (kind) {
    case ScalarKind::f16: s.real = f16_to_float(std::uint16_t(s.bits)); break;
    case ScalarKind::bf16: s.real = bf16_to_float(std::uint16_t(s.bits)); break;
    case ScalarKind::f32: s.real = std::bit_cast<float>(std::uint32_t(s.bits)); break;
    case ScalarKind::f64: s.real = std::bit_cast<double>(s.bits); break;
    default: break;
  }
  if (std::isnan(s.real)) s.real = std::fabs(s.real);  // executors agree on NaN, not on its sign
  return s;
}

void append_integer(std::string& out, std::int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void append_plain(std::string& out, const Scalar& s) {
  char text[48];
  if (s.kind == ScalarKind::boolean) {
    out += s.bits ? "True" : "False";
  } else if (s.is_float()) {
    out.append(text, std::to_chars(text, text + sizeof text, s.real, std::chars_format::general, 6).ptr);
  } else if (s.is_signed()) {
    append_integer(out, s.sign_extended());
  } else {
    out.append(text, std::to_chars(text, text + sizeof text, s.bits).ptr);
  }
}

/// Switches this thread to the C locale, so that a decimal point is a point.
class CLocaleScope {
 public:
  CLocaleScope() : saved_(uselocale(c_locale())) {}
  ~CLocaleScope() { uselocale(saved_); }
  CLocaleScope(const CLocaleScope&) = delete;
  CLocaleScope& operator=(const CLocaleScope&) = delete;

 private:
  static locale_t c_locale() {
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
  }
  locale_t saved_;
};

template <class T>
void append_printf(std::string& out, const std::string& spec, T value) {
  char text[512];
  const int length = std::snprintf(text, sizeof text, spec.c_str(), value);
  if (length < 0) return;
  if (std::size_t(length) < sizeof text) {
    out.append(text, std::size_t(length));
    return;
  }
  const std::size_t before = out.size();
  out.resize(before + std::size_t(length) + 1);
  std::snprintf(out.data() + before, std::size_t(length) + 1, spec.c_str(), value);
  out.pop_back();
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
void append_conversion(std::string& out, std::string_view conversion, const Scalar& s) {
  const char letter = conversion.empty() ? '\0' : conversion.back();
  std::string spec = "%" + std::string(conversion.substr(0, conversion.size() - (conversion.empty() ? 0 : 1)));
  const CLocaleScope locale;
  switch (letter) {
    case 'd':
    case 'i': return append_printf(out, spec + "ll" + letter, static_cast<long long>(s.sign_extended()));
    case 'u':
    case 'o':
    case 'x':
    case 'X': return append_printf(out, spec + "ll" + letter, static_cast<unsigned long long>(s.bits));
    case 'c': return append_printf(out, spec + letter, int(s.bits & 0xff));
    case 'p': return append_printf(out, spec + letter, reinterpret_cast<void*>(std::uintptr_t(s.bits)));
    default:
      if (std::strchr("fFeEgGaA", letter) && letter) append_printf(out, spec + letter, s.real);
  }
}
#pragma GCC diagnostic pop

void append_shape(std::string& out, const char* at) {
  ArrayDesc desc;
  std::memcpy(&desc, at, sizeof desc);
  if (!desc.data) {
    out += "null";
    return;
  }
  out += '(';
  for (int d = 0; d < desc.ndim && d < kMaxRank; ++d) {
    if (d) out += ", ";
    append_integer(out, desc.shape[d]);
  }
  out += desc.ndim == 1 ? ",)" : ")";
}

/// Reads a compiled format item by item; stops at what is not one.
class Formatter {
 public:
  Formatter(const char* format, const void* values, std::string& out)
      : at_(format), values_(static_cast<const char*>(values)), out_(out) {}

  void run() {
    while (*at_) {
      const std::size_t literal = std::strcspn(at_, "%");
      out_.append(at_, literal);
      at_ += literal;
      if (*at_ == '%' && !item()) return;
    }
  }

 private:
  bool read_number(std::uint32_t& value) {
    const char* begin = at_;
    std::uint64_t n = 0;
    for (; *at_ >= '0' && *at_ <= '9' && n <= UINT32_MAX; ++at_) n = n * 10 + std::uint64_t(*at_ - '0');
    value = std::uint32_t(n);
    return at_ != begin && n <= UINT32_MAX;
  }
  bool skip(char c) {
    if (*at_ != c) return false;
    ++at_;
    return true;
  }

  bool item() {
    ++at_;
    if (skip('%')) {
      out_ += '%';
      return true;
    }
    if (skip('z')) {
      out_ += '\0';
      return true;
    }
    std::uint32_t offset = 0;
    if (!read_number(offset) || !skip(':')) return false;
    const char* value = values_ + offset;
    if (skip('a')) {
      append_shape(out_, value);
      return true;
    }
    if (*at_ < 'A' || *at_ >= 'A' + kScalarKinds) return false;
    const auto kind = ScalarKind(*at_++ - 'A');
    if (skip('=')) {
      const std::size_t length = std::strcspn(at_, ";");
      append_conversion(out_, {at_, length}, read_scalar(kind, value));
      at_ += length;
      return skip(';');
    }
    std::uint32_t rows = 0, cols = 0;
    if (!read_number(rows) || !skip('x') || !read_number(cols)) return false;
    const char style = *at_;
    if (style != 'p' && style != 'v' && style != 'm') return false;
    ++at_;
    grid(kind, value, rows, cols, style);
    return true;
  }

  void grid(ScalarKind kind, const char* value, std::uint32_t rows, std::uint32_t cols, char style) {
    const std::uint32_t size = scalar_bits(kind) / 8;
    for (std::uint32_t r = 0; r < rows; ++r) {
      if (r && style == 'p') out_ += "; ";
      for (std::uint32_t c = 0; c < cols; ++c, value += size) {
        if (c && style == 'p') out_ += ' ';
        append_plain(out_, read_scalar(kind, value));
        if (style != 'p') out_ += ' ';
      }
      if (style == 'm') out_ += '\n';
    }
  }

  const char* at_;
  const char* values_;
  std::string& out_;
};

}  // namespace

void format_values(const char* format, const void* values, std::string& out) { Formatter(format, values, out).run(); }

std::string format_values(const std::string& format, const void* values) {
  std::string out;
  format_values(format.c_str(), values, out);
  return out;
}

}  // namespace weft::runtime
