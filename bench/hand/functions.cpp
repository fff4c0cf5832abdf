// One loop per function of the C library; nothing else in the loop, so that its throughput is what is measured.
#include "functions.h"

#include <cmath>

namespace {

#define UNARY(name)                                                                                  \
  void loop_##name(std::int64_t n, const float* __restrict x, const float*, float* __restrict out) { \
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::name(x[i]);                                   \
  }
#define BINARY(name)                                                                                              \
  void loop_##name(std::int64_t n, const float* __restrict x, const float* __restrict y, float* __restrict out) { \
    for (std::int64_t i = 0; i < n; ++i) out[i] = std::name(x[i], y[i]);                                          \
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
// clang-format on

const HandMath kTable[] = {
    {"sin", -10, 10, loop_sin, false},
    {"cos", -10, 10, loop_cos, false},
    {"tan", -10, 10, loop_tan, false},
    {"asin", -1, 1, loop_asin, false},
    {"acos", -1, 1, loop_acos, false},
    {"atan", -10, 10, loop_atan, false},
    {"sinh", -10, 10, loop_sinh, false},
    {"cosh", -10, 10, loop_cosh, false},
    {"tanh", -5, 5, loop_tanh, false},
    {"exp", -20, 20, loop_exp, false},
    {"log", 0.001f, 1000, loop_log, false},
    {"log2", 0.001f, 1000, loop_log2, false},
    {"log10", 0.001f, 1000, loop_log10, false},
    {"cbrt", -100, 100, loop_cbrt, false},
    {"erf", -4, 4, loop_erf, false},
    {"erfc", -4, 4, loop_erfc, false},
    {"atan2", -10, 10, loop_atan2, true},
    {"pow", 0.01f, 10, loop_pow, true},
    {nullptr, 0, 0, nullptr, false},
};

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
