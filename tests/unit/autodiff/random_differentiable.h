// Writes random differentiable kernels: smooth arithmetic under loops, branches, breaks, early returns and calls, and
// writes to what was read before, in the result, in private arrays and in vectors.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weft::autodiff::test {

class RandomDifferentiable {
 public:
  explicit RandomDifferentiable(std::uint32_t seed) : random_(seed) {}

  /// The text of a kernel `k(x, y, n, out)` over three threads, with `d` for the float type.
  std::string kernel() {
    text_ =
        "@wp.func\ndef f(a: d, b: d):\n    return wp.sin(a) * b + a, a * b * d(0.3)\n"
        "@wp.kernel\ndef k(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int), "
        "out: wp.array(dtype=d)):\n    i = wp.tid()\n    a = x[i]\n    b = y[i]\n    c = x[(i + 1) % 3]\n    e = d(0.5)\n"
        "    p = int(n[i])\n";
    in_place_ = below(3) == 0;
    private_ = below(3) == 0;
    if (private_) text_ += "    w = wp.zeros(shape=(3,), dtype=d)\n    v = wp.vector(a, b, c)\n";
    block(1, 3, false);
    if (private_) text_ += "    c = c + w[0] * w[1] + v[2]\n";
    if (below(4) == 0 && !in_place_) text_ += "    if p % 3 == 1:\n        out[i] = a * b\n        return\n";
    text_ += in_place_ ? "    out[i] = out[i] * a + b * c - e\n" : "    out[i] = a + b * c - e\n";
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
  /// Overwrites what was read before: elements of the result, of a private array, of a vector.
  bool mutation(int depth) {
    if (in_place_ && below(4) == 0) {
      switch (below(3)) {
        case 0: line(depth, "out[i] = wp.sin(out[i] * " + expression(1) + ") + " + variable()); break;
        case 1: line(depth, "out[i] *= wp.cos(" + expression(1) + ")"); break;
        default: line(depth, std::string(variable()) + " = wp.tanh(out[i]) * " + expression(1));
      }
      return true;
    }
    if (!private_ || below(4) != 0) return false;
    std::string at = "[(p + " + std::to_string(below(3)) + ") % 3]";
    switch (below(4)) {
      case 0: line(depth, "w" + at + " = wp.sin(" + expression(1) + ")"); break;
      case 1: line(depth, "w" + at + " += " + expression(1) + " * w[0]"); break;
      case 2: line(depth, "v" + at + " = wp.cos(v[1] * " + expression(1) + ")"); break;
      default: line(depth, std::string(variable()) + " = w" + at + " * v[0] + " + expression(1));
    }
    return true;
  }
  void statement(int depth, int budget, bool in_loop) {
    if (mutation(depth)) return;
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
  bool in_place_ = false, private_ = false;
};

}  // namespace weft::autodiff::test
