// Moves the coefficients of a float32 polynomial by units in their last places so that the largest error of the whole
// function, rounding included, becomes least. Minimax fits know nothing of rounding.
//
//     g++ -O3 -march=native -fno-trapping-math -fno-math-errno -fopenmp-simd -std=c++20 tools/math/polish.cpp -o polish
//     ./polish erf_root SECONDS C0 C1 …        coefficients as polynomials.py fits them
//
// Random steps on a sample of arguments; then all arguments, whose worst join the sample; and again.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <vector>

namespace {

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

template <int Count>
float horner(float x, const float* c) {
  float p = c[Count - 1];
#pragma GCC unroll 16
  for (int k = Count - 2; k >= 0; --k) p = std::fma(p, x, c[k]);
  return p;
}

/// Even and odd coefficients apart, as polynomials.py writes longer ones.
template <int Count>
float halves(float x, const float* c) {
  constexpr int even = (Count - 1) & ~1, odd = (Count - 1) & 1 ? Count - 1 : Count - 2;
  float y = x * x, a = c[even], b = c[odd];
#pragma GCC unroll 16
  for (int k = even - 2; k >= 0; k -= 2) a = std::fma(a, y, c[k]);
#pragma GCC unroll 16
  for (int k = odd - 2; k >= 1; k -= 2) b = std::fma(b, y, c[k]);
  return std::fma(b, x, a);
}

// The functions of src/stdlib/math_*.py.
struct Exp {
  static constexpr int kCount = 5;
  static constexpr float kLow = 0x1p-13f, kHigh = 87;
  static constexpr bool kBothSigns = true;
  static double reference(double x) { return std::exp(x); }
  static float value(float x, const float* c) {
    float k = std::fma(x, 1.44269502f, 12582912.0f), n = k - 12582912.0f;
    float r = std::fma(n, 1.90465421e-09f, std::fma(n, -0.693147182f, x));
    float y = std::fma(std::fma(horner<5>(r, c), r, 1.0f), r, 1.0f);
    return from_bits(bits_of(y) + (bits_of(k) << 23));
  }
};

struct Log {
  static constexpr int kCount = 8;
  static constexpr float kLow = 0x1p-20f, kHigh = 0x1p20f;
  static constexpr bool kBothSigns = false;
  static double reference(double x) { return std::log(x); }
  static float value(float x, const float* c) {
    std::int32_t b = std::int32_t(bits_of(x)), e = (b - 0x3F2AAAAB) & std::int32_t(0xFF800000);
    float f = from_bits(std::uint32_t(b - e)) - 1.0f, y = f * f;
    float p = std::fma(std::fma(halves<8>(f, c), f, -0.5f), y, f);
    return std::fma(float(e), 0x1.62e430p-24f, p);
  }
};

struct ErfNear {
  static constexpr int kCount = 6;
  static constexpr float kLow = 0x1p-8f, kHigh = 0.828126f;
  static constexpr bool kBothSigns = false;
  static double reference(double x) { return std::erf(x); }
  static float value(float x, const float* c) { return std::fma(x, horner<6>(x * x, c), x); }
};

struct ErfRoot {
  static constexpr int kCount = 12;
  static constexpr float kLow = 0.828126f, kHigh = 4;
  static constexpr bool kBothSigns = false;
  // Behind 3.94 the function is held: it has to be 1 there.
  static double reference(double x) { return x > 3.94 ? 1 : std::erf(x); }
  static float value(float x, const float* c) {
    float u = horner<12>((x > 3.94f ? 3.94f : x) - 1.0f, c);
    return std::fma(-u, u, 1.0f);
  }
};

double ulps_per_unit(double value) {
  int exponent;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, 24 - exponent);
}

template <class Form>
class Polish {
 public:
  explicit Polish(std::vector<float> start) : best_(std::move(start)) {}

  void run(double seconds) {
    const std::uint32_t low = bits_of(Form::kLow), high = bits_of(Form::kHigh), step = (high - low) / 100003;
    for (std::uint32_t bits = low; bits < high; bits += step) add(bits);
    std::vector<float> coefficients = best_;
    double least = all(coefficients);
    std::printf("before: %.4f\n", least);
    std::fflush(stdout);
    for (int round = 0; round < 5; ++round) {
      climb(coefficients, seconds / 5);
      const double largest = all(coefficients);
      if (largest < least) least = largest, best_ = coefficients;
      std::printf("largest error %.4f, %zu arguments in the sample\n", largest, x_.size());
      std::fflush(stdout);
    }
    std::printf("%.4f with", least);
    for (float c : best_) std::printf(" %.9g", c);
    std::printf("\n");
  }

