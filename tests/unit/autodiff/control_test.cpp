// Derivatives through control flow: branches, loops that carry and mutate state, exits of every kind, nesting.
#include "gradient_check.h"

namespace weft::autodiff::test {
namespace {

const char* kHead =
    "@wp.kernel\ndef k(x: wp.array(dtype=d), n: wp.array(dtype=int), out: wp.array(dtype=d)):\n"
    "    i = wp.tid()\n";

Check body(const std::string& lines, std::vector<int> n = {0, 1, 5}) {
  Check check;
  std::string text = kHead;
  std::string line;
  for (char c : lines) {
    line += c;
    if (c == '\n') text += "    " + line, line.clear();
  }
  check.text = text + "    " + line + "\n";
  check.ints["n"] = std::move(n);
  return check;
}

TEST(Straight, Arithmetic) {
  expect_gradient(body("a = x[i]\nb = a * a - a / (a + d(2.0)) + wp.sin(a)\nout[i] = b * b"));
}

TEST(Straight, StoredTwice) { expect_gradient(body("out[i] = x[i]\nout[i] = x[i] * x[i]")); }

TEST(Straight, Accumulates) {
  expect_gradient(body("out[i] = x[i]\nout[i] += x[i] * x[i]\nwp.atomic_add(out, 0, wp.exp(x[i]))"));
}

TEST(Branch, TakenAndNot) {
  expect_gradient(body("a = x[i]\nb = d(0.0)\nif n[i] > 0:\n    b = a * a\nelse:\n    b = wp.exp(a)\nout[i] = b * a"));
}

TEST(Branch, Nested) {
  expect_gradient(
      body("a = x[i]\nb = a\nif n[i] > 0:\n    b = a * a\n    if n[i] > 2:\n        b = b * wp.sin(a)\n"
           "    b = b * b\nout[i] = b"));
}

TEST(Branch, SingularSideContributesNothing) {
  expect_gradient(body("a = x[i] * d(n[i])\nout[i] = wp.where(a > d(0.0), wp.sqrt(a), d(0.0)) + x[i]", {0, 1, 2}));
}

TEST(Loop, PlainSum) {
  expect_gradient(body("s = d(0.0)\nfor j in range(n[i]):\n    s += x[j % 3] * d(j)\nout[i] = s"));
}

TEST(Loop, BoundsFartherApartThanSignedNumbersCount) {
  // Three turns for the last of the threads, over a distance of 12·10¹⁸; some state to restore, and none.
  for (const char* line : {"s = s * x[i] + wp.sin(s)", "s += x[i] * x[i]"})
    for (const char* range : {"range(-b, b, c)", "range(b, -b, -c)"})
      expect_gradient(
          body("b = wp.int64(n[i]) * wp.int64(1000000000000000000)\n"
               "c = wp.int64(4000000000000000000)\ns = x[i]\nfor j in " +
                   std::string(range) + ":\n    " + line + "\nout[i] = s",
               {0, 2, 6}));
}

TEST(Loop, PlainSumKeepsNothing) {
  std::string text = adjoint_text(body("s = d(0.0)\nfor j in range(n[i]):\n    s += x[j % 3] * d(j)\nout[i] = s"));
  EXPECT_EQ(text.find("local"), std::string::npos) << text;
}

TEST(Loop, CarriedProduct) {
  expect_gradient(body("s = d(1.0)\nfor j in range(n[i]):\n    s = s * x[i] + wp.sin(s)\nout[i] = s"));
}

TEST(Loop, TwoStatesWhereOneDrives) {
  expect_gradient(
      body("s = x[i]\nt = d(1.0)\nfor j in range(n[i]):\n    u = s\n    s = s * d(0.9) + t * d(0.1)\n"
           "    t = t * u\nout[i] = s + t * t"));
}

TEST(Loop, BackwardsRange) {
  expect_gradient(body("s = x[i]\nfor j in range(n[i], -2, -2):\n    s = s * x[i] + d(j)\nout[i] = s"));
}

TEST(Loop, While) {
  expect_gradient(
      body("s = x[i]\nc = int(0)\nwhile c < n[i]:\n    s = wp.sin(s) * x[i] + s\n    c += 1\nout[i] = s * s"));
}

TEST(Loop, WhileOnTheValueItself) {
  expect_gradient(body("s = x[i]\nwhile s < d(10.0):\n    s = s * d(1.7) + x[i] * s + d(0.5)\nout[i] = s"));
}

TEST(Loop, BreakContinueReturn) {
  expect_gradient(
      body("s = x[i]\nfor j in range(10):\n    if j == n[i]:\n        break\n    if j % 2 == 1:\n        continue\n"
           "    s = s * s + x[i]\nif n[i] == 1:\n    out[i] = s\n    return\nout[i] = s * d(2.0)"));
}

TEST(Loop, Nested) {
  expect_gradient(
      body("s = x[i]\nfor a in range(n[i]):\n    t = s\n    for b in range(a + 1):\n        t = t * x[i] + s\n"
           "    s = s + wp.sin(t)\nout[i] = s"));
}

TEST(Loop, ThreeDeep) {
  expect_gradient(
      body("s = x[i]\nfor a in range(n[i]):\n    for b in range(a):\n        for c in range(b + 1):\n"
           "            s = wp.sin(s) + x[i] * s * d(0.3)\nout[i] = s"));
}

TEST(Loop, BranchInside) {
  expect_gradient(
      body("s = x[i]\nfor a in range(n[i] * 3):\n    if a % 3 == 0:\n        s = s * x[i]\n    elif a % 3 == 1:\n"
           "        s = s + wp.cos(s)\n    else:\n        s = s * s * d(0.5)\nout[i] = s"));
}

TEST(Loop, FewSlotsManyIterations) {
  for (int trips : {1, 15, 16, 17, 31, 33, 64, 257, 1000}) {
    Check check = body("s = x[i]\nfor j in range(n[i]):\n    s = s + d(0.01) * wp.sin(s) * x[i]\nout[i] = s",
                       {trips, trips + 1, 0});
    check.slot_bytes = 1;
    expect_gradient(check);
  }
}

TEST(Loop, FarSlotsManyIterations) {
  for (int trips : {1, 15, 17, 33, 257, 1000}) {
    Check check = body("s = x[i]\nfor j in range(n[i]):\n    s = s + d(0.01) * s * s * (d(1.0) - s)\nout[i] = s",
                       {trips, trips + 1, 0});
    check.slots_are_far = true;
    expect_gradient(check);
  }
}

TEST(Loop, FewSlotsNestedWhile) {
  Check check = body(
      "s = x[i]\nc = int(0)\nwhile c < n[i]:\n    t = s\n    e = int(0)\n    while e < 20 + c:\n"
      "        t = t + d(0.02) * wp.cos(t) * x[i]\n        e += 1\n    s = s * d(0.1) + t * d(0.2)\n    c += 1\nout[i] = s",
      {3, 40, 1});
  check.slot_bytes = 1;
  check.tolerance = 1e-5;
  expect_gradient(check);
}

TEST(Loop, IntegerStateRestored) {
  expect_gradient(
      body("s = x[i]\nr = int(7)\nfor j in range(n[i] + 3):\n    r = (r * 5 + 3) % 11\n    s = s * x[r % 3] + d(r)\n"
           "out[i] = s"));
}

TEST(Calls, Inlined) {
  Check check = body("out[i] = f(x[i], x[0]) + f(d(2.0), x[i])");
  check.text = "@wp.func\ndef f(a: d, b: d):\n    return a * b + wp.sin(a)\n" + check.text;
  expect_gradient(check);
}

TEST(InPlace, LinearUpdate) {
  // Nothing nonlinear needs the value that was overwritten.
  Check check;
  check.text =
      "@wp.kernel\ndef k(x: wp.array(dtype=d), out: wp.array(dtype=d)):\n    i = wp.tid()\n"
      "    out[i] = out[i] * d(3.0) + x[i] * x[i]\n";
  check.floats["out"] = {1.0, 2.0, 3.0};
  expect_gradient(check);
}

TEST(InPlace, SquareIsRefusedWithoutARecord) {
  Check check;
  check.text = "@wp.kernel\ndef k(out: wp.array(dtype=d)):\n    i = wp.tid()\n    out[i] = out[i] * out[i]\n";
  std::string message = refused(check);
  EXPECT_NE(message.find("test.py:6:"), std::string::npos) << message;
  EXPECT_NE(message.find("may overwrite"), std::string::npos) << message;
}

}  // namespace
}  // namespace weft::autodiff::test
