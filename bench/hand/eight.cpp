// The kernels of bench/python/peers.py as loops with OpenMP, compiled by that file: what a C++ programmer would write first.
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

void eight_mandelbrot(std::int64_t width, int turns, float* image) {
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

float eight_sum(std::int64_t n, const float* x) {
  float sum = 0.0f;
#pragma omp parallel for simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

void eight_options(std::int64_t n, float rate, float volatility, const float* __restrict s, const float* __restrict k,
                   const float* __restrict t, float* __restrict out) {
#pragma omp parallel for simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float root = std::sqrt(t[i]);
    const float d1 = (std::log(s[i] / k[i]) + (rate + 0.5f * volatility * volatility) * t[i]) / (volatility * root);
    const float d2 = d1 - volatility * root;
    out[i] = s[i] * normal_cdf(d1) - k[i] * std::exp(-rate * t[i]) * normal_cdf(d2);
  }
}

void eight_bodies(std::int64_t n, float soft, const float* __restrict x, float* __restrict a) {
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

void eight_saxpy(std::int64_t n, float a, const float* __restrict x, float* __restrict y) {
#pragma omp parallel for simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

void eight_springs(std::int64_t n, std::int64_t points, float k, const float* __restrict x,
                   const std::int32_t* __restrict ends, const float* __restrict rest, float* __restrict f) {
#pragma omp parallel
  {
#pragma omp for simd
    for (std::int64_t i = 0; i < 3 * points; ++i) f[i] = 0.0f;
#pragma omp for
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int32_t a = 3 * ends[2 * i], b = 3 * ends[2 * i + 1];
      const float d[3] = {x[b] - x[a], x[b + 1] - x[a + 1], x[b + 2] - x[a + 2]};
      const float length = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), pull = k * (length - rest[i]);
      for (int c = 0; c < 3; ++c) {
        const float force = d[c] / length * pull;
#pragma omp atomic
        f[a + c] += force;
#pragma omp atomic
        f[b + c] -= force;
      }
    }
  }
}

void eight_products(std::int64_t n, const float* __restrict a, const float* __restrict b, float* __restrict out) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < 16 * n; i += 16)
    for (int r = 0; r < 16; r += 4)
      for (int c = 0; c < 4; ++c) {
        float sum = 0.0f;
        for (int j = 0; j < 4; ++j) sum += a[i + r + j] * b[i + 4 * j + c];
        out[i + r + c] = sum;
      }
}
}