 private:
  void add(std::uint32_t bits) {
    for (int sign = 0; sign < (Form::kBothSigns ? 2 : 1); ++sign) {
      float x = from_bits(bits | std::uint32_t(sign) << 31);
      double reference = Form::reference(x);
      if (reference == 0) continue;
      x_.push_back(x);
      reference_.push_back(reference);
      scale_.push_back(ulps_per_unit(reference * (1 - 0x1p-40)));
    }
  }

  /// The largest error counts, and a little how many come near it.
  double objective(const float* coefficients) const {
    float c[16];
    std::memcpy(c, coefficients, sizeof(float) * Form::kCount);
    double most = 0, sum = 0;
    const int count = int(x_.size());
#pragma omp simd reduction(max : most) reduction(+ : sum)
    for (int k = 0; k < count; ++k) {
      const double error = std::fabs(Form::value(x_[k], c) - reference_[k]) * scale_[k];
      most = error > most ? error : most;
      const double e4 = error * error * error * error, e16 = e4 * e4 * e4 * e4;
      sum += e16 * e16;
    }
    return most + 0.3 * std::pow(sum / count, 1.0 / 32);
  }

  void climb(std::vector<float>& coefficients, double seconds) {
    std::vector<float> now = coefficients;
    double least = objective(coefficients.data()), current = least;
    int futile = 0;
    for (double end = std::clock() / double(CLOCKS_PER_SEC) + seconds; std::clock() / double(CLOCKS_PER_SEC) < end;) {
      std::vector<float> next = now;
      for (unsigned moved = 1 + random_() % 3; moved; --moved) {
        const unsigned k = random_() % Form::kCount;
        const int range = 1 << random_() % (k < 3 ? 3 : k < 6 ? 8 : 14);
        next[k] = from_bits(bits_of(next[k]) + std::uint32_t(int(random_() % (2 * range + 1)) - range));
      }
      const double found = objective(next.data());
      if (found < current || (random_() % 300 == 0 && found < current * 1.01)) now = next, current = found;
      if (found < least) least = found, coefficients = next, futile = 0;
      if (++futile > 3000) now = coefficients, current = least, futile = 0;
    }
  }

  /// The largest error of all arguments; the worst of each few hundred join the sample if they are bad.
  double all(const std::vector<float>& c) {
    double most = 0;
    std::vector<std::pair<double, std::uint32_t>> worst;
    for (std::uint32_t block = bits_of(Form::kLow); block < bits_of(Form::kHigh); block += 256) {
      double here = 0;
      std::uint32_t at = block;
      for (std::uint32_t bits = block; bits < block + 256 && bits < bits_of(Form::kHigh); ++bits)
        for (int sign = 0; sign < (Form::kBothSigns ? 2 : 1); ++sign) {
          const float x = from_bits(bits | std::uint32_t(sign) << 31);
          const double reference = Form::reference(x);
          if (reference == 0) continue;
          const double error =
              std::fabs(Form::value(x, c.data()) - reference) * ulps_per_unit(reference * (1 - 0x1p-40));
          if (error > here) here = error, at = bits;
        }
      most = std::max(most, here);
      worst.emplace_back(here, at);
    }
    for (auto [error, bits] : worst)
      if (error > most - 0.08) add(bits);
    return most;
  }

  std::vector<float> best_, x_;
  std::vector<double> reference_, scale_;
  std::mt19937 random_{1};
};

template <class Form>
int polish(int count, char** words) {
  std::vector<float> start;
  for (int k = 3; k < count; ++k) start.push_back(std::strtof(words[k], nullptr));
  if (int(start.size()) != Form::kCount) return std::fprintf(stderr, "%d coefficients, please\n", Form::kCount), 2;
  Polish<Form>(std::move(start)).run(std::atof(words[2]));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count > 3) {
    if (!std::strcmp(words[1], "exp_short")) return polish<Exp>(count, words);
    if (!std::strcmp(words[1], "log1p_short")) return polish<Log>(count, words);
    if (!std::strcmp(words[1], "erf_near")) return polish<ErfNear>(count, words);
    if (!std::strcmp(words[1], "erf_root")) return polish<ErfRoot>(count, words);
  }
  return std::fprintf(stderr, "polish exp_short|log1p_short|erf_near|erf_root SECONDS C0 C1 …\n"), 2;
}
