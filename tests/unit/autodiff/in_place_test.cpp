// Kernels that overwrite what they have read: the taped launch writes down what the reverse needs, and only that.
#include "gradient_check.h"

namespace weft::autodiff::test {
namespace {

Check kernel(const std::string& params, const std::string& body, std::vector<double> out) {
  Check check;
  check.text = "@wp.kernel\ndef k(" + params + "):\n    i = wp.tid()\n";
  std::string line;
  for (char c : body + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    check.text += "    " + line + "\n";
    line.clear();
  }
  check.floats["out"] = std::move(out);
  return check;
}

const std::string kOut = "out: wp.array(dtype=d)", kX = "x: wp.array(dtype=d), out: wp.array(dtype=d)",
                  kN = "x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)";

TEST(InPlace, Square) {
  Check check = kernel(kOut, "out[i] = out[i] * out[i]", {0.5, 1.5, -2.0});
  check.records = 1;
  expect_gradient(check);
}

TEST(InPlace, ScaleKeepsTheValueAndTheFactorIsReadAgain) {
  Check check = kernel(kX, "out[i] *= x[i]", {0.5, 1.5, -2.0});
  check.records = 1;
  expect_gradient(check);
}

TEST(InPlace, LinearKeepsNothing) {
  Check check = kernel(kX, "out[i] = out[i] * d(3.0) + x[i] * x[i]", {1.0, 2.0, 3.0});
  check.records = 0;
  expect_gradient(check);
}

TEST(InPlace, SwapNeedsNothing) {
  Check check = kernel(kOut, "t = out[2 * i]\nout[2 * i] = out[2 * i + 1]\nout[2 * i + 1] = t", {1, 2, 3, 4, 5, 6});
  check.records = 0;
  expect_gradient(check);
}

TEST(InPlace, SwapIfGreater) {
  Check check = kernel(kOut,
                       "a = out[2 * i]\nb = out[2 * i + 1]\nif a > b:\n    out[2 * i] = b * b\n"
                       "    out[2 * i + 1] = a * wp.sin(b)",
                       {1, 2, 4, 3, 5, -6});
  expect_gradient(check);
}

TEST(InPlace, RepeatedInALoop) {
  for (std::uint64_t slots : {1, 8192}) {
    Check check = kernel(kN, "for j in range(n[i]):\n    out[i] = wp.sin(out[i]) * x[i] + out[i]", {0.3, 0.6, 0.9});
    check.ints["n"] = {0, 40, 200};
    check.slot_bytes = slots;
    expect_gradient(check);
  }
}

TEST(InPlace, PagesFillAndLink) {
  Check check = kernel(kN, "for j in range(n[i]):\n    for e in range(j % 3):\n        out[i] = wp.cos(out[i]) * x[i]",
                       {0.3, 0.6, 0.9});
  check.ints["n"] = {1, 33, 140};
  expect_gradient(check);
}

TEST(InPlace, GaussSeidel) {
  Check check = kernel(kX,
                       "for sweep in range(3):\n    for j in range(1, 5):\n"
                       "        out[j] = d(0.5) * (out[j - 1] + out[j + 1]) * wp.cos(out[j]) + x[j]",
                       {0.1, 0.5, 0.3, 0.2, 0.8, 0.4});
  check.dims = {1};
  check.floats["x"] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  expect_gradient(check);
}

TEST(InPlace, PrefixSumsAreLinear) {
  Check check = kernel(kOut, "for j in range(1, 5):\n    out[j] = out[j] + out[j - 1]", {1, 2, 3, 4, 5});
  check.dims = {1};
  check.records = 0;
  expect_gradient(check);
}

TEST(InPlace, PrefixProducts) {
  Check check = kernel(kOut, "for j in range(1, 5):\n    out[j] = out[j] * out[j - 1]", {1, 2, 3, 4, 5});
  check.dims = {1};
  expect_gradient(check);
}

TEST(InPlace, BubbleSort) {
  Check check = kernel(kOut,
                       "for a in range(5):\n    for b in range(5 - a):\n        if out[b] > out[b + 1]:\n"
                       "            t = out[b]\n            out[b] = out[b + 1] * d(1.1)\n            out[b + 1] = t",
                       {3, 1, 2, 6, 5, 4});
  check.dims = {1};
  expect_gradient(check);
}

TEST(InPlace, IndicesOverwrittenLater) {
  Check check = kernel("x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)",
                       "j = n[i]\nn[i] = 0\nout[i] = x[j] * x[j]", {0, 0, 0});
  check.ints["n"] = {2, 0, 1};
  check.records = 1;
  expect_gradient(check);
}

TEST(InPlace, BoundsOverwrittenLater) {
  Check check =
      kernel("x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)",
             "s = x[i]\nfor j in range(n[i]):\n    s = s * x[i] + wp.sin(s)\nn[i] = 7\nout[i] = s", {0, 0, 0});
  check.ints["n"] = {2, 0, 9};
  check.records = 1;
  expect_gradient(check);
}

TEST(InPlace, AtomicSlots) {
  // Which element a thread got is only known to the launch itself.
  Check check = kernel("x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)",
                       "if x[i] > d(0.0):\n    j = wp.atomic_add(n, 0, 1)\n    out[j] = x[i] * x[i]", {0, 0, 0});
  check.floats["x"] = {-1.0, 2.0, 3.0};
  check.ints["n"] = {0};
  check.records = 1;
  expect_gradient(check);
}

TEST(InPlace, VectorComponents) {
  Check check = kernel("out: wp.array(dtype=wp.vec3d)",
                       "out[i][0] = out[i][1] * out[i][2]\nout[i][1] = out[i][0] * out[i][0]\n"
                       "out[i] = out[i] * out[i][1]",
                       {0.5, 1.5, -2.0, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3});
  expect_gradient(check);
}

TEST(InPlace, ConditionReadFromWhatIsOverwritten) {
  Check check = kernel(kX,
                       "while_count = int(0)\ngoing = bool(True)\nwhile going:\n    out[i] = out[i] * d(0.7) + x[i] * "
                       "out[i] * d(0.1)\n    while_count += 1\n    if out[i] < d(0.2):\n        going = False\n"
                       "    if while_count > 50:\n        going = False",
                       {0.9, 1.5, 3.0});
  expect_gradient(check);
}

TEST(InPlace, TestOfAWhileReadsWhatIsOverwrittenLater) {
  Check check = kernel(kX,
                       "s = x[i]\nc = int(0)\nwhile s < out[i] and out[(c + i) % 3] > d(0.1) * d(c):\n"
                       "    s = s * d(1.2) + wp.sin(s)\n    c += 1\nout[i] = s * out[i]",
                       {3.0, 6.0, 0.1});
  check.dims = {1};
  expect_gradient(check);
}

TEST(InPlace, AChoiceOfArrays) {
  Check check =
      kernel("x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)",
             "a = pick(x, out, n[i])\nb = a[i] * x[i]\na[i] = b * a[i]\nout[i] = out[i] + b * b", {0.4, 0.5, -0.6});
  check.text =
      "@wp.func\ndef pick(x: wp.array(dtype=d), y: wp.array(dtype=d), n: int):\n    if n > 2:\n"
      "        return x\n    return y\n" +
      check.text;
  check.ints["n"] = {0, 3, 5};
  expect_gradient(check);
}

TEST(InPlace, AdditionsToLargePrivateArrays) {
  Check check = kernel(kN,
                       "a = wp.zeros(shape=(100,), dtype=d)\na[n[i]] = x[i]\na[n[i]] += x[i] * x[i]\n"
                       "old = wp.atomic_add(a, n[0], x[0])\na[n[i]] = a[n[i]] * a[n[0]] + old\n"
                       "for j in range(n[i]):\n    a[(j * 3) % 7] += x[i]\n    a[j % 7] *= x[i] + d(1.0)\n"
                       "out[i] = a[n[i]] * a[1]",
                       {0, 0, 0});
  check.ints["n"] = {0, 3, 9};
  expect_gradient(check);
}

TEST(InPlace, ParametersThatMayOverlapAreKept) {
  Check check = kernel(kX, "out[i] = x[i] * x[i]\nout[i] = out[i] * x[i]", {0, 0, 0});
  check.overlap = true;
  expect_gradient(check);
}

}  // namespace
}  // namespace weft::autodiff::test
