// The kernels of bench/python/pairs_values.py by hand, as CUDA programmers write them.
#include "common.cuh"

KERNEL saxpy(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
  THREAD(n);
  y[i] = a * x[i] + y[i];
}

struct __align__(16) Mat44 {
  float m[4][4];
};

KERNEL matrix_product(const Mat44* __restrict__ a, const Mat44* __restrict__ b, Mat44* __restrict__ c, int n) {
  THREAD(n);
  const Mat44 p = a[i], q = b[i];
  Mat44 r;
  for (int row = 0; row < 4; ++row)
    for (int col = 0; col < 4; ++col) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) sum += p.m[row][k] * q.m[k][col];
      r.m[row][col] = sum;
    }
  c[i] = r;
}

__device__ float normal(float x) { return 0.5f * (1.0f + erff(x * 0.70710678f)); }

KERNEL black_scholes(const float* __restrict__ spot, const float* __restrict__ strike, const float* __restrict__ years,
                     float* __restrict__ call, float* __restrict__ put, int n) {
  THREAD(n);
  const float s = spot[i], k = strike[i], t = years[i];
  const float root = sqrtf(t);
  const float d1 = (logf(s / k) + (0.02f + 0.045f) * t) / (0.3f * root);
  const float d2 = d1 - 0.3f * root;
  const float discounted = k * expf(-0.02f * t);
  const float c = s * normal(d1) - discounted * normal(d2);
  call[i] = c;
  put[i] = c + discounted - s;
}

KERNEL total(const float* __restrict__ x, float* __restrict__ out, int n) {
  // Summed in each thread, the warp and the block first: what a CUDA programmer does who minds speed.
  __shared__ float part[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
  for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

KERNEL orbit(double2* __restrict__ x, double2* __restrict__ v, double dt, int steps, int n) {
  THREAD(n);
  double2 p = x[i], u = v[i];
  for (int step = 0; step < steps; ++step) {
    const double r = sqrt(p.x * p.x + p.y * p.y), s = dt / (r * r * r);
    u = make_double2(u.x - p.x * s, u.y - p.y * s);
    p = make_double2(p.x + u.x * dt, p.y + u.y * dt);
  }
  x[i] = p;
  v[i] = u;
}

KERNEL histogram(const float* __restrict__ x, int bins, int* __restrict__ counts, int n) {
  THREAD(n);
  atomicAdd(&counts[min(int(x[i] * bins), bins - 1)], 1);
}

KERNEL extremes(const int* __restrict__ x, int* __restrict__ least, int* __restrict__ most, int n) {
  THREAD(n);
  atomicMin(least, x[i]);
  atomicMax(most, x[i]);
}

/// The usual way without a float instruction: the bits of positive numbers are in order, those of negative ones reversed.
__device__ void atomic_max(float* at, float v) {
  if (v >= 0)
    atomicMax(reinterpret_cast<int*>(at), __float_as_int(v));
  else
    atomicMin(reinterpret_cast<unsigned*>(at), __float_as_uint(v));
}

KERNEL highest(const int* __restrict__ cell, const float* __restrict__ height, float* __restrict__ top, int n) {
  THREAD(n);
  atomic_max(&top[cell[i]], height[i]);
}

KERNEL append(const float* __restrict__ x, float limit, int* __restrict__ count, int* __restrict__ found, int n) {
  THREAD(n);
  if (x[i] < limit) found[atomicAdd(count, 1)] = i;
}

KERNEL in_circle(int seed, int draws, int* __restrict__ out, int n) {
  THREAD(n);
  unsigned state = pcg(unsigned(seed) + pcg(unsigned(i)));
  int inside = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const float x = uniform(state), y = uniform(state);
    if (x * x + y * y < 1.0f) ++inside;
  }
  out[i] = inside;
}

KERNEL least_eight(const float* __restrict__ x, int count, float* __restrict__ out, int n) {
  THREAD(n);
  float best[8];
  for (int k = 0; k < 8; ++k) best[k] = 1.0e30f;
  for (int j = 0; j < count; ++j) {
    const float d = x[j * n + i];
    if (d < best[7]) {
      int k = 7;
      while (k > 0 && best[k - 1] > d) {
        best[k] = best[k - 1];
        --k;
      }
      best[k] = d;
    }
  }
  for (int k = 0; k < 8; ++k) out[k * n + i] = best[k];
}

KERNEL in_boxes(const float3* __restrict__ lower, const float3* __restrict__ upper, int leaves,
                const float3* __restrict__ p, int* __restrict__ out, int n) {
  THREAD(n);
  const float3 at = p[i];
  int stack[32], depth = 1, found = 0;
  stack[0] = 1;
  while (depth > 0) {
    const int node = stack[--depth];
    const float3 a = lower[node], b = upper[node];
    if (at.x < a.x || at.y < a.y || at.z < a.z || at.x > b.x || at.y > b.y || at.z > b.z) continue;
    if (node >= leaves) {
      ++found;
      continue;
    }
    stack[depth] = 2 * node;
    stack[depth + 1] = 2 * node + 1;
    depth += 2;
  }
  out[i] = found;
}

KERNEL through_indices(const float* __restrict__ x, const int* __restrict__ indices, float s, float* __restrict__ out,
                       int n) {
  THREAD(n);
  out[i] = x[indices[i]] * s + 1.0f;
}

KERNEL first_above(const float* __restrict__ x, int rows, float limit, int* __restrict__ out, int n) {
  THREAD(n);
  for (int k = 0; k < rows; ++k)
    if (x[k * n + i] > limit) {
      out[i] = k;
      return;
    }
  out[i] = -1;
}

KERNEL places(const float* __restrict__ sorted, int size, const float* __restrict__ x, int* __restrict__ out, int n) {
  THREAD(n);
  const float v = x[i];
  int low = 0, high = size;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (sorted[middle] < v)
      low = middle + 1;
    else
      high = middle;
  }
  out[i] = low;
}
