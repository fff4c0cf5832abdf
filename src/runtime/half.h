// Conversions between the 16-bit float kinds and wider ones, rounding once to nearest even. Bits in, bits out: no
// compiler support for the 16-bit types is needed.
#pragma once
#include <bit>
#include <cstdint>

namespace weft::runtime {

/// IEEE binary16 and bfloat16 to float: exact.
float f16_to_float(std::uint16_t bits);
inline float bf16_to_float(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t(bits) << 16); }

/// double to the 16-bit kinds: one rounding to nearest even, overflow to infinity, NaN stays NaN.
std::uint16_t f16_from_double(double value);
std::uint16_t bf16_from_double(double value);

}  // namespace weft::runtime
