// The scene and its trees, built by the host: SAH by full sweeps or bins, Morton order; as nodes of several formats.
#pragma once

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <functional>
#include <future>
#include <numeric>
#include <random>
#include <vector>

#include "walks.cuh"

struct Box {
  float lo[3] = {FLT_MAX, FLT_MAX, FLT_MAX}, hi[3] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
  void add(const Box& b) {
    for (int a = 0; a < 3; ++a) lo[a] = std::min(lo[a], b.lo[a]), hi[a] = std::max(hi[a], b.hi[a]);
  }
  float half_area() const {
    const float x = hi[0] - lo[0], y = hi[1] - lo[1], z = hi[2] - lo[2];
    return x < 0 ? 0 : x * y + y * z + z * x;
  }
};

struct Mesh {
  std::vector<float3> points;
  std::vector<int3> corners;
  std::vector<Box> boxes;
  std::vector<float> centres[3];
};

inline Mesh make_mesh(double amplitude, double fine, int rings = 500, int segments = 1000) {
  Mesh m;
  for (int r = 0; r <= rings; ++r)
    for (int s = 0; s < segments; ++s) {
      const double th = M_PI * r / rings, ph = 2 * M_PI * s / segments, x = sin(th) * cos(ph), y = sin(th) * sin(ph),
                   z = cos(th);
      const double R = 1 + amplitude * sin(9 * x) * sin(11 * y + M_PI / 2) * sin(7 * z + 1) +
                       fine * sin(57 * x + 1) * sin(61 * y) * sin(53 * z + M_PI / 2);
      m.points.push_back(make_float3(float(x * R), float(y * R), float(z * R)));
    }
  for (int r = 0; r < rings; ++r)
    for (int s = 0; s < segments; ++s) {
      const int a = r * segments + s, b = r * segments + (s + 1) % segments, c = a + segments, d = b + segments;
      m.corners.push_back(make_int3(a, c, b));
      m.corners.push_back(make_int3(b, c, d));
    }
  const size_t n = m.corners.size();
  m.boxes.resize(n);
  for (auto& c : m.centres) c.resize(n);
  for (size_t f = 0; f < n; ++f) {
    for (int k : {m.corners[f].x, m.corners[f].y, m.corners[f].z}) {
      const float v[3] = {m.points[k].x, m.points[k].y, m.points[k].z};
      for (int a = 0; a < 3; ++a)
        m.boxes[f].lo[a] = std::min(m.boxes[f].lo[a], v[a]), m.boxes[f].hi[a] = std::max(m.boxes[f].hi[a], v[a]);
    }
    for (int a = 0; a < 3; ++a) m.centres[a][f] = 0.5f * (m.boxes[f].lo[a] + m.boxes[f].hi[a]);
  }
  return m;
}

/// A node covers a stretch of the order of faces.
struct Node {
  Box box;
  int left = -1, right = -1, first = 0, count = 0;
};

