// Walks over trees of faces by hand, with nodes of several formats: what walk_ways.cu measures.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#define HD __host__ __device__ __forceinline__
#define NONE 0xffffffffu
#define CLEARANCE (1.0f + 0x1p-19f)

HD unsigned bits(float f) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(f);
#else
  unsigned u;
  memcpy(&u, &f, 4);
  return u;
#endif
}
HD float number(unsigned u) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(u);
#else
  float f;
  memcpy(&f, &u, 4);
  return f;
#endif
}
HD unsigned perm(unsigned a, unsigned b, unsigned sel) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, sel);
#else
  unsigned long long all = ((unsigned long long)b << 32) | a;
  unsigned r = 0;
  for (int k = 0; k < 4; ++k) r |= unsigned((all >> (8 * ((sel >> (4 * k)) & 7))) & 255) << (8 * k);
  return r;
#endif
}
HD float dot3(float ax, float ay, float az, float bx, float by, float bz) {
  return fmaf(az, bz, fmaf(ay, by, ax * bx));
}
HD float apart(float a, float b, float c, float d) {
  const float cd = c * d;
  return fmaf(a, b, -cd) + fmaf(-c, d, cd);
}
HD bool is_leaf(unsigned w) { return w >> 31; }

enum Format { B64, Q32, W4F, W4Q };

struct Tree {
  const float4 *b64, *w4f, *leaves;
  const uint4 *q32, *w4q;
  float3 low;   // of the grid
  float step;   // of the grid
  float scale;  // of closest points' weights
};

/// Twelve entries in shared memory, the rest in local memory.
struct QuickStack {
  uint2 *entries, *quick;
  int top;
  HD void push(unsigned word, unsigned key) {
    (top < 12 ? quick[128 * top] : entries[top]) = make_uint2(word, key);
    ++top;
  }
  HD unsigned pop(float best) {
    while (top) {
      --top;
      const uint2 e = top < 12 ? quick[128 * top] : entries[top];
      if (number(e.y) <= best) return e.x;
    }
    return NONE;
  }
};
struct Stack {
  uint2* entries;
  int top;
  HD void push(unsigned word, unsigned key) { entries[top++] = make_uint2(word, key); }
  HD unsigned pop(float best) {
    while (top) {
      const uint2 e = entries[--top];
      if (number(e.y) <= best) return e.x;
    }
    return NONE;
  }
};

HD float rate_of(float d) { return fabsf(d) < 1e-37f ? (d < 0 ? -1e37f : 1e37f) : 1.0f / d; }

HD int most(int a, int b, int c) {  // of three and 0
#ifdef __CUDA_ARCH__
  return __vimax3_s32_relu(a, b, c);
#else
  const int m = a > b ? a : b, n = m > c ? m : c;
  return n > 0 ? n : 0;
#endif
}
HD int least(int a, int b, int c) {
#ifdef __CUDA_ARCH__
  return __vimin3_s32(a, b, c);
#else
  const int m = a < b ? a : b;
  return m < c ? m : c;
#endif
}

