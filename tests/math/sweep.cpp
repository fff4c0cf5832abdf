// Every float32 through every function of one argument, against the C library in double precision (whose own error is
// some 2^-29 of a float32 ulp): `math_sweep [--stride N] [function…]`. What looks like a new largest error is computed
// again in long double before it counts. Of odd and even functions negative numbers are compared with positive ones, bit
// for bit. Functions of two arguments are swept along lines, and over pairs whose second number comes from the bits of the
// first. Prints, per function, the largest error in ulp and where it
// lies, and fails when one is above the bound that docs/design/math.md states.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "weft/weft.h"

namespace {

template <class R>
constexpr R kTwoOverRootPi = R(1.128379167095512573896158903121545172L);
template <class R>
constexpr R kPi = R(3.141592653589793238462643383279502884L);

template <class R>
R erfinv(R x, R guess) {
  if (!(std::fabs(x) < 1)) return std::fabs(x) == 1 ? std::copysign(R(INFINITY), x) : R(NAN);
  if (std::fabs(x) < R(1e-10)) return x / kTwoOverRootPi<R>;
  // One step of Newton's method from a float32's worth of digits; next to ±1 on erfc, which keeps them.
  R slope = kTwoOverRootPi<R> * std::exp(-guess * guess);
  R off = std::fabs(x) < R(0.5) ? std::erf(guess) - x
          : x > 0               ? (1 - x) - std::erfc(guess)
                                : std::erfc(-guess) - (1 + x);
  return guess - off / slope;
}

template <class R>
R erfcinv(R x, R guess) {
  if (!(x > 0 && x < 2)) return x == 0 ? R(INFINITY) : x == 2 ? -R(INFINITY) : R(NAN);
  R slope = kTwoOverRootPi<R> * std::exp(-guess * guess);
  R off = x < 1 ? x - std::erfc(guess) : std::erfc(-guess) - (2 - x);
  return guess - off / slope;
}

/// As `asin` and `acos` of the language take their argument.
template <class R>
R clamped(R x) {
  return std::isnan(x) ? R(-1) : std::clamp(x, R(-1), R(1));
}

// The second number of a pair, here and below in the kernel language, by operations that round alike everywhere.

std::uint32_t scrambled(float x) {
  const std::uint32_t h = (std::bit_cast<std::uint32_t>(x) ^ 0x9E3779B9u) * 0x85EBCA6Bu;
  return (h ^ h >> 15) * 0xC2B2AE35u;
}

int biased_exponent(float x) { return int(std::bit_cast<std::uint32_t>(x) >> 23 & 255); }

/// An exponent that takes x to anywhere from far below the smallest float32 to far above the largest.
float any_power(float x) {
  const float part = float(int(scrambled(x) >> 8)) * 0x1p-23f - 1.0f;
  const int octaves = std::max(std::abs(biased_exponent(x) - 127), 1);
  return part * 160.0f / float(octaves);
}

/// A number of any sign within 32 octaves of x.
float any_partner(float x) {
  const std::uint32_t h = scrambled(x);
  const int exponent = std::clamp(biased_exponent(x) + int(h & 63) - 32, 0, 254);
  return std::bit_cast<float>((h & 0x80000000u) | std::uint32_t(exponent) << 23 | (h >> 6 & 0x7FFFFFu));
}

constexpr const char* kPairs = R"(
@wp.func
def scrambled(x: float):
    h = (wp.cast(x, wp.uint32) ^ wp.uint32(0x9E3779B9)) * wp.uint32(0x85EBCA6B)
    return (h ^ (h >> wp.uint32(15))) * wp.uint32(0xC2B2AE35)

@wp.func
def biased_exponent(x: float):
    return int((wp.cast(x, wp.uint32) >> wp.uint32(23)) & wp.uint32(255))

@wp.func
def any_power(x: float):
    part = float(int(scrambled(x) >> wp.uint32(8))) * 1.1920928955078125e-07
    part = part - 1.0
    octaves = wp.max(wp.abs(biased_exponent(x) - 127), 1)
    return part * 160.0 / float(octaves)

@wp.func
def any_partner(x: float):
    h = scrambled(x)
    exponent = wp.clamp(biased_exponent(x) + int(h & wp.uint32(63)) - 32, 0, 254)
    mantissa = (h >> wp.uint32(6)) & wp.uint32(0x7FFFFF)
    return wp.cast((h & wp.uint32(0x80000000)) | (wp.uint32(exponent) << wp.uint32(23)) | mantissa, wp.float32)

)";

enum class Symmetry { none, odd, even };
using enum Symmetry;

