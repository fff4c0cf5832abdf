// Adjoints by hand of kernels of this folder: each thread computes its part again, reads the gradient of its result and
// adds to those of what it read, where other threads add, too.
#include "common.cuh"

KERNEL heat(const float* __restrict__ grad_out, float k, float* __restrict__ grad_u, int size, int n) {
  THREAD(n);
  const int z = i % size, y = i / size % size, x = i / (size * size), plane = size * size;
  if (x == 0 || y == 0 || z == 0 || x == size - 1 || y == size - 1 || z == size - 1) return;
  const float g = grad_out[i], side = k * g;
  atomicAdd(&grad_u[i], g - 6.0f * side);
  atomicAdd(&grad_u[i - plane], side);
  atomicAdd(&grad_u[i + plane], side);
  atomicAdd(&grad_u[i - size], side);
  atomicAdd(&grad_u[i + size], side);
  atomicAdd(&grad_u[i - 1], side);
  atomicAdd(&grad_u[i + 1], side);
}

KERNEL advect(const float3* __restrict__ v, float dt, const float3* __restrict__ grad_out, float3* __restrict__ grad_v,
              int size, int n) {
  THREAD(n);
  const int cz = i % size, cy = i / size % size, cx = i / (size * size);
  const float3 p = make_float3(cx, cy, cz) - v[i] * dt;
  const float top = float(size) - 1.001f;
  const float x = clamp(p.x, 0.0f, top), y = clamp(p.y, 0.0f, top), z = clamp(p.z, 0.0f, top);
  const int a = int(x), b = int(y), c = int(z);
  const float fx = x - float(a), fy = y - float(b), fz = z - float(c);
  const int at = (a * size + b) * size + c, plane = size * size;
  const float3 g = grad_out[i];
  float gx = 0, gy = 0, gz = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const int i0 = corner >> 2, i1 = corner >> 1 & 1, i2 = corner & 1;
    const int node = at + i0 * plane + i1 * size + i2;
    const float wx = i0 ? fx : 1.0f - fx, wy = i1 ? fy : 1.0f - fy, wz = i2 ? fz : 1.0f - fz;
    const float along = dot(g, v[node]);
    gx += (i0 ? along : -along) * wy * wz;
    gy += (i1 ? along : -along) * wx * wz;
    gz += (i2 ? along : -along) * wx * wy;
    add_to(&grad_v[node], g * (wx * wy * wz));
  }
  if (p.x < 0 || p.x > top) gx = 0;
  if (p.y < 0 || p.y > top) gy = 0;
  if (p.z < 0 || p.z > top) gz = 0;
  add_to(&grad_v[i], make_float3(gx, gy, gz) * -dt);
}

KERNEL spring_forces(const float3* __restrict__ x, const int2* __restrict__ ends, const float* __restrict__ rest,
                     float k, const float3* __restrict__ grad_f, float3* __restrict__ grad_x, int n) {
  THREAD(n);
  const int2 e = ends[i];
  const float3 d = x[e.y] - x[e.x];
  const float l = length(d);
  const float3 along = d / l, g = grad_f[e.x] - grad_f[e.y];
  // pull = along * k * (l - rest): its change by d.
  const float stretch = k * (l - rest[i]) / l, g_along = dot(g, along);
  const float3 grad_d = g * stretch + along * ((k - stretch) * g_along);
  add_to(&grad_x[e.y], grad_d);
  add_to(&grad_x[e.x], -grad_d);
}
