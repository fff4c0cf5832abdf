// Private arrays: small ones become values that loops carry, large ones are written down where they must be.
#include "gradient_check.h"

namespace weft::autodiff::test {
namespace {

Check body(const std::string& text, std::vector<int> trips = {0, 5, 11}) {
  Check check;
  check.text =
      "@wp.kernel\ndef k(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):\n    i = wp.tid()\n";
  std::string line;
  for (char c : text + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    check.text += "    " + line + "\n";
    line.clear();
  }
  check.ints["n"] = std::move(trips);
  return check;
}

TEST(LocalArrays, MutatedInALoop) {
  Check check = body(
      "a = wp.zeros(shape=(4,), dtype=d)\nfor j in range(n[i]):\n    a[j % 4] += x[i]\n"
      "    a[(j + 1) % 4] = a[j % 4] * a[(j + 3) % 4] + wp.sin(a[j % 4])\nout[i] = a[0] * a[1] + a[-1]");
  check.records = 0;
  expect_gradient(check);
}

TEST(LocalArrays, WrittenInBranches) {
  Check check = body(
      "a = wp.zeros(shape=(3,), dtype=d)\nfor j in range(n[i]):\n    if j % 2 == 0:\n        a[j % 3] = x[i] * d(j + 1)\n"
      "    else:\n        a[(j + 1) % 3] *= a[j % 3]\nout[i] = a[0] + a[1] * a[2]");
  check.records = 0;
  expect_gradient(check);
}

TEST(LocalArrays, OfVectorsAndRows) {
  Check check = body(
      "a = wp.zeros(shape=(2, 2), dtype=wp.vec3d)\nfor j in range(n[i]):\n    a[j % 2, 1][j % 3] = x[i] * d(j)\n"
      "    a[1, j % 2] = wp.cross(a[0, 1], a[1, 1]) + wp.vec3d(x[i], d(1.0), d(2.0))\n"
      "out[i] = wp.dot(a[1, 0], a[1, 1])");
  check.records = 0;
  check.tolerance = 1e-5;
  expect_gradient(check);
}

TEST(LocalArrays, SortedInPlace) {
  Check check = body(
      "a = wp.zeros(shape=(5,), dtype=d)\nfor j in range(5):\n    a[j] = wp.sin(x[i] * d(3 * j + 1))\n"
      "for p in range(5):\n    for q in range(4 - p):\n        if a[q] > a[q + 1]:\n            t = a[q]\n"
      "            a[q] = a[q + 1]\n            a[q + 1] = t\nout[i] = a[0] + d(2.0) * a[1] * a[4]");
  check.records = 0;
  expect_gradient(check);
}

TEST(LocalArrays, EliminatedInPlace) {
  Check check = body(
      "a = wp.zeros(shape=(3, 4), dtype=d)\nfor r in range(3):\n    for c in range(4):\n"
      "        a[r, c] = wp.cos(x[i] * d(r * 4 + c + 1)) + d(0.1)\n    a[r, r] = a[r, r] + d(4.0)\n"
      "for p in range(n[i]):\n    for r in range(p + 1, 3):\n        f = a[r, p] / a[p, p]\n        for c in range(p, 4):\n"
      "            a[r, c] = a[r, c] - f * a[p, c]\nout[i] = a[2, 3] / a[2, 2]",
      {0, 1, 2});
  check.records = 0;
  expect_gradient(check);
}

TEST(LocalArrays, LargeOnesAreWrittenDown) {
  Check check = body(
      "a = wp.zeros(shape=(100,), dtype=d)\nfor j in range(n[i]):\n    a[(j * 7) % 100] = x[i] + a[(j * 3) % 100]\n"
      "    a[(j * 3) % 100] = wp.sin(a[(j * 7) % 100]) * a[(j * 5) % 100] + x[i]\nout[i] = a[0] * a[7]");
  expect_gradient(check);
}

TEST(LocalArrays, Integers) {
  Check check = body(
      "a = wp.zeros(shape=(3,), dtype=int)\ns = x[i]\nfor j in range(n[i]):\n    a[j % 3] = a[(j + 1) % 3] + j\n"
      "    s = s * x[a[j % 3] % 3] + wp.cos(s)\nout[i] = s");
  check.records = 0;
  expect_gradient(check);
}

}  // namespace
}  // namespace weft::autodiff::test