struct Function {
  const char* name;
  const char* call;  // in the kernel language, of x
  Symmetry symmetry;
  double bound;  // in ulp
  double (*exact)(double x, double guess);
  long double (*exact_long)(long double x, long double guess);
};

/// A row whose reference is a function template of x and of what the library gave (`guess`), at either precision.
#define ROW(name, call, symmetry, bound, ...) {name, call, symmetry, bound, __VA_ARGS__, __VA_ARGS__}
#define PLAIN(name, symmetry, bound) \
  ROW(#name, "wp." #name "(x)", symmetry, bound, [](auto x, auto) { return decltype(x)(std::name(x)); })
/// Not defined below zero: spares the C library its way to say so.
#define POSITIVE(name, bound)                                   \
  ROW(#name, "wp." #name "(x)", none, bound, [](auto x, auto) { \
    using R = decltype(x);                                      \
    return x < 0 ? R(NAN) : R(std::name(x));                    \
  })
const Function kFunctions[] = {
    PLAIN(sin, odd, 1),
    PLAIN(cos, even, 1),
    PLAIN(tan, odd, 1),
    ROW("asin", "wp.asin(x)", none, 1, [](auto x, auto) { return decltype(x)(std::asin(clamped(x))); }),
    ROW("acos", "wp.acos(x)", none, 1, [](auto x, auto) { return decltype(x)(std::acos(clamped(x))); }),
    PLAIN(atan, odd, 1),
    PLAIN(sinh, odd, 1),
    PLAIN(cosh, even, 1),
    PLAIN(tanh, odd, 1),
    PLAIN(exp, none, 1),
    POSITIVE(log, 1),
    POSITIVE(log2, 1),
    POSITIVE(log10, 1),
    PLAIN(cbrt, odd, 1),
    PLAIN(erf, odd, 1),
    PLAIN(erfc, none, 1),
    ROW("erfinv", "wp.erfinv(x)", odd, 2, [](auto x, auto guess) { return erfinv(x, guess); }),
    ROW("erfcinv", "wp.erfcinv(x)", none, 2, [](auto x, auto guess) { return erfcinv(x, guess); }),
    POSITIVE(sqrt, 0.5),
    PLAIN(floor, none, 0),
    PLAIN(ceil, none, 0),
    PLAIN(trunc, odd, 0),
    PLAIN(round, odd, 0),
    PLAIN(rint, odd, 0),
    // A difference: +0 for whole numbers of either sign, NaN at infinity.
    ROW("frac", "wp.frac(x)", none, 0, [](auto x, auto) { return x - decltype(x)(std::trunc(x)); }),
    ROW("degrees", "wp.degrees(x)", odd, 1, [](auto x, auto) { return x * (180 / kPi<decltype(x)>); }),
    ROW("radians", "wp.radians(x)", odd, 1, [](auto x, auto) { return x * (kPi<decltype(x)> / 180); }),
    ROW("pow_base", "wp.pow(x, 2.3)", none, 1,
        [](auto x, auto) { return x < 0 && x >= -FLT_MAX ? decltype(x)(NAN) : std::pow(x, decltype(x)(2.3f)); }),
    ROW("pow_whole", "wp.pow(x, -7.0)", odd, 1, [](auto x, auto) { return std::pow(x, decltype(x)(-7)); }),
    ROW("pow_exponent", "wp.pow(0.7, x)", none, 1, [](auto x, auto) { return std::pow(decltype(x)(0.7f), x); }),
    ROW("atan2_y", "wp.atan2(x, -0.3)", odd, 1, [](auto x, auto) { return std::atan2(x, decltype(x)(-0.3f)); }),
    ROW("atan2_x", "wp.atan2(0.3, x)", none, 1, [](auto x, auto) { return std::atan2(decltype(x)(0.3f), x); }),
    ROW("pow_pairs", "wp.pow(wp.abs(x), any_power(x))", none, 1,
        [](auto x, auto) { return std::pow(std::fabs(x), decltype(x)(any_power(float(x)))); }),
    ROW("atan2_pairs", "wp.atan2(x, any_partner(x))", none, 1,
        [](auto x, auto) { return std::atan2(x, decltype(x)(any_partner(float(x)))); }),
};

