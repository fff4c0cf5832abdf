// Queries of walk_ways.cu, their memory, and how kernels are timed and compared.
#pragma once
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "trees.h"
#include "ways.cuh"

#define CHECK(x)                                                          \
  do {                                                                    \
    cudaError_t e_ = (x);                                                 \
    if (e_ != cudaSuccess) {                                              \
      printf("%s: %s (line %d)\n", #x, cudaGetErrorString(e_), __LINE__); \
      exit(1);                                                            \
    }                                                                     \
  } while (0)

template <class T>
T* up(const std::vector<T>& v) {
  T* p;
  CHECK(cudaMalloc(&p, std::max<size_t>(v.size(), 1) * sizeof(T)));
  CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
Tree host_tree(const Host& h) {
  return {h.b64.data(), h.w4f.data(), h.leaves.data(), h.q32.data(), h.w4q.data(), h.low, h.step, h.scale};
}
Tree device_tree(const Host& h) {
  return {up(h.b64), up(h.w4f), up(h.leaves), up(h.q32), up(h.w4q), h.low, h.step, h.scale};
}
void drop(const Tree& t) {
  for (const void* p :
       {(const void*)t.b64, (const void*)t.w4f, (const void*)t.leaves, (const void*)t.q32, (const void*)t.w4q})
    cudaFree(const_cast<void*>(p));
}

struct Rays {
  std::vector<float3> starts, dirs;
};
Rays camera(float half, int side, bool tiles) {
  Rays r;
  for (int k = 0; k < side * side; ++k) {
    int y = k / side, x = k % side;
    if (tiles) {
      const int tile = k / 32, in = k % 32, per = side / 8;
      x = (tile % per) * 8 + in % 8;
      y = (tile / per) * 4 + in / 8;
    }
    r.starts.push_back(make_float3(0.3f, 0.2f, 3.0f));
    const double px = -half + 2.0 * half * x / (side - 1), py = -half + 2.0 * half * y / (side - 1);
    r.dirs.push_back(make_float3(float(px - 0.3), float(py - 0.2), -3.0f));
  }
  return r;
}
Rays random_rays(float half, int n) {
  Rays r;
  std::mt19937 g(5);
  std::uniform_real_distribution<float> u(-half, half);
  std::normal_distribution<float> z;
  for (int k = 0; k < n; ++k) {
    r.starts.push_back(make_float3(u(g), u(g), u(g)));
    const float x = z(g), y = z(g), w = z(g), l = 1 / sqrtf(x * x + y * y + w * w);
    r.dirs.push_back(make_float3(x * l, y * l, w * l));
  }
  return r;
}
Rays permuted(const Rays& r, const std::vector<int>& o) {
  Rays s;
  s.starts.resize(o.size());
  s.dirs.resize(o.size());
  for (size_t k = 0; k < o.size(); ++k) s.starts[k] = r.starts[o[k]], s.dirs[k] = r.dirs[o[k]];
  return s;
}
template <class T>
std::vector<T> permuted(const std::vector<T>& r, const std::vector<int>& o) {
  std::vector<T> s(o.size());
  for (size_t k = 0; k < o.size(); ++k) s[k] = r[o[k]];
  return s;
}
uint32_t place_key(float3 p, float half) {
  auto q = [&](float v) { return std::min(1023u, uint32_t(std::max(0.0f, (v + half) / (2 * half) * 1024))); };
  return spread(q(p.x)) | spread(q(p.y)) << 1 | spread(q(p.z)) << 2;
}

int N = 1 << 22, SMS = 132;
RayJob upload(const Rays& r) {
  RayJob j{up(r.starts), up(r.dirs), nullptr, nullptr, int(r.starts.size()), nullptr};
  CHECK(cudaMalloc(&j.faces, j.n * 4));
  CHECK(cudaMalloc(&j.ts, j.n * 4));
  CHECK(cudaMalloc(&j.counter, 4));
  return j;
}
PointJob upload(const std::vector<float3>& p) {
  PointJob j{up(p), nullptr, nullptr, int(p.size()), nullptr};
  CHECK(cudaMalloc(&j.faces, j.n * 4));
  CHECK(cudaMalloc(&j.ts, j.n * 4));
  CHECK(cudaMalloc(&j.counter, 4));
  return j;
}
std::vector<int> got(const int* p, int n) {
  std::vector<int> v(n);
  CHECK(cudaMemcpy(v.data(), p, n * 4, cudaMemcpyDeviceToHost));
  return v;
}

template <class J>
double rate(const void* kernel, Way way, int param, Tree t, J j) {
  int per = 1;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, kernel, 128, 0));
  const int blocks = way == DYN                  ? SMS * per
                     : way == OWN || way == POOL ? (j.n + 128 * param - 1) / (128 * param)
                                                 : (j.n + 127) / 128;
  cudaEvent_t a, b;
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  float best = 1e9f, spent = 0;
  void* args[] = {&t, &j};
  for (int k = 0; k < 6 && spent < 300; ++k) {
    CHECK(cudaMemset(j.counter, 0, 4));
    cudaEventRecord(a);
    CHECK(cudaLaunchKernel(kernel, dim3(blocks), dim3(128), args, 0, 0));
    cudaEventRecord(b);
    CHECK(cudaEventSynchronize(b));
    float ms;
    cudaEventElapsedTime(&ms, a, b);
    best = std::min(best, ms);
    spent += ms;
  }
  cudaEventDestroy(a);
  cudaEventDestroy(b);
  return j.n / best / 1e3;
}

