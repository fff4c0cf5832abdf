// Writes random differentiable kernels: smooth arithmetic under loops, branches, breaks, early returns and calls, on
// numbers, vectors, matrices, structs and private arrays, and writes to what was read before, plain and atomic, in the
// result, in an array of indices, in private arrays and components.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weft::autodiff::test {

class RandomDifferentiable {
 public:
  /// `depth`: how far loops and branches nest. `meet`: threads meet in atomic operations on elements of y, and what comes
  /// of that depends on their order.
  explicit RandomDifferentiable(std::uint32_t seed, int depth = 3, bool meet = false)
      : random_(seed), depth_(depth), meet_(meet) {}

  /// The text of a kernel `k(x, y, n, out)`, with `d` for the float type. Threads write to elements of their own, or meet.
  std::string kernel() {
    in_place_ = below(3) == 0;
    private_ = below(3) == 0;
    large_ = below(5) == 0;
    algebra_ = below(3) == 0;
    record_ = below(3) == 0;
    indices_ = below(4) == 0;
    text_ =
        "@wp.struct\nclass S:\n    a: d\n    v: wp.vec3d\n    n: int\n\n"
        "@wp.func\ndef f(a: d, b: d):\n    return wp.sin(a) * b + a, a * b * d(0.3)\n\n"
        "@wp.func\ndef g(x: wp.array(dtype=d), a: d, n: int):\n    s = a\n    for j in range(n):\n"
        "        s = s * d(0.7) + x[j % 3] * d(0.2)\n        if j == 3:\n            return wp.cos(s)\n    return s\n\n"
        "@wp.func\ndef h(o: wp.array(dtype=d), i: int, a: d):\n    b = o[i]\n    o[i] = wp.sin(b * a) + d(0.5)\n"
        "    return b * o[i]\n\n"
        "@wp.func\ndef r(s: S, a: d):\n    t = s\n    t.a = s.a * a\n    t.v = wp.cross(s.v, wp.vec3d(a, s.a, d(0.4)))\n"
        "    t.n = s.n + 1\n    return t\n\n"
        "@wp.kernel\ndef k(x: wp.array(dtype=d), y: wp.array(dtype=d), n: wp.array(dtype=int), "
        "out: wp.array(dtype=d)):\n    i = wp.tid()\n    a = x[i]\n    b = y[i]\n    c = x[(i + 1) % 3]\n    e = d(0.5)\n"
        "    p = int(n[i])\n";
    if (private_) text_ += "    w = wp.zeros(shape=(3,), dtype=d)\n    v = wp.vector(a, b, c)\n";
    if (large_) text_ += "    u = wp.zeros(shape=(90,), dtype=d)\n";
    if (algebra_) text_ += "    q = wp.mat22d(a, b, c, d(0.7))\n    z = wp.vec2d(b, a)\n";
    if (record_) text_ += "    s = S(a, wp.vec3d(a, b, c), 1)\n";
    block(1, depth_, false);
    if (meet_) text_ += "    c = c + wp.atomic_add(y, p % 3, a * d(0.1)) * wp.atomic_max(y, 0, wp.sin(c))\n";
    if (private_) text_ += "    c = c + w[0] * w[1] + v[2]\n";
    if (large_) text_ += "    b = b + u[0] * u[p % 7]\n";
    if (algebra_) text_ += "    a = a + wp.determinant(q) + wp.dot(z, z) * d(0.1)\n";
    if (record_) text_ += "    c = c + s.a * s.v[s.n % 3]\n";
    if (below(4) == 0 && !in_place_) text_ += "    if p % 3 == 1:\n        out[i] = a * b\n        return\n";
    text_ += in_place_ ? "    out[i] = out[i] * a + b * c - e\n" : "    out[i] = a + b * c - e\n";
    return text_;
  }

