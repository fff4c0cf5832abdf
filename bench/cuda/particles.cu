// The kernels of bench/python/pairs_particles.py by hand, as CUDA programmers write them.
#include "common.cuh"

KERNEL gravity(const float4* __restrict__ x, float3* __restrict__ a, int count, int n) {
  THREAD(n);
  const float4 p = x[i];
  float3 sum = make_float3(0, 0, 0);
  for (int j = 0; j < count; ++j) {
    const float4 q = x[j];
    const float3 d = make_float3(q.x - p.x, q.y - p.y, q.z - p.z);
    const float inv = 1.0f / sqrtf(dot(d, d) + 1.0e-3f);
    sum = sum + d * (q.w * inv * inv * inv);
  }
  a[i] = sum;
}

KERNEL spring_forces(const float3* __restrict__ x, const int2* __restrict__ ends, const float* __restrict__ rest,
                     float k, float3* __restrict__ f, int n) {
  THREAD(n);
  const int2 e = ends[i];
  const float3 d = x[e.y] - x[e.x];
  const float l = length(d);
  const float3 pull = d / l * (k * (l - rest[i]));
  add_to(&f[e.x], pull);
  add_to(&f[e.y], -pull);
}

KERNEL turn(const float4* __restrict__ q, const float3* __restrict__ w, float dt, float4* __restrict__ out,
            float3* __restrict__ axis, int n) {
  THREAD(n);
  const float4 s = turned(q[i], w[i], 0.5f * dt);
  out[i] = s;
  axis[i] = rotate(s, make_float3(1, 0, 0));
}

/// The weights of three nodes along each axis.
__device__ void spline(float3 f, float3 w[3]) {
  const float3 a = make_float3(1.5f, 1.5f, 1.5f) - f, b = f - make_float3(1, 1, 1),
               c = f - make_float3(0.5f, 0.5f, 0.5f);
  w[0] = make_float3(a.x * a.x, a.y * a.y, a.z * a.z) * 0.5f;
  w[1] = make_float3(0.75f - b.x * b.x, 0.75f - b.y * b.y, 0.75f - b.z * b.z);
  w[2] = make_float3(c.x * c.x, c.y * c.y, c.z * c.z) * 0.5f;
}

KERNEL to_grid(const float3* __restrict__ x, const float3* __restrict__ v, const Mat33* __restrict__ c, float spacing,
               float mass, float3* __restrict__ momentum, float* __restrict__ weight, int cells, int n) {
  THREAD(n);
  const float3 at = x[i] / spacing;
  const int bx = at.x - 0.5f, by = at.y - 0.5f, bz = at.z - 0.5f;
  const float3 f = at - make_float3(bx, by, bz);
  float3 w[3];
  spline(f, w);
  Mat33 affine = c[i];
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) affine.m[a][b] *= mass;
  const float3 start = v[i] * mass;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      for (int k = 0; k < 3; ++k) {
        const float part = w[a].x * w[b].y * w[k].z;
        const float3 d = (make_float3(a, b, k) - f) * spacing;
        const int node = ((bx + a) * cells + by + b) * cells + bz + k;
        add_to(&momentum[node], (start + affine * d) * part);
        atomicAdd(&weight[node], part * mass);
      }
}

KERNEL from_grid(const float3* __restrict__ x, float spacing, const float3* __restrict__ velocity,
                 float3* __restrict__ v, Mat33* __restrict__ c, int cells, int n) {
  THREAD(n);
  const float3 at = x[i] / spacing;
  const int bx = at.x - 0.5f, by = at.y - 0.5f, bz = at.z - 0.5f;
  const float3 f = at - make_float3(bx, by, bz);
  float3 w[3];
  spline(f, w);
  float3 total = make_float3(0, 0, 0);
  Mat33 affine = {};
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      for (int k = 0; k < 3; ++k) {
        const float part = w[a].x * w[b].y * w[k].z;
        const float3 g = velocity[((bx + a) * cells + by + b) * cells + bz + k] * part, d = make_float3(a, b, k) - f;
        total = total + g;
        const float of_g[3] = {g.x, g.y, g.z}, of_d[3] = {d.x, d.y, d.z};
        for (int row = 0; row < 3; ++row)
          for (int column = 0; column < 3; ++column) affine.m[row][column] += of_g[row] * of_d[column];
      }
  const float s = 4.0f / spacing;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) affine.m[row][column] *= s;
  v[i] = total;
  c[i] = affine;
}

KERNEL densities(const float3* __restrict__ x, const int* __restrict__ starts, int cells, float radius,
                 float* __restrict__ out, int n) {
  THREAD(n);
  const float3 p = x[i];
  const int cx = p.x / radius, cy = p.y / radius, cz = p.z / radius;
  float sum = 0;
  for (int a = max(cx - 1, 0); a < min(cx + 2, cells); ++a)
    for (int b = max(cy - 1, 0); b < min(cy + 2, cells); ++b) {
      const int row = (a * cells + b) * cells;
      const int last = starts[row + min(cz + 2, cells)];
      for (int j = starts[row + max(cz - 1, 0)]; j < last; ++j) {
        const float3 d = x[j] - p;
        const float s = radius * radius - dot(d, d);
        if (s > 0) sum += s * s * s;
      }
    }
  out[i] = sum;
}