struct Builder {
  const Mesh& m;
  int bins;  // 0: full sweeps
  std::vector<Node> nodes;
  std::vector<int> order[3];
  std::vector<uint8_t> side;
  std::vector<float> areas;
  std::vector<int> spare;
  std::atomic<int> used{0};
  explicit Builder(const Mesh& mesh, int bins_) : m(mesh), bins(bins_) {
    const int n = int(m.boxes.size());
    nodes.resize(2 * n);
    side.resize(n);
    areas.resize(n);
    spare.resize(n);
    std::vector<std::future<void>> jobs;
    for (int a = 0; a < 3; ++a)
      jobs.push_back(std::async(std::launch::async, [this, a, n] {
        order[a].resize(n);
        std::iota(order[a].begin(), order[a].end(), 0);
        std::stable_sort(order[a].begin(), order[a].end(),
                         [&](int i, int j) { return m.centres[a][i] < m.centres[a][j]; });
      }));
    for (auto& j : jobs) j.get();
    used = 1;
    split(0, 0, n, 0);
  }
  void split(int at, int first, int count, int depth) {
    Node& node = nodes[at];
    node.first = first;
    node.count = count;
    for (int k = first; k < first + count; ++k) node.box.add(m.boxes[order[0][k]]);
    if (count == 1) return;
    float best = FLT_MAX;
    int best_axis = 0, best_left = count / 2;
    for (int a = 0; a < 3; ++a) {
      const int* o = order[a].data() + first;
      if (!bins || count <= 8) {
        Box b;
        for (int k = count - 1; k > 0; --k) {
          b.add(m.boxes[o[k]]);
          areas[first + k] = b.half_area() * float(count - k);
        }
        b = {};
        for (int k = 1; k < count; ++k) {
          b.add(m.boxes[o[k - 1]]);
          const float cost = b.half_area() * float(k) + areas[first + k];
          if (cost < best) best = cost, best_axis = a, best_left = k;
        }
      } else {
        const float lo = m.centres[a][o[0]], hi = m.centres[a][o[count - 1]];
        if (!(hi > lo)) continue;
        std::vector<Box> bs(bins);
        std::vector<int> ns(bins);
        for (int k = 0; k < count; ++k) {
          const int b = std::min(bins - 1, int((m.centres[a][o[k]] - lo) / (hi - lo) * float(bins)));
          bs[b].add(m.boxes[o[k]]);
          ns[b]++;
        }
        std::vector<float> right(bins);
        Box acc;
        int c = 0;
        for (int b = bins - 1; b > 0; --b) {
          acc.add(bs[b]);
          c += ns[b];
          right[b] = acc.half_area() * float(c);
        }
        acc = {};
        c = 0;
        for (int b = 1; b < bins; ++b) {
          acc.add(bs[b - 1]);
          c += ns[b - 1];
          const float cost = acc.half_area() * float(c) + right[b];
          if (c > 0 && c < count && cost < best) best = cost, best_axis = a, best_left = c;
        }
      }
    }
    for (int k = 0; k < count; ++k) side[order[best_axis][first + k]] = k >= best_left;
    for (int a = 0; a < 3; ++a) {
      if (a == best_axis) continue;
      int* o = order[a].data() + first;
      int l = 0, r = 0;
      int* s = spare.data() + first;
      for (int k = 0; k < count; ++k)
        if (side[o[k]])
          s[r++] = o[k];
        else
          o[l++] = o[k];
      std::copy(s, s + r, o + l);
    }
    const int l = used.fetch_add(2), r = l + 1;
    node.left = l;
    node.right = r;
    if (depth < 6 && count > 4096) {
      auto job = std::async(std::launch::async, [=, this] { split(l, first, best_left, depth + 1); });
      split(r, first + best_left, count - best_left, depth + 1);
      job.get();
    } else {
      split(l, first, best_left, depth + 1);
      split(r, first + best_left, count - best_left, depth + 1);
    }
  }
};

struct Binary {
  std::vector<Node> nodes;
  std::vector<int> order;
};

inline Binary sah(const Mesh& m, int bins) {
  Builder b(m, bins);
  return {std::move(b.nodes), std::move(b.order[0])};
}

inline uint32_t spread(uint32_t v) {
  v = (v | v << 16) & 0x030000FF;
  v = (v | v << 8) & 0x0300F00F;
  v = (v | v << 4) & 0x030C30C3;
  return (v | v << 2) & 0x09249249;
}

inline Binary morton(const Mesh& m) {
  Box all;
  const int n = int(m.boxes.size());
  for (auto& b : m.boxes) all.add(b);
  std::vector<std::pair<uint32_t, int>> keys(n);
  for (int f = 0; f < n; ++f) {
    uint32_t k = 0;
    for (int a = 0; a < 3; ++a)
      k |= spread(std::min(1023u, uint32_t((m.centres[a][f] - all.lo[a]) / (all.hi[a] - all.lo[a]) * 1024))) << a;
    keys[f] = {k, f};
  }
  std::sort(keys.begin(), keys.end());
  Binary b;
  b.nodes.resize(2 * n);
  b.order.resize(n);
  for (int k = 0; k < n; ++k) b.order[k] = keys[k].second;
  int used = 1;
  auto split = [&](auto&& self, int at, int first, int count) -> void {
    Node& node = b.nodes[at];
    node.first = first;
    node.count = count;
    if (count == 1) {
      node.box = m.boxes[b.order[first]];
      return;
    }
    const uint32_t l = keys[first].first, h = keys[first + count - 1].first;
    int left = count / 2;
    if (l != h) {
      const uint32_t bit = 1u << (31 - __builtin_clz(l ^ h));
      left = int(std::partition_point(keys.begin() + first, keys.begin() + first + count,
                                      [&](auto& k) { return !((k.first ^ l) & bit) || k.first < (h & ~(bit - 1)); }) -
                 (keys.begin() + first));
    }
    const int a = used++, c = used++;
    node.left = a;
    node.right = c;
    self(self, a, first, left);
    self(self, c, first + left, count - left);
    node.box.add(b.nodes[a].box);
    node.box.add(b.nodes[c].box);
  };
  split(split, 0, 0, n);
  return b;
}