template <bool RULE, bool INTS = false>
struct Ray {
  float3 o, d, rate, c;           // c: -o·rate, for fused slabs
  float shear_x, shear_y, scale;  // Woop
  int z;
  float3 sr, cn, cf;    // grid: step·rate, offsets of near and far planes
  unsigned nx, ny, nz;  // selectors of near planes
  HD void begin(const Tree& t, float3 start, float3 dir) {
    o = start;
    d = dir;
    rate = make_float3(rate_of(d.x), rate_of(d.y), rate_of(d.z));
    c = make_float3(-o.x * rate.x, -o.y * rate.y, -o.z * rate.z);
    z = fabsf(d.x) > fabsf(d.y) ? 0 : 1;
    if (fabsf(d.z) > fabsf(z ? d.y : d.x)) z = 2;
    const float3 along = turned(d);
    scale = 1.0f / along.z;
    shear_x = -(along.x * scale);
    shear_y = -(along.y * scale);
    sr = make_float3(t.step * rate.x, t.step * rate.y, t.step * rate.z);
    // Along an axis that the ray does not move on, planes are met at once or far beyond all others.
    if (fabsf(rate.x) >= 1e37f) sr.x = rate.x < 0 ? -1e27f : 1e27f;
    if (fabsf(rate.y) >= 1e37f) sr.y = rate.y < 0 ? -1e27f : 1e27f;
    if (fabsf(rate.z) >= 1e37f) sr.z = rate.z < 0 ? -1e27f : 1e27f;
    grid(t.low.x, o.x, sr.x / t.step, sr.x, cn.x, cf.x);
    grid(t.low.y, o.y, sr.y / t.step, sr.y, cn.y, cf.y);
    grid(t.low.z, o.z, sr.z / t.step, sr.z, cn.z, cf.z);
    nx = rate.x < 0 ? 0x7432 : 0x7410;
    ny = rate.y < 0 ? 0x7432 : 0x7410;
    nz = rate.z < 0 ? 0x7432 : 0x7410;
  }
  // Planes come as 2^23 + q.
  HD static void grid(float low, float o, float rate, float sr, float& near, float& far) {
    const float at = (low - o) * rate, c = fmaf(-8388608.0f, sr, at);
    const float slack = (fabsf(at) + fabsf(sr) * 8388608.0f) * 0x1p-22f;
    near = c - slack;
    far = c + slack;
  }
  HD float3 turned(float3 v) const {
    return z == 2 ? v : z == 0 ? make_float3(v.y, v.z, v.x) : make_float3(v.z, v.x, v.y);
  }
  HD float3 seen(float4 p) const {
    const float3 v = turned(make_float3(p.x - o.x, p.y - o.y, p.z - o.z));
    return make_float3(fmaf(v.z, shear_x, v.x), fmaf(v.z, shear_y, v.y), v.z);
  }
  HD float at(float plane, int axis) const {
    const float oo = axis == 0   ? o.x
                     : axis == 1 ? o.y
                                 : o.z,
                r = axis == 0   ? rate.x
                    : axis == 1 ? rate.y
                                : rate.z,
                cc = axis == 0   ? c.x
                     : axis == 1 ? c.y
                                 : c.z;
    return RULE ? (plane - oo) * r : fmaf(plane, r, cc);
  }
  HD void box(float lx, float ly, float lz, float hx, float hy, float hz, float best, float& in, float& out) const {
    if (RULE) {
      const bool bx = rate.x < 0, by = rate.y < 0, bz = rate.z < 0;
      in = fmaxf(fmaxf(at(bx ? hx : lx, 0), at(by ? hy : ly, 1)), fmaxf(at(bz ? hz : lz, 2), 0.0f));
      out = fminf(fminf(at(bx ? lx : hx, 0), at(by ? ly : hy, 1)), fminf(at(bz ? lz : hz, 2), best)) * CLEARANCE;
    } else {
      const float x0 = at(lx, 0), x1 = at(hx, 0), y0 = at(ly, 1), y1 = at(hy, 1), z0 = at(lz, 2), z1 = at(hz, 2);
      in = fmaxf(fmaxf(fminf(x0, x1), fminf(y0, y1)), fmaxf(fminf(z0, z1), 0.0f));
      out = fminf(fminf(fmaxf(x0, x1), fmaxf(y0, y1)), fminf(fmaxf(z0, z1), best));
    }
  }
  HD void grid_box(unsigned x, unsigned y, unsigned w, float best, float& in, float& out) const {
    const unsigned M = 0x4B000000u;
    if (INTS) {
      in = number(unsigned(most(int(bits(fmaf(number(perm(x, M, nx)), sr.x, cn.x))),
                                int(bits(fmaf(number(perm(y, M, ny)), sr.y, cn.y))),
                                int(bits(fmaf(number(perm(w, M, nz)), sr.z, cn.z))))));
      const int l = least(int(bits(fmaf(number(perm(x, M, nx ^ 0x22)), sr.x, cf.x))),
                          int(bits(fmaf(number(perm(y, M, ny ^ 0x22)), sr.y, cf.y))),
                          int(bits(fmaf(number(perm(w, M, nz ^ 0x22)), sr.z, cf.z))));
      out = number(unsigned(l < int(bits(best)) ? l : int(bits(best))));
      if (RULE) out *= CLEARANCE;
      return;
    }
    in = fmaxf(fmaxf(fmaf(number(perm(x, M, nx)), sr.x, cn.x), fmaf(number(perm(y, M, ny)), sr.y, cn.y)),
               fmaxf(fmaf(number(perm(w, M, nz)), sr.z, cn.z), 0.0f));
    out = fminf(fminf(fmaf(number(perm(x, M, nx ^ 0x22)), sr.x, cf.x), fmaf(number(perm(y, M, ny ^ 0x22)), sr.y, cf.y)),
                fminf(fmaf(number(perm(w, M, nz ^ 0x22)), sr.z, cf.z), best));
    if (RULE) out *= CLEARANCE;
  }
  HD void meet(const float4* corners, float& best, int& found) const {
    const float4 p = corners[0], q = corners[1], s = corners[2];
    if (RULE) {
      const float3 a = seen(p), b = seen(q), cc = seen(s);
      const float u = apart(cc.x, b.y, cc.y, b.x), v = apart(a.x, cc.y, a.y, cc.x), w = apart(b.x, a.y, b.y, a.x);
      const float all = u + v + w;
      if (!((fminf(fminf(u, v), w) >= 0 || fmaxf(fmaxf(u, v), w) <= 0) && fabsf(all) > 0)) return;
      const float share = 1.0f / all;
      float t = dot3(u * share, v * share, w * share, a.z * scale, b.z * scale, cc.z * scale);
      if (!(t >= 0 && t <= best)) return;
      float in, out;
      box(fminf(fminf(p.x, q.x), s.x), fminf(fminf(p.y, q.y), s.y), fminf(fminf(p.z, q.z), s.z),
          fmaxf(fmaxf(p.x, q.x), s.x), fmaxf(fmaxf(p.y, q.y), s.y), fmaxf(fmaxf(p.z, q.z), s.z), best, in, out);
      t = fmaxf(t, in);
      const int face = int(bits(p.w));
      if (in <= out && (t < best || (t == best && face < found))) best = t, found = face;
    } else {
      const float e1x = q.x - p.x, e1y = q.y - p.y, e1z = q.z - p.z, e2x = s.x - p.x, e2y = s.y - p.y, e2z = s.z - p.z;
      const float px = d.y * e2z - d.z * e2y, py = d.z * e2x - d.x * e2z, pz = d.x * e2y - d.y * e2x;
      const float det = e1x * px + e1y * py + e1z * pz, inv = 1.0f / det;
      const float tx = o.x - p.x, ty = o.y - p.y, tz = o.z - p.z;
      const float u = (tx * px + ty * py + tz * pz) * inv;
      const float qx = ty * e1z - tz * e1y, qy = tz * e1x - tx * e1z, qz = tx * e1y - ty * e1x;
      const float v = (d.x * qx + d.y * qy + d.z * qz) * inv, t = (e2x * qx + e2y * qy + e2z * qz) * inv;
      if (u >= 0 && v >= 0 && u + v <= 1 && t >= 0 && t < best) best = t, found = int(bits(p.w));
    }
  }
};