std::vector<std::vector<int>> truth;  // of each set, what the first kernel found
template <class J>
void row(const char* name, const void* kernel, Way way, int param, Tree t, const std::vector<J>& sets,
         size_t first_truth) {
  cudaFuncAttributes f;
  CHECK(cudaFuncGetAttributes(&f, kernel));
  int per = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, kernel, 128, 0);
  printf("%-44s %3d regs %3zu B %2d w |", name, f.numRegs, f.localSizeBytes, per * 4);
  size_t wrong = 0;
  for (size_t s = 0; s < sets.size(); ++s) {
    CHECK(cudaMemset(sets[s].faces, 0x7f, sets[s].n * 4));
    printf(" %7.0f", rate(kernel, way, param, t, sets[s]));
    auto found = got(sets[s].faces, sets[s].n);
    if (truth.size() <= first_truth + s) truth.resize(first_truth + s + 1);
    if (truth[first_truth + s].empty()) truth[first_truth + s] = found;
    for (size_t k = 0; k < found.size(); ++k) wrong += found[k] != truth[first_truth + s][k];
  }
  printf("   differ %zu\n", wrong);
  fflush(stdout);
}
void shape(const char* name, std::vector<int> nodes, std::vector<int> faces) {
  double n = 0, f = 0, steps = 0;
  const size_t c = nodes.size();
  for (size_t k = 0; k < c; k += 32) {
    int m = 0;
    for (size_t l = k; l < k + 32; ++l) {
      n += nodes[l];
      f += faces[l];
      m = std::max(m, nodes[l]);
    }
    steps += m;
  }
  printf("  %-30s %6.1f nodes %5.1f faces, longest of a warp %6.1f\n", name, n / c, f / c, steps / (c / 32));
}

#define RAY(name, F, RULE, WAY, P, MB) row(name, (const void*)rays<F, RULE, WAY, P, MB>, WAY, P, t, r, 0)
#define POINT(name, F, WAY, P, MB) row(name, (const void*)points<F, WAY, P, MB>, WAY, P, t, p, 100)

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <Format F>
void check_host(const Host& h, const Rays& r, const std::vector<float3>& ps, const char* name) {
  const Tree t = host_tree(h), ref = t;
  int wrong = 0, wrong_p = 0, hits = 0;
  double nodes = 0;
  for (int i = 0; i < 3000; ++i) {
    int f[2];
    float bs[2];
    for (int k = 0; k < 2; ++k) {
      uint2 room[64];
      Stack s{room, 0};
      Ray<true> ray;
      ray.begin(t, r.starts[i], r.dirs[i]);
      float best = 1e6f;
      int found = -1;
      unsigned word = 0;
      while (word != NONE) {
        if (!is_leaf(word)) {
          word = k ? ray_step<F>(t, ray, word, best, s) : ray_step<B64>(ref, ray, word, best, s);
          nodes += k;
        } else {
          ray_leaf<F>(t, ray, word, best, found);
          word = s.pop(best);
        }
      }
      f[k] = found;
      bs[k] = best;
    }
    wrong += f[0] != f[1] || bs[0] != bs[1];
    hits += f[0] >= 0;
    for (int k = 0; k < 2; ++k) {
      uint2 room[64];
      Stack s{room, 0};
      Place at;
      at.begin(t, ps[i]);
      float best = 1e12f;
      int found = -1;
      unsigned word = 0;
      while (word != NONE) {
        if (!is_leaf(word))
          word = k ? point_step<F>(t, at, word, best, s) : point_step<B64>(ref, at, word, best, s);
        else {
          point_leaf(t, at.p, word, best, found);
          word = s.pop(best);
        }
      }
      f[k] = found;
      bs[k] = best;
    }
    wrong_p += f[0] != f[1] || bs[0] != bs[1];
  }
  printf("host check %s: rays %d differ (%d hits, %.1f nodes), points %d differ\n", name, wrong, hits, nodes / 3000,
         wrong_p);
}
