// Random differentiable kernels: smooth arithmetic under loops, branches, breaks, early returns and calls, whose adjoint
// must agree with differences and, to rounding, with forward mode.
#include <random>

#include "gradient_check.h"

namespace weft::autodiff::test {
namespace {

class Writer {
 public:
  explicit Writer(std::uint32_t seed) : random_(seed) {}

  std::string kernel() {
    text_ =
        "@wp.func\ndef f(a: d, b: d):\n    return wp.sin(a) * b + a, a * b * d(0.3)\n"
        "@wp.kernel\ndef k(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int), "
        "out: wp.array(dtype=d)):\n    i = wp.tid()\n    a = x[i]\n    b = y[i]\n    c = x[(i + 1) % 3]\n    e = d(0.5)\n"
        "    p = int(n[i])\n";
    block(1, 3, false);
    if (below(4) == 0) text_ += "    if p % 3 == 1:\n        out[i] = a * b\n        return\n";
    text_ += "    out[i] = a + b * c - e\n";
    return text_;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_); }
  const char* variable() { return std::vector<const char*>{"a", "b", "c", "e"}[below(4)]; }
  std::string number() { return "d(" + std::to_string(0.1 + 0.1 * below(9)) + ")"; }
  std::string expression(int depth) {
    if (depth == 0) return below(3) ? variable() : number();
    std::string left = expression(depth - 1), right = expression(depth - 1);
    switch (below(9)) {
      case 0: return "(" + left + " + " + right + ")";
      case 1: return "(" + left + " - " + right + ")";
      case 2:
      case 3: return "(" + left + " * " + right + ")";
      case 4: return "wp.sin(" + left + ")";
      case 5: return "wp.cos(" + left + ")";
      case 6: return "(" + left + " / (d(1.0) + " + right + " * " + right + "))";
      case 7: return "wp.tanh(" + left + ")";
      default: return "wp.exp(-(" + left + " * " + left + "))";
    }
  }
  void line(int depth, const std::string& statement) {
    text_.append(std::size_t(depth) * 4, ' ');
    text_ += statement + "\n";
  }
  std::string condition() {
    switch (below(4)) {
      case 0: return "p % 2 == 0";
      case 1: return "p > " + std::to_string(below(5));
      case 2: return "(p + i) % 3 != 1";
      default: return "p < 3 and i > 0";
    }
  }
  void block(int depth, int budget, bool in_loop) {
    std::uint32_t count = 1 + below(4);
    for (std::uint32_t k = 0; k < count; ++k) statement(depth, budget, in_loop);
  }
  void statement(int depth, int budget, bool in_loop) {
    switch (below(budget > 0 ? 10 : 4)) {
      case 0:
      case 1: return line(depth, std::string(variable()) + " = wp.sin(" + expression(2) + ") + " + expression(1));
      case 2: return line(depth, "a, e = f(" + expression(1) + ", wp.cos(" + variable() + "))");
      case 3: return line(depth, "p = (p * 3 + " + std::to_string(below(5)) + ") % 7");
      case 4:
      case 5:
        line(depth, "if " + condition() + ":");
        block(depth + 1, budget - 1, in_loop);
        if (below(2)) {
          line(depth, "else:");
          block(depth + 1, budget - 1, in_loop);
        }
        return;
      case 6:
      case 7: {
        std::string name = "j" + std::to_string(names_++);
        line(depth, "for " + name + " in range(" + (below(2) ? "p + 1" : std::to_string(below(6))) + "):");
        if (below(3) == 0) {
          line(depth + 1, "if " + condition() + ":");
          line(depth + 2, below(2) ? "break" : "continue");
        }
        block(depth + 1, budget - 1, true);
        return;
      }
      case 8: {
        std::string name = "w" + std::to_string(names_++);
        line(depth, name + " = int(0)");
        line(depth, "while " + name + " < " + std::to_string(1 + below(9)) + ":");
        line(depth + 1, name + " += 1");
        block(depth + 1, budget - 1, true);
        return;
      }
      default:
        return line(depth,
                    std::string(variable()) + " = " + variable() + " if " + condition() + " else " + expression(1));
    }
  }

  std::mt19937 random_;
  std::string text_;
  int names_ = 0;
};

TEST(Random, AdjointsAgreeWithDifferencesAndTangents) {
  int compared = 0;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    Check check;
    check.text = Writer(seed).kernel();
    check.ints["n"] = {0, 2, 5};
    check.slot_bytes = seed % 3 == 0 ? 1 : 8 << 10;
    check.tolerance = 1e-4;  // of the differences; forward mode is compared to rounding
    check.steepest = 30;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + check.text);
    if (runs_away(check)) continue;
    ++compared;
    expect_gradient(check);
    if (HasFailure()) return;
  }
  EXPECT_GE(compared, 450) << "too few of the 500 kernels stay finite to say anything";
}

}  // namespace
}  // namespace weft::autodiff::test
