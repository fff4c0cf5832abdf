// Calls: generics, overloads, defaults and keywords, references, function values, recursion.
#include "front_end.h"

#include "ir/text.h"

namespace weft {
namespace {

using namespace weft::testing;
using interp::Datum;

const std::string kCaller = "@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    ";

float float_of(const std::string& functions, const std::string& call_text, std::vector<Datum> args) {
  auto results = call(functions + kCaller + "out[0] = " + call_text + "\n", std::move(args));
  return results.size() == 1 ? as<float>(results[0]) : -1e9f;
}

TEST(Call, GenericFunctionsAreInstantiatedOncePerType) {
  File file("from typing import Any\n@wp.func\ndef f(x: Any):\n    return x * x\n" + kCaller +
            "a = f(1.0)\n    b = f(2)\n    c = f(3.0)\n    d = f(wp.float64(1.0))\n    e = f(5)\n");
  auto module = file.must_lower();
  EXPECT_EQ(module->functions.size(), 4u);  // three instances and the kernel
  EXPECT_EQ(count(function(*module, "k"), ir::OpCode::call), 5u);
}

TEST(Call, GenericPatternsRefuseWhatTheyMust) {
  std::string f = "@wp.func\ndef f(x: wp.Float, a: wp.array(dtype=wp.Int)):\n    return x\n";
  EXPECT_EQ(
      errors_of(f + "@wp.kernel\ndef k(a: wp.array(dtype=float), b: wp.array2d(dtype=int), c: wp.array(dtype=int)):\n"
                    "    x = f(1.0, a)\n    x = f(1.0, b)\n    x = f(1, c)\n    x = f(1.0, c)\n"),
      "7:9 no_overload, 8:9 no_overload, 9:9 no_overload");
}

TEST(Call, ExactOverloadsBeforeGenericOnes) {
  std::string f =
      "from typing import Any\n@wp.func\ndef g(x: Any):\n    return 1.0\n@wp.func\ndef g(x: int):\n    return 2.0\n"
      "@wp.func\ndef g(x: int, y: int):\n    return 3.0\n@wp.func\ndef f(i: int):\n";
  EXPECT_EQ(float_of(f + "    return g(i)\n", "f(1)", {datum(1)}), 2);
  EXPECT_EQ(float_of(f + "    return g(float(i))\n", "f(1)", {datum(1)}), 1);
  EXPECT_EQ(float_of(f + "    return g(i, y=i)\n", "f(1)", {datum(1)}), 3);
}

TEST(Call, DefaultsAndKeywords) {
  std::string f =
      "@wp.func\ndef g(a: float, b: float = 2.0, c: wp.float64 = 3):\n    return a * 100.0 + b * 10.0 + float(c)\n"
      "@wp.func\ndef f(x: float):\n";
  EXPECT_EQ(float_of(f + "    return g(x)\n", "f(1.0)", {datum(1.0f)}), 123);
  EXPECT_EQ(float_of(f + "    return g(x, c=wp.float64(5.0))\n", "f(1.0)", {datum(1.0f)}), 125);
  EXPECT_EQ(float_of(f + "    return g(b=7.0, a=x)\n", "f(1.0)", {datum(1.0f)}), 173);
  EXPECT_EQ(float_of(f + "    return g(*wp.vec2(4.0, 5.0))\n", "f(1.0)", {datum(1.0f)}), 453);
}

TEST(Call, ReferencesUpdateVariablesPartsAndElements) {
  std::string f =
      "@wp.func\ndef bump(x: wp.ref[float]):\n    x += 1.0\n    return x * 10.0\n"
      "@wp.func\ndef f(x: float):\n    v = wp.vec2(x, 5.0)\n    y = bump(v.x) + bump(v[1])\n    z = x\n"
      "    for i in range(3):\n        bump(z)\n    if x > 0.0:\n        bump(z)\n"
      "    a = wp.zeros(shape=2, dtype=float)\n    i = int(0)\n    bump(a[i])\n"
      "    return v.x + v.y * 10.0 + z * 100.0 + a[0] * 1000.0 + y * 10000.0\n";
  EXPECT_EQ(float_of(f, "f(1.0)", {datum(1.0f)}), 2 + 60 + 500 + 1000 + 80 * 10000);
}

TEST(Call, AReferencedPlaceIsFoundOnce) {
  // The element is a[i] with i from before the call, although the call changes i as well.
  std::string f =
      "@wp.func\ndef step(x: wp.ref[float], i: wp.ref[int]):\n    i += 1\n    x = 7.0\n"
      "@wp.func\ndef f(n: int):\n    a = wp.zeros(shape=3, dtype=float)\n    i = n\n    step(a[i], i)\n    return a[0] + a[1] * 10.0 + float(i) * 100.0\n";
  EXPECT_EQ(float_of(f, "f(0)", {datum(0)}), 107);
}

TEST(Call, ReferencesInsideLoopConditions) {
  std::string f =
      "@wp.func\ndef next(x: wp.ref[int]):\n    x += 1\n    return x\n"
      "@wp.func\ndef f(n: int):\n    i = int(0)\n    s = float(0.0)\n    while next(i) < n and next(i) < n:\n        s += float(i)\n    return s * 100.0 + float(i)\n";
  EXPECT_EQ(float_of(f, "f(6)", {datum(6)}), 600 + 6);  // i: 1 2, 3 4, 5 6 (6 < 6 fails)
}

TEST(Call, FunctionsAreValues) {
  std::string f =
      "from typing import Callable\n@wp.func\ndef twice(x: float):\n    return x * 2.0\n"
      "@wp.func\ndef apply(g: Callable, x: float):\n    return g(g(x))\n"
      "@wp.func\ndef f(x: float):\n    h = twice\n    return apply(h, x) + apply(wp.sqrt, 16.0)\n";
  EXPECT_EQ(float_of(f, "f(1.0)", {datum(1.0f)}), 6);
}

TEST(Call, TuplesSwapAndNest) {
  std::string f =
      "@wp.func\ndef both(x: float):\n    return x, x * 2.0\n"
      "@wp.func\ndef f(x: float):\n    a, b = both(x)\n    a, b = b, a\n    (c, d), e = both(a), b\n    t = both(e)\n"
      "    for i in range(2):\n        t = (t[1], t[0] + 1.0)\n    return a * 1000.0 + c * 100.0 + d * 10.0 + t[0] + t[1]\n";
  EXPECT_EQ(float_of(f, "f(1.0)", {datum(1.0f)}), 2000 + 200 + 40 + 5);
}

TEST(Call, RecursionIsRefused) {
  EXPECT_EQ(errors_of("@wp.func\ndef f(x: float):\n    return f(x)\n" + kCaller + "out[0] = f(1.0)\n"),
            "4:12 recursion");
  EXPECT_EQ(errors_of("@wp.func\ndef a(x: float):\n    return b(x)\n@wp.func\ndef b(x: float):\n    return a(x)\n" +
                      kCaller + "out[0] = a(1.0)\n    out[1] = b(1.0)\n"),
            "7:12 recursion");
  // A generic function may call itself with other types.
  File file(
      "from typing import Any\n@wp.func\ndef f(x: Any):\n    if type(x) == int:\n        return f(float(x))\n    return float(x)\n" +
      kCaller + "out[0] = f(1)\n");
  file.must_lower();
}

TEST(Call, AFaultyFunctionIsReportedOnceAndFailsEverywhere) {
  File file(
      "from typing import Any\n@wp.func\ndef bad(x: Any):\n    return x + nosuch\n"
      "@wp.kernel\ndef k(x: float):\n    a = bad(x)\n    b = bad(1)\n    c = a + b\n"
      "@wp.kernel\ndef l(x: float):\n    a = bad(x)\n");
  EXPECT_EQ(file.lower("k"), nullptr);
  EXPECT_EQ(file.lower("l"), nullptr);  // the same mistake again: no second message, no module either
  EXPECT_EQ(messages(file.sink), "5:16 unknown_name");
}

TEST(Call, UserOperatorsOnStructs) {
  std::string f =
      "@wp.struct\nclass C:\n    re: float\n    im: float\n"
      "@wp.func\ndef mul(a: C, b: C):\n    return C(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)\n"
      "@wp.func\ndef mul(a: C, s: float):\n    return C(a.re * s, a.im * s)\n@wp.func\ndef neg(a: C):\n    return C(-a.re, -a.im)\n"
      "@wp.func\ndef f(x: float):\n    a = C(x, 2.0)\n    b = -(a * a) * 2.0\n    b *= 0.5\n    return b.re * 100.0 + b.im\n";
  EXPECT_EQ(float_of(f, "f(1.0)", {datum(1.0f)}), 300 - 4);
  EXPECT_EQ(errors_of("@wp.struct\nclass C:\n    re: float\n@wp.kernel\ndef k(c: C):\n    a = c + c\n"),
            "7:9 no_overload");
}

}  // namespace
}  // namespace weft
