// The numerics contract against independent references: exhaustive tables for 16-bit floats, wide integers (__int128)
// and long double for the rest.
#include "ir/scalar_eval.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace weft::ir {
namespace {

using Wide = __int128;
constexpr ScalarKind kInts[] = {ScalarKind::i8,  ScalarKind::u8,  ScalarKind::i16, ScalarKind::u16,
                                ScalarKind::i32, ScalarKind::u32, ScalarKind::i64, ScalarKind::u64};
constexpr ScalarKind kFloats[] = {ScalarKind::f16, ScalarKind::bf16, ScalarKind::f32, ScalarKind::f64};

bool is_signed(ScalarKind kind) { return types::scalar(kind)->is_signed_int(); }

Wide wide(ScalarKind kind, std::uint64_t bits) { return is_signed(kind) ? Wide(bits_to_int(kind, bits)) : Wide(bits); }
std::uint64_t narrow(ScalarKind kind, Wide value) {
  std::uint64_t low = std::uint64_t(value);
  return scalar_bits(kind) == 64 ? low : low & ((std::uint64_t(1) << scalar_bits(kind)) - 1);
}

/// Random bits that like edges: zero, one, extremes and their neighbours.
class Random {
 public:
  std::uint64_t bits(ScalarKind kind) {
    std::uint32_t width = scalar_bits(kind);
    std::uint64_t r = engine_();
    switch (r % 5) {
      case 0: r = engine_() % 4 - 2; break;
      case 1: r = (std::uint64_t(1) << (width - 1)) + engine_() % 4 - 2; break;
      case 2: r = engine_() >> (engine_() % 64); break;
      default: r = engine_();
    }
    return width == 64 ? r : r & ((std::uint64_t(1) << width) - 1);
  }
  std::uint64_t operator()() { return engine_(); }

 private:
  std::mt19937_64 engine_{42};
};

/// Value of 16-bit float bits from the definition of the format.
long double half_value(ScalarKind kind, std::uint32_t bits) {
  int fraction_bits = kind == ScalarKind::f16 ? 10 : 7, bias = kind == ScalarKind::f16 ? 15 : 127;
  int exponent = int(bits & 0x7fff) >> fraction_bits;
  int fraction = int(bits) & ((1 << fraction_bits) - 1);
  long double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 2 * bias + 1) return fraction ? std::numeric_limits<long double>::quiet_NaN() : sign * HUGE_VALL;
  if (exponent == 0) return sign * std::ldexp((long double)fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((long double)(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
}

/// The bits nearest to a value, ties to even, by search over the ordered positive numbers.
std::uint32_t nearest_half(ScalarKind kind, long double value) {
  std::uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  std::uint32_t infinity = kind == ScalarKind::f16 ? 0x7c00 : 0x7f80;
  long double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  std::uint32_t low = 0, high = infinity;  // the largest number not above the value lies in [low, high)
  while (high - low > 1) {
    std::uint32_t middle = (low + high) / 2;
    (half_value(kind, middle) <= magnitude ? low : high) = middle;
  }
  // What lies above the largest finite number counts as one step further.
  long double below = half_value(kind, low);
  long double above = high == infinity ? below + (below - half_value(kind, low - 1)) : half_value(kind, high);
  long double down = magnitude - below, up = above - magnitude;
  bool take_up = up < down || (up == down && (low & 1));
  return sign | (take_up ? high : low);
}

TEST(HalfFloats, DecodeExhaustively) {
  for (ScalarKind kind : {ScalarKind::f16, ScalarKind::bf16}) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      long double expected = half_value(kind, bits);
      double got = bits_to_float(kind, bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << bits;
        ASSERT_EQ(std::signbit(got), bool(bits & 0x8000));
        std::uint32_t quiet = kind == ScalarKind::f16 ? 0x200 : 0x40;
        ASSERT_EQ(float_to_bits(kind, got), bits | quiet);
      } else {
        ASSERT_EQ((long double)got, expected) << bits;
        ASSERT_EQ(std::signbit(got), bool(bits & 0x8000));
        ASSERT_EQ(float_to_bits(kind, got), bits);
      }
    }
  }
}

TEST(HalfFloats, EncodeAroundEveryMidpoint) {
  for (ScalarKind kind : {ScalarKind::f16, ScalarKind::bf16}) {
    std::uint32_t infinity = kind == ScalarKind::f16 ? 0x7c00 : 0x7f80;
    for (std::uint32_t bits = 0; bits < infinity; ++bits) {
      long double below = half_value(kind, bits);
      long double above =
          bits + 1 == infinity ? below + (below - half_value(kind, bits - 1)) : half_value(kind, bits + 1);
      double middle = double((below + above) / 2);
      for (double value : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, HUGE_VAL)}) {
        ASSERT_EQ(float_to_bits(kind, value), nearest_half(kind, value)) << bits;
        ASSERT_EQ(float_to_bits(kind, -value), nearest_half(kind, -(long double)value)) << bits;
      }
    }
  }
  EXPECT_EQ(float_to_bits(ScalarKind::f16, 65520.0), 0x7c00u);
  EXPECT_EQ(float_to_bits(ScalarKind::f16, 65519.99), 0x7bffu);
  EXPECT_EQ(float_to_bits(ScalarKind::f16, 5e-324), 0u);
  EXPECT_EQ(float_to_bits(ScalarKind::f16, -5e-324), 0x8000u);
}