 private:
  std::uint32_t below(std::uint32_t n) { return std::uniform_int_distribution<std::uint32_t>(0, n - 1)(random_); }
  std::string pick(std::initializer_list<const char*> list) {
    return *(list.begin() + below(std::uint32_t(list.size())));
  }
  std::string variable() { return pick({"a", "b", "c", "e"}); }
  std::string number() { return "d(" + std::to_string(0.1 + 0.1 * below(9)) + ")"; }
  std::string digit(std::uint32_t n) { return std::to_string(below(n)); }
  std::string index(std::uint32_t n) { return "[(p + " + digit(n) + ") % " + std::to_string(n) + "]"; }
  std::string expression(int depth) {
    if (depth == 0) return below(3) ? variable() : number();
    std::string left = expression(depth - 1), right = expression(depth - 1);
    switch (below(14)) {
      case 0: return "(" + left + " + " + right + ")";
      case 1: return "(" + left + " - " + right + ")";
      case 2:
      case 3: return "(" + left + " * " + right + ")";
      case 4: return "wp.sin(" + left + ")";
      case 5: return "wp.cos(" + left + ")";
      case 6: return "(" + left + " / (d(1.0) + " + right + " * " + right + "))";
      case 7: return "wp.tanh(" + left + ")";
      case 8: return "wp.sqrt(d(0.6) + " + left + " * " + left + ")";
      case 9: return "wp." + pick({"min", "max"}) + "(" + left + ", " + right + " + d(0.01))";
      case 10: return "wp.where(" + condition() + ", " + left + ", wp.log(d(0.3) + " + right + " * " + right + "))";
      case 11: return "wp.length(wp.vec3d(" + left + ", " + right + ", d(0.4)))";
      case 12: return "wp.atan2(" + left + ", d(1.5) + " + right + " * " + right + ")";
      default: return "wp.exp(-(" + left + " * " + left + "))";
    }
  }
  void line(int depth, const std::string& statement) {
    text_.append(std::size_t(depth) * 4, ' ');
    text_ += statement + "\n";
  }
  std::string condition() {
    switch (below(7)) {
      case 0: return "p % 2 == 0";
      case 1: return "p > " + digit(5);
      case 2: return "(p + i) % 3 != 1";
      case 3: return "not (p == 2 or i == 1)";
      case 4: return variable() + " > d(0.345678)";
      case 5: return "p > 0 and i / p < 2";
      default: return "p < 3 and i > 0";
    }
  }
  void block(int depth, int budget, bool in_loop) {
    std::uint32_t count = 1 + below(4);
    for (std::uint32_t k = 0; k < count; ++k) statement(depth, budget, in_loop);
  }

  /// Overwrites what was read before.
  bool mutation(int depth) {
    switch (below(20)) {
      case 0:
      case 1: return in_place_ && in_result(depth);
      case 2:
      case 3: return private_ && in_private(depth);
      case 4: return large_ && in_large(depth);
      case 5:
      case 6: return algebra_ && in_matrix(depth);
      case 7:
      case 8: return record_ && in_record(depth);
      case 9:
        if (!indices_) return false;
        line(depth, "n[i] = (n[i] * 3 + " + digit(5) + ") % 7");
        line(depth, "p = (p + n[i]) % 7");
        return true;
      case 10:
      case 11:
      case 12: return meet_ && in_shared(depth);
      default: return false;
    }
  }
  bool in_shared(int depth) {
    const std::string at = "(p + " + digit(3) + ") % 3";
    switch (below(7)) {
      case 0: line(depth, "wp.atomic_add(y, " + at + ", " + expression(1) + " * d(0.1))"); break;
      case 1: line(depth, variable() + " = wp.atomic_sub(y, " + at + ", " + expression(1) + " * d(0.1))"); break;
      case 2:
      case 3: {
        const std::string found = below(2) ? variable() + " = " : "";
        line(depth, found + "wp.atomic_" + pick({"min", "max"}) + "(y, " + at + ", " + expression(1) + " + d(0.0123))");
        break;
      }
      case 4: line(depth, variable() + " = wp.atomic_exch(y, " + at + ", " + expression(1) + ")"); break;
      case 5: line(depth, variable() + " = wp.atomic_cas(y, 1, y[" + digit(2) + "], " + expression(1) + ")"); break;
      default: line(depth, variable() + " = wp.cos(y[" + at + "])");
    }
    return true;
  }
  bool in_result(int depth) {
    switch (below(9)) {
      case 5: line(depth, "wp.atomic_add(out, i, " + expression(1) + ")"); break;
      case 6: line(depth, "wp.atomic_" + pick({"min", "max"}) + "(out, i, " + expression(1) + " + d(0.0123))"); break;
      case 7:
        line(depth,
             variable() + " = wp.atomic_" + pick({"add", "max"}) + "(out, i, " + expression(1) + " + d(0.0123))");
        break;
      case 8: line(depth, variable() + " = wp.atomic_exch(out, i, " + expression(1) + ")"); break;
      case 0: line(depth, "out[i] = wp.sin(out[i] * " + expression(1) + ") + " + variable()); break;
      case 1: line(depth, "out[i] *= wp.cos(" + expression(1) + ")"); break;
      case 2: line(depth, "out[i] += " + expression(1)); break;
      case 3: line(depth, variable() + " = h(out, i, " + expression(1) + ")"); break;
      default: line(depth, variable() + " = wp.tanh(out[i]) * " + expression(1));
    }
    return true;
  }
  bool in_private(int depth) {
    const std::string at = index(3);
    switch (below(5)) {
      case 0: line(depth, "w" + at + " = wp.sin(" + expression(1) + ")"); break;
      case 1: line(depth, "w" + at + " += " + expression(1) + " * w[0]"); break;
      case 2: line(depth, "v" + at + " = wp.cos(v[1] * " + expression(1) + ")"); break;
      case 3: line(depth, "v[0:2] = wp.vec2d(v[2], w[1])"); break;
      default: line(depth, variable() + " = w" + at + " * v[0] + " + expression(1));
    }
    return true;
  }
  bool in_large(int depth) {
    const std::string at = index(7);
    switch (below(4)) {
      case 0: line(depth, "u" + at + " = wp.sin(" + expression(1) + " + u[0])"); break;
      case 1: line(depth, "u" + at + " += " + expression(1)); break;
      case 2: line(depth, "u" + at + " *= wp.cos(" + variable() + ")"); break;
      default: line(depth, variable() + " = wp.tanh(u" + at + ") + " + expression(1));
    }
    return true;
  }
  bool in_matrix(int depth) {
    switch (below(5)) {
      case 0: line(depth, "q[p % 2, " + digit(2) + "] = wp.sin(q[0, 1] + " + expression(1) + ")"); break;
      case 1: line(depth, "z = q * z * d(0.6) + wp.vec2d(" + variable() + ", d(0.1))"); break;
      case 2: line(depth, "q = wp.transpose(q) * d(0.7) + wp.outer(z, z) * d(0.1)"); break;
      case 3: line(depth, "q[" + digit(2) + "] = wp.normalize(z + wp.vec2d(d(2.0), d(0.0)))"); break;
      default: line(depth, variable() + " = wp.tanh(wp.trace(q) * z[1])");
    }
    return true;
  }
  bool in_record(int depth) {
    switch (below(5)) {
      case 0: line(depth, "s = r(s, wp.cos(" + variable() + "))"); break;
      case 1: line(depth, "s.v" + index(3) + " = wp.sin(s.a * " + variable() + ")"); break;
      case 2: line(depth, "s.a = wp.tanh(s.v[1] + " + expression(1) + ")"); break;
      case 3: line(depth, "s.n += 1"); break;
      default: line(depth, variable() + " = s.a * s.v[s.n % 3] + " + variable());
    }
    return true;
  }

