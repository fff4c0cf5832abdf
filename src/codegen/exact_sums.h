// The words in which exact sums of floats are kept. A sum is a fixed-point number whose last bit is that of the smallest
// denormal; word k counts multiples of 2^(32 k) of it. A number touches two or three words, by integer additions, which have
// no order. Words have 64 bits, so 2^31 additions can't overflow one. The last word has a bit for each of +∞, −∞ and NaN that
// came by.
#pragma once
#include <cstdint>

#include "types/type.h"

namespace weft::codegen {

struct ExactSum {
  int fraction_bits = 0, exponent_bits = 0;
  int digits = 0;  // words of a sum, without the last one

  int words() const { return digits + 1; }
  std::int64_t bytes() const { return 8 * std::int64_t(words()); }
};

inline constexpr std::uint64_t kSeenInfinity = 1, kSeenNegativeInfinity = 2, kSeenNan = 4;

/// How sums of a kind of number are kept; no digits: not at all.
constexpr ExactSum exact_sum(ScalarKind kind) {
  // The highest bit of the largest number, in words; one more that the shift may reach; for float64 its mantissa reaches two.
  if (kind == ScalarKind::f32) return {23, 8, 9};
  if (kind == ScalarKind::f64) return {52, 11, 66};
  return {};
}

}  // namespace weft::codegen
