// Scalars of every type: all operators and functions on what arithmetic is afraid of, casts between all pairs, and the
// values that the language promises for division by zero, shifts past the width and conversions out of range.
#include <limits>

#include "agree.h"

namespace weft::agree {
namespace {

const std::vector<std::string> kInts = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"};
const std::vector<std::string> kFloats = {"float16", "bfloat16", "float32", "float64"};

class EachInt : public testing::TestWithParam<std::string> {};
class EachFloat : public testing::TestWithParam<std::string> {};
class EachScalar : public testing::TestWithParam<std::string> {};

std::vector<std::string> all_scalars() {
  std::vector<std::string> out = {"bool"};
  out.insert(out.end(), kInts.begin(), kInts.end());
  out.insert(out.end(), kFloats.begin(), kFloats.end());
  return out;
}

auto name_of_param = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(Scalar, EachInt, testing::ValuesIn(kInts), name_of_param);
INSTANTIATE_TEST_SUITE_P(Scalar, EachFloat, testing::ValuesIn(kFloats), name_of_param);
INSTANTIATE_TEST_SUITE_P(Scalar, EachScalar, testing::ValuesIn(all_scalars()), name_of_param);

TEST_P(EachInt, Operators) {
  Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=$T), b: wp.array(dtype=$T), out: wp.array2d(dtype=$T), cmp: wp.array2d(dtype=bool)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    out[i, 0] = x + y
    out[i, 1] = x - y
    out[i, 2] = x * y
    out[i, 3] = x / y
    out[i, 4] = x // y
    out[i, 5] = x % y
    out[i, 6] = x & y
    out[i, 7] = x | y
    out[i, 8] = x ^ y
    out[i, 9] = x << y
    out[i, 10] = x >> y
    out[i, 11] = -x
    out[i, 12] = ~x
    out[i, 13] = +x
    out[i, 14] = wp.min(x, y)
    out[i, 15] = wp.max(x, y)
    out[i, 16] = wp.abs(x)
    out[i, 17] = wp.sign(x)
    out[i, 18] = wp.clamp(x, y, $T(5))
    out[i, 19] = x if x < y else y
    cmp[i, 0] = x < y
    cmp[i, 1] = x <= y
    cmp[i, 2] = x > y
    cmp[i, 3] = x >= y
    cmp[i, 4] = x == y
    cmp[i, 5] = x != y
    cmp[i, 6] = bool(x)
    cmp[i, 7] = not x
    cmp[i, 8] = y < x < $T(7)
)",
                   "wp." + GetParam()),
         {203});
  c.array(GetParam(), {203}, Fill::edges).array(GetParam(), {203}, Fill::edges);
  c.array(GetParam(), {203, 20}, Fill::zeros).array("bool", {203, 9}, Fill::zeros);
  expect_agreement(c);
}

TEST_P(EachFloat, Operators) {
  Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=$T), b: wp.array(dtype=$T), out: wp.array2d(dtype=$T), cmp: wp.array2d(dtype=bool)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    out[i, 0] = x + y
    out[i, 1] = x - y
    out[i, 2] = x * y
    out[i, 3] = x / y
    out[i, 4] = x // y
    out[i, 5] = x % y
    out[i, 6] = -x
    out[i, 7] = wp.min(x, y)
    out[i, 8] = wp.max(x, y)
    out[i, 9] = wp.abs(x)
    out[i, 10] = wp.sign(x)
    out[i, 11] = wp.clamp(x, y, $T(5.0))
    out[i, 12] = x * y + x
    out[i, 13] = x - y * y
    out[i, 14] = wp.sqrt(x)
    out[i, 15] = wp.floor(x) + wp.ceil(y)
    out[i, 16] = wp.trunc(x)
    out[i, 17] = wp.round(x)
    out[i, 18] = wp.rint(x)
    out[i, 19] = wp.lerp(x, y, $T(0.25))
    out[i, 20] = wp.step(x) + wp.nonzero(y)
    out[i, 21] = wp.frac(x)
    cmp[i, 0] = x < y
    cmp[i, 1] = x <= y
    cmp[i, 2] = x > y
    cmp[i, 3] = x >= y
    cmp[i, 4] = x == y
    cmp[i, 5] = x != y
    cmp[i, 6] = bool(x)
    cmp[i, 7] = wp.isnan(x)
    cmp[i, 8] = wp.isinf(x)
    cmp[i, 9] = wp.isfinite(x)
    cmp[i, 10] = x <= y < x
)",
                   "wp." + GetParam()),
         {331});
  c.array(GetParam(), {331}, Fill::edges).array(GetParam(), {331}, Fill::edges);
  c.array(GetParam(), {331, 22}, Fill::zeros).array("bool", {331, 11}, Fill::zeros);
  expect_agreement(c);
}

