// Scalars as bits. Floats are rounded by hand from an exact integer times a power of two, once, to nearest even: the
// result depends neither on the host's rounding mode nor on conversions the C++ standard leaves undefined.
#include <array>
#include <bit>

#include "ir/ir.h"

namespace weft::ir {
namespace {

struct Format {
  int fraction;  // stored bits of the significand
  int bias;
};

Format format_of(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::f16: return {10, 15};
    case ScalarKind::bf16: return {7, 127};
    case ScalarKind::f32: return {23, 127};
    case ScalarKind::f64: return {52, 1023};
    default: WEFT_UNREACHABLE("not a float kind");
  }
}

std::uint64_t sign_bit(ScalarKind kind) { return std::uint64_t(1) << (scalar_bits(kind) - 1); }

std::uint64_t infinity_bits(Format f) { return std::uint64_t(2 * f.bias + 1) << f.fraction; }

}  // namespace

std::uint64_t scaled_to_bits(ScalarKind kind, bool negative, std::uint64_t significand, int exponent) {
  Format f = format_of(kind);
  std::uint64_t sign = negative ? sign_bit(kind) : 0;
  if (significand == 0) return sign;
  int top = 63 - std::countl_zero(significand) + exponent;  // exponent of the leading bit
  int least = 1 - f.bias;                                   // that of the smallest normal number
  bool subnormal = top < least;
  int shift = (subnormal ? least : top) - f.fraction - exponent;  // how many low bits do not fit
  std::uint64_t kept, lost, half;
  if (shift <= 0) {
    kept = significand << -shift;
    lost = 0, half = 1;
  } else if (shift < 64) {
    kept = significand >> shift;
    lost = significand & ((std::uint64_t(1) << shift) - 1);
    half = std::uint64_t(1) << (shift - 1);
  } else {
    kept = 0;
    lost = shift == 64 ? significand : 0;  // further down it is less than half of the last place
    half = std::uint64_t(1) << 63;
  }
  if (lost > half || (lost == half && (kept & 1))) ++kept;
  // A carry out of the fraction moves into the exponent by itself, from subnormal to normal as well.
  std::uint64_t bits = kept;
  if (!subnormal) {
    if (top > f.bias) return sign | infinity_bits(f);
    bits += std::uint64_t(top + f.bias - 1) << f.fraction;
  }
  return sign | bits;
}

std::uint64_t float_to_bits(ScalarKind kind, double value) {
  std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  if (kind == ScalarKind::f64) return bits;
  Format f = format_of(kind);
  bool negative = bits >> 63;
  int biased = int(bits >> 52 & 0x7ff);
  std::uint64_t fraction = bits & ((std::uint64_t(1) << 52) - 1);
  if (biased == 0x7ff) {
    std::uint64_t out = (negative ? sign_bit(kind) : 0) | infinity_bits(f);
    if (fraction != 0) out |= std::uint64_t(1) << (f.fraction - 1) | fraction >> (52 - f.fraction);
    return out;
  }
  if (biased == 0) return scaled_to_bits(kind, negative, fraction, -1074);
  return scaled_to_bits(kind, negative, fraction | std::uint64_t(1) << 52, biased - 1075);
}

double bits_to_float(ScalarKind kind, std::uint64_t bits) {
  if (kind == ScalarKind::f64) return std::bit_cast<double>(bits);
  Format f = format_of(kind);
  std::uint64_t sign = bits & sign_bit(kind) ? std::uint64_t(1) << 63 : 0;
  int largest = 2 * f.bias + 1;
  int biased = int(bits >> f.fraction) & largest;
  std::uint64_t fraction = bits & ((std::uint64_t(1) << f.fraction) - 1);
  std::uint64_t wide = fraction << (52 - f.fraction);
  if (biased == largest) {
    if (fraction != 0) wide |= std::uint64_t(1) << 51;
    return std::bit_cast<double>(sign | std::uint64_t(0x7ff) << 52 | wide);
  }
  if (biased == 0) {
    if (fraction == 0) return std::bit_cast<double>(sign);
    int up = std::countl_zero(fraction) - (63 - f.fraction);  // brings the leading bit to the implicit place
    wide = (fraction << up & ((std::uint64_t(1) << f.fraction) - 1)) << (52 - f.fraction);
    return std::bit_cast<double>(sign | std::uint64_t(1 - f.bias - up + 1023) << 52 | wide);
  }
  return std::bit_cast<double>(sign | std::uint64_t(biased - f.bias + 1023) << 52 | wide);
}

std::uint64_t int_to_bits(ScalarKind kind, std::int64_t value) {
  if (kind == ScalarKind::boolean) return value & 1;
  WEFT_CHECK(kind < ScalarKind::f16);
  std::uint32_t width = scalar_bits(kind);
  return width == 64 ? std::uint64_t(value) : std::uint64_t(value) & ((std::uint64_t(1) << width) - 1);
}

std::int64_t bits_to_int(ScalarKind kind, std::uint64_t bits) {
  switch (kind) {
    case ScalarKind::boolean: return std::int64_t(bits & 1);
    case ScalarKind::i8: return std::int8_t(bits);
    case ScalarKind::u8: return std::uint8_t(bits);
    case ScalarKind::i16: return std::int16_t(bits);
    case ScalarKind::u16: return std::uint16_t(bits);
    case ScalarKind::i32: return std::int32_t(bits);
    case ScalarKind::u32: return std::uint32_t(bits);
    case ScalarKind::i64:
    case ScalarKind::u64: return std::int64_t(bits);
    default: WEFT_UNREACHABLE("not an integer kind");
  }
}

bool is_legal_constant(ScalarKind kind, std::uint64_t bits) {
  std::uint32_t width = kind == ScalarKind::boolean ? 1 : scalar_bits(kind);
  return width == 64 || bits >> width == 0;
}

}  // namespace weft::ir
