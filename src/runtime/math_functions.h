// The elementary functions of the IR (math class): one definition that the interpreter calls and that generated CPU code
// calls by name, so that every executor gives the same bits. Named weft_<op>_f32 and weft_<op>_f64; 16-bit kinds go
// through f32.
#pragma once
#include <cstdint>

// clang-format off
#define WEFT_MATH_UNARY(X)                                                                       \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(exp) X(exp2) X(log)     \
  X(log2) X(log10) X(cbrt) X(erf) X(erfc)
// clang-format on
#define WEFT_MATH_BINARY(X) X(atan2) X(pow)

extern "C" {
#define WEFT_DECLARE(name)        \
  float weft_##name##_f32(float); \
  double weft_##name##_f64(double);
WEFT_MATH_UNARY(WEFT_DECLARE)
#undef WEFT_DECLARE
#define WEFT_DECLARE(name)               \
  float weft_##name##_f32(float, float); \
  double weft_##name##_f64(double, double);
WEFT_MATH_BINARY(WEFT_DECLARE)
#undef WEFT_DECLARE
/// C's fmod: `rem` on floats.
float weft_fmod_f32(float, float);
double weft_fmod_f64(double, double);
}
