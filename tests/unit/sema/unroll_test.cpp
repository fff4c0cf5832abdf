// Unrolling where the program can see it; names that some path leaves unassigned; exits in every nesting.
#include "front_end.h"

#include "ir/text.h"

namespace weft {
namespace {

using namespace weft::testing;
using ir::OpCode;

TEST(Unroll, OnlyWhereAConstantIsNeeded) {
  File file(
      "@wp.kernel\ndef k(a: wp.array3d(dtype=float), out: wp.array(dtype=float)):\n"
      "    s = 0\n    for i in range(3):\n        s += i\n    for j in range(3):\n        s += a.shape[j]\n    out[0] = float(s)\n");
  auto module = file.must_lower();
  const ir::Function& k = function(*module, "k");
  EXPECT_EQ(count(k, OpCode::for_), 1u);
  EXPECT_EQ(count(k, OpCode::tid), 0u);
}

TEST(Unroll, NestedLoopsOneByOne) {
  File file(
      "@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    t = (1.0, 2.0, 3.0)\n    s = 0.0\n"
      "    for i in range(3):\n        for j in range(5):\n            s += t[i]\n            for l in range(2):\n                s += t[l + i - i]\n    out[0] = s\n");
  auto module = file.must_lower();
  EXPECT_EQ(count(function(*module, "k"), OpCode::for_), 3u);  // j, once for each i
}

TEST(Unroll, StaticExpressionsThatStayTheSameUnrollNothing) {
  auto loops = [](const std::string& body) {
    File file(
        "N = 2\n@wp.func\ndef bump(x: int):\n    x += 1\n@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    n = 3\n" +
        body);
    return count(function(*file.must_lower(), "k"), OpCode::for_);
  };
  EXPECT_EQ(loops("    for i in range(100):\n        if wp.static(N > 1):\n            out[i] = 1.0\n"), 1u);
  EXPECT_EQ(loops("    for i in range(3):\n        out[i] = float(wp.static(n + N))\n"), 1u);
  EXPECT_EQ(loops("    for i in range(3):\n        for j in range(4):\n            out[j] = float(wp.static(i + N))\n"),
            3u);
  EXPECT_EQ(loops("    for i in range(3):\n        out[i] = float(wp.static(i * N))\n"), 0u);
  EXPECT_EQ(loops("    for i in range(3):\n        j = i * 2\n        out[i] = float(wp.static(j))\n"), 0u);
  EXPECT_EQ(loops("    for i in range(3):\n        out[i] = float(wp.static(n))\n        n = i\n"), 0u);
}

TEST(Unroll, TakenBackLeavesNoTrace) {
  // What the first attempt emitted and assigned must be gone: stores would be seen twice.
  File file(
      "@wp.kernel\ndef k(a: wp.array2d(dtype=float), out: wp.array(dtype=float)):\n    n = 0\n"
      "    for i in range(2):\n        out[i] = 1.0\n        n += 1\n        if out[i] > 0.0:\n            late = float(n)\n        n += a.shape[i]\n"
      "    out[2] = float(n) + late\n");
  auto module = file.must_lower();
  const ir::Function& k = function(*module, "k");
  EXPECT_EQ(count(k, OpCode::store), 3u) << ir::print(*module);
  EXPECT_EQ(count(k, OpCode::for_) + count(k, OpCode::while_), 0u);
}

TEST(Unroll, WithExits) {
  std::string text =
      "@wp.func\ndef f(x: int):\n    t = (10, 20, 30, 40)\n    s = 0\n    for i in range(4):\n        if i == x:\n            continue\n"
      "        if t[i] > 30:\n            break\n        s += t[i]\n        if s > 45:\n            return -s\n    else:\n        s += 1000\n    return s + i\n"
      "@wp.kernel\ndef k(out: wp.array(dtype=int)):\n    out[0] = f(0)\n";
  auto value = [&](int x) { return as<std::int32_t>(call(text, {datum(x)})[0]); };
  EXPECT_EQ(value(0), -50);
  EXPECT_EQ(value(1), 40 + 3);
  EXPECT_EQ(value(2), 30 + 3);
  EXPECT_EQ(value(3), -60);
}

TEST(Unroll, LimitsAreErrors) {
  EXPECT_EQ(
      errors_of(
          "@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    t = (1.0, 2.0)\n    for i in range(17):\n        out[i] = t[i % 2]\n"),
      "6:20 not_constant");
  EXPECT_EQ(
      errors_of(
          "@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    for i in range(1000):\n        for j in range(1000):\n"
          "            out[i] += float(wp.static(i + j))\n"),
      "5:18 value_out_of_range");
  sema::Options wider;
  wider.max_unroll = 32;
  File file(
      "@wp.kernel\ndef k(out: wp.array(dtype=float)):\n    t = (1.0, 2.0)\n    for i in range(17):\n        out[i] = t[i % 2]\n");
  EXPECT_EQ(count(function(*file.must_lower("k", {}, wider), "k"), OpCode::store), 17u);
}

TEST(Unroll, TheVariableKeepsItsLastValue) {
  std::string text =
      "@wp.func\ndef f(x: int):\n    for i in range(3):\n        x += wp.static(i)\n    return x * 10 + i\n"
      "@wp.kernel\ndef k(out: wp.array(dtype=int)):\n    out[0] = f(0)\n";
  EXPECT_EQ(as<std::int32_t>(call(text, {datum(0)})[0]), 32);
}

TEST(Unassigned, ZeroOnTheOtherPathWithAWarning) {
  std::string text =
      "@wp.func\ndef f(x: int):\n    if x > 2:\n        a = 5\n    for i in range(x):\n        b = i\n        if i == 1:\n            c = 7\n"
      "    return a * 100 + b * 10 + c\n@wp.kernel\ndef k(out: wp.array(dtype=int)):\n    out[0] = f(0)\n";
  auto value = [&](int x) { return as<std::int32_t>(call(text, {datum(x)})[0]); };
  EXPECT_EQ(value(0), 0);
  EXPECT_EQ(value(1), 0);
  EXPECT_EQ(value(2), 17);
  EXPECT_EQ(value(4), 537);
  File file(text);
  file.must_lower();
  EXPECT_EQ(messages(file.sink), "10:12 maybe_unassigned, 10:22 maybe_unassigned, 10:31 maybe_unassigned");
}

TEST(Unassigned, NoWarningWhereEveryPathAssigns) {
  File file(
      "@wp.kernel\ndef k(out: wp.array(dtype=float), n: int):\n    if n > 0:\n        x = 1.0\n    elif n < 0:\n        x = 2.0\n    else:\n        x = 3.0\n"
      "    if n > 3:\n        unread = 1.0\n    out[0] = x\n    for i in range(n):\n        inner = x\n        out[i] = inner\n");
  file.must_lower();
  EXPECT_EQ(messages(file.sink), "");
}

TEST(Unassigned, AFunctionsOwnNameHidesTheConstant) {
  EXPECT_EQ(
      errors_of(
          "N = 3\n@wp.kernel\ndef k(out: wp.array(dtype=int)):\n    for i in range(2):\n        out[i] = N\n        N = i\n"),
      "6:18 unknown_name");
}

TEST(Exits, EveryNestingAgreesWithPython) {
  // Counts what runs before each way out.
  std::string text =
      "@wp.func\ndef f(x: int):\n    n = 0\n    for i in range(6):\n        n += 1\n        if i == x:\n            continue\n        j = 0\n"
      "        while True:\n            j += 1\n            n += 10\n            if j == x:\n                break\n            if j > 3:\n                if i > 3:\n                    return n\n                break\n"
      "            for l in range(5, 0, -2):\n                if l == x:\n                    break\n                n += 100\n            else:\n                n += 1000\n"
      "        else:\n            n += 10000\n    return -n\n@wp.kernel\ndef k(out: wp.array(dtype=int)):\n    out[0] = f(0)\n";
  auto python = [](int x) {
    int n = 0;
    for (int i = 0; i < 6; ++i) {
      n += 1;
      if (i == x) continue;
      int j = 0;
      while (true) {
        j += 1;
        n += 10;
        if (j == x) break;
        if (j > 3) {
          if (i > 3) return n;
          break;
        }
        bool broke = false;
        for (int l = 5; l > 0; l -= 2) {
          if (l == x) {
            broke = true;
            break;
          }
          n += 100;
        }
        if (!broke) n += 1000;
      }
    }
    return -n;
  };
  for (int x = -1; x < 7; ++x) EXPECT_EQ(as<std::int32_t>(call(text, {datum(x)})[0]), python(x)) << x;
}

}  // namespace
}  // namespace weft
