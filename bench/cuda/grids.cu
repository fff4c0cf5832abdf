// The kernels of bench/python/pairs_grids.py by hand, as CUDA programmers write them.
#include <cuda_fp16.h>

#include "common.cuh"

KERNEL diffuse(const float* __restrict__ u, float* __restrict__ out, int width, int height, int n) {
  THREAD(n);
  const int r = i / width, c = i % width;
  if (r == 0 || c == 0 || r == height - 1 || c == width - 1) return;
  out[i] = u[i] + 0.1f * (u[i - width] + u[i + width] + u[i - 1] + u[i + 1] - 4.0f * u[i]);
}

KERNEL heat(const float* __restrict__ u, float k, float* __restrict__ out, int size, int n) {
  THREAD(n);
  const int z = i % size, y = i / size % size, x = i / (size * size), plane = size * size;
  if (x == 0 || y == 0 || z == 0 || x == size - 1 || y == size - 1 || z == size - 1) return;
  const float around = u[i - plane] + u[i + plane] + u[i - size] + u[i + size] + u[i - 1] + u[i + 1];
  out[i] = u[i] + k * (around - 6.0f * u[i]);
}

__device__ float3 sample(const float3* __restrict__ u, int size, float3 p) {
  const float top = float(size) - 1.001f;
  const float x = clamp(p.x, 0.0f, top), y = clamp(p.y, 0.0f, top), z = clamp(p.z, 0.0f, top);
  const int i = int(x), j = int(y), k = int(z);
  const float fx = x - float(i), fy = y - float(j), fz = z - float(k);
  auto at = [&](int a, int b, int c) { return u[(a * size + b) * size + c]; };
  const float3 a = lerp(at(i, j, k), at(i, j, k + 1), fz);
  const float3 b = lerp(at(i, j + 1, k), at(i, j + 1, k + 1), fz);
  const float3 c = lerp(at(i + 1, j, k), at(i + 1, j, k + 1), fz);
  const float3 d = lerp(at(i + 1, j + 1, k), at(i + 1, j + 1, k + 1), fz);
  return lerp(lerp(a, b, fy), lerp(c, d, fy), fx);
}

KERNEL advect(const float3* __restrict__ v, float dt, float3* __restrict__ out, int size, int n) {
  THREAD(n);
  const int z = i % size, y = i / size % size, x = i / (size * size);
  out[i] = sample(v, size, make_float3(x, y, z) - v[i] * dt);
}

KERNEL blur_bytes(const uchar3* __restrict__ image, uchar3* __restrict__ out, int width, int height, int n) {
  THREAD(n);
  const int y = i / width, x = i % width;
  if (y == 0 || x == 0 || y == height - 1 || x == width - 1) return;
  int r = 0, g = 0, b = 0;
  for (int dy = -1; dy < 2; ++dy)
    for (int dx = -1; dx < 2; ++dx) {
      const uchar3 p = image[i + dy * width + dx];
      const int weight = (2 - abs(dy)) * (2 - abs(dx));
      r += weight * p.x;
      g += weight * p.y;
      b += weight * p.z;
    }
  out[i] = make_uchar3(r / 16, g / 16, b / 16);
}

KERNEL sharpen_half(const __half* __restrict__ image, float amount, __half* __restrict__ out, int width, int height,
                    int n) {
  THREAD(n);
  const int y = i / width, x = i % width;
  if (y == 0 || x == 0 || y == height - 1 || x == width - 1) return;
  auto at = [&](int k) { return __half2float(image[k]); };
  const float c = at(i), around = at(i - width) + at(i + width) + at(i - 1) + at(i + 1);
  out[i] = __float2half(clamp(c + amount * (4.0f * c - around), 0.0f, 1.0f));
}

KERNEL scale_strided(const float* __restrict__ a, int row, int column, float s, float* __restrict__ out, int width,
                     int n) {
  THREAD(n);
  const int r = i / width, c = i % width;
  out[i] = s * a[r * row + c * column] + 1.0f;
}

KERNEL columns_times(const float* __restrict__ a, const float* __restrict__ x, int count, float* __restrict__ y,
                     int n) {
  THREAD(n);
  float s = 0;
  for (int k = 0; k < count; ++k) s += a[k * n + i] * x[k];
  y[i] = s;
}

__device__ float scene(float3 p) {
  const float ball = length(p - make_float3(0.0f, 0.3f, 0.0f)) - 0.8f;
  const float out = sqrtf(p.x * p.x + p.z * p.z) - 1.2f;
  const float ring = sqrtf(out * out + p.y * p.y) - 0.25f;
  return fminf(fminf(ball, ring), p.y + 0.5f);
}

KERNEL march(float ex, float ey, float ez, int width, int height, float* __restrict__ out, int n) {
  THREAD(n);
  const int y = i / width, x = i % width;
  const float side = (x + 0.5f) / width * 2.0f - 1.0f, up = 1.0f - (y + 0.5f) / height * 2.0f;
  const float3 eye = make_float3(ex, ey, ez), ray = normalize(make_float3(side, up, -1.5f));
  float t = 0;
  int steps = 0;
  while (t < 20.0f) {
    const float d = scene(eye + ray * t);
    if (d < 0.001f) break;
    t += d;
    if (++steps == 128) break;
  }
  out[i] = t;
}

__device__ float fade(float t) { return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f); }
__device__ float blend(float a, float b, float t) { return a * (1.0f - t) + b * t; }
__device__ float corner(unsigned hash, float x, float y, float z) {
  const float a = uniform(hash) - 0.5f, b = uniform(hash) - 0.5f, c = uniform(hash) - 0.5f;
  return dot(normalize(make_float3(a, b, c)), make_float3(x, y, z));
}

__device__ float noise(unsigned state, float3 p) {
  const float fx = floorf(p.x), fy = floorf(p.y), fz = floorf(p.z);
  const float x = p.x - fx, y = p.y - fy, z = p.z - fz, u = fade(x), v = fade(y), w = fade(z);
  const unsigned x0 = int(fx) * 73856093u, x1 = x0 + 73856093u, y0 = int(fy) * 19349663u, y1 = y0 + 19349663u,
                 z0 = int(fz) * 53471161u + state, z1 = z0 + 53471161u;
  auto edge = [&](unsigned yz, float dy, float dz) {
    return blend(corner(x0 ^ yz, x, dy, dz), corner(x1 ^ yz, x - 1.0f, dy, dz), u);
  };
  const float a = blend(edge(y0 ^ z0, y, z), edge(y1 ^ z0, y - 1.0f, z), v);
  const float b = blend(edge(y0 ^ z1, y, z - 1.0f), edge(y1 ^ z1, y - 1.0f, z - 1.0f), v);
  return blend(a, b, w);
}

KERNEL clouds(int seed, float spacing, int width, float* __restrict__ out, int n) {
  THREAD(n);
  const int y = i / width, x = i % width;
  const unsigned state = pcg(seed);
  float3 p = make_float3(x * spacing, y * spacing, 0.5f);
  float total = 0, weight = 0.5f;
  for (int octave = 0; octave < 4; ++octave) {
    total += weight * noise(state, p);
    p = p * 2.0f;
    weight *= 0.5f;
  }
  out[i] = total;
}
