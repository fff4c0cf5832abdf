// The five kernels of bench/python/peers.py as loops with OpenMP, compiled by that file: what a C++ programmer would write first.
#include <cmath>
#include <cstdint>

namespace {

float normal_cdf(float x) {
  const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(x));
  const float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
  const float w = 1.0f - 0.39894228f * std::exp(-0.5f * x * x) * p;
  return x < 0.0f ? 1.0f - w : w;
}

}  // namespace

extern "C" {

void five_mandelbrot(std::int64_t width, int turns, float* image) {
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t row = 0; row < width; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      const float cx = -2.0f + 3.0f * float(column) / float(width), cy = -1.5f + 3.0f * float(row) / float(width);
      float x = 0.0f, y = 0.0f;
      int n = 0;
      for (; n < turns && x * x + y * y < 4.0f; ++n) {
        const float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
      }
      image[row * width + column] = float(n);
    }
}

float five_sum(std::int64_t n, const float* x) {
  float sum = 0.0f;
#pragma omp parallel for simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

void five_options(std::int64_t n, float rate, float volatility, const float* __restrict s, const float* __restrict k,
                  const float* __restrict t, float* __restrict out) {
#pragma omp parallel for simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float root = std::sqrt(t[i]);
    const float d1 = (std::log(s[i] / k[i]) + (rate + 0.5f * volatility * volatility) * t[i]) / (volatility * root);
    const float d2 = d1 - volatility * root;
    out[i] = s[i] * normal_cdf(d1) - k[i] * std::exp(-rate * t[i]) * normal_cdf(d2);
  }
}

void five_bodies(std::int64_t n, float soft, const float* __restrict x, float* __restrict a) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
#pragma omp simd reduction(+ : ax, ay, az)
    for (std::int64_t j = 0; j < n; ++j) {
      const float dx = x[3 * j] - x[3 * i], dy = x[3 * j + 1] - x[3 * i + 1], dz = x[3 * j + 2] - x[3 * i + 2];
      const float r = dx * dx + dy * dy + dz * dz + soft, f = 1.0f / (r * std::sqrt(r));
      ax += dx * f, ay += dy * f, az += dz * f;
    }
    a[3 * i] = ax, a[3 * i + 1] = ay, a[3 * i + 2] = az;
  }
}

void five_saxpy(std::int64_t n, float a, const float* __restrict x, float* __restrict y) {
#pragma omp parallel for simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}
}