/// One round of rotations from the leaves up, of nodes of more than `least` items, as the library's builder has it.
inline float around(const Box& a, const Box& b) {
  Box c = a;
  c.add(b);
  return c.half_area();
}
inline void rotate(Binary& b, int least) {
  // bottom up, as the builder's climb: children first
  std::function<int(int)> go = [&](int n) -> int {
    Node& x = b.nodes[n];
    if (x.left < 0) return 1;
    int c = go(x.left) + go(x.right);
    if (c <= least) return c;
    Node &l = b.nodes[x.left], &r = b.nodes[x.right];
    float gain = 0;
    int kind = 0;
    const float wl = l.box.half_area(), wr = r.box.half_area();
    auto bx = [&](int i) -> const Box& { return b.nodes[i].box; };
    auto tryit = [&](float ch, int k) {
      if (ch < gain) gain = ch, kind = k;
    };
    if (r.left >= 0) {
      tryit(around(l.box, bx(r.right)) - wr, 1);
      tryit(around(l.box, bx(r.left)) - wr, 2);
    }
    if (l.left >= 0) {
      tryit(around(r.box, bx(l.right)) - wl, 3);
      tryit(around(r.box, bx(l.left)) - wl, 4);
      if (r.left >= 0) {
        tryit(around(bx(r.left), bx(l.right)) + around(bx(l.left), bx(r.right)) - wl - wr, 5);
        tryit(around(bx(r.right), bx(l.right)) + around(bx(l.left), bx(r.left)) - wl - wr, 6);
      }
    }
    auto fix = [&](int i) {
      Node& y = b.nodes[i];
      y.box = b.nodes[y.left].box;
      y.box.add(b.nodes[y.right].box);
      y.count = b.nodes[y.left].count + b.nodes[y.right].count;
    };
    const int L = x.left, R = x.right;
    if (kind == 1) {
      std::swap(x.left, b.nodes[R].left);
      fix(R);
    }
    if (kind == 2) {
      std::swap(x.left, b.nodes[R].right);
      fix(R);
    }
    if (kind == 3) {
      std::swap(x.right, b.nodes[L].left);
      fix(L);
    }
    if (kind == 4) {
      std::swap(x.right, b.nodes[L].right);
      fix(L);
    }
    if (kind == 5) {
      std::swap(b.nodes[L].left, b.nodes[R].left);
      fix(L);
      fix(R);
    }
    if (kind == 6) {
      std::swap(b.nodes[L].left, b.nodes[R].right);
      fix(L);
      fix(R);
    }
    return c;
  };
  go(0);
  std::vector<int> order;
  std::function<void(int)> lay = [&](int n) {
    Node& x = b.nodes[n];
    if (x.left < 0) {
      int f = b.order[x.first];
      x.first = int(order.size());
      x.count = 1;
      order.push_back(f);
      return;
    }
    x.first = int(order.size());
    lay(x.left);
    lay(x.right);
    x.count = int(order.size()) - x.first;
  };
  lay(0);
  b.order = order;
}

/// What walks read.
struct Host {
  std::vector<float4> b64, w4f, leaves;
  std::vector<uint4> q32, w4q;
  float3 low;
  float step, scale;
};

