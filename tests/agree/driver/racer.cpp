// The family of kernels that threads and processes race with.
#include "racer.h"

namespace weft::agree {

std::string family_text(int variant) {
  std::string text = "import warp as wp\nV = wp.constant(" + std::to_string(variant) + ")\n";
  text +=
      "@wp.func\ndef part(x: float, k: int):\n    s = float(0.0)\n    for j in range(k):\n        s += x\n    return s\n";
  for (int k = 0; k < kFamily; ++k) {
    const std::string n = std::to_string(k);
    text += "@wp.kernel\ndef k" + n + "(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n";
    if (k % 2)
      text += "    y[i] = x[i] * float(V + " + n + ") + float(i)\n";
    else
      text += "    y[i] = part(x[i], V + " + n + ") + float(i)\n";
  }
  return text;
}

std::string run_member(const Program& program, int variant, int number, std::int64_t n) {
  Array x = Array::zeros("float32", {n}), y = Array::zeros("float32", {n});
  for (std::int64_t i = 0; i < n; ++i) x.as<float>()[std::size_t(i)] = float(i % 17);
  program.kernel("k" + std::to_string(number)).launch({n}, x, y);
  for (std::int64_t i = 0; i < n; ++i) {
    const float expected = float(i % 17) * float(variant + number) + float(i), got = y.as<float>()[std::size_t(i)];
    if (got != expected)
      return "variant " + std::to_string(variant) + ", k" + std::to_string(number) + ", element " + std::to_string(i) +
             ": " + std::to_string(got) + ", not " + std::to_string(expected);
  }
  return {};
}

std::string run_family(int variant, std::int64_t n, const Options& options) {
  const Program program = Program::compile(family_text(variant), "family.py", options);
  for (int k = 0; k < kFamily; ++k)
    if (std::string problem = run_member(program, variant, k, n); !problem.empty()) return problem;
  return {};
}

}  // namespace weft::agree