TEST_P(EachFloat, Functions) {
  for (Fill fill : {Fill::edges, Fill::small, Fill::bits}) {
    Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=$T), b: wp.array(dtype=$T), out: wp.array2d(dtype=$T)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    out[i, 0] = wp.sin(x)
    out[i, 1] = wp.cos(x)
    out[i, 2] = wp.tan(x)
    out[i, 3] = wp.asin(x)
    out[i, 4] = wp.acos(x)
    out[i, 5] = wp.atan(x)
    out[i, 6] = wp.atan2(x, y)
    out[i, 7] = wp.sinh(x)
    out[i, 8] = wp.cosh(x)
    out[i, 9] = wp.tanh(x)
    out[i, 10] = wp.exp(x)
    out[i, 11] = wp.log(x)
    out[i, 12] = wp.log2(x)
    out[i, 13] = wp.log10(x)
    out[i, 14] = wp.pow(x, y)
    out[i, 15] = x ** y
    out[i, 16] = wp.cbrt(x)
    out[i, 17] = wp.erf(x)
    out[i, 18] = wp.erfc(x)
    out[i, 19] = wp.degrees(x) + wp.radians(y)
    out[i, 20] = wp.smoothstep($T(0.0), $T(1.0), x)
)",
                     "wp." + GetParam()),
           {331});
    c.array(GetParam(), {331}, fill).array(GetParam(), {331}, fill).array(GetParam(), {331, 21}, Fill::zeros);
    expect_agreement(c, Effort::brief);
  }
}

TEST_P(EachScalar, CastsToAll) {
  std::string text = "\n@wp.kernel\ndef k(a: wp.array(dtype=$T)", body = "\n    i = wp.tid()\n    x = a[i]\n";
  const std::vector<std::string> all = all_scalars();
  for (const std::string& to : all) {
    text += ", to_" + to + ": wp.array(dtype=wp." + to + ")";
    body += "    to_" + to + "[i] = wp." + to + "(x)\n";
  }
  Case c(with_type(text + "):" + body, "wp." + GetParam()), {96});
  c.array(GetParam(), {96}, Fill::edges);
  for (const std::string& to : all) c.array(to, {96}, Fill::zeros);
  expect_agreement(c);
}

TEST_P(EachScalar, CastsOfAnyBits) {
  std::string text = "\n@wp.kernel\ndef k(a: wp.array(dtype=$T)", body = "\n    i = wp.tid()\n    x = a[i]\n";
  for (const std::string& to : all_scalars()) {
    text += ", to_" + to + ": wp.array(dtype=wp." + to + ")";
    body += "    to_" + to + "[i] = wp." + to + "(x)\n";
  }
  Case c(with_type(text + "):" + body, "wp." + GetParam()), {1000});
  c.array(GetParam(), {1000}, Fill::bits);
  for (const std::string& to : all_scalars()) c.array(to, {1000}, Fill::zeros);
  expect_agreement(c, Effort::brief);
}

