// Rays and nearest points over the trees of meshes (geometry/tree.h, two children a node) by hand, with the tests of
// src/stdlib/mesh_ray.py and mesh_point.py: what bench/python/mesh_walk.py holds ours against.
#include "common.cuh"

#define NONE 0xffffffffu
#define CLEARANCE (1.0f + 0x1p-19f)

__device__ float dot3(float ax, float ay, float az, float bx, float by, float bz) {
  return fmaf(az, bz, fmaf(ay, by, ax * bx));
}
__device__ float apart(float a, float b, float c, float d) {
  const float cd = c * d;
  return fmaf(a, b, -cd) + fmaf(-c, d, cd);
}
__device__ float area(float ax, float ay, float bx, float by) { return fmaf(ax, by, -(ay * bx)); }
__device__ bool is_leaf(unsigned word) { return word >> 31; }

/// Children that wait, with the keys of their boxes.
struct Stack {
  uint2* entries;
  int top = 0;
  __device__ void push(unsigned word, float key) { entries[top++] = make_uint2(word, __float_as_uint(key)); }
  __device__ unsigned pop(float best) {
    while (top) {
      const uint2 e = entries[--top];
      if (__uint_as_float(e.y) <= best) return e.x;
    }
    return NONE;
  }
};

struct Ray {
  float3 o, rate;
  float shear_x, shear_y, scale;
  int z;
};
__device__ float rate_of(float d) { return fabsf(d) < 1e-37f ? (d < 0 ? -1e37f : 1e37f) : 1.0f / d; }
__device__ float3 turned(int z, float3 v) {
  return z == 2 ? v : z == 0 ? make_float3(v.y, v.z, v.x) : make_float3(v.z, v.x, v.y);
}
__device__ float3 seen_by(const Ray& r, float4 p) {
  const float3 v = turned(r.z, make_float3(p.x - r.o.x, p.y - r.o.y, p.z - r.o.z));
  return make_float3(fmaf(v.z, r.shear_x, v.x), fmaf(v.z, r.shear_y, v.y), v.z);
}

__device__ void meet(const Ray& r, const float4* corners, float& best, int& found) {
  const float4 p = corners[0], q = corners[1], s = corners[2];
  const float3 a = seen_by(r, p), b = seen_by(r, q), c = seen_by(r, s);
  const float u = apart(c.x, b.y, c.y, b.x), v = apart(a.x, c.y, a.y, c.x), w = apart(b.x, a.y, b.y, a.x);
  const float all = u + v + w;
  if (!((fminf(fminf(u, v), w) >= 0 || fmaxf(fmaxf(u, v), w) <= 0) && fabsf(all) > 0)) return;
  const float share = 1.0f / all;
  float t = dot3(u * share, v * share, w * share, a.z * r.scale, b.z * r.scale, c.z * r.scale);
  if (!(t >= 0 && t <= best)) return;
  const float x0 = (fminf(fminf(p.x, q.x), s.x) - r.o.x) * r.rate.x,
              x1 = (fmaxf(fmaxf(p.x, q.x), s.x) - r.o.x) * r.rate.x;
  const float y0 = (fminf(fminf(p.y, q.y), s.y) - r.o.y) * r.rate.y,
              y1 = (fmaxf(fmaxf(p.y, q.y), s.y) - r.o.y) * r.rate.y;
  const float z0 = (fminf(fminf(p.z, q.z), s.z) - r.o.z) * r.rate.z,
              z1 = (fmaxf(fmaxf(p.z, q.z), s.z) - r.o.z) * r.rate.z;
  const float in = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), 0.0f));
  const float out = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fminf(fmaxf(z0, z1), best)) * CLEARANCE;
  t = fmaxf(t, in);
  const int number = __float_as_int(p.w);
  if (in <= out && (t < best || (t == best && number < found))) {
    best = t;
    found = number;
  }
}

