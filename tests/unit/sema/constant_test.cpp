// Compile-time values: the module level of a file, and arithmetic on plain numbers.
#include "front_end.h"
#include "sema/plain_number.h"

namespace weft {
namespace {

using namespace weft::sema;
using testing::File;

/// The constant that `X` gets from an expression, as text: "12", "0.5", "float64:…", "-", "type vec3f"…
std::string value(const std::string& expression, const std::string& before = "") {
  File file(before + "X = " + expression + "\n");
  auto symbol = file.symbol("X");
  if (!symbol) return "undefined";
  if (symbol->kind == Symbol::Kind::pattern) return "type " + builtins::to_string(symbol->pattern);
  if (symbol->kind != Symbol::Kind::constant) return "-";
  const Constant& c = symbol->constant;
  switch (c.form) {
    case Constant::Form::integer: return (c.negative ? "-" : "") + std::to_string(c.magnitude);
    case Constant::Form::real: {
      std::string text = std::to_string(c.real);
      text.erase(text.find_last_not_of('0') + 1);
      return text;
    }
    case Constant::Form::text: return "'" + c.text + "'";
    case Constant::Form::typed: break;
  }
  std::string out = c.type->user_name() + ":";
  for (std::uint64_t bits : c.bits) {
    double number =
        c.type->scalar_kind() >= ScalarKind::f16 ? ir::bits_to_float(c.type->scalar_kind(), bits) : double(bits);
    out += " " + std::to_string(number).substr(0, 4);
  }
  return out;
}

TEST(Constant, NumbersFollowPython) {
  EXPECT_EQ(value("1 + 2 * 3"), "7");
  EXPECT_EQ(value("7 // 2"), "3");
  EXPECT_EQ(value("-7 // 2"), "-4");
  EXPECT_EQ(value("-7 % 3"), "2");
  EXPECT_EQ(value("7 % -3"), "-2");
  EXPECT_EQ(value("1 / 2"), "0.5");
  EXPECT_EQ(value("2 ** 10"), "1024");
  EXPECT_EQ(value("2 ** -1"), "0.5");
  EXPECT_EQ(value("1 << 40"), "1099511627776");
  EXPECT_EQ(value("-8 >> 1"), "-4");
  EXPECT_EQ(value("6 & 3 | 8 ^ 1"), "11");
  EXPECT_EQ(value("~5"), "-6");
  EXPECT_EQ(value("3 * 0.5"), "1.5");
  EXPECT_EQ(value("7.5 // 2"), "3.");
  EXPECT_EQ(value("-7.5 % 2"), "0.5");
  EXPECT_EQ(value("+3"), "3");
}

TEST(Constant, IntegersAreExactOnTheWay) {
  EXPECT_EQ(value("2**64 - 1"), "18446744073709551615");
  EXPECT_EQ(value("2**64"), "-");
  EXPECT_EQ(value("2**4000"), "-");
  EXPECT_EQ(value("-2**63"), "-9223372036854775808");
  EXPECT_EQ(value("18446744073709551616"), "-");
}

TEST(Constant, WhatPythonRefusesIsNoConstant) {
  for (const char* text : {"1 // 0", "1 / 0", "1 % 0", "1.0 / 0.0", "0 ** -1", "1 << -1", "\"a\" * 2", "1 @ 2",
                           "(-1.0) ** 0.5", "undefined", "f(1)", "[1]", "lambda: 1", "1 < 2 < undefined"})
    EXPECT_EQ(value(text), "-") << text;
}

TEST(Constant, ConditionsAndComparisons) {
  EXPECT_EQ(value("1 < 2"), "bool: 1.00");
  EXPECT_EQ(value("1 < 2 < 2"), "bool: 0.00");
  EXPECT_EQ(value("not 0"), "bool: 1.00");
  EXPECT_EQ(value("\"a\" == \"a\""), "bool: 1.00");
  EXPECT_EQ(value("3 if 1 > 2 else 4"), "4");
  EXPECT_EQ(value("2**63 < 2**64 - 1"), "bool: 1.00");
  EXPECT_EQ(value("True + True"), "2");
}

TEST(Constant, TypedObjectsKeepTheirType) {
  EXPECT_EQ(value("wp.float64(0.5)"), "float64: 0.50");
  EXPECT_EQ(value("-wp.float64(0.5)"), "float64: -0.5");
  EXPECT_EQ(value("wp.float64(0.5) * 2"), "float64: 1.00");
  EXPECT_EQ(value("wp.float64(0.5) * wp.float16(2)"), "-");
  EXPECT_EQ(value("wp.uint8(300)"), "uint8: 44.0");
  EXPECT_EQ(value("wp.int32(3) + 1"), "4");
  EXPECT_EQ(value("wp.vec3(1.0, 2, 3)"), "vec3f: 1.00 2.00 3.00");
  EXPECT_EQ(value("wp.vec3(2.0)"), "vec3f: 2.00 2.00 2.00");
  EXPECT_EQ(value("wp.mat22()"), "mat22f: 0.00 0.00 0.00 0.00");
  EXPECT_EQ(value("wp.vec3(1.0, 2.0)"), "-");
  EXPECT_EQ(value("wp.vec3(1.0, 2.0, 3.0).y"), "-");  // components are taken of names
  EXPECT_EQ(value("V.y + V[-1]", "V = wp.vec3(1.0, 2.0, 3.0)\n"), "5.");
  EXPECT_EQ(value("V[3]", "V = wp.vec3(1.0, 2.0, 3.0)\n"), "-");
  EXPECT_EQ(value("wp.constant(3)"), "3");
}

TEST(Constant, NamesClassesAndModules) {
  EXPECT_EQ(value("A + B", "A, B = 1, 2\n"), "3");
  EXPECT_EQ(value("C.B * 2", "class C:\n    A = 1\n    B = A + 1\n"), "4");
  EXPECT_EQ(value("C.D", "class C:\n    A = 1\n"), "-");
  EXPECT_EQ(value("math.tau", "import math\n").substr(0, 5), "6.283");
  EXPECT_EQ(value("pi", "from math import pi\n").substr(0, 5), "3.141");
  EXPECT_EQ(value("wp.types.vector(length=N, dtype=float)", "N = 5\n"), "type vector(length=5, dtype=float32)");
  EXPECT_EQ(value("wp.vec3"), "type vec3f");
  EXPECT_EQ(value("\"a\" + \"b\""), "'ab'");
  EXPECT_EQ(value("np.pi", "import numpy as np\n"), "-");
}

TEST(PlainNumber, KernelRulesTruncate) {
  using syntax::BinaryOp;
  auto fold = [](BinaryOp op, WideInt a, WideInt b, NumberRules rules) {
    return std::int64_t(fold_integers(op, a, b, rules).value_or(-99));
  };
  EXPECT_EQ(fold(BinaryOp::div, -7, 2, NumberRules::kernel), -3);
  EXPECT_EQ(fold(BinaryOp::div, -7, 2, NumberRules::python), -99);
  EXPECT_EQ(fold(BinaryOp::floordiv, -7, 2, NumberRules::kernel), -4);
  EXPECT_EQ(fold(BinaryOp::mod, -7, 2, NumberRules::kernel), -1);
  EXPECT_EQ(fold(BinaryOp::mod, -7, 2, NumberRules::python), 1);
  EXPECT_EQ(fold(BinaryOp::div, 1, 0, NumberRules::kernel), -99);
  EXPECT_FALSE(fold_integers(BinaryOp::add, std::nullopt, WideInt(1), NumberRules::kernel));
  EXPECT_FALSE(fold_integers(BinaryOp::mul, WideInt(1) << 100, WideInt(1) << 100, NumberRules::kernel));
  EXPECT_FALSE(narrow(WideInt(1) << 64));
  EXPECT_EQ(narrow(-(WideInt(1) << 63))->magnitude, 1ULL << 63);
}

}  // namespace
}  // namespace weft
