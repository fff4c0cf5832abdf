// The numerics contract on bits. Integers are worked on as unsigned numbers, so nothing overflows on the host; floats
// use the host's IEEE operations (never contracted) where those are exact to the contract, and bit arithmetic where a
// host conversion could be undefined or depend on the rounding mode. A NaN that arithmetic makes or passes on is the
// canonical quiet NaN: processors differ there, we do not. Casts between floats keep what fits of its payload.
#include "ir/scalar_eval.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ir/op_cases.h"

namespace weft::ir {
namespace {

bool is_int_kind(ScalarKind kind) { return kind >= ScalarKind::i8 && kind <= ScalarKind::u64; }
bool is_signed_kind(ScalarKind kind) {
  return kind == ScalarKind::i8 || kind == ScalarKind::i16 || kind == ScalarKind::i32 || kind == ScalarKind::i64;
}
bool is_half_kind(ScalarKind kind) { return kind == ScalarKind::f16 || kind == ScalarKind::bf16; }

// ---- integers ----

std::uint64_t truncated(ScalarKind kind, std::uint64_t value) { return int_to_bits(kind, std::int64_t(value)); }

/// Magnitude of a sign-extended number; that of the smallest one fits unsigned.
std::uint64_t magnitude(std::int64_t value) { return value < 0 ? 0 - std::uint64_t(value) : std::uint64_t(value); }

std::uint64_t signed_divide(OpCode code, std::uint64_t a_bits, std::uint64_t b_bits, ScalarKind kind) {
  std::int64_t a = bits_to_int(kind, a_bits), b = bits_to_int(kind, b_bits);
  if (b == 0) return code == OpCode::rem ? a_bits : 0;
  std::uint64_t quotient = magnitude(a) / magnitude(b);
  std::uint64_t rest = magnitude(a) % magnitude(b);
  bool negative = (a < 0) != (b < 0);
  if (code == OpCode::rem) return truncated(kind, a < 0 ? 0 - rest : rest);
  if (code == OpCode::floordiv && negative && rest != 0) ++quotient;
  return truncated(kind, negative ? 0 - quotient : quotient);
}

std::uint64_t int_binary(OpCode code, ScalarKind kind, std::uint64_t a, std::uint64_t b) {
  bool is_signed = is_signed_kind(kind);
  std::uint64_t count = b & (scalar_bits(kind) - 1);
  switch (code) {
    case OpCode::add: return truncated(kind, a + b);
    case OpCode::sub: return truncated(kind, a - b);
    case OpCode::mul: return truncated(kind, a * b);
    case OpCode::div:
    case OpCode::floordiv:
    case OpCode::rem:
      if (is_signed) return signed_divide(code, a, b, kind);
      if (b == 0) return code == OpCode::rem ? a : 0;
      return code == OpCode::rem ? a % b : a / b;
    case OpCode::min:
    case OpCode::least: return eval_compare(OpCode::lt, kind, a, b) ? a : b;
    case OpCode::max:
    case OpCode::greatest: return eval_compare(OpCode::gt, kind, a, b) ? a : b;
    case OpCode::bit_and: return a & b;
    case OpCode::bit_or: return a | b;
    case OpCode::bit_xor: return a ^ b;
    case OpCode::shl: return truncated(kind, a << count);
    case OpCode::shr:
      // C++20: shifting a negative number right keeps its sign.
      return is_signed ? truncated(kind, std::uint64_t(bits_to_int(kind, a) >> count)) : a >> count;
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::fma:
    case OpCode::bit_not:
    case OpCode::bit_count:
    case OpCode::trailing_zeros:
    case OpCode::handle:
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_ROUND_OPS)
    WEFT_CASES(WEFT_MATH_OPS)
    WEFT_CASES(WEFT_WHOLE_OPS)
    WEFT_CASES(WEFT_OTHER_OPS) break;
  }
  WEFT_UNREACHABLE("no integer operation: " + std::string(name_of(code)));
}

std::uint64_t int_unary(OpCode code, ScalarKind kind, std::uint64_t a) {
  switch (code) {
    case OpCode::neg: return truncated(kind, 0 - a);
    case OpCode::abs: return is_signed_kind(kind) ? truncated(kind, magnitude(bits_to_int(kind, a))) : a;
    case OpCode::bit_not: return truncated(kind, ~a);
    case OpCode::bit_count: return std::uint64_t(std::popcount(truncated(kind, a)));
    case OpCode::trailing_zeros:
      return std::min<std::uint64_t>(scalar_bits(kind), std::uint64_t(std::countr_zero(truncated(kind, a))));
    case OpCode::handle: return a;
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::div:
    case OpCode::floordiv:
    case OpCode::rem:
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest:
    case OpCode::fma:
    case OpCode::bit_and:
    case OpCode::bit_or:
    case OpCode::bit_xor:
    case OpCode::shl:
    case OpCode::shr:
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_ROUND_OPS)
    WEFT_CASES(WEFT_MATH_OPS)
    WEFT_CASES(WEFT_WHOLE_OPS)
    WEFT_CASES(WEFT_OTHER_OPS) break;
  }
  WEFT_UNREACHABLE("no integer operation: " + std::string(name_of(code)));
}

