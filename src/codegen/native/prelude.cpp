// The text of the prelude. Layouts follow types/type.h; sema's native_source.cpp writes the names used here.
#include "codegen/native/prelude.h"

namespace weft::codegen {

const std::string_view kNativePrelude = R"text(#line 1 "weft prelude"
typedef __SIZE_TYPE__ size_t;
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
extern "C" int printf(const char*, ...);
extern "C" void* memcpy(void*, const void*, size_t);
extern "C" void* memset(void*, int, size_t);

namespace wp {

typedef int8_t int8;
typedef uint8_t uint8;
typedef int16_t int16;
typedef uint16_t uint16;
typedef int32_t int32;
typedef uint32_t uint32;
typedef int64_t int64;
typedef uint64_t uint64;
typedef float float32;
typedef double float64;

// 16-bit floats: kept as bits, computed with in float. So results are T(a + b), never a += b.
struct half {
  uint16_t u;
  half() = default;
  half(float x) {
    uint32_t b;
    memcpy(&b, &x, 4);
    uint32_t sign = b >> 16 & 0x8000, mag = b & 0x7fffffff;
    if (mag > 0x7f800000) {
      u = sign | 0x7e00 | (mag >> 13 & 0x3ff);
      return;
    }
    if (mag >= 0x477ff000) {
      u = sign | 0x7c00;
      return;
    }
    if (mag < 0x38800000) {
      float a;
      memcpy(&a, &mag, 4);
      a += 0.5f;
      uint32_t r;
      memcpy(&r, &a, 4);
      u = sign | (r - 0x3f000000);
      return;
    }
    u = sign | ((mag - 0x38000000 + 0xfff + (mag >> 13 & 1)) >> 13);
  }
  operator float() const {
    uint32_t sign = uint32_t(u & 0x8000) << 16, e = u >> 10 & 31, m = u & 0x3ff, b;
    if (e == 0) {
      float f = float(m) * 5.9604644775390625e-08f;
      memcpy(&b, &f, 4);
      b |= sign;
    } else
      b = sign | (e == 31 ? 0x7f800000 | m << 13 : (e + 112) << 23 | m << 13);
    float f;
    memcpy(&f, &b, 4);
    return f;
  }
};
struct bfloat16 {
  uint16_t u;
  bfloat16() = default;
  bfloat16(float x) {
    uint32_t b;
    memcpy(&b, &x, 4);
    u = (b & 0x7fffffff) > 0x7f800000 ? (b >> 16 | 64) : (b + 0x7fff + (b >> 16 & 1)) >> 16;
  }
  operator float() const {
    uint32_t b = uint32_t(u) << 16;
    float f;
    memcpy(&f, &b, 4);
    return f;
  }
};
typedef half float16;

template <unsigned N, class T>
struct vec_t {
  T c[N];
  constexpr vec_t() : c{} {}
  explicit vec_t(T s) {
    for (unsigned i = 0; i < N; ++i) c[i] = s;
  }
  template <class... A>
  vec_t(T a, T b, A... rest) : c{a, b, T(rest)...} {
    static_assert(sizeof...(A) + 2 == N, "a vector is built from as many numbers as it has components");
  }
  T& operator[](int i) { return c[i]; }
  const T& operator[](int i) const { return c[i]; }
  T& operator()(int i) { return c[i]; }
  const T& operator()(int i) const { return c[i]; }
};
template <class T>
struct quat_t {
  T x, y, z, w;
  constexpr quat_t() : x(), y(), z(), w() {}
  quat_t(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
  T& operator[](int i) { return (&x)[i]; }
  const T& operator[](int i) const { return (&x)[i]; }
};
template <unsigned R, unsigned C, class T>
struct mat_t {
  T data[R][C];
  constexpr mat_t() : data{} {}
  explicit mat_t(T s) {
    for (unsigned i = 0; i < R * C; ++i) data[i / C][i % C] = s;
  }
  template <class... A>
  mat_t(T a, T b, A... rest) {
    static_assert(sizeof...(A) + 2 == R * C, "a matrix is built from as many numbers as it has components");
    T all[] = {a, b, T(rest)...};
    for (unsigned i = 0; i < R * C; ++i) data[i / C][i % C] = all[i];
  }
  T* operator[](int r) { return data[r]; }
  const T* operator[](int r) const { return data[r]; }
  T& operator()(int r, int c) { return data[r][c]; }
  const T& operator()(int r, int c) const { return data[r][c]; }
};
template <class T>
struct transform_t {
  vec_t<3, T> p;
  quat_t<T> q;
  constexpr transform_t() {}
  transform_t(vec_t<3, T> p, quat_t<T> q) : p(p), q(q) {}
};

// Arrays: shape in elements, strides in bytes. a[i] and a.data[i] take memory as contiguous, a(i, j) goes by strides.
struct shape_t {
  int64_t dims[4];
  int64_t operator[](int i) const { return dims[i]; }
};
template <class T>
struct array_t {
  T* data;
  T* grad;
  shape_t shape;
  int64_t strides[4];
  int32_t ndim;
  int32_t reserved;
  operator T*() const { return data; }
  T& at(int64_t offset) const { return *(T*)((char*)data + offset); }
  T& operator()(int64_t i) const { return at(i * strides[0]); }
  T& operator()(int64_t i, int64_t j) const { return at(i * strides[0] + j * strides[1]); }
  T& operator()(int64_t i, int64_t j, int64_t k) const { return at(i * strides[0] + j * strides[1] + k * strides[2]); }
  T& operator()(int64_t i, int64_t j, int64_t k, int64_t l) const {
    return at(i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3]);
  }
  int64_t size() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= shape[d];
    return n;
  }
};
/// The gradient of an array, as an array.
template <class T>
array_t<T> gradient_of(array_t<T> a) {
  a.data = a.grad;
  a.grad = nullptr;
  return a;
}
/// The same in an adj_snippet: where there is no gradient, what is added goes nowhere.
template <class T>
struct adjoint_t : array_t<T> {
  mutable T nowhere{};
  adjoint_t(const array_t<T>& a) : array_t<T>(gradient_of(a)) {}
  T& at(int64_t offset) const { return this->data ? array_t<T>::at(offset) : nowhere; }
  T& operator[](int64_t i) const { return this->data ? this->data[i] : nowhere; }
  T& operator()(int64_t i) const { return at(i * this->strides[0]); }
  T& operator()(int64_t i, int64_t j) const { return at(i * this->strides[0] + j * this->strides[1]); }
  T& operator()(int64_t i, int64_t j, int64_t k) const {
    return at(i * this->strides[0] + j * this->strides[1] + k * this->strides[2]);
  }
  T& operator()(int64_t i, int64_t j, int64_t k, int64_t l) const {
    return at(i * this->strides[0] + j * this->strides[1] + k * this->strides[2] + l * this->strides[3]);
  }
};
template <class T, class... I>
T& index(const array_t<T>& a, I... i) {
  return a(i...);
}
template <class T, class... I>
T& index(const adjoint_t<T>& a, I... i) {
  return a(i...);
}
template <class T, class... I>
T* address(const array_t<T>& a, I... i) {
  return &a(i...);
}
template <class T, class... I>
T* address(const adjoint_t<T>& a, I... i) {
  return &a(i...);
}
template <class T>
T load(const T* at) {
  return *at;
}
template <class T>
T* data_ptr(const array_t<T>& a) {
  return a.data;
}

template <class T>
T min(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T max(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T clamp(T x, T a, T b) {
  return min(max(a, x), b);
}
template <class T>
T abs(T x) {
  return x < T(0) ? T(-x) : x;
}
#define WEFT_F1(name)                                           \
  inline float name(float x) { return __builtin_##name##f(x); } \
  inline double name(double x) { return __builtin_##name(x); }
#define WEFT_F2(name)                                                       \
  inline float name(float x, float y) { return __builtin_##name##f(x, y); } \
  inline double name(double x, double y) { return __builtin_##name(x, y); }
// What GPUs have no instruction for is libdevice's there.
#ifdef __NVPTX__
#define WEFT_M1(name)                                       \
  extern "C" float __nv_##name##f(float);                   \
  extern "C" double __nv_##name(double);                    \
  inline float name(float x) { return __nv_##name##f(x); }  \
  inline double name(double x) { return __nv_##name(x); }
#define WEFT_M2(name)                                                   \
  extern "C" float __nv_##name##f(float, float);                        \
  extern "C" double __nv_##name(double, double);                        \
  inline float name(float x, float y) { return __nv_##name##f(x, y); }  \
  inline double name(double x, double y) { return __nv_##name(x, y); }
#else
#define WEFT_M1 WEFT_F1
#define WEFT_M2 WEFT_F2
#endif
WEFT_M1(cbrt) WEFT_M1(sin) WEFT_M1(cos) WEFT_M1(tan) WEFT_M1(asin) WEFT_M1(acos) WEFT_M1(atan) WEFT_M1(sinh)
WEFT_M1(cosh) WEFT_M1(tanh) WEFT_M1(exp) WEFT_M1(exp2) WEFT_M1(log) WEFT_M1(log2) WEFT_M1(log10) WEFT_M1(erf)
WEFT_M1(erfc) WEFT_M2(atan2) WEFT_M2(pow) WEFT_M2(fmod) WEFT_M2(hypot)
WEFT_F1(sqrt) WEFT_F1(floor) WEFT_F1(ceil) WEFT_F1(trunc) WEFT_F1(round) WEFT_F1(rint) WEFT_F1(fabs)
WEFT_F2(fmin) WEFT_F2(fmax) WEFT_F2(copysign)
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }

#define WEFT_ALL for (unsigned i = 0; i < N; ++i)
template <unsigned N, class T>
vec_t<N, T> operator+(vec_t<N, T> a, const vec_t<N, T>& b) {
  WEFT_ALL a[i] = T(a[i] + b[i]);
  return a;
}
template <unsigned N, class T>
vec_t<N, T> operator-(vec_t<N, T> a, const vec_t<N, T>& b) {
  WEFT_ALL a[i] = T(a[i] - b[i]);
  return a;
}
template <unsigned N, class T>
vec_t<N, T> operator-(vec_t<N, T> a) {
  WEFT_ALL a[i] = T(-a[i]);
  return a;
}
template <unsigned N, class T>
vec_t<N, T> operator*(vec_t<N, T> a, T s) {
  WEFT_ALL a[i] = T(a[i] * s);
  return a;
}
template <unsigned N, class T>
vec_t<N, T> operator*(T s, vec_t<N, T> a) {
  WEFT_ALL a[i] = T(a[i] * s);
  return a;
}
template <unsigned N, class T>
vec_t<N, T> operator/(vec_t<N, T> a, T s) {
  WEFT_ALL a[i] = T(a[i] / s);
  return a;
}
template <unsigned N, class T>
vec_t<N, T>& operator+=(vec_t<N, T>& a, const vec_t<N, T>& b) {
  return a = a + b;
}
template <unsigned N, class T>
vec_t<N, T>& operator-=(vec_t<N, T>& a, const vec_t<N, T>& b) {
  return a = a - b;
}
template <unsigned N, class T>
vec_t<N, T>& operator*=(vec_t<N, T>& a, T s) {
  return a = a * s;
}
template <unsigned N, class T>
bool operator==(const vec_t<N, T>& a, const vec_t<N, T>& b) {
  WEFT_ALL if (!(a[i] == b[i])) return false;
  return true;
}
template <unsigned N, class T>
bool operator!=(const vec_t<N, T>& a, const vec_t<N, T>& b) {
  return !(a == b);
}
template <unsigned N, class T>
T dot(const vec_t<N, T>& a, const vec_t<N, T>& b) {
  T s = a[0] * b[0];
  for (unsigned i = 1; i < N; ++i) s = T(s + a[i] * b[i]);
  return s;
}
template <unsigned N, class T>
vec_t<N, T> cw_mul(vec_t<N, T> a, const vec_t<N, T>& b) {
  WEFT_ALL a[i] = T(a[i] * b[i]);
  return a;
}
template <unsigned N, class T>
T length_sq(const vec_t<N, T>& a) {
  return dot(a, a);
}
template <unsigned N, class T>
T length(const vec_t<N, T>& a) {
  return sqrt(dot(a, a));
}
template <unsigned N, class T>
vec_t<N, T> normalize(const vec_t<N, T>& a) {
  T l = length(a);
  return l > T(0) ? a / l : vec_t<N, T>();
}
template <class T>
vec_t<3, T> cross(const vec_t<3, T>& a, const vec_t<3, T>& b) {
  return vec_t<3, T>(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]);
}
template <unsigned R, unsigned C, class T>
vec_t<R, T> mul(const mat_t<R, C, T>& m, const vec_t<C, T>& v) {
  vec_t<R, T> out;
  for (unsigned r = 0; r < R; ++r)
    for (unsigned c = 0; c < C; ++c) out[r] = T(out[r] + m.data[r][c] * v[c]);
  return out;
}
template <unsigned R, unsigned C, unsigned K, class T>
mat_t<R, K, T> mul(const mat_t<R, C, T>& a, const mat_t<C, K, T>& b) {
  mat_t<R, K, T> out;
  for (unsigned r = 0; r < R; ++r)
    for (unsigned k = 0; k < K; ++k)
      for (unsigned c = 0; c < C; ++c) out.data[r][k] = T(out.data[r][k] + a.data[r][c] * b.data[c][k]);
  return out;
}
template <unsigned R, unsigned C, class T>
vec_t<R, T> operator*(const mat_t<R, C, T>& m, const vec_t<C, T>& v) {
  return mul(m, v);
}
template <unsigned R, unsigned C, unsigned K, class T>
mat_t<R, K, T> operator*(const mat_t<R, C, T>& a, const mat_t<C, K, T>& b) {
  return mul(a, b);
}
template <unsigned R, unsigned C, class T>
mat_t<R, C, T> operator+(mat_t<R, C, T> a, const mat_t<R, C, T>& b) {
  for (unsigned r = 0; r < R; ++r)
    for (unsigned c = 0; c < C; ++c) a.data[r][c] = T(a.data[r][c] + b.data[r][c]);
  return a;
}
template <unsigned R, unsigned C, class T>
mat_t<R, C, T> operator*(mat_t<R, C, T> a, T s) {
  for (unsigned r = 0; r < R; ++r)
    for (unsigned c = 0; c < C; ++c) a.data[r][c] = T(a.data[r][c] * s);
  return a;
}
template <unsigned R, unsigned C, class T>
mat_t<C, R, T> transpose(const mat_t<R, C, T>& a) {
  mat_t<C, R, T> out;
  for (unsigned r = 0; r < R; ++r)
    for (unsigned c = 0; c < C; ++c) out.data[c][r] = a.data[r][c];
  return out;
}

// Atomics return the value before. Vectors and matrices are added component by component.
template <unsigned Bytes>
struct bits_t {
  static_assert(Bytes == 1 || Bytes == 2 || Bytes == 4 || Bytes == 8,
                "atomic_add takes numbers, vectors, matrices, quaternions and transforms");
};
#define WEFT_BITS(n, T)                        \
  template <>                                  \
  struct bits_t<n> {                           \
    typedef T __attribute__((may_alias)) type; \
  };
WEFT_BITS(1, uint8_t) WEFT_BITS(2, uint16_t) WEFT_BITS(4, uint32_t) WEFT_BITS(8, uint64_t)
#ifdef __NVPTX__
// Clang before 19 has only these builtins for GPUs, and calls functions for the others.
template <class B>
B atomic_bits(volatile B* at) {
  return *at;
}
template <class B>
bool atomic_swap_bits(volatile B* at, B& seen, B next) {
  B before = seen;
  seen = __sync_val_compare_and_swap(at, before, next);
  return seen == before;
}
#define WEFT_ADD(T) \
  inline T atomic_add(T* at, T value) { return __sync_fetch_and_add(at, value); }
inline float atomic_add(float* at, float value) { return __nvvm_atom_add_gen_f(at, value); }
inline double atomic_add(double* at, double value) {
  double old;
  asm volatile("atom.add.f64 %0, [%1], %2;" : "=d"(old) : "l"(at), "d"(value) : "memory");
  return old;
}
#if __clang_major__ < 19
#define WEFT_ORDERED(what)           \
  {                                  \
    if (order) __sync_synchronize(); \
    what;                            \
    if (order) __sync_synchronize(); \
    return old;                      \
  }
#define WEFT_FETCH(op, n, T)                                                    \
  extern "C" T __atomic_fetch_##op##_##n(volatile void* at, T value, int order) \
  WEFT_ORDERED(T old = __sync_fetch_and_##op((volatile T*)at, value))
#define WEFT_CALLED(n, T)                                                                                    \
  WEFT_FETCH(add, n, T) WEFT_FETCH(sub, n, T) WEFT_FETCH(and, n, T) WEFT_FETCH(or, n, T)                     \
  WEFT_FETCH(xor, n, T) WEFT_FETCH(nand, n, T)                                                               \
  extern "C" T __atomic_load_##n(const volatile void* at, int order)                                         \
  WEFT_ORDERED(T old = *(const volatile T*)at)                                                               \
  extern "C" T __atomic_exchange_##n(volatile void* at, T value, int order)                                  \
  WEFT_ORDERED(T old = __sync_lock_test_and_set((volatile T*)at, value))                                     \
  extern "C" bool __atomic_compare_exchange_##n(volatile void* at, void* seen, T value, int order, int)      \
  WEFT_ORDERED(bool old = atomic_swap_bits((volatile T*)at, *(T*)seen, value))                               \
  extern "C" void __atomic_store_##n(volatile void* at, T value, int order) {                                \
    if (order) __sync_synchronize();                                                                         \
    *(volatile T*)at = value;                                                                                \
    if (order) __sync_synchronize();                                                                         \
  }
WEFT_CALLED(1, bits_t<1>::type) WEFT_CALLED(2, bits_t<2>::type) WEFT_CALLED(4, bits_t<4>::type)
WEFT_CALLED(8, bits_t<8>::type)
#endif
#else
template <class B>
B atomic_bits(volatile B* at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
template <class B>
bool atomic_swap_bits(volatile B* at, B& seen, B next) {
  return __atomic_compare_exchange_n(at, &seen, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#define WEFT_ADD(T) \
  inline T atomic_add(T* at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
#endif
WEFT_ADD(int8) WEFT_ADD(uint8) WEFT_ADD(int16) WEFT_ADD(uint16) WEFT_ADD(int32) WEFT_ADD(uint32) WEFT_ADD(int64)
WEFT_ADD(uint64)
template <class T>
T atomic_add(T* at, T value) {
  typedef typename bits_t<sizeof(T)>::type bits;
  bits seen = atomic_bits((volatile bits*)at), after;
  T old, next;
  do {
    memcpy(&old, &seen, sizeof(T));
    next = T(old + value);
    memcpy(&after, &next, sizeof(T));
  } while (!atomic_swap_bits((volatile bits*)at, seen, after));
  return old;
}
template <unsigned N, class T>
vec_t<N, T> atomic_add(vec_t<N, T>* at, const vec_t<N, T>& value) {
  vec_t<N, T> old;
  WEFT_ALL old.c[i] = atomic_add(&at->c[i], value.c[i]);
  return old;
}
template <unsigned R, unsigned C, class T>
mat_t<R, C, T> atomic_add(mat_t<R, C, T>* at, const mat_t<R, C, T>& value) {
  mat_t<R, C, T> old;
  for (unsigned r = 0; r < R; ++r)
    for (unsigned c = 0; c < C; ++c) old.data[r][c] = atomic_add(&at->data[r][c], value.data[r][c]);
  return old;
}
template <class T>
quat_t<T> atomic_add(quat_t<T>* at, const quat_t<T>& value) {
  return quat_t<T>(atomic_add(&at->x, value.x), atomic_add(&at->y, value.y), atomic_add(&at->z, value.z),
                   atomic_add(&at->w, value.w));
}
template <class T>
transform_t<T> atomic_add(transform_t<T>* at, const transform_t<T>& value) {
  return transform_t<T>(atomic_add(&at->p, value.p), atomic_add(&at->q, value.q));
}
#define WEFT_AT(indices, ...)                                          \
  template <class T>                                                   \
  T atomic_add(const array_t<T>& a, __VA_ARGS__, T value) {            \
    return atomic_add(&a indices, value);                              \
  }                                                                    \
  template <class T>                                                   \
  T atomic_add(const adjoint_t<T>& a, __VA_ARGS__, T value) {          \
    return a.data ? atomic_add(&a indices, value) : T();               \
  }
WEFT_AT((i), int64_t i)
WEFT_AT((i, j), int64_t i, int64_t j)
WEFT_AT((i, j, k), int64_t i, int64_t j, int64_t k)
WEFT_AT((i, j, k, l), int64_t i, int64_t j, int64_t k, int64_t l)

#define WEFT_NAMES(n, s, T) typedef vec_t<n, T> vec##n##s;
#define WEFT_SCALARS(n)                                                     \
  WEFT_NAMES(n, , float) WEFT_NAMES(n, f, float) WEFT_NAMES(n, d, double)   \
  WEFT_NAMES(n, h, half) WEFT_NAMES(n, b, int8) WEFT_NAMES(n, ub, uint8)    \
  WEFT_NAMES(n, s, int16) WEFT_NAMES(n, us, uint16) WEFT_NAMES(n, i, int32) \
  WEFT_NAMES(n, ui, uint32) WEFT_NAMES(n, l, int64) WEFT_NAMES(n, ul, uint64)
WEFT_SCALARS(2)
WEFT_SCALARS(3)
WEFT_SCALARS(4)
#define WEFT_FLOATS(s, T)                \
  typedef mat_t<2, 2, T> mat22##s;       \
  typedef mat_t<3, 3, T> mat33##s;       \
  typedef mat_t<4, 4, T> mat44##s;       \
  typedef quat_t<T> quat##s;             \
  typedef transform_t<T> transform##s;   \
  typedef vec_t<6, T> spatial_vector##s; \
  typedef mat_t<6, 6, T> spatial_matrix##s;
WEFT_FLOATS(, float)
WEFT_FLOATS(f, float)
WEFT_FLOATS(d, double)
WEFT_FLOATS(h, half)

)text";

}  // namespace weft::codegen
