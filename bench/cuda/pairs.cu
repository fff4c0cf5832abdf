// The kernels of bench/python/nvcc_pairs.py by hand, as CUDA programmers write them: one thread for one element, plain
// pointers. Compiled by nvcc -O3 when the benchmark runs; `kernel_fast` are compiled with -use_fast_math.
#define THREAD(count)                                  \
  const int i = blockIdx.x * blockDim.x + threadIdx.x; \
  if (i >= (count)) return

extern "C" __global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
  THREAD(n);
  y[i] = a * x[i] + y[i];
}

struct __align__(16) Mat44 {
  float m[4][4];
};

extern "C" __global__ void matrix_product(const Mat44* __restrict__ a, const Mat44* __restrict__ b,
                                          Mat44* __restrict__ c, int n) {
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

extern "C" __global__ void black_scholes(const float* __restrict__ spot, const float* __restrict__ strike,
                                         const float* __restrict__ years, float* __restrict__ call,
                                         float* __restrict__ put, int n) {
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

extern "C" __global__ void gravity(const float4* __restrict__ x, float3* __restrict__ a, int count, int n) {
  THREAD(n);
  const float4 p = x[i];
  float3 sum = make_float3(0, 0, 0);
  for (int j = 0; j < count; ++j) {
    const float4 q = x[j];
    const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
    const float r = dx * dx + dy * dy + dz * dz + 1.0e-3f;
    const float inv = 1.0f / sqrtf(r);
    const float s = q.w * inv * inv * inv;
    sum.x += dx * s;
    sum.y += dy * s;
    sum.z += dz * s;
  }
  a[i] = sum;
}

extern "C" __global__ void diffuse(const float* __restrict__ u, float* __restrict__ out, int width, int height, int n) {
  THREAD(n);
  const int r = i / width, c = i % width;
  if (r == 0 || c == 0 || r == height - 1 || c == width - 1) return;
  out[i] = u[i] + 0.1f * (u[i - width] + u[i + width] + u[i - 1] + u[i + 1] - 4.0f * u[i]);
}

extern "C" __global__ void spring_forces(const float3* __restrict__ x, const int2* __restrict__ ends,
                                         const float* __restrict__ rest, float k, float3* __restrict__ f, int n) {
  THREAD(n);
  const int2 e = ends[i];
  const float3 p = x[e.x], q = x[e.y];
  const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
  const float length = sqrtf(dx * dx + dy * dy + dz * dz);
  const float pull = k * (length - rest[i]);
  const float fx = dx / length * pull, fy = dy / length * pull, fz = dz / length * pull;
  atomicAdd(&f[e.x].x, fx);
  atomicAdd(&f[e.x].y, fy);
  atomicAdd(&f[e.x].z, fz);
  atomicAdd(&f[e.y].x, -fx);
  atomicAdd(&f[e.y].y, -fy);
  atomicAdd(&f[e.y].z, -fz);
}

extern "C" __global__ void total(const float* __restrict__ x, float* __restrict__ out, int n) {
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

__device__ float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

extern "C" __global__ void turn(const float4* __restrict__ q, const float3* __restrict__ w, float dt,
                                float4* __restrict__ out, float3* __restrict__ axis, int n) {
  THREAD(n);
  const float4 r = q[i];
  const float3 v = w[i];
  // q + (w, 0)·q·dt/2, normalised; and the first axis of the frame.
  const float h = 0.5f * dt;
  float4 s;
  s.x = r.x + h * (v.x * r.w + v.y * r.z - v.z * r.y);
  s.y = r.y + h * (v.y * r.w + v.z * r.x - v.x * r.z);
  s.z = r.z + h * (v.z * r.w + v.x * r.y - v.y * r.x);
  s.w = r.w - h * (v.x * r.x + v.y * r.y + v.z * r.z);
  const float length = sqrtf(s.x * s.x + s.y * s.y + s.z * s.z + s.w * s.w);
  s.x /= length;
  s.y /= length;
  s.z /= length;
  s.w /= length;
  out[i] = s;
  const float3 u = make_float3(s.x, s.y, s.z), e = make_float3(1, 0, 0);
  const float3 c = cross(u, e);
  const float d = 2.0f * u.x, k = 2.0f * s.w * s.w - 1.0f, m = 2.0f * s.w;
  axis[i] = make_float3(e.x * k + c.x * m + u.x * d, e.y * k + c.y * m + u.y * d, e.z * k + c.z * m + u.z * d);
}