struct Emitter {
  const Mesh& m;
  const Binary& b;
  int leaf;
  Host h;
  bool is_leaf_node(int n) const { return b.nodes[n].count <= leaf; }
  unsigned leaf_word(int n) const {
    return 0x80000000u | unsigned(b.nodes[n].count - 1) << 28 | unsigned(b.nodes[n].first);
  }
  unsigned grid(int node, int a) const {
    if (node < 0) return 65535u;  // low 65535, high 0
    const Box& x = b.nodes[node].box;
    const float lo0 = a == 0 ? h.low.x : a == 1 ? h.low.y : h.low.z;
    const int l = int(floorf((x.lo[a] - lo0) / h.step)) - 1, u = int(ceilf((x.hi[a] - lo0) / h.step)) + 1;
    return unsigned(std::clamp(l, 0, 65535)) | unsigned(std::clamp(u, 0, 65535)) << 16;
  }
  unsigned binary(int n) {
    if (is_leaf_node(n)) return leaf_word(n);
    const unsigned at = unsigned(h.b64.size() / 4);
    h.b64.resize(h.b64.size() + 4);
    h.q32.resize(h.q32.size() + 2);
    const int l = b.nodes[n].left, r = b.nodes[n].right;
    const unsigned wl = binary(l), wr = binary(r);
    const Box &x = b.nodes[l].box, &y = b.nodes[r].box;
    float4* o = &h.b64[4 * at];
    o[0] = make_float4(x.lo[0], y.lo[0], x.lo[1], y.lo[1]);
    o[1] = make_float4(x.lo[2], y.lo[2], x.hi[0], y.hi[0]);
    o[2] = make_float4(x.hi[1], y.hi[1], x.hi[2], y.hi[2]);
    o[3] = make_float4(number(wl), number(wr), 0, 0);
    h.q32[2 * at] = make_uint4(grid(l, 0), grid(l, 1), grid(l, 2), grid(r, 0));
    h.q32[2 * at + 1] = make_uint4(grid(r, 1), grid(r, 2), wl, wr);
    return at;
  }
  unsigned wide(int n) {
    if (is_leaf_node(n)) return leaf_word(n);
    const unsigned at = unsigned(h.w4q.size() / 4);
    h.w4q.resize(h.w4q.size() + 4);
    h.w4f.resize(h.w4f.size() + 8);
    std::vector<int> c{b.nodes[n].left, b.nodes[n].right};
    while (c.size() < 4) {
      int widest = -1;
      for (int k = 0; k < int(c.size()); ++k)
        if (!is_leaf_node(c[k]) && (widest < 0 || b.nodes[c[k]].box.half_area() > b.nodes[c[widest]].box.half_area()))
          widest = k;
      if (widest < 0) break;
      const int w = c[widest];
      c[widest] = b.nodes[w].left;
      c.push_back(b.nodes[w].right);
    }
    unsigned words[4];
    float4 p[6];
    uint4 q[3];
    for (int k = 0; k < 4; ++k) {
      const int i = k < int(c.size()) ? c[k] : -1;
      words[k] = i < 0 ? NONE : wide(i);
      for (int a = 0; a < 3; ++a) {
        (&p[a].x)[k] = i < 0 ? INFINITY : b.nodes[i].box.lo[a];
        (&p[3 + a].x)[k] = i < 0 ? -INFINITY : b.nodes[i].box.hi[a];
        (&q[a].x)[k] = grid(i, a);
      }
    }
    for (int k = 0; k < 6; ++k) h.w4f[8 * at + k] = p[k];
    h.w4f[8 * at + 6] = make_float4(number(words[0]), number(words[1]), number(words[2]), number(words[3]));
    for (int k = 0; k < 3; ++k) h.w4q[4 * at + k] = q[k];
    h.w4q[4 * at + 3] = make_uint4(words[0], words[1], words[2], words[3]);
    return at;
  }
};

inline Host emit(const Mesh& m, const Binary& b, int leaf, bool with_wide) {
  Emitter e{m, b, leaf, {}};
  const Box& all = b.nodes[0].box;
  float extent = 0;
  for (int a = 0; a < 3; ++a) extent = std::max(extent, all.hi[a] - all.lo[a]);
  e.h.step = exp2f(ceilf(log2f(extent / 65000)));
  e.h.low = make_float3(all.lo[0] - 4 * e.h.step, all.lo[1] - 4 * e.h.step, all.lo[2] - 4 * e.h.step);
  double edge = 0;
  for (int f : b.order) {
    const float3 v[3] = {m.points[m.corners[f].x], m.points[m.corners[f].y], m.points[m.corners[f].z]};
    for (int k = 0; k < 3; ++k)
      e.h.leaves.push_back(make_float4(v[k].x, v[k].y, v[k].z, k ? 0.0f : number(unsigned(f))));
    for (int k = 0; k < 3; ++k) {
      const float3 u = v[k], w = v[(k + 1) % 3];
      edge += sqrt(pow(u.x - w.x, 2) + pow(u.y - w.y, 2) + pow(u.z - w.z, 2));
    }
  }
  e.h.scale = float(pow(2.0, -2 * floor(log2(edge / (3 * double(b.order.size()))))));
  e.binary(0);
  if (with_wide) e.wide(0);
  return std::move(e.h);
}
