// Four floats at once, for the builder's boxes: x, y, z and a lane that carries something else and is never looked at. Plain
// vectors of the compilers, with the processor's own minimum, which they would only use if told that no zero has a sign.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace weft::geometry {

using Float4 = float __attribute__((vector_size(16)));
using Int4 = std::int32_t __attribute__((vector_size(16)));

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline Float4 load4(const float* from) {
  Float4 out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
/// Three numbers in front of a word that is none. Small integers are subnormal floats, each product with which takes Intel's
/// processors a hundred cycles (builds took up to seven times as long): there the fourth lane is zero.
inline Float4 load3(const float* from) {
  Float4 out = load4(from);
#if defined(__SSE__)
  out = Float4(Int4(out) & Int4{-1, -1, -1, 0});
#endif
  return out;
}
inline void store4(float* to, Float4 value) { std::memcpy(to, &value, sizeof value); }
inline Float4 all4(float value) { return Float4{value, value, value, value}; }

/// The smaller and the larger of numbers; not for what is not a number.
inline Float4 least(Float4 a, Float4 b) {
#if defined(__aarch64__)
  return Float4(vminnmq_f32(float32x4_t(a), float32x4_t(b)));
#elif defined(__SSE__)
  return Float4(_mm_min_ps(__m128(a), __m128(b)));
#else
  return a < b ? a : b;
#endif
}
inline Float4 greatest(Float4 a, Float4 b) {
#if defined(__aarch64__)
  return Float4(vmaxnmq_f32(float32x4_t(a), float32x4_t(b)));
#elif defined(__SSE__)
  return Float4(_mm_max_ps(__m128(a), __m128(b)));
#else
  return a > b ? a : b;
#endif
}

/// A box; an empty one is +inf, −inf.
struct Bounds {
  Float4 lower = all4(kInfinity), upper = all4(-kInfinity);
  void add(const Bounds& other) {
    lower = least(lower, other.lower);
    upper = greatest(upper, other.upper);
  }
  void add_point(Float4 point) {
    lower = least(lower, point);
    upper = greatest(upper, point);
  }
};

/// Half the surface of a box whose sides fit into it, each scaled by a power of two: products of large sides would not fit.
inline float scaled_area(Float4 lower, Float4 upper, float scale) {
  const Float4 sides = upper * scale - lower * scale;
  const Float4 products = sides * __builtin_shufflevector(sides, sides, 1, 2, 0, 3);
  return products[0] + products[1] + products[2];
}
/// The power of two that makes the longest side of a box about one.
float area_scale(const Bounds& box);

}  // namespace weft::geometry
