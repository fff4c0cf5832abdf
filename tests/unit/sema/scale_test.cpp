// Size: what the front end makes grows with the text, not faster; and nothing is too deep or too large for it.
#include "front_end.h"

namespace weft {
namespace {

using namespace weft::testing;

const std::string kKernel = "@wp.kernel\ndef k(out: wp.array(dtype=float), n: int):\n";

std::string lines(int count, const std::string& a, const std::string& b = "") {
  std::string out;
  for (int i = 0; i < count; ++i) out += a + std::to_string(i) + b;
  return out;
}

std::size_t ops_of(const std::string& text) {
  File file(text);
  return size_of(*file.must_lower());
}

/// Operations added per repetition must not depend on how many there are.
void expect_linear(const std::function<std::string(int)>& text) {
  std::size_t small = ops_of(text(500)), large = ops_of(text(5000));
  EXPECT_GT(small, 500u);
  EXPECT_LE(large, small * 10 + 100);
}

TEST(Scale, StraightLines) {
  expect_linear([](int n) {
    return kKernel + "    x = float(n)\n" + lines(n, "    x = x * 1.5 + ", ".0\n") + "    out[0] = x\n";
  });
}

TEST(Scale, ConditionsThatMergeVariables) {
  expect_linear([](int n) {
    return kKernel + "    x = float(n)\n    y = x\n" +
           lines(n, "    if x > ", ".5:\n        x -= 1.0\n    else:\n        y = x\n") + "    out[0] = x + y\n";
  });
}

TEST(Scale, EarlyReturns) {
  expect_linear([](int n) {
    return "@wp.func\ndef f(n: int):\n" + lines(n, "    if n == ", ":\n        return 1.0\n") + "    return 2.0\n" +
           kKernel + "    out[0] = f(n)\n";
  });
}

TEST(Scale, LoopsThatMustBeUnrolled) {
  expect_linear([](int n) {
    return "@wp.kernel\ndef k(a: wp.array3d(dtype=float), out: wp.array(dtype=float)):\n    x = 0\n" +
           lines(n, "    for i in range(3):\n        x += a.shape[i] + ", "\n") + "    out[0] = float(x)\n";
  });
}

TEST(Scale, NamesThatOneBranchAssigns) {
  expect_linear([](int n) {
    std::string text = kKernel;
    for (int i = 0; i < n; ++i)
      text += "    if n > " + std::to_string(i) + ":\n        w" + std::to_string(i) + " = 1.0\n        out[0] = 2.0\n";
    return text;
  });
}

TEST(Scale, LongConditionsDoNotNest) {
  EXPECT_LT(ops_of(kKernel + "    if n > 0" + lines(1500, " and n > ") + ":\n        out[0] = 1.0\n"), 10000u);
}

TEST(Scale, ATreeOfCallsIsLoweredOncePerFunction) {
  std::string text = "@wp.func\ndef f0(x: float):\n    return x + 1.0\n";
  for (int i = 1; i <= 20; ++i) {
    std::string callee = "f" + std::to_string(i - 1);
    text +=
        "@wp.func\ndef f" + std::to_string(i) + "(x: float):\n    return " + callee + "(x) + " + callee + "(x * 2.0)\n";
  }
  File file(text + kKernel + "    out[0] = f20(1.0)\n");
  auto module = file.must_lower();
  EXPECT_EQ(module->functions.size(), 22u);
  EXPECT_LT(size_of(*module), 200u);
}

TEST(Scale, DeepChainsOfCallsHaveALimit) {
  auto chain = [](int n) {
    std::string text = "@wp.func\ndef f0(x: float):\n    return x + 1.0\n";
    for (int i = 1; i < n; ++i)
      text += "@wp.func\ndef f" + std::to_string(i) + "(x: float):\n    return f" + std::to_string(i - 1) + "(x)\n";
    return text + kKernel + "    out[0] = f" + std::to_string(n - 1) + "(1.0)\n";
  };
  File fine(chain(190));
  fine.must_lower();
  File deep(chain(400));
  EXPECT_EQ(deep.lower(), nullptr);
  EXPECT_EQ(deep.sink.error_count(), 1u);
  EXPECT_EQ(deep.sink.all()[0].code, DiagCode::nesting_too_deep);
}

TEST(Scale, DeepNestingHasALimit) {
  std::string text = kKernel + "    if n == 0:\n        x = 1.0\n" +
                     lines(600, "    elif n == 1", ":\n        x = 2.0\n") + "    out[0] = x\n";
  File file(text);
  EXPECT_EQ(file.lower(), nullptr);
  EXPECT_EQ(file.sink.error_count(), 1u) << file.sink.render_all();
  EXPECT_EQ(file.sink.all()[0].code, DiagCode::nesting_too_deep);
}

TEST(Scale, TuplesThatDoubleHaveALimit) {
  std::string text = kKernel + "    t = (1.0, 2.0)\n";
  for (int i = 0; i < 40; ++i)
    text += "    t" + std::to_string(i) + " = (t" + (i ? std::to_string(i - 1) : "") + ", t" +
            (i ? std::to_string(i - 1) : "") + ")\n";
  EXPECT_NE(errors_of(text).find("nesting_too_deep"), std::string::npos);
}

TEST(Scale, GenericFunctionsThatGrowEndWithAnError) {
  EXPECT_NE(errors_of("from typing import Any\n@wp.func\ndef g(x: Any):\n    return g(wp.vector(x[0], *x))\n" +
                      kKernel + "    out[0] = g(wp.vec3())[0]\n")
                .find("nesting_too_deep"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
