// Plain loops over the C library's float functions, one thread, as a compiler makes them at -O3 without fast-math.
#pragma once
#include <cstdint>

struct HandMath {
  const char* name;  // of the builtin
  float low, high;   // arguments that are measured
  void (*loop)(std::int64_t n, const float* x, const float* y, float* out);
  bool binary;
};

extern "C" {
/// All of them; the last has no name.
const HandMath* hand_math();
/// Black-Scholes call prices, per option as the kernel does it.
void hand_black_scholes(std::int64_t n, const float* spot, const float* strike, const float* years, float rate,
                        float volatility, float* call, float* put);
}
