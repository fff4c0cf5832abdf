// The second part of the prelude: small functions of the kernel language and names of C's headers.
// Random numbers are those of src/stdlib/random.py, bit for bit.
#include "codegen/native/prelude.h"

namespace weft::codegen {

const std::string_view kNativeNames = R"text(#line 1 "weft prelude, names"
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define DBL_EPSILON __DBL_EPSILON__
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (__INT_MAX__ * 2u + 1u)
#define M_PI 3.14159265358979323846
#define assert(condition) ((void)sizeof(!(condition)))

#define WEFT_C1(name) \
  inline float name##f(float x) { return name(x); }
#define WEFT_C2(name) \
  inline float name##f(float x, float y) { return name(x, y); }
WEFT_C1(sqrt) WEFT_C1(fabs) WEFT_C1(floor) WEFT_C1(ceil) WEFT_C1(round) WEFT_C1(trunc) WEFT_C1(rint) WEFT_C1(exp)
WEFT_C1(exp2) WEFT_C1(log) WEFT_C1(log2) WEFT_C1(log10) WEFT_C1(sin) WEFT_C1(cos) WEFT_C1(tan) WEFT_C1(asin)
WEFT_C1(acos) WEFT_C1(atan) WEFT_C1(sinh) WEFT_C1(cosh) WEFT_C1(tanh) WEFT_C1(cbrt) WEFT_C1(erf) WEFT_C1(erfc)
WEFT_C2(pow) WEFT_C2(fmod) WEFT_C2(atan2) WEFT_C2(fmin) WEFT_C2(fmax) WEFT_C2(copysign) WEFT_C2(hypot)

template <class T>
T sign(T x) {
  return x < T(0) ? T(-1) : T(1);
}
template <class T>
T step(T x) {
  return x < T(0) ? T(1) : T(0);
}
template <class T>
T degrees(T x) {
  return T(x * 57.29577951308232);
}
template <class T>
T radians(T x) {
  return T(x * 0.017453292519943295);
}
template <class T>
T mod(T a, T b) {
  return T(a % b);
}
inline float mod(float a, float b) { return fmod(a, b); }
inline double mod(double a, double b) { return fmod(a, b); }
template <class A, class B>
auto add(const A& a, const B& b) {
  return a + b;
}
template <class A, class B>
auto sub(const A& a, const B& b) {
  return a - b;
}
template <class A, class B>
auto mul(const A& a, const B& b) {
  return a * b;
}
template <class A, class B>
auto div(const A& a, const B& b) {
  return a / b;
}
template <class V, class T>
V lerp(const V& a, const V& b, T t) {
  return a * (T(1) - t) + b * t;
}
template <class T>
T where(bool condition, T a, T b) {
  return condition ? a : b;
}

template <unsigned N, class T>
T trace(const mat_t<N, N, T>& m) {
  T sum = m.data[0][0];
  for (unsigned i = 1; i < N; ++i) sum = T(sum + m.data[i][i]);
  return sum;
}
template <class T>
T determinant(const mat_t<2, 2, T>& m) {
  return T(m.data[0][0] * m.data[1][1] - m.data[0][1] * m.data[1][0]);
}
template <class T>
T determinant(const mat_t<3, 3, T>& m) {
  auto row = [&](int r) { return vec_t<3, T>(m.data[r][0], m.data[r][1], m.data[r][2]); };
  return dot(row(0), cross(row(1), row(2)));
}
// By the 2×2 minors of the upper and of the lower two rows.
template <class T>
T determinant(const mat_t<4, 4, T>& m) {
  auto minor = [&](int r, int i, int j) {
    return T(m.data[r][i] * m.data[r + 1][j] - m.data[r][j] * m.data[r + 1][i]);
  };
  return T(minor(0, 0, 1) * minor(2, 2, 3) - minor(0, 0, 2) * minor(2, 1, 3) + minor(0, 0, 3) * minor(2, 1, 2) +
           minor(0, 1, 2) * minor(2, 0, 3) - minor(0, 1, 3) * minor(2, 0, 2) + minor(0, 2, 3) * minor(2, 0, 1));
}
template <class T>
quat_t<T> quat_inverse(const quat_t<T>& q) {
  return quat_t<T>(-q.x, -q.y, -q.z, q.w);
}
template <class T>
vec_t<3, T> quat_rotate(const quat_t<T>& q, const vec_t<3, T>& v) {
  vec_t<3, T> axis(q.x, q.y, q.z);
  return v * T(T(2) * q.w * q.w - T(1)) + cross(axis, v) * T(q.w * T(2)) + axis * T(dot(axis, v) * T(2));
}
template <class T>
vec_t<3, T> quat_rotate_inv(const quat_t<T>& q, const vec_t<3, T>& v) {
  return quat_rotate(quat_inverse(q), v);
}

inline uint32 weft_pcg(uint32 s) {
  uint32 b = s * 747796405u + 2891336453u;
  uint32 c = ((b >> ((b >> 28u) + 4u)) ^ b) * 277803737u;
  return (c >> 22u) ^ c;
}
inline uint32 rand_init(int seed) { return weft_pcg(uint32(seed)); }
inline uint32 rand_init(int seed, int offset) { return weft_pcg(uint32(seed) + weft_pcg(uint32(offset))); }
inline int randi(uint32& state) { return int(state = weft_pcg(state)); }
inline int randi(uint32& state, int low, int high) { return int(uint32(randi(state)) % uint32(high - low)) + low; }
inline uint32 randu(uint32& state) { return state = weft_pcg(state); }
inline float randf(uint32& state) { return float((state = weft_pcg(state)) >> 8) * 0.000000059604644775390625f; }
inline float randf(uint32& state, float low, float high) { return (high - low) * randf(state) + low; }
inline half float_to_half(float x) { return half(x); }
inline float half_to_float(half x) { return float(x); }

}  // namespace wp
)text";

}  // namespace weft::codegen