std::uint64_t bool_binary(OpCode code, std::uint64_t a, std::uint64_t b) {
  switch (code) {
    case OpCode::bit_and: return a & b;
    case OpCode::bit_or: return a | b;
    case OpCode::bit_xor: return a ^ b;
    case OpCode::bit_not:
    case OpCode::bit_count:
    case OpCode::trailing_zeros:
    case OpCode::handle:
    case OpCode::shl:
    case OpCode::shr: WEFT_CASES(WEFT_OPS_BUT_BITS) break;
  }
  WEFT_UNREACHABLE("no operation on bool: " + std::string(name_of(code)));
}

// ---- floats ----

/// Bits of a result. F is the type it was computed in; 16-bit kinds are rounded once more.
template <class F>
std::uint64_t packed(ScalarKind kind, F value) {
  if (std::isnan(value)) return float_to_bits(kind, std::numeric_limits<double>::quiet_NaN());
  if constexpr (sizeof(F) == 8)
    return std::bit_cast<std::uint64_t>(value);
  else if (kind == ScalarKind::f32)
    return std::bit_cast<std::uint32_t>(value);
  else
    return float_to_bits(kind, double(value));
}

/// The float of bits: f32 for the kinds up to 32 bits, exact.
template <class F>
F unpacked(ScalarKind kind, std::uint64_t bits) {
  if constexpr (sizeof(F) == 8)
    return std::bit_cast<double>(bits);
  else if (kind == ScalarKind::f32)
    return std::bit_cast<float>(std::uint32_t(bits));
  else
    return float(bits_to_float(kind, bits));
}

/// Halves to even, by exact steps only: the host's rounding mode plays no part.
template <class F>
F round_to_even(F x) {
  F whole = std::trunc(x);
  F rest = std::fabs(x - whole);
  bool up = rest > F(0.5) || (rest == F(0.5) && std::fmod(whole, F(2)) != 0);
  if (up) whole += std::copysign(F(1), x);
  return std::copysign(whole, x);
}

template <class F>
F float_arith(OpCode code, F a, F b) {
  switch (code) {
    case OpCode::add: return a + b;
    case OpCode::sub: return a - b;
    case OpCode::mul: return a * b;
    case OpCode::div: return a / b;
    case OpCode::floordiv: return std::floor(a / b);
    case OpCode::rem: return std::fmod(a, b);
    case OpCode::least: return a < b ? a : b;
    case OpCode::greatest: return a > b ? a : b;
    case OpCode::min:
    case OpCode::max:
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::fma: WEFT_CASES(WEFT_OPS_BUT_ARITH) break;
  }
  WEFT_UNREACHABLE("no float operation: " + std::string(name_of(code)));
}

template <class F>
std::uint64_t float_binary(OpCode code, ScalarKind kind, std::uint64_t a_bits, std::uint64_t b_bits) {
  F a = unpacked<F>(kind, a_bits), b = unpacked<F>(kind, b_bits);
  if (code != OpCode::min && code != OpCode::max) return packed(kind, float_arith(code, a, b));
  if (std::isnan(a)) return std::isnan(b) ? packed(kind, b) : b_bits;
  if (std::isnan(b)) return a_bits;
  return (code == OpCode::min ? a < b : a > b) ? a_bits : b_bits;
}

template <class F>
std::uint64_t float_unary(OpCode code, ScalarKind kind, std::uint64_t bits) {
  F a = unpacked<F>(kind, bits);
  switch (code) {
    case OpCode::floor: return packed(kind, std::floor(a));
    case OpCode::ceil: return packed(kind, std::ceil(a));
    case OpCode::trunc: return packed(kind, std::trunc(a));
    case OpCode::round: return packed(kind, std::round(a));
    case OpCode::rint: return std::isfinite(a) ? packed(kind, round_to_even(a)) : packed(kind, a);
    case OpCode::sqrt: return packed(kind, std::sqrt(a));
    WEFT_CASES(WEFT_OPS_BUT_ROUND) break;
  }
  WEFT_UNREACHABLE("no float operation: " + std::string(name_of(code)));
}

