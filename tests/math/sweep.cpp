// Every float32 through every elementary function, against the C library in double precision (whose own error is some
// 2^-30 of a float32 ulp): `math_sweep [--stride N] [function…]`. Prints, per function, the largest error in ulp and where
// it lies, and fails when one is above the bound that docs/design/math.md states.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "weft/weft.h"

namespace {

double erfinv(double x, double guess) {
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? std::copysign(INFINITY, x) : NAN;
  if (std::fabs(x) < 1e-8) return x / M_2_SQRTPI;
  // One step of Newton's method from a float32's worth of digits; next to ±1 on erfc, which keeps them.
  double slope = M_2_SQRTPI * std::exp(-guess * guess);
  double off = std::fabs(x) < 0.5 ? std::erf(guess) - x
               : x > 0            ? (1 - x) - std::erfc(guess)
                                  : std::erfc(-guess) - (1 + x);
  return guess - off / slope;
}

double erfcinv(double x, double guess) {
  if (!(x > 0 && x < 2)) return x == 0 ? INFINITY : x == 2 ? -INFINITY : NAN;
  double slope = M_2_SQRTPI * std::exp(-guess * guess);
  double off = x < 1 ? x - std::erfc(guess) : std::erfc(-guess) - (2 - x);
  return guess - off / slope;
}

struct Function {
  const char* name;
  double (*exact)(double x, double guess);
  double bound;
};

#define PLAIN(name, bound)                                      \
  Function {                                                    \
    #name, [](double x, double) { return std::name(x); }, bound \
  }
const Function kFunctions[] = {
    PLAIN(sin, 1),
    PLAIN(cos, 1),
    PLAIN(tan, 1),
    PLAIN(atan, 1),
    PLAIN(sinh, 1),
    PLAIN(cosh, 1),
    PLAIN(tanh, 1),
    PLAIN(exp, 1),
    PLAIN(log, 1),
    PLAIN(log2, 1),
    PLAIN(log10, 1),
    PLAIN(cbrt, 1),
    PLAIN(erf, 1),
    PLAIN(erfc, 1),
    PLAIN(sqrt, 0.5),
    {"erfinv", erfinv, 2},
    {"erfcinv", erfcinv, 2},
    // The argument is clamped to [-1, 1].
    {"asin", [](double x, double) { return std::asin(std::isnan(x) ? -1 : std::fmin(std::fmax(x, -1), 1)); }, 1},
    {"acos", [](double x, double) { return std::acos(std::isnan(x) ? -1 : std::fmin(std::fmax(x, -1), 1)); }, 1},
};

/// Distance in units of the last place of the float32 nearest the exact value; infinite when one is special alone.
double ulps(float got, double exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : INFINITY;
  float rounded = float(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    // One step past the largest number is an error of one ulp, not of infinitely many.
    double edge = std::isinf(got) ? std::copysign(0x1p128, got) : got;
    double value = std::isinf(exact) ? std::copysign(INFINITY, exact) : exact;
    return std::fabs(edge - value) / 0x1p104;
  }
  if (got == 0 && exact == 0) return std::signbit(got) == std::signbit(exact) ? 0 : INFINITY;
  int exponent = std::max(std::ilogb(exact == 0 ? 0x1p-149 : exact), -126);
  return std::fabs(got - exact) / std::ldexp(1.0, exponent - 23);
}

struct Worst {
  double ulps = 0;
  float at = 0;
  float got = 0;
};

Worst sweep(const Function& f, std::uint32_t stride) {
  std::string text =
      "import warp as wp\n@wp.kernel\ndef k(first: wp.uint32, stride: wp.uint32, out: wp.array(dtype=float)):\n"
      "    i = wp.tid()\n    x = wp.cast(first + wp.uint32(i) * stride, wp.float32)\n    out[i] = wp." +
      std::string(f.name) + "(x)\n";
  weft::Kernel kernel = weft::Program::compile(text).kernel("k");
  constexpr std::int64_t kBatch = 1 << 22;
  weft::Array out = weft::Array::empty("float32", {kBatch});
  Worst worst;
  std::uint64_t total = ((std::uint64_t(1) << 32) + stride - 1) / stride;
  for (std::uint64_t done = 0; done < total; done += kBatch) {
    std::int64_t count = std::int64_t(std::min<std::uint64_t>(kBatch, total - done));
    std::uint32_t first = std::uint32_t(done * stride);
    kernel.launch({count}, first, stride, out);
    const float* got = out.as<float>().data();
    unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<Worst> part(threads);
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        for (std::int64_t i = t; i < count; i += threads) {
          float x = std::bit_cast<float>(first + std::uint32_t(i) * stride);
          double error = ulps(got[i], f.exact(x, got[i]));
          if (error > part[t].ulps) part[t] = {error, x, got[i]};
        }
      });
    for (std::thread& thread : team) thread.join();
    for (const Worst& p : part)
      if (p.ulps > worst.ulps) worst = p;
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t stride = 1;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--stride" && i + 1 < argc)
      stride = std::uint32_t(std::max(1l, std::atol(argv[++i])));
    else
      wanted.push_back(argv[i]);
  }
  bool good = true;
  for (const Function& f : kFunctions) {
    bool asked = wanted.empty();
    for (const std::string& name : wanted) asked |= name == f.name;
    if (!asked) continue;
    Worst worst = sweep(f, stride);
    bool fits = worst.ulps <= f.bound;
    good &= fits;
    std::printf("%-8s %8.4f ulp at %-14.9g (%.9g)  bound %.1f%s\n", f.name, worst.ulps, double(worst.at),
                double(worst.got), f.bound, fits ? "" : "  EXCEEDED");
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