TEST(Floats, SingleFromDoubleIsTheHosts) {
  Random random;
  for (int n = 0; n < 1000000; ++n) {
    std::uint64_t bits = random();
    if (n % 2) bits = (bits & 0x800fffffffffffff) | (std::uint64_t(1023 - 160 + random() % 300) << 52);
    if (n % 8 == 1) bits &= ~std::uint64_t(0x0fffffff);  // often exactly between two floats
    double value = std::bit_cast<double>(bits);
    if (std::isnan(value) || std::fabs(value) > 3e38) continue;
    ASSERT_EQ(float_to_bits(ScalarKind::f32, value), std::bit_cast<std::uint32_t>(float(value))) << value;
  }
  double over = double(std::numeric_limits<float>::max()) * 1.0000001;
  EXPECT_EQ(float_to_bits(ScalarKind::f32, over), 0x7f800000u);
  EXPECT_EQ(float_to_bits(ScalarKind::f32, -1e300), 0xff800000u);
  for (int n = 0; n < 100000; ++n) {
    auto bits = std::uint32_t(random());
    float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(bits_to_float(ScalarKind::f32, bits), double(value));
  }
}

Wide floor_divide(Wide a, Wide b) {
  Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

void check_integers(ScalarKind kind, std::uint64_t a, std::uint64_t b) {
  Wide x = wide(kind, a), y = wide(kind, b);
  auto eval = [&](OpCode code) { return eval_binary(code, kind, a, b); };
  ASSERT_EQ(eval(OpCode::add), narrow(kind, x + y));
  ASSERT_EQ(eval(OpCode::sub), narrow(kind, x - y));
  ASSERT_EQ(eval(OpCode::mul), narrow(kind, Wide((unsigned __int128)x * (unsigned __int128)y)));
  ASSERT_EQ(eval(OpCode::div), y == 0 ? 0 : narrow(kind, x / y));
  ASSERT_EQ(eval(OpCode::floordiv), y == 0 ? 0 : narrow(kind, floor_divide(x, y)));
  ASSERT_EQ(eval(OpCode::rem), y == 0 ? a : narrow(kind, x % y));
  ASSERT_EQ(eval(OpCode::min), narrow(kind, x < y ? x : y));
  ASSERT_EQ(eval(OpCode::max), narrow(kind, x > y ? x : y));
  ASSERT_EQ(eval(OpCode::bit_and), a & b);
  ASSERT_EQ(eval(OpCode::bit_or), a | b);
  ASSERT_EQ(eval(OpCode::bit_xor), a ^ b);
  int width = int(scalar_bits(kind));
  int count = int(((y % width) + width) % width);
  Wide power = Wide(1) << count;
  ASSERT_EQ(eval(OpCode::shl), narrow(kind, Wide((unsigned __int128)x * (unsigned __int128)power)));
  ASSERT_EQ(eval(OpCode::shr), narrow(kind, floor_divide(x, power)));
  ASSERT_EQ(eval_unary(OpCode::neg, kind, a), narrow(kind, -x));
  ASSERT_EQ(eval_unary(OpCode::abs, kind, a), narrow(kind, x < 0 ? -x : x));
  ASSERT_EQ(eval_unary(OpCode::bit_not, kind, a), narrow(kind, -x - 1));
  ASSERT_EQ(eval_compare(OpCode::eq, kind, a, b), x == y);
  ASSERT_EQ(eval_compare(OpCode::ne, kind, a, b), x != y);
  ASSERT_EQ(eval_compare(OpCode::lt, kind, a, b), x < y);
  ASSERT_EQ(eval_compare(OpCode::le, kind, a, b), x <= y);
  ASSERT_EQ(eval_compare(OpCode::gt, kind, a, b), x > y);
  ASSERT_EQ(eval_compare(OpCode::ge, kind, a, b), x >= y);
}

TEST(Integers, EveryPairOfBytes) {
  for (ScalarKind kind : {ScalarKind::i8, ScalarKind::u8})
    for (std::uint64_t a = 0; a < 256; ++a)
      for (std::uint64_t b = 0; b < 256; ++b) ASSERT_NO_FATAL_FAILURE(check_integers(kind, a, b)) << a << " " << b;
}

TEST(Integers, RandomPairs) {
  Random random;
  for (ScalarKind kind : kInts)
    for (int n = 0; n < 50000; ++n) ASSERT_NO_FATAL_FAILURE(check_integers(kind, random.bits(kind), random.bits(kind)));
}

TEST(Integers, Edges) {
  std::uint64_t least = 0x8000000000000000, minus_one = ~std::uint64_t(0);
  EXPECT_EQ(eval_binary(OpCode::div, ScalarKind::i64, least, minus_one), least);
  EXPECT_EQ(eval_binary(OpCode::floordiv, ScalarKind::i64, least, minus_one), least);
  EXPECT_EQ(eval_binary(OpCode::rem, ScalarKind::i64, least, minus_one), 0u);
  EXPECT_EQ(eval_unary(OpCode::abs, ScalarKind::i32, 0x80000000), 0x80000000u);
  EXPECT_EQ(eval_binary(OpCode::shl, ScalarKind::u8, 1, 9), 2u);
}

TEST(Bool, Operations) {
  for (std::uint64_t a : {0, 1}) {
    for (std::uint64_t b : {0, 1}) {
      EXPECT_EQ(eval_binary(OpCode::bit_and, ScalarKind::boolean, a, b), a & b);
      EXPECT_EQ(eval_binary(OpCode::bit_or, ScalarKind::boolean, a, b), a | b);
      EXPECT_EQ(eval_binary(OpCode::bit_xor, ScalarKind::boolean, a, b), a ^ b);
      EXPECT_EQ(eval_compare(OpCode::eq, ScalarKind::boolean, a, b), a == b);
      EXPECT_EQ(eval_compare(OpCode::ne, ScalarKind::boolean, a, b), a != b);
    }
    EXPECT_EQ(eval_unary(OpCode::bit_not, ScalarKind::boolean, a), 1 - a);
  }
  EXPECT_THROW(eval_binary(OpCode::add, ScalarKind::boolean, 1, 1), InternalError);
  EXPECT_THROW(eval_compare(OpCode::lt, ScalarKind::boolean, 1, 1), InternalError);
}

/// Same number, any NaN for any NaN.
void expect_float(ScalarKind kind, std::uint64_t got, double expected, const char* what) {
  if (std::isnan(expected))
    ASSERT_EQ(got, float_to_bits(kind, std::numeric_limits<double>::quiet_NaN())) << what;
  else
    ASSERT_EQ(got, float_to_bits(kind, expected)) << what << " " << expected;
}

/// Against the same operation in the type that the contract computes in.
template <class F>
void check_floats(ScalarKind kind, std::uint64_t a_bits, std::uint64_t b_bits) {
  F a = F(bits_to_float(kind, a_bits)), b = F(bits_to_float(kind, b_bits));
  auto eval = [&](OpCode code) { return eval_binary(code, kind, a_bits, b_bits); };
  expect_float(kind, eval(OpCode::add), double(F(a + b)), "add");
  expect_float(kind, eval(OpCode::sub), double(F(a - b)), "sub");
  expect_float(kind, eval(OpCode::mul), double(F(a * b)), "mul");
  expect_float(kind, eval(OpCode::div), double(F(a / b)), "div");
  expect_float(kind, eval(OpCode::floordiv), double(std::floor(F(a / b))), "floordiv");
  expect_float(kind, eval(OpCode::rem), double(std::fmod(a, b)), "rem");
  double low = std::isnan(a) ? b : std::isnan(b) ? a : a < b ? a : b;
  double high = std::isnan(a) ? b : std::isnan(b) ? a : a > b ? a : b;
  expect_float(kind, eval(OpCode::min), low, "min");
  expect_float(kind, eval(OpCode::max), high, "max");
  ASSERT_EQ(eval_compare(OpCode::eq, kind, a_bits, b_bits), a == b);
  ASSERT_EQ(eval_compare(OpCode::ne, kind, a_bits, b_bits), !(a == b));
  ASSERT_EQ(eval_compare(OpCode::lt, kind, a_bits, b_bits), a < b);
  ASSERT_EQ(eval_compare(OpCode::le, kind, a_bits, b_bits), a <= b);
  ASSERT_EQ(eval_compare(OpCode::gt, kind, a_bits, b_bits), a > b);
  ASSERT_EQ(eval_compare(OpCode::ge, kind, a_bits, b_bits), a >= b);
  auto unary = [&](OpCode code) { return eval_unary(code, kind, a_bits); };
  std::uint64_t sign = std::uint64_t(1) << (scalar_bits(kind) - 1);
  ASSERT_EQ(unary(OpCode::neg), a_bits ^ sign);
  ASSERT_EQ(unary(OpCode::abs), a_bits & ~sign);
  expect_float(kind, unary(OpCode::floor), std::floor(double(a)), "floor");
  expect_float(kind, unary(OpCode::ceil), std::ceil(double(a)), "ceil");
  expect_float(kind, unary(OpCode::trunc), std::trunc(double(a)), "trunc");
  expect_float(kind, unary(OpCode::round), std::round(double(a)), "round");
  expect_float(kind, unary(OpCode::rint), std::nearbyint(double(a)), "rint");
  if (std::isfinite(a) && a > 0 && sizeof(F) * 8 == scalar_bits(kind)) {
    // Correctly rounded: the argument lies between the squares of the midpoints to both neighbours.
    F root = F(bits_to_float(kind, unary(OpCode::sqrt)));
    long double below = ((long double)root + std::nextafter(root, F(0))) / 2;
    long double above = ((long double)root + std::nextafter(root, F(HUGE_VAL))) / 2;
    ASSERT_LE(std::fma(below, below, -(long double)a), 0) << a;
    ASSERT_GE(std::fma(above, above, -(long double)a), 0) << a;
  } else {
    expect_float(kind, unary(OpCode::sqrt), double(F(std::sqrt((long double)a))), "sqrt");
  }
  expect_float(kind, eval_fma(kind, a_bits, b_bits, a_bits), double(std::fma(a, b, a)), "fma");
}

TEST(Floats, RandomPairs) {
  Random random;
  for (ScalarKind kind : kFloats) {
    for (int n = 0; n < 60000; ++n) {
      std::uint64_t a = random.bits(kind), b = random.bits(kind);
      if (n % 3 == 0) a = float_to_bits(kind, double(random() % 2000) / 4 - 250);  // halves and quarters
      if (n % 5 == 0) b = float_to_bits(kind, double(random() % 64) / 8 - 4);
      if (kind == ScalarKind::f64)
        ASSERT_NO_FATAL_FAILURE(check_floats<double>(kind, a, b));
      else
        ASSERT_NO_FATAL_FAILURE(check_floats<float>(kind, a, b));
    }
  }
}

TEST(Floats, Edges) {
  ScalarKind f32 = ScalarKind::f32;
  auto bits = [](float x) { return std::uint64_t(std::bit_cast<std::uint32_t>(x)); };
  EXPECT_EQ(eval_binary(OpCode::min, f32, bits(0.0f), bits(-0.0f)), bits(-0.0f));  // equal: the second
  EXPECT_EQ(eval_binary(OpCode::max, f32, bits(-0.0f), bits(0.0f)), bits(0.0f));
  EXPECT_EQ(eval_binary(OpCode::max, f32, bits(0.0f), bits(-0.0f)), bits(-0.0f));
  EXPECT_EQ(eval_unary(OpCode::round, f32, bits(2.5f)), bits(3.0f));
  EXPECT_EQ(eval_unary(OpCode::round, f32, bits(0.49999997f)), bits(0.0f));
  EXPECT_EQ(eval_unary(OpCode::rint, f32, bits(2.5f)), bits(2.0f));
  EXPECT_EQ(eval_unary(OpCode::rint, f32, bits(3.5f)), bits(4.0f));
  EXPECT_EQ(eval_unary(OpCode::rint, f32, bits(-0.5f)), bits(-0.0f));
  EXPECT_EQ(eval_unary(OpCode::sqrt, f32, bits(-1.0f)), 0x7fc00000u);
  EXPECT_EQ(eval_unary(OpCode::neg, f32, 0x7fc00001u), 0xffc00001u);
}

TEST(Casts, IntegersToIntegers) {
  Random random;
  for (ScalarKind from : kInts)
    for (ScalarKind to : kInts)
      for (int n = 0; n < 5000; ++n) {
        std::uint64_t a = random.bits(from);
        ASSERT_EQ(eval_cast(from, to, a), narrow(to, wide(from, a)));
      }
}

TEST(Casts, FloatsToIntegersSaturate) {
  Random random;
  for (ScalarKind from : kFloats) {
    for (ScalarKind to : kInts) {
      Wide least = is_signed(to) ? -(Wide(1) << (scalar_bits(to) - 1)) : 0;
      Wide largest = (Wide(1) << (scalar_bits(to) - is_signed(to))) - 1;
      for (int n = 0; n < 20000; ++n) {
        std::uint64_t a = random.bits(from);
        if (n % 2) a = float_to_bits(from, std::ldexp(double(std::int64_t(random())), -int(random() % 70)));
        long double value = std::trunc((long double)bits_to_float(from, a));
        Wide expected = std::isnan(value) ? 0 : value <= least ? least : value >= largest ? largest : Wide(value);
        ASSERT_EQ(eval_cast(from, to, a), narrow(to, expected)) << double(value) << " " << int(from) << " " << int(to);
      }
    }
  }
}

TEST(Casts, IntegersToFloatsRoundOnce) {
  Random random;
  for (ScalarKind from : kInts) {
    for (int n = 0; n < 20000; ++n) {
      std::uint64_t a = random.bits(from);
      Wide x = wide(from, a);
      float single = is_signed(from) ? float(std::int64_t(x)) : float(std::uint64_t(x));
      double real = is_signed(from) ? double(std::int64_t(x)) : double(std::uint64_t(x));
      ASSERT_EQ(eval_cast(from, ScalarKind::f32, a), std::bit_cast<std::uint32_t>(single));
      ASSERT_EQ(eval_cast(from, ScalarKind::f64, a), std::bit_cast<std::uint64_t>(real));
    }
  }
  // Where rounding twice would show: just above the middle of two neighbours, by less than a double can hold.
  std::uint64_t above = (std::uint64_t(1) << 63) + (std::uint64_t(1) << 55) + 1;
  EXPECT_EQ(eval_cast(ScalarKind::u64, ScalarKind::bf16, above), 0x5f01u);
  EXPECT_EQ(eval_cast(ScalarKind::u64, ScalarKind::bf16, above - 1), 0x5f00u);
  EXPECT_EQ(eval_cast(ScalarKind::i64, ScalarKind::bf16, (above - 1) / 2 + 1), 0x5e81u);
  EXPECT_EQ(eval_cast(ScalarKind::i32, ScalarKind::f16, 65519), 0x7bffu);
  EXPECT_EQ(eval_cast(ScalarKind::i32, ScalarKind::f16, 65520), 0x7c00u);
  for (std::int64_t x = -70000; x <= 70000; ++x) {
    std::uint64_t a = int_to_bits(ScalarKind::i32, x);
    ASSERT_EQ(eval_cast(ScalarKind::i32, ScalarKind::f16, a), nearest_half(ScalarKind::f16, x == 0 ? 0.0L : x));
    ASSERT_EQ(eval_cast(ScalarKind::i32, ScalarKind::bf16, a), nearest_half(ScalarKind::bf16, x == 0 ? 0.0L : x));
  }
}

TEST(Casts, FloatsToFloatsAndBool) {
  Random random;
  for (int n = 0; n < 20000; ++n) {
    std::uint64_t a = random.bits(ScalarKind::f32);
    double value = bits_to_float(ScalarKind::f32, a);
    if (std::isnan(value)) continue;
    ASSERT_EQ(eval_cast(ScalarKind::f32, ScalarKind::f64, a), std::bit_cast<std::uint64_t>(value));
    ASSERT_EQ(eval_cast(ScalarKind::f32, ScalarKind::f16, a), nearest_half(ScalarKind::f16, value));
    ASSERT_EQ(eval_cast(ScalarKind::f32, ScalarKind::bf16, a), nearest_half(ScalarKind::bf16, value));
  }
  EXPECT_EQ(eval_cast(ScalarKind::f64, ScalarKind::f32, 0x7ff0000000000001), 0x7fc00000u);
  EXPECT_EQ(eval_cast(ScalarKind::f32, ScalarKind::boolean, 0x80000000), 0u);
  EXPECT_EQ(eval_cast(ScalarKind::f32, ScalarKind::boolean, 0x7fc00000), 1u);
  EXPECT_EQ(eval_cast(ScalarKind::f32, ScalarKind::boolean, 1), 1u);
  EXPECT_EQ(eval_cast(ScalarKind::i64, ScalarKind::boolean, std::uint64_t(1) << 40), 1u);
  EXPECT_EQ(eval_cast(ScalarKind::boolean, ScalarKind::i8, 1), 1u);
  EXPECT_EQ(eval_cast(ScalarKind::boolean, ScalarKind::f16, 1), 0x3c00u);
}

}  // namespace
}  // namespace weft::ir
