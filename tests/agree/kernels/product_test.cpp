// Products of matrices between arrays, which machine code takes row by row instead of lane by lane: from and to every
// kind of place, in place, under conditions, with a write between reading and writing; inverses over the whole range.
#include "agree.h"

#include <cmath>
#include <limits>

namespace weft::agree {
namespace {

TEST(Product, BetweenArrays) {
  for (const std::string suffix : {"f", "d"}) {
    Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=wp.mat44$T), b: wp.array(dtype=wp.mat44$T), c: wp.array(dtype=wp.mat44$T), d: wp.array(dtype=wp.mat44$T), e: wp.array(dtype=wp.mat44$T)):
    i = wp.tid()
    c[i] = a[i] * b[i]
    d[2 * i + 1] = a[i] * a[i]
    e[36 - i] = a[3] * b[i]
)",
                     suffix),
           {37});
    c.array("mat44" + suffix, {37})
        .array("mat44" + suffix, {37})
        .array("mat44" + suffix, {37}, Fill::zeros)
        .array("mat44" + suffix, {75}, Fill::zeros)
        .array("mat44" + suffix, {37}, Fill::zeros);
    expect_agreement(c);
  }
}

TEST(Product, InPlaceAndAcrossAWrite) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    a[i] = a[i] * b[i]
    x = a[i]
    a[i] = b[i]
    c[i] = x * a[i]
    b[i] = b[i] * b[i]
)",
         {41});
  c.array("mat44", {41}).array("mat44", {41}).array("mat44", {41}, Fill::zeros);
  expect_agreement(c);
}

TEST(Product, OverlappingArguments) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = a[i] * b[i]
)",
         {23});
  c.array("mat44", {23}).view(0, {23}, {64}).view(0, {23}, {64});
  expect_agreement(c);
}

TEST(Product, IndexedConditionalAndInStructs) {
  Case c(R"(
@wp.struct
class Pair:
    weight: float
    left: wp.mat44
    right: wp.mat44

@wp.kernel
def k(at: wp.array(dtype=int), a: wp.array(dtype=wp.mat44), b: wp.array2d(dtype=wp.mat44), p: wp.array(dtype=Pair), c: wp.array(dtype=wp.mat44), e: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    j = wp.abs(at[i]) % 29
    c[i] = a[j] * b[i, 1]
    if i % 3 == 1:
        b[i, 0] = a[i] * b[i, 1]
    if i % 3 == 2:
        p[i].left = p[i].left * p[i].right
    e[-1 - i] = p[i].right * p[i].right
)",
         {29});
  c.array("int32", {29})
      .array("mat44", {29})
      .array("mat44", {29, 2})
      .array("Pair", {29})
      .array("mat44", {29}, Fill::zeros)
      .array("mat44", {29}, Fill::zeros);
  expect_agreement(c, Effort::brief);
}

TEST(Product, InverseOfEveryMagnitude) {
  for (const std::string suffix : {"f", "d", "h"})
    for (Fill fill : {Fill::small, Fill::edges}) {
      Case c(with_type(R"(
@wp.kernel
def k(a: wp.array(dtype=wp.mat22$T), b: wp.array(dtype=wp.mat33$T), e: wp.array(dtype=wp.mat44$T)):
    i = wp.tid()
    a[i] = wp.inverse(a[i])
    b[i] = wp.inverse(b[i])
    e[i] = wp.inverse(e[i])
)",
                       suffix),
             {37});
      c.array("mat22" + suffix, {37}, fill).array("mat33" + suffix, {37}, fill).array("mat44" + suffix, {37}, fill);
      expect_agreement(c, Effort::brief);
    }
}

TEST(Product, InverseOfExtremeDiagonals) {
  // The determinant of the scaled matrix may be subnormal, a reciprocal may overflow; neither may show.
  const float diagonals[][3] = {{1, 1e-20f, 1e-20f},
                                {1e38f, 1e38f, 2e38f},
                                {1e-37f, 2e-38f, 1e-37f},
                                {1e-38f, 1e-38f, 1e-38f},
                                {1e10f, 1, 1e-3f},
                                {std::ldexp(1.f, 127), std::ldexp(1.f, 127), 3e38f},
                                {-2, 4, -8}};
  Case c(R"(
@wp.kernel
def k(d: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    out[i] = wp.inverse(wp.diag(d[i]))
)",
         {7});
  c.data("vec3", diagonals, sizeof diagonals, {7}).array("mat33", {7}, Fill::zeros);
  const std::vector<float> out = values<float>(expect_agreement(c, Effort::brief), 1);
  for (int i = 0; i < 7; ++i)
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 3; ++column) {
        const float x = out[std::size_t(9 * i + 3 * row + column)], want = row == column ? 1 / diagonals[i][row] : 0;
        EXPECT_NEAR(x, want, std::abs(want) * 1e-4f + 3e-45f) << i << ": " << row << ", " << column;
      }
}

TEST(Product, InverseOfWhatIsNotFinite) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const float matrices[][9] = {
      {inf, 1, 2, 3, 4, 5, 6, 7, 9}, {1, 2, 3, 4, -inf, 0, 0, 0, 1}, {1, 0, 0, 0, nan, 0, 0, 0, 1}};
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    out[i] = wp.inverse(a[i])
)",
         {3});
  c.data("mat33", matrices, sizeof matrices, {3}).array("mat33", {3}, Fill::zeros);
  for (float x : values<float>(expect_agreement(c, Effort::brief), 1)) EXPECT_TRUE(std::isnan(x));
}

}  // namespace
}  // namespace weft::agree