HD void order(unsigned& a, unsigned& b) {
  const unsigned l = a < b ? a : b, h = a < b ? b : a;
  a = l;
  b = h;
}
HD unsigned chosen(uint4 w, unsigned key) { return (key & 2) ? ((key & 1) ? w.w : w.z) : ((key & 1) ? w.y : w.x); }

/// Where a walk goes from four children with such keys: the least; the others wait.
template <class S>
HD unsigned four(unsigned k0, unsigned k1, unsigned k2, unsigned k3, uint4 words, S& stack, float best) {
  order(k0, k1);
  order(k2, k3);
  order(k0, k2);
  order(k1, k3);
  order(k1, k2);
  if (k0 == NONE) return stack.pop(best);
  if (k1 != NONE) {
    if (k2 != NONE) {
      if (k3 != NONE) stack.push(chosen(words, k3), k3 & ~3u);
      stack.push(chosen(words, k2), k2 & ~3u);
    }
    stack.push(chosen(words, k1), k1 & ~3u);
  }
  return chosen(words, k0);
}
HD unsigned key_of(float in, bool met, unsigned k) { return met ? (bits(in) & ~3u) | k : NONE; }

template <Format F, class R, class S>
HD unsigned ray_step(const Tree& t, const R& r, unsigned word, float best, S& stack) {
  if (F == B64 || F == Q32) {
    float a_in, a_out, b_in, b_out;
    unsigned wa, wb;
    if (F == B64) {
      const float4* n = t.b64 + 4 * size_t(word);
      const float4 p = n[0], q = n[1], s = n[2];
      const uint2 w = *reinterpret_cast<const uint2*>(n + 3);
      r.box(p.x, p.z, q.x, q.z, s.x, s.z, best, a_in, a_out);
      r.box(p.y, p.w, q.y, q.w, s.y, s.w, best, b_in, b_out);
      wa = w.x;
      wb = w.y;
    } else {
      const uint4 p = t.q32[2 * size_t(word)], q = t.q32[2 * size_t(word) + 1];
      r.grid_box(p.x, p.y, p.z, best, a_in, a_out);
      r.grid_box(p.w, q.x, q.y, best, b_in, b_out);
      wa = q.z;
      wb = q.w;
    }
    const bool in_a = a_in <= a_out, in_b = b_in <= b_out, b_first = in_b && (!in_a || b_in < a_in);
    word = b_first ? wb : wa;
    if (in_a && in_b) stack.push(b_first ? wa : wb, bits(b_first ? a_in : b_in));
    if (!in_a && !in_b) word = stack.pop(best);
    return word;
  }
  unsigned k[4];
  uint4 words;
  if (F == W4F) {
    const float4* n = t.w4f + 8 * size_t(word);  // low x of four, low y, low z, high x, high y, high z, words
    const float4 lx = n[0], ly = n[1], lz = n[2], hx = n[3], hy = n[4], hz = n[5];
    words = *reinterpret_cast<const uint4*>(n + 6);
    float in, out;
    r.box(lx.x, ly.x, lz.x, hx.x, hy.x, hz.x, best, in, out);
    k[0] = key_of(in, in <= out, 0);
    r.box(lx.y, ly.y, lz.y, hx.y, hy.y, hz.y, best, in, out);
    k[1] = key_of(in, in <= out, 1);
    r.box(lx.z, ly.z, lz.z, hx.z, hy.z, hz.z, best, in, out);
    k[2] = key_of(in, in <= out, 2);
    r.box(lx.w, ly.w, lz.w, hx.w, hy.w, hz.w, best, in, out);
    k[3] = key_of(in, in <= out, 3);
  } else {
    const uint4* n = t.w4q + 4 * size_t(word);  // x of four, y, z, words
    const uint4 x = n[0], y = n[1], z = n[2];
    words = n[3];
    float in, out;
    r.grid_box(x.x, y.x, z.x, best, in, out);
    k[0] = key_of(in, in <= out, 0);
    r.grid_box(x.y, y.y, z.y, best, in, out);
    k[1] = key_of(in, in <= out, 1);
    r.grid_box(x.z, y.z, z.z, best, in, out);
    k[2] = key_of(in, in <= out, 2);
    r.grid_box(x.w, y.w, z.w, best, in, out);
    k[3] = key_of(in, in <= out, 3);
  }
  return four(k[0], k[1], k[2], k[3], words, stack, best);
}

