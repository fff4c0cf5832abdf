// Rounding to the 16-bit float kinds.
#include "runtime/half.h"

#include <cmath>

namespace weft::runtime {
namespace {

/// Rounds the magnitude of a finite double to a format with `fraction` stored bits and the given smallest normal
/// exponent, and returns its encoding without the sign; exponents beyond the format carry into the infinity pattern.
std::uint32_t round_magnitude(double magnitude, int fraction, int min_exponent, std::uint32_t infinity) {
  if (magnitude == 0) return 0;
  int exponent = std::ilogb(magnitude);
  if (exponent < min_exponent) exponent = min_exponent;  // subnormals share the smallest exponent's spacing
  // Scaling by a power of two is exact here, so nearbyint is the only rounding. The thread's rounding mode is a host
  // matter, so ties are broken by hand.
  double scaled = std::ldexp(magnitude, fraction - exponent);
  double down = std::floor(scaled);
  double rest = scaled - down;
  auto units = std::uint64_t(down);
  if (rest > 0.5 || (rest == 0.5 && (units & 1))) ++units;
  // Adding the units to the biased exponent lets a carry out of the fraction become the next exponent.
  std::int64_t bits = (std::int64_t(exponent - min_exponent) << fraction) + std::int64_t(units);
  return bits >= std::int64_t(infinity) ? infinity : std::uint32_t(bits);
}

}  // namespace

float f16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) {
    const float magnitude = float(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

std::uint16_t f16_from_double(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  return std::uint16_t(sign | round_magnitude(std::fabs(value), 10, -14, 0x7c00));
}

std::uint16_t bf16_from_double(double value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7fc0;
  if (std::isinf(value)) return sign | 0x7f80;
  return std::uint16_t(sign | round_magnitude(std::fabs(value), 7, -126, 0x7f80));
}

}  // namespace weft::runtime
