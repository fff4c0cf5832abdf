// Text in little room: it comes back as it was, and bytes that are none of ours are refused.
#include "codegen/packed_text.h"

#include <gtest/gtest.h>

namespace weft::codegen {
namespace {

std::string listing(int lines) {
  std::string out;
  for (int k = 0; k < lines; ++k) out += "  %" + std::to_string(k) + " = add %" + std::to_string(k / 2) + ", 1i32\n";
  return out;
}

TEST(PackedText, ComesBack) {
  for (const std::string& text : {std::string(), std::string("x"), std::string("a\0b", 3), listing(3000)})
    EXPECT_EQ(unpacked_text(packed_text(text)), text);
}

TEST(PackedText, IsSmall) {
  EXPECT_LT(packed_text(listing(3000)).size(), listing(3000).size() / 2);
  EXPECT_LE(packed_text("x").size(), 16u);
}

TEST(PackedText, RefusesOtherBytes) {
  const std::string packed = packed_text(listing(100));
  EXPECT_FALSE(unpacked_text(""));
  EXPECT_FALSE(unpacked_text("12345678"));
  for (std::size_t size = 0; size < packed.size(); size += 7) EXPECT_FALSE(unpacked_text(packed.substr(0, size)));
  for (int at = 0; at < 9; ++at) {
    std::string other = packed;
    other[std::size_t(at)] = char(other[std::size_t(at)] ^ 0x55);
    EXPECT_FALSE(unpacked_text(other)) << at;
  }
  for (std::size_t at = 9; at < packed.size(); ++at) {  // whatever it gives, it reads and writes nothing else
    std::string other = packed;
    other[at] = char(other[at] ^ 0x10);
    unpacked_text(other);
  }
}

}  // namespace
}  // namespace weft::codegen