// ---- closest points

HD float box_distance(float lx, float ly, float lz, float hx, float hy, float hz, float3 p) {
  const float x = fmaxf(fmaxf(lx - p.x, p.x - hx), 0.0f), y = fmaxf(fmaxf(ly - p.y, p.y - hy), 0.0f),
              z = fmaxf(fmaxf(lz - p.z, p.z - hz), 0.0f);
  return dot3(x, y, z, x, y, z);
}
HD float dot_of(float3 a, float3 b) { return dot3(a.x, a.y, a.z, b.x, b.y, b.z); }
HD float edge_distance(float3 p, float3 e) {
  const float s = fminf(fmaxf(-dot_of(p, e) / dot_of(e, e), 0.0f), 1.0f);
  const float x = fmaf(e.x, s, p.x), y = fmaf(e.y, s, p.y), z = fmaf(e.z, s, p.z);
  return dot3(x, y, z, x, y, z);
}
HD float area(float ax, float ay, float bx, float by) { return fmaf(ax, by, -(ay * bx)); }
HD float3 scaled_cross(float3 a, float3 b, float k) {
  return make_float3(area(a.y, a.z, b.y, b.z) * k, area(a.z, a.x, b.z, b.x) * k, area(a.x, a.y, b.x, b.y) * k);
}
HD void approach(const float4* corners, float3 p, float scale, float& best, int& found) {
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
  const int face = int(bits(a.w));
  if (key < best || (key == best && face < found)) best = key, found = face;
}

