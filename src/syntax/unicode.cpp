// UTF-8 and the classes of characters above ASCII.
#include "syntax/unicode.h"

namespace weft::syntax {
namespace {

struct Range {
  std::uint32_t first, last;
};

// Blocks without any XID_Start or XID_Continue character that turn up in pasted code.
constexpr Range kNeverInNames[] = {
    {0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB6},     {0xB8, 0xB9},       {0xBB, 0xBF},     {0xD7, 0xD7},
    {0xF7, 0xF7},     {0x2000, 0x203E}, {0x2041, 0x2053}, {0x2055, 0x2070},   {0x207A, 0x207E}, {0x208A, 0x208E},
    {0x20A0, 0x20C0}, {0x2190, 0x2BFF}, {0x3000, 0x3004}, {0x3008, 0x3020},   {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF},
    {0xFF01, 0xFF0F}, {0xFF1A, 0xFF20}, {0xFFF9, 0xFFFF}, {0x1F000, 0x1FAFF},
};

}  // namespace

DecodedChar decode_utf8(std::string_view text, std::size_t at) {
  auto byte = [&](std::size_t i) { return std::uint32_t(static_cast<unsigned char>(text[at + i])); };
  std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  std::uint32_t count = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < count) return {lead, 1, false};
  std::uint32_t code = lead & (0x7Fu >> count);
  for (std::uint32_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {lead, 1, false};
    code = code << 6 | (byte(i) & 0x3F);
  }
  bool overlong = (count == 3 && code < 0x800) || (count == 4 && code < 0x10000);
  bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return {lead, 1, false};
  return {code, count, true};
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += char(0xC0 | code >> 6);
    out += char(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += char(0xE0 | code >> 12);
    out += char(0x80 | (code >> 6 & 0x3F));
    out += char(0x80 | (code & 0x3F));
  } else {
    out += char(0xF0 | code >> 18);
    out += char(0x80 | (code >> 12 & 0x3F));
    out += char(0x80 | (code >> 6 & 0x3F));
    out += char(0x80 | (code & 0x3F));
  }
}

bool may_be_in_name(std::uint32_t code) {
  for (const Range& range : kNeverInNames) {
    if (code >= range.first && code <= range.last) return false;
  }
  return true;
}

std::string_view ascii_twin(std::uint32_t code) {
  if (code == 0xA0 || (code >= 0x2000 && code <= 0x200A) || code == 0x202F || code == 0x3000) return " ";
  if (code >= 0x2018 && code <= 0x201B) return "'";
  if (code >= 0x201C && code <= 0x201F) return "\"";
  if ((code >= 0x2010 && code <= 0x2015) || code == 0x2212) return "-";
  switch (code) {
    case 0xAC: return "not";
    case 0xB2: return "**2";
    case 0xB3: return "**3";
    case 0xD7:
    case 0x22C5: return "*";
    case 0xF7:
    case 0x2215: return "/";
    case 0x2026: return "...";
    case 0x2192: return "->";
    case 0x2260: return "!=";
    case 0x2264: return "<=";
    case 0x2265: return ">=";
    default: break;
  }
  if (code >= 0xFF01 && code <= 0xFF20) {  // full-width forms of ASCII punctuation
    static constexpr std::string_view kAscii = "!\"#$%&'()*+,-./0123456789:;<=>?@";
    return kAscii.substr(code - 0xFF01, 1);
  }
  return {};
}

}  // namespace weft::syntax
