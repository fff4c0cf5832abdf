// Hand-written loops; nothing clever, so that the compiler's vectoriser sees what it likes best.
#include "loops.h"

#include <cstddef>

const char* hand_compiler() { return WEFT_HAND_COMPILER; }

void hand_saxpy(std::int64_t n, float a, const float* __restrict x, float* __restrict y, int threads) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void hand_dot3(std::int64_t n, const float* __restrict a, const float* __restrict b, float* __restrict d, int threads) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < n; ++i)
    d[i] = a[3 * i] * b[3 * i] + a[3 * i + 1] * b[3 * i + 1] + a[3 * i + 2] * b[3 * i + 2];
}

void hand_polynomial(std::int64_t n, const float* __restrict x, float* __restrict y, int threads) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i], s = 1.0f;
    for (int k = 0; k < 64; ++k) s = s * v + 0.5f;
    y[i] = s;
  }
}

void hand_empty(std::int64_t, std::int64_t, const void*, void*) {}

void limit_copy(std::int64_t n, const float* __restrict from, float* __restrict to, int threads) {
  // Parts per thread, so that the library's memcpy with its streaming stores is what is measured.
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int part = 0; part < threads; ++part) {
    std::int64_t begin = n * part / threads, end = n * (part + 1) / threads;
    __builtin_memcpy(to + begin, from + begin, std::size_t(end - begin) * sizeof(float));
  }
}

void limit_update(std::int64_t n, float* to, int threads) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < n; ++i) to[i] = to[i] * 0.5f;
}

namespace {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
constexpr int kChains = 10;  // more than latency times ports, and fewer than there are registers
typedef float Vector __attribute__((vector_size(kWidth * sizeof(float))));

// clang keeps to half the register on processors that it thinks slow down at full width.
#if defined(__clang__) && defined(__AVX512F__)
__attribute__((min_vector_width(512)))
#endif
__attribute__((noinline)) float
multiply_add_chains(std::int64_t steps) {
  const Vector factor = Vector{} + 0.999f, term = Vector{} + 0.001f;
  Vector a = term, b = a + term, c = b + term, d = c + term, e = d + term;
  Vector f = e + term, g = f + term, h = g + term, i = h + term, j = i + term;
  for (std::int64_t step = 0; step < steps; ++step) {
    a = a * factor + term, b = b * factor + term, c = c * factor + term, d = d * factor + term, e = e * factor + term;
    f = f * factor + term, g = g * factor + term, h = h * factor + term, i = i * factor + term, j = j * factor + term;
  }
  return (a + b + c + d + e + f + g + h + i + j)[0];
}

}  // namespace

double limit_fma(std::int64_t steps, int threads) {
  float total = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : total)
  for (int thread = 0; thread < threads; ++thread) total += multiply_add_chains(steps);
  volatile float used = total;
  (void)used;
  return 2.0 * kWidth * kChains * double(steps) * threads;
}