struct Particle {
  float3 x, v;
  float q[4];
  float mass;
  int group;
};

KERNEL step_structs(const Particle* __restrict__ particles, float dt, Particle* __restrict__ out, int n) {
  THREAD(n);
  Particle p = particles[i];
  if (p.group != 0) p.v = p.v + make_float3(0, -9.81f, 0) * dt - p.v * (0.1f * dt / p.mass);
  p.x = p.x + p.v * dt;
  const float4 s = turned(make_float4(p.q[0], p.q[1], p.q[2], p.q[3]), p.v, 0.5f * dt);
  p.q[0] = s.x;
  p.q[1] = s.y;
  p.q[2] = s.z;
  p.q[3] = s.w;
  out[i] = p;
}

KERNEL step_fields(float3* __restrict__ positions, float3* __restrict__ velocities, const float* __restrict__ mass,
                   float gx, float gy, float gz, float dt, float* __restrict__ energy, int n) {
  THREAD(n);
  float3 v = velocities[i] + make_float3(gx, gy, gz) * dt;
  float3 x = positions[i] + v * dt;
  if (x.y < 0) {
    x.y = -x.y;
    v.y = -0.5f * v.y;
  }
  velocities[i] = v;
  positions[i] = x;
  energy[i] = 0.5f * mass[i] * dot(v, v);
}

KERNEL edge_contacts(const float3* __restrict__ x, const int2* __restrict__ edges, const int2* __restrict__ candidates,
                     float thickness, float stiffness, float3* __restrict__ f, int n) {
  THREAD(n);
  const int2 pair = candidates[i], e = edges[pair.x], g = edges[pair.y];
  const float3 p = x[e.x], q = x[g.x], u = x[e.y] - p, v = x[g.y] - q, r = p - q;
  const float a = dot(u, u), b = dot(u, v), c = dot(v, v), d = dot(u, r), h = dot(v, r);
  const float s = clamp((b * h - c * d) / fmaxf(a * c - b * b, 1.0e-8f), 0.0f, 1.0f);
  const float t = clamp((b * s + h) / fmaxf(c, 1.0e-8f), 0.0f, 1.0f);
  const float3 between = r + u * s - v * t;
  const float distance = length(between);
  if (distance >= thickness || distance == 0) return;
  const float3 push = between * (stiffness * (thickness - distance) / distance);
  add_to(&f[e.x], push * (1.0f - s));
  add_to(&f[e.y], push * s);
  add_to(&f[g.x], -(push * (1.0f - t)));
  add_to(&f[g.y], -(push * t));
}

struct Pose {
  float3 p;
  float q[4];
};
struct Spatial {
  float3 top, bottom;
};

__device__ Mat33 inverse(const Mat33& a) {
  const auto& m = a.m;
  Mat33 r;
  r.m[0][0] = m[1][1] * m[2][2] - m[1][2] * m[2][1];
  r.m[0][1] = m[0][2] * m[2][1] - m[0][1] * m[2][2];
  r.m[0][2] = m[0][1] * m[1][2] - m[0][2] * m[1][1];
  r.m[1][0] = m[1][2] * m[2][0] - m[1][0] * m[2][2];
  r.m[1][1] = m[0][0] * m[2][2] - m[0][2] * m[2][0];
  r.m[1][2] = m[0][2] * m[1][0] - m[0][0] * m[1][2];
  r.m[2][0] = m[1][0] * m[2][1] - m[1][1] * m[2][0];
  r.m[2][1] = m[0][1] * m[2][0] - m[0][0] * m[2][1];
  r.m[2][2] = m[0][0] * m[1][1] - m[0][1] * m[1][0];
  const float by = 1.0f / (m[0][0] * r.m[0][0] + m[0][1] * r.m[1][0] + m[0][2] * r.m[2][0]);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) r.m[row][column] *= by;
  return r;
}

KERNEL step_bodies(const Pose* __restrict__ pose, const Spatial* __restrict__ speed, const Spatial* __restrict__ force,
                   const float* __restrict__ mass, const Mat33* __restrict__ inertia, float gx, float gy, float gz,
                   float dt, Pose* __restrict__ new_pose, Spatial* __restrict__ new_speed, int n) {
  THREAD(n);
  const Pose at = pose[i];
  const float4 q = make_float4(at.q[0], at.q[1], at.q[2], at.q[3]);
  const Spatial s = speed[i], f = force[i];
  const Mat33 m = inertia[i];
  const float3 v = s.bottom + (f.bottom / mass[i] + make_float3(gx, gy, gz)) * dt;
  const float3 own = rotate_back(q, s.top);
  const float3 moment = rotate_back(q, f.top) - cross(own, m * own);
  const float3 w = rotate(q, own + inverse(m) * moment * dt);
  const float4 next = turned(q, w, 0.5f * dt);
  new_pose[i] = {at.p + v * dt, {next.x, next.y, next.z, next.w}};
  new_speed[i] = {w * (1.0f - 0.05f * dt), v};
}