struct Place {
  float3 p, g;   // g: in steps of the grid, with 2^23 added
  float square;  // of a step, a little less
  HD void begin(const Tree& t, float3 where) {
    p = where;
    const float inv = 1.0f / t.step;
    g = make_float3((p.x - t.low.x) * inv + 8388608.0f, (p.y - t.low.y) * inv + 8388608.0f,
                    (p.z - t.low.z) * inv + 8388608.0f);
    square = t.step * t.step * (1 - 0x1p-20f);
  }
  HD float grid_distance(unsigned x, unsigned y, unsigned z) const {
    const unsigned M = 0x4B000000u;
    const float dx = fmaxf(fmaxf(number(perm(x, M, 0x7410)) - g.x, g.x - number(perm(x, M, 0x7432))), 0.0f);
    const float dy = fmaxf(fmaxf(number(perm(y, M, 0x7410)) - g.y, g.y - number(perm(y, M, 0x7432))), 0.0f);
    const float dz = fmaxf(fmaxf(number(perm(z, M, 0x7410)) - g.z, g.z - number(perm(z, M, 0x7432))), 0.0f);
    return dot3(dx, dy, dz, dx, dy, dz) * square;
  }
};

template <Format F>
HD unsigned point_step(const Tree& t, const Place& at, unsigned word, float best, Stack& stack) {
  if (F == B64 || F == Q32) {
    float a, b;
    unsigned wa, wb;
    if (F == B64) {
      const float4* n = t.b64 + 4 * size_t(word);
      const float4 p = n[0], q = n[1], s = n[2];
      const uint2 w = *reinterpret_cast<const uint2*>(n + 3);
      a = box_distance(p.x, p.z, q.x, q.z, s.x, s.z, at.p);
      b = box_distance(p.y, p.w, q.y, q.w, s.y, s.w, at.p);
      wa = w.x;
      wb = w.y;
    } else {
      const uint4 p = t.q32[2 * size_t(word)], q = t.q32[2 * size_t(word) + 1];
      a = at.grid_distance(p.x, p.y, p.z);
      b = at.grid_distance(p.w, q.x, q.y);
      wa = q.z;
      wb = q.w;
    }
    const bool in_a = a <= best, in_b = b <= best, b_first = b < a;
    word = b_first ? wb : wa;
    if (in_a && in_b) stack.push(b_first ? wa : wb, bits(b_first ? a : b));
    if (!in_a && !in_b) word = stack.pop(best);
    return word;
  }
  float d[4];
  uint4 words;
  if (F == W4F) {
    const float4* n = t.w4f + 8 * size_t(word);
    const float4 lx = n[0], ly = n[1], lz = n[2], hx = n[3], hy = n[4], hz = n[5];
    words = *reinterpret_cast<const uint4*>(n + 6);
    d[0] = box_distance(lx.x, ly.x, lz.x, hx.x, hy.x, hz.x, at.p);
    d[1] = box_distance(lx.y, ly.y, lz.y, hx.y, hy.y, hz.y, at.p);
    d[2] = box_distance(lx.z, ly.z, lz.z, hx.z, hy.z, hz.z, at.p);
    d[3] = box_distance(lx.w, ly.w, lz.w, hx.w, hy.w, hz.w, at.p);
  } else {
    const uint4* n = t.w4q + 4 * size_t(word);
    const uint4 x = n[0], y = n[1], z = n[2];
    words = n[3];
    d[0] = at.grid_distance(x.x, y.x, z.x);
    d[1] = at.grid_distance(x.y, y.y, z.y);
    d[2] = at.grid_distance(x.z, y.z, z.z);
    d[3] = at.grid_distance(x.w, y.w, z.w);
  }
  // An empty child is told by its word.
  return four(key_of(d[0], d[0] <= best, 0), key_of(d[1], d[1] <= best, 1),
              key_of(d[2], d[2] <= best && words.z != NONE, 2), key_of(d[3], d[3] <= best && words.w != NONE, 3), words,
              stack, best);
}
