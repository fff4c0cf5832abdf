// What the kernels of this folder share: one thread for one element, plain pointers, vectors of floats.
#pragma once

#define THREAD(count)                                  \
  const int i = blockIdx.x * blockDim.x + threadIdx.x; \
  if (i >= (count)) return

#define KERNEL extern "C" __global__ void

__device__ inline float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ inline float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__device__ inline float3 operator-(float3 a) { return make_float3(-a.x, -a.y, -a.z); }
__device__ inline float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }
__device__ inline float3 operator/(float3 a, float s) { return make_float3(a.x / s, a.y / s, a.z / s); }
__device__ inline float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline float length(float3 a) { return sqrtf(dot(a, a)); }
__device__ inline float3 normalize(float3 a) {
  const float l = length(a);
  return l > 0 ? a / l : make_float3(0, 0, 0);
}
__device__ inline float3 cross(float3 a, float3 b) {
  return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
__device__ inline float3 lerp(float3 a, float3 b, float t) { return a * (1.0f - t) + b * t; }
__device__ inline float clamp(float x, float low, float high) { return fminf(fmaxf(x, low), high); }
__device__ inline int clamp(int x, int low, int high) { return min(max(x, low), high); }

__device__ inline void add_to(float3* at, float3 v) {
  atomicAdd(&at->x, v.x);
  atomicAdd(&at->y, v.y);
  atomicAdd(&at->z, v.z);
}

/// Rows, as arrays of matrices have them.
struct Mat33 {
  float m[3][3];
};

__device__ inline float3 operator*(const Mat33& a, float3 v) {
  return make_float3(a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
                     a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
                     a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z);
}

// Quaternions are (x, y, z, w).
__device__ inline float3 rotate(float4 q, float3 v) {
  const float3 u = make_float3(q.x, q.y, q.z);
  return v * (2.0f * q.w * q.w - 1.0f) + cross(u, v) * (2.0f * q.w) + u * (2.0f * dot(u, v));
}
__device__ inline float3 rotate_back(float4 q, float3 v) {
  const float3 u = make_float3(q.x, q.y, q.z);
  return v * (2.0f * q.w * q.w - 1.0f) - cross(u, v) * (2.0f * q.w) + u * (2.0f * dot(u, v));
}
/// q + (w, 0)·q·h, normalised.
__device__ inline float4 turned(float4 q, float3 w, float h) {
  float4 s;
  s.x = q.x + h * (w.x * q.w + w.y * q.z - w.z * q.y);
  s.y = q.y + h * (w.y * q.w + w.z * q.x - w.x * q.z);
  s.z = q.z + h * (w.z * q.w + w.x * q.y - w.y * q.x);
  s.w = q.w - h * (w.x * q.x + w.y * q.y + w.z * q.z);
  const float l = sqrtf(s.x * s.x + s.y * s.y + s.z * s.z + s.w * s.w);
  return make_float4(s.x / l, s.y / l, s.z / l, s.w / l);
}

__device__ inline unsigned pcg(unsigned s) {
  const unsigned b = s * 747796405u + 2891336453u;
  const unsigned c = ((b >> ((b >> 28) + 4)) ^ b) * 277803737u;
  return (c >> 22) ^ c;
}
__device__ inline float uniform(unsigned& state) {
  state = pcg(state);
  return (state >> 8) * (1.0f / 16777216.0f);
}
