// Plain loops over the C library's functions, one thread, as a compiler makes them at -O3 without fast-math.
#pragma once
#include <cstdint>

template <class T>
using HandLoop = void (*)(std::int64_t n, const T* x, const T* y, T* out);

struct HandMath {
  const char* name;        // of the builtin
  double low, high;        // arguments that are measured
  HandLoop<float> loop32;  // null where the C library has no such function
  HandLoop<double> loop64;
  bool binary;
};

extern "C" {
/// All of them; the last has no name.
const HandMath* hand_math();
/// Black-Scholes call prices, per option as the kernel does it.
void hand_black_scholes(std::int64_t n, const float* spot, const float* strike, const float* years, float rate,
                        float volatility, float* call, float* put);
}
