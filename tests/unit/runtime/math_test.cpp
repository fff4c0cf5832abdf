// The helper table and the 16-bit conversions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/half.h"
#include "runtime/helper_symbols.h"
#include "runtime/kernel_abi.h"

namespace weft::runtime {
namespace {

void* address_of(std::string_view name) {
  for (const HelperSymbol& symbol : helper_symbols())
    if (symbol.name == name) return symbol.address;
  return nullptr;
}

TEST(HelperSymbols, listsEveryHelperOnceAndSorted) {
  const auto table = helper_symbols();
  EXPECT_EQ(table.size(), 13u);
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end(), [](auto& a, auto& b) { return a.name < b.name; }));
  EXPECT_EQ(std::adjacent_find(table.begin(), table.end(), [](auto& a, auto& b) { return a.name == b.name; }),
            table.end());
  for (const HelperSymbol& symbol : table) EXPECT_NE(symbol.address, nullptr) << symbol.name;
  EXPECT_EQ(address_of("weft_rt_fail"), reinterpret_cast<void*>(&weft_rt_fail));
  EXPECT_EQ(address_of("weft_rt_print"), reinterpret_cast<void*>(&weft_rt_print));
}

TEST(Half, everyValueRoundTrips) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = std::uint16_t(bits);
    const float f16 = f16_to_float(half), bf16 = bf16_to_float(half);
    if (std::isnan(f16))
      EXPECT_TRUE(std::isnan(f16_to_float(f16_from_double(f16))));
    else
      ASSERT_EQ(f16_from_double(f16), half);
    if (std::isnan(bf16))
      EXPECT_TRUE(std::isnan(bf16_to_float(bf16_from_double(bf16))));
    else
      ASSERT_EQ(bf16_from_double(bf16), half);
  }
}

TEST(Half, roundsToNearestEvenOnce) {
  EXPECT_EQ(f16_from_double(1.0 + 0x1p-11), 0x3c00);            // tie, down to even
  EXPECT_EQ(f16_from_double(1.0 + 3 * 0x1p-11), 0x3c02);        // tie, up to even
  EXPECT_EQ(f16_from_double(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);  // via float this would be a tie
  EXPECT_EQ(f16_from_double(65519.99), 0x7bff);
  EXPECT_EQ(f16_from_double(65520), 0x7c00);
  EXPECT_EQ(f16_from_double(0x1p-25), 0);  // half the smallest subnormal: to even
  EXPECT_EQ(f16_from_double(0x1.8p-25), 1);
  EXPECT_EQ(f16_from_double(-0.0), 0x8000);
  EXPECT_EQ(f16_from_double(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(f16_from_double(-std::numeric_limits<double>::max()), 0xfc00);
  EXPECT_EQ(bf16_from_double(3.4e38), 0x7f80);
  EXPECT_EQ(bf16_from_double(1.0 + 0x1p-8), 0x3f80);
}

}  // namespace
}  // namespace weft::runtime