TEST(Scalar, Bool) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=bool), b: wp.array(dtype=bool), out: wp.array2d(dtype=bool)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    out[i, 0] = x and y
    out[i, 1] = x or y
    out[i, 2] = not x
    out[i, 3] = x & y
    out[i, 4] = x | y
    out[i, 5] = x ^ y
    out[i, 6] = x == y
    out[i, 7] = x != y
    out[i, 8] = x if y else not x
)",
         {9});
  c.array("bool", {9}).array("bool", {9}, Fill::bits).array("bool", {9, 9}, Fill::zeros);
  expect_agreement(c);
}

TEST(Scalar, PromisedValues) {
  Case c(R"(
@wp.kernel
def k(one: int, zero: int, low: int, big: float, nan: float, out: wp.array(dtype=int), wide: wp.array(dtype=wp.int64), u: wp.array(dtype=wp.uint8)):
    out[0] = one / zero
    out[1] = one // zero
    out[2] = (one + 6) % zero
    out[3] = low / (zero - one)
    out[4] = low // (zero - one)
    out[5] = low % (zero - one)
    out[6] = one << (32 + 3 * one)
    out[7] = low >> (32 + one)
    out[8] = int(big)
    out[9] = int(-big)
    out[10] = int(nan)
    out[11] = (zero - 7 * one) / 2
    out[12] = (zero - 7 * one) // 2
    out[13] = (zero - 7 * one) % 3
    out[14] = -low
    out[15] = wp.abs(low)
    wide[0] = wp.int64(big)
    wide[1] = wp.int64(1) << wp.int64(64 * one + 2)
    u[0] = wp.uint8(300 * one)
    u[1] = wp.uint8(zero - one)
    u[2] = wp.uint8(big)
    u[3] = wp.uint8(-big)
    u[4] = wp.uint8(nan)
)",
         {1});
  c.integer(1)
      .integer(0)
      .integer(std::numeric_limits<std::int32_t>::min())
      .real(1e20)
      .real(std::numeric_limits<double>::quiet_NaN());
  c.array("int32", {16}, Fill::zeros).array("int64", {2}, Fill::zeros).array("uint8", {5}, Fill::zeros);
  // In debug mode a division by zero is an error, which expect_agreement compares too.
  const Outcome got = expect_agreement(c);
  const std::int32_t low = std::numeric_limits<std::int32_t>::min(), high = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(values<std::int32_t>(got, 0),
            (std::vector<std::int32_t>{0, 0, 7, low, low, 0, 8, low >> 1, high, low, 0, -3, -4, -1, low, low}));
  EXPECT_EQ(values<std::int64_t>(got, 1), (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(), 4}));
  EXPECT_EQ(values<std::uint8_t>(got, 2), (std::vector<std::uint8_t>{44, 255, 255, 0, 0}));
}

TEST(Scalar, Reinterpret) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=int), b: wp.array(dtype=wp.int64), f: wp.array(dtype=float), g: wp.array(dtype=wp.float64), h: wp.array(dtype=wp.int16), x: wp.array(dtype=wp.float16)):
    i = wp.tid()
    f[i] = wp.cast(a[i], float)
    g[i] = wp.cast(b[i], wp.float64)
    x[i] = wp.cast(h[i], wp.float16)
    a[i] = wp.cast(f[i], int) + 1
)",
         {40});
  c.array("int32", {40}, Fill::small).array("int64", {40}, Fill::bits).array("float32", {40}).array("float64", {40});
  c.array("int16", {40}, Fill::bits).array("float16", {40});
  expect_agreement(c);
}

TEST(Scalar, IntegerParametersAndIndicesOfEveryType) {
  for (const std::string& type : kInts) {
    Case c(with_type(R"(
@wp.kernel
def k(n: $T, x: wp.array(dtype=float), y: wp.array(dtype=$T), z: wp.array(dtype=float)):
    i = wp.tid()
    y[$T(i)] = $T(x[n]) + n
    z[i + int(n)] = float(n)
)",
                     "wp." + type),
           {20});
    c.integer(3)
        .array("float32", {30}, Fill::counting)
        .array(type, {20}, Fill::zeros)
        .array("float32", {30}, Fill::counting);
    expect_agreement(c, Effort::brief);
  }
}

}  // namespace
}  // namespace weft::agree