KERNEL __launch_bounds__(256, 6)
    rays_mesh(const float4* __restrict__ nodes, const float4* __restrict__ leaves, const float3* __restrict__ starts,
              const float3* __restrict__ directions, int* __restrict__ faces, int n) {
  THREAD(n);
  const float3 d = directions[i];
  Ray r;
  r.o = starts[i];
  r.rate = make_float3(rate_of(d.x), rate_of(d.y), rate_of(d.z));
  r.z = fabsf(d.x) > fabsf(d.y) ? 0 : 1;
  if (fabsf(d.z) > fabsf(r.z ? d.y : d.x)) r.z = 2;
  const float3 along = turned(r.z, d);
  r.scale = 1.0f / along.z;
  r.shear_x = -(along.x * r.scale);
  r.shear_y = -(along.y * r.scale);
  const bool bx = r.rate.x < 0, by = r.rate.y < 0, bz = r.rate.z < 0;
  float best = 1e6f;
  int found = -1;
  uint2 room[64];
  Stack stack{room};
  unsigned word = 0;
  const unsigned warp = __activemask();
  while (__any_sync(warp, word != NONE)) {
    do {
      if (is_leaf(word)) continue;
      const float4 p = nodes[4 * word], q = nodes[4 * word + 1], s = nodes[4 * word + 2];
      const uint2 w = *reinterpret_cast<const uint2*>(&nodes[4 * word + 3]);
      const float a_in = fmaxf(fmaxf(((bx ? q.z : p.x) - r.o.x) * r.rate.x, ((by ? s.x : p.z) - r.o.y) * r.rate.y),
                               fmaxf(((bz ? s.z : q.x) - r.o.z) * r.rate.z, 0.0f));
      const float a_out = fminf(fminf(((bx ? p.x : q.z) - r.o.x) * r.rate.x, ((by ? p.z : s.x) - r.o.y) * r.rate.y),
                                fminf(((bz ? q.x : s.z) - r.o.z) * r.rate.z, best)) *
                          CLEARANCE;
      const float b_in = fmaxf(fmaxf(((bx ? q.w : p.y) - r.o.x) * r.rate.x, ((by ? s.y : p.w) - r.o.y) * r.rate.y),
                               fmaxf(((bz ? s.w : q.y) - r.o.z) * r.rate.z, 0.0f));
      const float b_out = fminf(fminf(((bx ? p.y : q.w) - r.o.x) * r.rate.x, ((by ? p.w : s.y) - r.o.y) * r.rate.y),
                                fminf(((bz ? q.y : s.w) - r.o.z) * r.rate.z, best)) *
                          CLEARANCE;
      const bool in_a = a_in <= a_out, in_b = b_in <= b_out, b_first = in_b && (!in_a || b_in < a_in);
      word = b_first ? w.y : w.x;
      if (in_a && in_b) stack.push(b_first ? w.x : w.y, b_first ? a_in : b_in);
      if (!in_a && !in_b) word = stack.pop(best);
    } while (__popc(__ballot_sync(warp, !is_leaf(word))) > 4);
    if (is_leaf(word) && word != NONE) {
      const int first = int(word & 0x0fffffff), count = int((word >> 28) & 7) + 1;
      for (int k = 0; k < count; ++k) meet(r, leaves + 3 * (first + k), best, found);
      word = stack.pop(best);
    }
  }
  faces[i] = found;
}

__device__ float box_distance(float lx, float ly, float lz, float hx, float hy, float hz, float3 p) {
  const float x = fmaxf(fmaxf(lx - p.x, p.x - hx), 0.0f), y = fmaxf(fmaxf(ly - p.y, p.y - hy), 0.0f),
              z = fmaxf(fmaxf(lz - p.z, p.z - hz), 0.0f);
  return dot3(x, y, z, x, y, z);
}
__device__ float edge_distance(float3 p, float3 e) {
  const float s = clamp(-dot3(p.x, p.y, p.z, e.x, e.y, e.z) / dot3(e.x, e.y, e.z, e.x, e.y, e.z), 0.0f, 1.0f);
  const float x = fmaf(e.x, s, p.x), y = fmaf(e.y, s, p.y), z = fmaf(e.z, s, p.z);
  return dot3(x, y, z, x, y, z);
}
__device__ float3 scaled_cross(float3 a, float3 b, float scale) {
  return make_float3(area(a.y, a.z, b.y, b.z), area(a.z, a.x, b.z, b.x), area(a.x, a.y, b.x, b.y)) * scale;
}
__device__ float dot_of(float3 a, float3 b) { return dot3(a.x, a.y, a.z, b.x, b.y, b.z); }