  void statement(int depth, int budget, bool in_loop) {
    if (mutation(depth)) return;
    switch (below(budget > 0 ? 14 : 6)) {
      case 0:
      case 1: return line(depth, variable() + " = wp.sin(" + expression(2) + ") + " + expression(1));
      case 2: return line(depth, "a, e = f(" + expression(1) + ", wp.cos(" + variable() + "))");
      case 3: return line(depth, "p = (p * 3 + " + digit(5) + ") % 7");
      case 4: return line(depth, "b, c = wp.sin(c), " + expression(1));
      case 5: return line(depth, variable() + " = g(x, " + expression(1) + ", p)");
      case 6:
      case 7:
        line(depth, "if " + condition() + ":");
        block(depth + 1, budget - 1, in_loop);
        if (below(2)) {
          line(depth, below(2) ? "else:" : "elif p % 5 == 1:");
          block(depth + 1, budget - 1, in_loop);
        }
        return;
      case 8:
      case 9: return for_loop(depth, budget);
      case 10:
      case 11: return while_loop(depth, budget);
      case 12:
        if (!in_loop || in_place_) return line(depth, "c = c + " + expression(1));
        line(depth, "if p == " + digit(6) + " and i == " + digit(3) + ":");
        line(depth + 1, "out[i] = " + expression(2));
        return line(depth + 1, "return");
      default: return line(depth, variable() + " = " + variable() + " if " + condition() + " else " + expression(1));
    }
  }
  void for_loop(int depth, int budget) {
    const std::string name = "j" + std::to_string(names_++);
    const std::string bounds[] = {"p + 1", digit(6), "p, -1, -2", "1, p"};
    line(depth, "for " + name + " in range(" + bounds[below(4)] + "):");
    if (below(3) == 0) {
      line(depth + 1, "if " + condition() + ":");
      line(depth + 2, below(2) ? "break" : "continue");
    }
    if (below(3) == 0) line(depth + 1, variable() + " = " + variable() + " * d(0.9) + d(0.1) * d(" + name + ")");
    block(depth + 1, budget - 1, true);
  }
  void while_loop(int depth, int budget) {
    const std::string name = "w" + std::to_string(names_++);
    line(depth, name + " = int(0)");
    if (below(3) == 0) {
      line(depth, "while True:");
      line(depth + 1, "if " + name + " >= p or " + name + " > 8:");
      line(depth + 2, "break");
    } else {
      line(depth, "while " + name + " < " + std::to_string(1 + below(9)) +
                      (below(3) ? ":" : " and " + variable() + " < d(1.5):"));
    }
    line(depth + 1, name + " += 1");
    block(depth + 1, budget - 1, true);
  }

  std::mt19937 random_;
  int depth_;
  bool meet_;
  std::string text_;
  int names_ = 0;
  bool in_place_ = false, private_ = false, large_ = false, algebra_ = false, record_ = false, indices_ = false;
};

}  // namespace weft::autodiff::test
