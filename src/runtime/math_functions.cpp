// The elementary functions by the C library. One compiled definition serves every executor, which is what makes their
// results equal bit for bit.
#include "runtime/math_functions.h"

#include <cmath>

extern "C" {
#define WEFT_DEFINE(name)                                   \
  float weft_##name##_f32(float x) { return std::name(x); } \
  double weft_##name##_f64(double x) { return std::name(x); }
WEFT_MATH_UNARY(WEFT_DEFINE)
#undef WEFT_DEFINE
#define WEFT_DEFINE(name)                                               \
  float weft_##name##_f32(float x, float y) { return std::name(x, y); } \
  double weft_##name##_f64(double x, double y) { return std::name(x, y); }
WEFT_MATH_BINARY(WEFT_DEFINE)
#undef WEFT_DEFINE
float weft_fmod_f32(float x, float y) { return std::fmod(x, y); }
double weft_fmod_f64(double x, double y) { return std::fmod(x, y); }
}