__device__ void approach(const float4* corners, float3 p, float scale, float& best, int& found) {
  const float4 a = corners[0], b = corners[1], c = corners[2];
  const float box =
      box_distance(fminf(fminf(a.x, b.x), c.x), fminf(fminf(a.y, b.y), c.y), fminf(fminf(a.z, b.z), c.z),
                   fmaxf(fmaxf(a.x, b.x), c.x), fmaxf(fmaxf(a.y, b.y), c.y), fmaxf(fmaxf(a.z, b.z), c.z), p);
  if (!(box <= best)) return;
  const float3 a0 = make_float3(a.x - p.x, a.y - p.y, a.z - p.z), b0 = make_float3(b.x - p.x, b.y - p.y, b.z - p.z);
  const float3 u = make_float3(b.x - a.x, b.y - a.y, b.z - a.z), v = make_float3(c.x - a.x, c.y - a.y, c.z - a.z),
               w = make_float3(c.x - b.x, c.y - b.y, c.z - b.z);
  const float edges = fminf(fminf(edge_distance(a0, u), edge_distance(a0, v)), edge_distance(b0, w));
  const float3 n = scaled_cross(u, v, scale);
  const float square = dot_of(n, n);
  const float wb = dot_of(scaled_cross(v, a0, scale), n), wc = dot_of(scaled_cross(a0, u, scale), n);
  const bool inside = fminf(fminf(wb, wc), square - wb - wc) >= 0 && square > 0;
  const float height = dot_of(a0, n), plane = height * height / square;
  const float sides = ((dot_of(u, u) + dot_of(v, v)) + dot_of(w, w)) * scale;
  if (!(square / (sides * sides) >= 1e-12f)) return;
  const float key = fmaxf(inside ? plane : edges, box);
  const int number = __float_as_int(a.w);
  if (key < best || (key == best && number < found)) {
    best = key;
    found = number;
  }
}

KERNEL __launch_bounds__(256, 5)
    closest_mesh(const float4* __restrict__ nodes, const float4* __restrict__ leaves, const float3* __restrict__ points,
                 float scale, int* __restrict__ faces, int n) {
  THREAD(n);
  float3 p = points[i];
  float best = 1e12f, own_best = best;
  int found = -1, own_found = -1;
  uint2 room[64];
  Stack stack{room};
  unsigned word = 0;
  const unsigned warp = __activemask();
  const int lane = int(threadIdx.x & 31);
  int owner = lane;
  auto better = [](float b, int f, float than, int other) { return b < than || (b == than && f < other); };
  while (true) {
    const unsigned busy = __ballot_sync(warp, word != NONE);
    const unsigned givers = __ballot_sync(warp, stack.top > 0);
    if (busy != warp && (givers || !busy)) {
      // What idle lanes found goes to whom it belongs; then they take subtrees off the stacks of others.
      for (unsigned rest = warp & ~busy; rest; rest &= rest - 1) {
        const int h = __ffs(int(rest)) - 1, o = __shfl_sync(warp, owner, h), f = __shfl_sync(warp, found, h);
        const float b = __shfl_sync(warp, best, h);
        if (lane == o && better(b, f, own_best, own_found)) own_best = b, own_found = f;
      }
      if (!busy) break;
      if (owner == lane && better(best, found, own_best, own_found)) own_best = best, own_found = found;
      const float known = __shfl_sync(warp, own_best, owner);
      const int known_face = __shfl_sync(warp, own_found, owner);
      if (better(known, known_face, best, found)) best = known, found = known_face;
      const unsigned idle = warp & ~busy, below = (1u << lane) - 1;
      const int rank = __popc((word == NONE ? idle : givers) & below), pairs = min(__popc(givers), __popc(idle));
      unsigned given = NONE;
      if (stack.top > 0 && rank < pairs) given = room[--stack.top].x;
      const bool takes = word == NONE && rank < pairs;
      const int from = takes ? int(__fns(givers, 0, rank + 1)) : lane;
      given = __shfl_sync(warp, given, from);
      p = make_float3(__shfl_sync(warp, p.x, from), __shfl_sync(warp, p.y, from), __shfl_sync(warp, p.z, from));
      best = __shfl_sync(warp, best, from);
      found = __shfl_sync(warp, found, from);
      owner = __shfl_sync(warp, owner, from);
      if (takes) word = given;
    }
    do {
      if (is_leaf(word)) continue;
      const float4 r = nodes[4 * word], q = nodes[4 * word + 1], s = nodes[4 * word + 2];
      const uint2 w = *reinterpret_cast<const uint2*>(&nodes[4 * word + 3]);
      const float a = box_distance(r.x, r.z, q.x, q.z, s.x, s.z, p), b = box_distance(r.y, r.w, q.y, q.w, s.y, s.w, p);
      const bool in_a = a <= best, in_b = b <= best, b_first = b < a;
      word = b_first ? w.y : w.x;
      if (in_a && in_b) stack.push(b_first ? w.x : w.y, b_first ? a : b);
      if (!in_a && !in_b) word = stack.pop(best);
    } while (__popc(__ballot_sync(warp, !is_leaf(word))) > 8);
    if (is_leaf(word) && word != NONE) {
      const int first = int(word & 0x0fffffff), count = int((word >> 28) & 7) + 1;
      for (int k = 0; k < count; ++k) approach(leaves + 3 * (first + k), p, scale, best, found);
      word = stack.pop(best);
    }
  }
  faces[i] = own_found;
}
