// Values: arithmetic, conversion, aggregates, whole-aggregate algebra.
#include <array>
#include <bit>
#include <cmath>

#include "interp_text.h"

namespace weft::testing {
namespace {

std::int32_t int_of(const std::string& expression, std::int32_t a, std::int32_t b) {
  return as<std::int32_t>(
      call("func @f(%a: i32, %b: i32) -> (i32) {\n%r = " + expression + "\nreturn %r\n}\n", {datum(a), datum(b)})[0]);
}
float float_of(const std::string& expression, float a, float b) {
  return as<float>(
      call("func @f(%a: f32, %b: f32) -> (f32) {\n%r = " + expression + "\nreturn %r\n}\n", {datum(a), datum(b)})[0]);
}

TEST(InterpValues, IntegersNeverTrap) {
  EXPECT_EQ(int_of("add %a, %b", INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(int_of("div %a, %b", 7, 0), 0);
  EXPECT_EQ(int_of("div %a, %b", INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(int_of("floordiv %a, %b", -7, 2), -4);
  EXPECT_EQ(int_of("rem %a, %b", -7, 2), -1);
  EXPECT_EQ(int_of("rem %a, %b", 7, 0), 7);
  EXPECT_EQ(int_of("rem %a, %b", INT32_MIN, -1), 0);
  EXPECT_EQ(int_of("shl %a, %b", 1, 33), 2);
  EXPECT_EQ(int_of("shr %a, %b", -8, 1), -4);
}

TEST(InterpValues, FloatMinMaxIgnoreNan) {
  EXPECT_EQ(float_of("min %a, %b", NAN, 2), 2);
  EXPECT_EQ(float_of("max %a, %b", 2, NAN), 2);
  EXPECT_TRUE(std::signbit(float_of("min %a, %b", 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(float_of("min %a, %b", -0.0f, 0.0f)));
}

TEST(InterpValues, ElementaryFunctionsRunTheirLibraryBody) {
  EXPECT_NEAR(float_of("sin %a", 1.25f, 0), std::sin(1.25), 6e-8);
  EXPECT_NEAR(float_of("pow %a, %b", 1.25f, 3.5f), std::pow(1.25, 3.5), 2.4e-7);
  EXPECT_EQ(float_of("exp %a", 0, 0), 1);
  EXPECT_EQ(float_of("rem %a, %b", 7.5f, 2.0f), 1.5f);
}

TEST(InterpValues, SixteenBitFloatsRoundOnce) {
  auto results = call(
      "func @f(%a: f32) -> (f32, f32) {\n%h = cast %a : f16\n%s = add %h, %h\n%e = exp %s\n%x = cast %e : f32\n"
      "%b = cast %a : bf16\n%y = cast %b : f32\nreturn %x, %y\n}\n",
      {datum(0.1f)});
  std::uint16_t half = std::uint16_t(ir::float_to_bits(ScalarKind::f16, 0.1f));
  float doubled = float(ir::bits_to_float(ScalarKind::f16, half)) * 2;
  float exp = float_of("exp %a", doubled, 0);
  EXPECT_EQ(as<float>(results[0]), float(ir::bits_to_float(ScalarKind::f16, ir::float_to_bits(ScalarKind::f16, exp))));
  EXPECT_EQ(as<float>(results[1]), std::bit_cast<float>(0x3dcd0000u));
}

TEST(InterpValues, PathsReachEveryPart) {
  std::string text =
      "struct %P { x: f32, m: mat<f32,2,3>, k: i32 }\n"
      "func @f(%i: i32) -> (f32, f32, i32, f32) {\n"
      "%m = construct mat<f32,2,3> 0.0f32, 1.0f32, 2.0f32, 3.0f32, 4.0f32, 5.0f32\n"
      "%p = construct %P 9.0f32, %m, 7i32\n%a = extract %p.1[%i~][2]\n%b = extract %p.1[%i][1]\n"
      "%q = insert %p, 8.0f32, .1[%i~][0]\n%k = extract %q.2\n%row = extract %q.1[1]\n%c = extract %row[0]\n"
      "return %a, %b, %k, %c\n}\n";
  auto r = call(text, {datum(-1)});
  EXPECT_EQ(as<float>(r[0]), 5.0f);
  EXPECT_EQ(as<float>(r[1]), 0.0f);  // out of range without wrap
  EXPECT_EQ(as<std::int32_t>(r[2]), 7);
  EXPECT_EQ(as<float>(r[3]), 8.0f);
  r = call(text, {datum(5)});
  EXPECT_EQ(as<float>(r[0]), 0.0f);
  EXPECT_EQ(as<float>(r[3]), 3.0f);  // the insert changed nothing
}

TEST(InterpValues, TuplesHoldAnything) {
  auto r = call(
      "func @f(%a: f32, %b: i64) -> (i64, f32) {\n%i = construct tuple<f32,i64> %a, %b\n"
      "%t = construct tuple<i32,tuple<f32,i64>> 3i32, %i\n%x = extract %t.1.1\n%y = extract %t.1.0\nreturn %x, %y\n}\n",
      {datum(2.5f), datum(std::int64_t(1) << 40)});
  EXPECT_EQ(as<std::int64_t>(r[0]), std::int64_t(1) << 40);
  EXPECT_EQ(as<float>(r[1]), 2.5f);
}

TEST(InterpValues, ProductsInIndexOrder) {
  using Mat = std::array<float, 6>;
  auto r = call(
      "func @f(%m: mat<f32,2,3>) -> (vec<f32,2>, mat<f32,3,2>, mat<f32,2,2>, vec<f32,3>) {\n"
      "%v = construct vec<f32,3> 1.0f32, 2.0f32, 3.0f32\n%a = matmul %m, %v\n%t = transpose %m\n%s = matmul %m, %t\n"
      "%w = matmul %a, %m\nreturn %a, %t, %s, %w\n}\n",
      {datum(types::mat(types::f32(), 2, 3), Mat{1, 2, 3, 4, 5, 6})});
  EXPECT_EQ((as<std::array<float, 2>>(r[0])), (std::array<float, 2>{14, 32}));
  EXPECT_EQ(as<Mat>(r[1]), (Mat{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ((as<std::array<float, 4>>(r[2])), (std::array<float, 4>{14, 32, 32, 77}));
  EXPECT_EQ((as<std::array<float, 3>>(r[3])), (std::array<float, 3>{14 + 128, 28 + 160, 42 + 192}));
}

TEST(InterpValues, ContractedDotFuses) {
  using Vec = std::array<float, 2>;
  float e = 0x1p-12f;
  std::string head = "func @f(%v: vec<f32,2>) -> (f32) {\n%r = dot";
  auto arg = datum(types::vec(types::f32(), 2), Vec{1.0f, 1.0f + e});
  float product = (1.0f + e) * (1.0f + e);
  EXPECT_EQ(as<float>(call(head + " %v, %v\nreturn %r\n}\n", {arg})[0]), 1.0f + product);
  EXPECT_EQ(as<float>(call(head + "(contract) %v, %v\nreturn %r\n}\n", {arg})[0]), std::fma(1.0f + e, 1.0f + e, 1.0f));
}

TEST(InterpValues, EqualityOfStructsIsByValue) {
  std::string text =
      "struct %P { x: f32, k: i32 }\nfunc @f(%a: f32, %b: f32) -> (bool, bool) {\n%p = construct %P %a, 1i32\n"
      "%q = construct %P %b, 1i32\n%r = eq %p, %q\n%s = ne %p, %q\nreturn %r, %s\n}\n";
  EXPECT_TRUE(as<bool>(call(text, {datum(0.0f), datum(-0.0f)})[0]));
  EXPECT_FALSE(as<bool>(call(text, {datum(NAN), datum(NAN)})[0]));
  EXPECT_TRUE(as<bool>(call(text, {datum(NAN), datum(NAN)})[1]));
}

}  // namespace
}  // namespace weft::testing
