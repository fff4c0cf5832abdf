// Derivatives of every primitive and whole-aggregate operation against differences.
#include "gradient_check.h"

namespace weft::autodiff::test {
namespace {

Check scalar(const std::string& expression) {
  Check check;
  check.text =
      "@wp.kernel\ndef k(x: wp.array(dtype=d), y: wp.array(dtype=d), out: wp.array(dtype=d)):\n"
      "    i = wp.tid()\n    a = x[i]\n    b = y[i]\n    out[i] = " +
      expression + "\n";
  check.floats["x"] = {0.31, 0.72, 0.55, 0.12};
  check.floats["y"] = {1.3, 0.4, -0.8, 2.1};
  check.dims = {4};
  return check;
}

class ScalarRule : public ::testing::TestWithParam<const char*> {};
TEST_P(ScalarRule, AgreesWithDifferences) { expect_gradient(scalar(GetParam())); }
INSTANTIATE_TEST_SUITE_P(All, ScalarRule,
                         ::testing::Values("a + b", "a - b", "a * b", "a / b", "-a * b", "wp.min(a, b)", "wp.max(a, b)",
                                           "wp.abs(b) * a", "wp.sqrt(a) * b", "wp.sin(a)", "wp.cos(a * b)", "wp.tan(a)",
                                           "wp.asin(a)", "wp.acos(a)", "wp.atan(b)", "wp.atan2(a, b)", "wp.sinh(b)",
                                           "wp.cosh(b)", "wp.tanh(b)", "wp.exp(a * b)", "wp.log(a)", "wp.erf(b)",
                                           "wp.erfc(a)", "wp.erfinv(a)", "wp.erfcinv(a)", "wp.log2(a)", "wp.log10(a)",
                                           "wp.pow(a, b)", "wp.cbrt(a)", "a % d(0.5)", "wp.floor(a) + b",
                                           "wp.clamp(a, d(0.2), d(0.6)) * b", "d(wp.float32(a) * wp.float32(0.0)) + a",
                                           "wp.where(b > d(0.0), a * b, a - b)", "a ** d(3.0)",
                                           "(a if b > d(0.0) else b) * a"));

TEST(Extremes, WhatIsNoNumberMovesNothing) {
  // The root of a negative number is ignored, and so is all that would come of it.
  expect_gradient(scalar("wp.max(d(0.1), wp.sqrt(b) * a)"));
  expect_gradient(scalar("wp.min(a, wp.sqrt(b)) + wp.max(a, wp.sqrt(b))"));
  expect_gradient(scalar("wp.min(wp.sqrt(b), a) + wp.max(wp.sqrt(b), a)"));
}

Check whole(const std::string& lines) {
  Check check;
  check.text =
      "@wp.kernel\ndef k(x: wp.array(dtype=wp.mat33d), y: wp.array(dtype=wp.vec3d), z: wp.array(dtype=wp.vec3d), "
      "out: wp.array(dtype=d), out_v: wp.array(dtype=wp.vec3d), out_m: wp.array(dtype=wp.mat33d)):\n"
      "    i = wp.tid()\n    m = x[i]\n    a = y[i]\n    b = z[i]\n" +
      lines + "\n";
  check.dims = {2};
  return check;
}

class WholeRule : public ::testing::TestWithParam<const char*> {};
TEST_P(WholeRule, AgreesWithDifferences) { expect_gradient(whole(std::string("    ") + GetParam())); }
INSTANTIATE_TEST_SUITE_P(
    All, WholeRule,
    ::testing::Values("out[i] = wp.dot(a, b)", "out_v[i] = wp.cross(a, b)", "out_v[i] = a * wp.length(b)",
                      "out_v[i] = wp.normalize(a)", "out_v[i] = m * a", "out_v[i] = a * m", "out_m[i] = m * m",
                      "out_m[i] = wp.transpose(m) * wp.outer(a, b)", "out[i] = wp.determinant(m)",
                      "out_m[i] = wp.inverse(m)", "out_v[i] = wp.cw_mul(a, b) + wp.cw_div(a, b + wp.vec3d(d(2.0)))",
                      "out_v[i] = a / wp.dot(b, b)", "out[i] = a[0] * b[i] + m[1, 2] * a[2]",
                      "out_v[i] = wp.vec3d(a[1] * a[2], b[0], d(3.0) * a[0])", "out_v[i] = m[i]",
                      "out_v[i] = wp.vec3d(a[0])", "out_v[i] = wp.min(a, b) + wp.max(a, b * d(2.0))",
                      "a[1] = b[0] * a[1]\n    out_v[i] = a", "m[1, i] = a[0] * m[0, 0]\n    out_m[i] = m",
                      "out[i] = wp.trace(m * m)"));

TEST(Structs, FieldsAndArraysOfStructs) {
  Check check;
  check.text =
      "@wp.func\ndef mix(a: wp.vec3d, s: d):\n    return a * s, s * s\n"
      "@wp.kernel\ndef k(x: wp.array(dtype=wp.vec3d), y: wp.array(dtype=d), out: wp.array(dtype=d)):\n"
      "    i = wp.tid()\n    v, s = mix(x[i], y[i])\n    out[i] = wp.dot(v, x[i]) * s\n";
  expect_gradient(check);
}

TEST(Vectors, ComponentLoop) {
  Check check;
  check.text =
      "@wp.kernel\ndef k(x: wp.array(dtype=wp.vec4d), n: wp.array(dtype=int), out: wp.array(dtype=wp.vec4d)):\n"
      "    i = wp.tid()\n    v = x[i]\n    for j in range(n[i]):\n        v[j % 4] = v[(j + 1) % 4] * v[j % 4]\n"
      "    out[i] = v\n";
  check.ints["n"] = {0, 3, 9};
  expect_gradient(check);
}

}  // namespace
}  // namespace weft::autodiff::test
