// One loop per function of the C library; nothing else in the loop, so that its throughput is what is measured.
#include "functions.h"

#include <cmath>

namespace {

#define UNARY(name)                                                                      \
  template <class T>                                                                     \
  void loop_##name(std::int64_t n, const T* __restrict x, const T*, T* __restrict out) { \
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::name(x[i]);                       \
  }
#define BINARY(name)                                                                                  \
  template <class T>                                                                                  \
  void loop_##name(std::int64_t n, const T* __restrict x, const T* __restrict y, T* __restrict out) { \
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::name(x[i], y[i]);                              \
  }

// clang-format off: one function a line
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(asin)
UNARY(acos)
UNARY(atan)
UNARY(sinh)
UNARY(cosh)
UNARY(tanh)
UNARY(exp)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(cbrt)
UNARY(erf)
UNARY(erfc)
BINARY(atan2)
BINARY(pow)

#define ROW(name, low, high, binary) {#name, low, high, loop_##name<float>, loop_##name<double>, binary}
const HandMath kTable[] = {
    ROW(sin, -10, 10, false),
    ROW(cos, -10, 10, false),
    ROW(tan, -10, 10, false),
    ROW(asin, -1, 1, false),
    ROW(acos, -1, 1, false),
    ROW(atan, -10, 10, false),
    ROW(sinh, -10, 10, false),
    ROW(cosh, -10, 10, false),
    ROW(tanh, -5, 5, false),
    ROW(exp, -20, 20, false),
    ROW(log, 0.001, 1000, false),
    ROW(log2, 0.001, 1000, false),
    ROW(log10, 0.001, 1000, false),
    ROW(cbrt, -100, 100, false),
    ROW(erf, -4, 4, false),
    ROW(erfc, -4, 4, false),
    {"erfinv", -1, 1, nullptr, nullptr, false},
    {"erfcinv", 0, 2, nullptr, nullptr, false},
    ROW(atan2, -10, 10, true),
    ROW(pow, 0.01, 10, true),
    {nullptr, 0, 0, nullptr, nullptr, false},
};
// clang-format on

}  // namespace

const HandMath* hand_math() { return kTable; }

void hand_black_scholes(std::int64_t n, const float* __restrict spot, const float* __restrict strike,
                        const float* __restrict years, float rate, float volatility, float* __restrict call,
                        float* __restrict put) {
  for (std::int64_t i = 0; i < n; ++i) {
    float root = std::sqrt(years[i]);
    float d1 =
        (std::log(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
    float d2 = d1 - volatility * root;
    float n1 = 0.5f * std::erfc(-0.70710678f * d1), n2 = 0.5f * std::erfc(-0.70710678f * d2);
    float discounted = strike[i] * std::exp(-rate * years[i]);
    call[i] = spot[i] * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - spot[i] * (1.0f - n1);
  }
}