bool float_compare(OpCode code, double a, double b) {
  switch (code) {
    case OpCode::eq: return a == b;
    case OpCode::ne: return a != b;
    case OpCode::lt: return a < b;
    case OpCode::le: return a <= b;
    case OpCode::gt: return a > b;
    case OpCode::ge: return a >= b;
    WEFT_CASES(WEFT_OPS_BUT_COMPARE) break;
  }
  WEFT_UNREACHABLE("no comparison: " + std::string(name_of(code)));
}

template <class I>
bool int_compare(OpCode code, I a, I b) {
  switch (code) {
    case OpCode::eq: return a == b;
    case OpCode::ne: return a != b;
    case OpCode::lt: return a < b;
    case OpCode::le: return a <= b;
    case OpCode::gt: return a > b;
    case OpCode::ge: return a >= b;
    WEFT_CASES(WEFT_OPS_BUT_COMPARE) break;
  }
  WEFT_UNREACHABLE("no comparison: " + std::string(name_of(code)));
}

// ---- conversions ----

std::uint64_t float_to_int(double value, ScalarKind to) {
  if (std::isnan(value)) return 0;
  std::uint32_t width = scalar_bits(to);
  bool is_signed = is_signed_kind(to);
  double limit = std::ldexp(1.0, int(is_signed ? width - 1 : width));  // first number above the range
  std::uint64_t largest = is_signed ? (std::uint64_t(1) << (width - 1)) - 1 : truncated(to, ~std::uint64_t(0));
  if (value >= limit) return largest;
  if (!is_signed) return value <= 0 ? 0 : std::uint64_t(value);
  if (value <= -limit) return std::uint64_t(1) << (width - 1);
  return truncated(to, std::uint64_t(std::int64_t(value)));
}

std::uint64_t int_to_float(ScalarKind from, ScalarKind to, std::uint64_t bits) {
  bool negative = is_signed_kind(from) && bits_to_int(from, bits) < 0;
  return scaled_to_bits(to, negative, negative ? magnitude(bits_to_int(from, bits)) : bits, 0);
}

}  // namespace

std::uint64_t eval_binary(OpCode code, ScalarKind kind, std::uint64_t a, std::uint64_t b) {
  if (kind == ScalarKind::boolean) return bool_binary(code, a, b);
  if (is_int_kind(kind)) return int_binary(code, kind, a, b);
  return kind == ScalarKind::f64 ? float_binary<double>(code, kind, a, b) : float_binary<float>(code, kind, a, b);
}

std::uint64_t eval_unary(OpCode code, ScalarKind kind, std::uint64_t a) {
  if (kind == ScalarKind::boolean) {
    WEFT_CHECK(code == OpCode::bit_not);
    return a ^ 1;
  }
  if (is_int_kind(kind)) return int_unary(code, kind, a);
  std::uint64_t sign = std::uint64_t(1) << (scalar_bits(kind) - 1);
  if (code == OpCode::neg) return a ^ sign;
  if (code == OpCode::abs) return a & ~sign;
  return kind == ScalarKind::f64 ? float_unary<double>(code, kind, a) : float_unary<float>(code, kind, a);
}

std::uint64_t eval_fma(ScalarKind kind, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (kind == ScalarKind::f64)
    return packed(kind, std::fma(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c)));
  WEFT_CHECK(kind == ScalarKind::f32 || is_half_kind(kind));
  return packed(kind, std::fma(unpacked<float>(kind, a), unpacked<float>(kind, b), unpacked<float>(kind, c)));
}

bool eval_compare(OpCode code, ScalarKind kind, std::uint64_t a, std::uint64_t b) {
  if (kind >= ScalarKind::f16) return float_compare(code, bits_to_float(kind, a), bits_to_float(kind, b));
  WEFT_CHECK(kind != ScalarKind::boolean || code == OpCode::eq || code == OpCode::ne);
  if (is_signed_kind(kind)) return int_compare(code, bits_to_int(kind, a), bits_to_int(kind, b));
  return int_compare(code, a, b);
}

std::uint64_t eval_cast(ScalarKind from, ScalarKind to, std::uint64_t a) {
  bool from_float = from >= ScalarKind::f16, to_float = to >= ScalarKind::f16;
  if (from == to) return a;
  if (to == ScalarKind::boolean) return from_float ? bits_to_float(from, a) != 0 : a != 0;
  if (from_float && to_float) return float_to_bits(to, bits_to_float(from, a));
  if (from_float) return float_to_int(bits_to_float(from, a), to);
  if (to_float) return int_to_float(from, to, a);
  return truncated(to, std::uint64_t(bits_to_int(from, a)));
}

}  // namespace weft::ir