int exponent_of(double x) { return int(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023; }
int exponent_of(long double x) { return std::ilogb(x); }

/// Distance in units of the last place of the float32 nearest the exact value; infinite when one is special alone.
template <class R>
R ulps(float got, R exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : R(INFINITY);
  float rounded = float(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    // One step past the largest number is an error of one ulp, not of infinitely many.
    R edge = std::isinf(got) ? std::copysign(R(0x1p128), R(got)) : R(got);
    return std::fabs(edge - exact) / R(0x1p104);
  }
  if (exact == 0) {
    if (got == 0) return std::signbit(got) == std::signbit(exact) ? 0 : R(INFINITY);
    return std::fabs(R(got)) * R(0x1p149);
  }
  int last_place = std::max(exponent_of(exact), -126) - 23;
  return std::fabs(R(got) - exact) * R(std::bit_cast<double>(std::uint64_t(1023 - last_place) << 52));
}

struct Worst {
  double ulps = 0;
  float at = 0;
  float got = 0;

  void consider(const Function& f, float x, float y) {
    if (!(::ulps(y, f.exact(x, y)) > ulps)) return;
    double error = double(::ulps(y, f.exact_long(x, y)));
    if (error > ulps) *this = {error, x, y};
  }
};

/// How far it is, on a terminal alone.
class Progress {
 public:
  void show(const char* name, double part, const Worst& worst) {
    auto now = std::chrono::steady_clock::now();
    if (!terminal_ || now - last_ < std::chrono::milliseconds(500)) return;
    last_ = now;
    double spent = std::chrono::duration<double>(now - begin_).count();
    std::fprintf(stderr, "\r\033[K%-12s %3.0f %%  %.4f ulp so far, %.0f s to go", name, 100 * part, worst.ulps,
                 spent / part - spent);
  }
  void done() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  bool terminal_ = isatty(2) != 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), last_ = begin_;
};

/// The kernel: out[i] is the function of the number whose bits are first + i·stride. Where the function of its negative is
/// not what symmetry says, it is surely wrong: NaN for a number, or 0.
std::string text_of(const Function& f) {
  std::string text = std::string("import warp as wp\n") + kPairs + "@wp.func\ndef f(x: float):\n    return " +
                     std::string(f.call) +
                     "\n\n@wp.kernel\ndef k(first: wp.uint32, stride: wp.uint32, out: wp.array(dtype=float)):\n"
                     "    i = wp.tid()\n    x = wp.cast(first + wp.uint32(i) * stride, wp.float32)\n    y = f(x)\n";
  if (f.symmetry != none)
    text += std::string("    z = ") + (f.symmetry == odd ? "-" : "") +
            "f(-x)\n    if wp.cast(y, wp.uint32) != wp.cast(z, wp.uint32) and (y == y or z == z):\n"
            "        y = wp.where(y == y, wp.cast(wp.uint32(0x7FC00000), wp.float32), 0.0)\n";
  return text + "    out[i] = y\n";
}

Worst sweep(const Function& f, std::uint32_t stride) {
  weft::Kernel kernel = weft::Program::compile(text_of(f)).kernel("k");
  constexpr std::int64_t kBatch = 1 << 22;
  weft::Array out = weft::Array::empty("float32", {kBatch});
  Worst worst;
  Progress progress;
  std::uint64_t total = ((std::uint64_t(1) << (f.symmetry == none ? 32 : 31)) + stride - 1) / stride;
  for (std::uint64_t done = 0; done < total; done += kBatch) {
    std::int64_t count = std::int64_t(std::min<std::uint64_t>(kBatch, total - done));
    std::uint32_t first = std::uint32_t(done * stride);
    kernel.launch({count}, first, stride, out);
    const float* got = out.as<float>().data();
    unsigned threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<Worst> part(threads, worst);
    std::vector<std::thread> team;
    for (unsigned t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        Worst mine = worst;
        for (std::int64_t i = t; i < count; i += threads)
          mine.consider(f, std::bit_cast<float>(first + std::uint32_t(i) * stride), got[i]);
        part[t] = mine;
      });
    for (std::thread& thread : team) thread.join();
    for (const Worst& p : part)
      if (p.ulps > worst.ulps) worst = p;
    progress.show(f.name, double(done + std::uint64_t(count)) / double(total), worst);
  }
  progress.done();
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
  for (const std::string& name : wanted)
    if (std::none_of(std::begin(kFunctions), std::end(kFunctions), [&](const Function& f) { return name == f.name; })) {
      std::fprintf(stderr, "math_sweep: there is no function '%s'\n", name.c_str());
      return 2;
    }
  bool good = true;
  for (const Function& f : kFunctions) {
    bool asked = wanted.empty();
    for (const std::string& name : wanted) asked |= name == f.name;
    if (!asked) continue;
    Worst worst = sweep(f, stride);
    bool fits = worst.ulps <= f.bound;
    good &= fits;
    std::printf("%-12s %8.4f ulp at %-14.9g (%.9g)  bound %.1f%s\n", f.name, worst.ulps, double(worst.at),
                double(worst.got), f.bound, fits ? "" : "  EXCEEDED");
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
