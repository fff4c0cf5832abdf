// The walk of bench/python/tree_walk.py for GPUs by hand: both children's boxes in the parent, the nearer child in a
// register, the farther on the stack with its distance.
#include "common.cuh"

#define LEAF 0x80000000u

__device__ float apart_from_zero(float x) { return fabsf(x) < 1.0e-18f ? copysignf(1.0e-18f, x) : x; }
__device__ float axis_of(float3 v, int a) { return a == 0 ? v.x : a == 1 ? v.y : v.z; }

KERNEL rays_two(const float4* __restrict__ nodes, const uint4* __restrict__ words, const float4* __restrict__ corners,
                const int4* __restrict__ numbers, const float3* __restrict__ starts,
                const float3* __restrict__ directions, float max_t, int* __restrict__ faces, float* __restrict__ t_out,
                int n) {
  THREAD(n);
  const float3 o = starts[i], d = directions[i];
  const float rx = 1.0f / apart_from_zero(d.x), ry = 1.0f / apart_from_zero(d.y), rz = 1.0f / apart_from_zero(d.z);
  int kz = fabsf(d.x) > fabsf(d.y) ? 0 : 1;
  kz = fabsf(d.z) > fabsf(axis_of(d, kz)) ? 2 : kz;
  const int kx = kz == 2 ? 0 : kz + 1, ky = kx == 2 ? 0 : kx + 1;
  const float sz = 1.0f / axis_of(d, kz), sx = axis_of(d, kx) * sz, sy = axis_of(d, ky) * sz;
  float best = max_t;
  int face = -1;
  unsigned stack[64];
  float keys[64];
  int top = 0;
  unsigned word = 0;
  bool going = true;
  while (going) {
    bool pops = true;
    if (!(word & LEAF)) {
      const float4 a = nodes[4 * word], b = nodes[4 * word + 1], c = nodes[4 * word + 2];
      const uint4 w = words[4 * word + 3];
      const float ax0 = (a.x - o.x) * rx, ay0 = (a.y - o.y) * ry, az0 = (a.z - o.z) * rz;
      const float ax1 = (a.w - o.x) * rx, ay1 = (b.x - o.y) * ry, az1 = (b.y - o.z) * rz;
      const float bx0 = (b.z - o.x) * rx, by0 = (b.w - o.y) * ry, bz0 = (c.x - o.z) * rz;
      const float bx1 = (c.y - o.x) * rx, by1 = (c.z - o.y) * ry, bz1 = (c.w - o.z) * rz;
      const float a_in = fmaxf(fmaxf(fminf(ax0, ax1), fminf(ay0, ay1)), fmaxf(fminf(az0, az1), 0.0f));
      const float a_out =
          fminf(fminf(fmaxf(ax0, ax1), fmaxf(ay0, ay1)), fminf(fmaxf(az0, az1), best)) * (1.0f + 0x1p-21f);
      const float b_in = fmaxf(fmaxf(fminf(bx0, bx1), fminf(by0, by1)), fmaxf(fminf(bz0, bz1), 0.0f));
      const float b_out =
          fminf(fminf(fmaxf(bx0, bx1), fmaxf(by0, by1)), fminf(fmaxf(bz0, bz1), best)) * (1.0f + 0x1p-21f);
      const bool in_a = a_in <= a_out, in_b = b_in <= b_out;
      if (in_a || in_b) {
        pops = false;
        const bool b_first = in_b && (!in_a || b_in < a_in);
        word = b_first ? w.y : w.x;
        if (in_a && in_b) {
          stack[top] = b_first ? w.x : w.y;
          keys[top] = b_first ? a_in : b_in;
          ++top;
        }
      }
    } else {
      const int count = int(word & 7), first = int((word & ~LEAF) >> 3);
      for (int k = 0; k < count; ++k) {
        const int at = 3 * (first + k);
        const float4 p = corners[at], q = corners[at + 1], r = corners[at + 2];
        const float3 a = make_float3(p.x - o.x, p.y - o.y, p.z - o.z), b = make_float3(q.x - o.x, q.y - o.y, q.z - o.z),
                     c = make_float3(r.x - o.x, r.y - o.y, r.z - o.z);
        const float az = axis_of(a, kz), bz = axis_of(b, kz), cz = axis_of(c, kz);
        const float ax = axis_of(a, kx) - sx * az, ay = axis_of(a, ky) - sy * az;
        const float bx = axis_of(b, kx) - sx * bz, by = axis_of(b, ky) - sy * bz;
        const float cx = axis_of(c, kx) - sx * cz, cy = axis_of(c, ky) - sy * cz;
        const float u = cx * by - cy * bx, v = ax * cy - ay * cx, w = bx * ay - by * ax;
        if (fminf(fminf(u, v), w) >= 0 || fmaxf(fmaxf(u, v), w) <= 0) {
          const float t = (u * az + v * bz + w * cz) * sz / (u + v + w);
          if (t >= 0 && t < best) {
            best = t;
            face = numbers[at].w;
          }
        }
      }
    }
    while (pops) {
      if (top == 0) {
        pops = going = false;
      } else {
        --top;
        if (keys[top] <= best) {
          word = stack[top];
          pops = false;
        }
      }
    }
  }
  faces[i] = face;
  t_out[i] = best;
}
