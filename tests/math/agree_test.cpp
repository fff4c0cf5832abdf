// Each elementary function on any bits, on edge cases and on ordinary numbers: interpreter, one lane and all lane counts
// give the same bits, and ptxas takes the PTX.
#include "agree.h"

namespace weft::agree {
namespace {

const std::vector<std::string> kUnary = {"sin",  "cos",   "tan",  "asin",  "acos",  "atan", "sinh", "cosh",   "tanh",
                                         "exp",  "log",   "log2", "log10", "cbrt",  "erf",  "erfc", "erfinv", "erfcinv",
                                         "sqrt", "round", "rint", "trunc", "floor", "ceil", "frac"};
const std::vector<std::string> kBinary = {"atan2", "pow", "copysign"};

class EachFunction : public testing::TestWithParam<std::string> {};
class EachPair : public testing::TestWithParam<std::string> {};
auto name_of_param = [](const auto& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(Math, EachFunction, testing::ValuesIn(kUnary), name_of_param);
INSTANTIATE_TEST_SUITE_P(Math, EachPair, testing::ValuesIn(kBinary), name_of_param);

TEST_P(EachFunction, IsOneFunctionEverywhere) {
  Case c(
      "\n@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array(dtype=wp.float64), p: wp.array(dtype=float), "
      "q: wp.array(dtype=wp.float64)):\n    i = wp.tid()\n    p[i] = wp." +
          GetParam() + "(a[i])\n    q[i] = wp." + GetParam() + "(b[i])\n",
      {331});
  for (Fill fill : {Fill::bits, Fill::edges, Fill::small}) {
    Case filled = c;
    filled.array("float32", {331}, fill).array("float64", {331}, fill);
    filled.array("float32", {331}, Fill::zeros).array("float64", {331}, Fill::zeros);
    expect_agreement(filled, fill == Fill::bits ? Effort::full : Effort::brief);
  }
}

TEST_P(EachPair, IsOneFunctionEverywhere) {
  Case c(
      "\n@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=wp.float64), "
      "d: wp.array(dtype=wp.float64), p: wp.array(dtype=float), q: wp.array(dtype=wp.float64)):\n    i = wp.tid()\n"
      "    p[i] = wp." +
          GetParam() + "(a[i], b[i])\n    q[i] = wp." + GetParam() + "(c[i], d[i])\n",
      {331});
  for (Fill fill : {Fill::bits, Fill::edges, Fill::small}) {
    Case filled = c;
    filled.array("float32", {331}, fill).array("float32", {331}, fill);
    filled.array("float64", {331}, fill).array("float64", {331}, fill);
    filled.array("float32", {331}, Fill::zeros).array("float64", {331}, Fill::zeros);
    expect_agreement(filled, fill == Fill::bits ? Effort::full : Effort::brief);
  }
}

TEST(MathInlining, ManyCallsAreTheSameFunction) {
  // More than may be inlined: some are called out of line, with the same bits.
  std::string text = "\n@wp.kernel\ndef k(a: wp.array(dtype=float), p: wp.array2d(dtype=float)):\n    i = wp.tid()\n";
  for (int k = 0; k < 40; ++k)
    text += "    p[i, " + std::to_string(k) + "] = wp.pow(wp.abs(a[i]) + " + std::to_string(k) +
            ".0, 1.5) + wp.sin(a[i] * " + std::to_string(k) + ".0)\n";
  Case c(text, {37});
  c.array("float32", {37}, Fill::small).array("float32", {37, 40}, Fill::zeros);
  expect_agreement(c);
}

TEST(MathInlining, ConstantsFold) {
  Case c("\n@wp.kernel\ndef k(p: wp.array(dtype=float)):\n    i = wp.tid()\n    p[i] = wp.exp(1.5) + wp.sin(1.0e6)\n",
         {5});
  c.array("float32", {5}, Fill::zeros);
  expect_agreement(c);
}

TEST(Remainder, OfFloatsIsExact) {
  Case c(R"(
@wp.kernel
def k(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=wp.float64), d: wp.array(dtype=wp.float64),
      p: wp.array(dtype=float), q: wp.array(dtype=wp.float64)):
    i = wp.tid()
    p[i] = a[i] % b[i]
    q[i] = c[i] % d[i]
)",
         {997});
  for (Fill fill : {Fill::bits, Fill::edges, Fill::small}) {
    Case filled = c;
    filled.array("float32", {997}, fill).array("float32", {997}, fill);
    filled.array("float64", {997}, fill).array("float64", {997}, fill);
    filled.array("float32", {997}, Fill::zeros).array("float64", {997}, Fill::zeros);
    expect_agreement(filled, Effort::brief);
  }
}

}  // namespace
}  // namespace weft::agree
