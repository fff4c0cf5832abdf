// A tree over triangles, and rays that walk it, by hand: what bench/python/tree_walk.py compares walks in our own language
// with. Built as a shared library. Node layouts and walks are those of docs/design/lanewise.md: on CPUs eight children a
// node and blocks of four triangles, here with the vectors of the compiler (NEON, AVX2); the same tree with two children
// for GPUs. Only the walk is measured; the builder is a plain binned SAH builder.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#if defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr std::uint32_t kLeaf = 0x80000000u;
constexpr int kBlock = 4;  // triangles of a leaf's block
constexpr int kBins = 16;

struct Vec {
  float v[3];
};
struct Box {
  float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  void add(const float* p) {
    for (int a = 0; a < 3; ++a) low[a] = std::min(low[a], p[a]), high[a] = std::max(high[a], p[a]);
  }
  void add(const Box& o) { add(o.low), add(o.high); }
  float area() const {
    float e[3];
    for (int a = 0; a < 3; ++a) e[a] = std::max(0.0f, high[a] - low[a]);
    return e[0] * e[1] + e[1] * e[2] + e[2] * e[0];
  }
};

struct BinaryNode {
  Box box;
  std::int32_t left = -1, right = -1;  // nodes
  std::int32_t first = 0, count = 0;   // leaf: faces in order
};

struct Tree {
  std::vector<BinaryNode> nodes;
  std::vector<std::int32_t> order;
  // Eight children: 64 numbers a node (six rows of planes, children, unused), blocks of 36 corners and 4 face numbers.
  std::vector<float> wide, blocks;
  // Two children: 16 numbers a node (both boxes, two children, unused), 12 numbers a face.
  std::vector<float> narrow, faces;
};

class Builder {
 public:
  Builder(const float* points, const std::int32_t* indices, std::int32_t count, std::int32_t leaf) : leaf_(leaf) {
    boxes_.resize(std::size_t(count));
    centres_.resize(std::size_t(count));
    tree.order.resize(std::size_t(count));
    for (std::int32_t f = 0; f < count; ++f) {
      for (int c = 0; c < 3; ++c) boxes_[std::size_t(f)].add(points + 3 * indices[3 * f + c]);
      for (int a = 0; a < 3; ++a)
        centres_[std::size_t(f)].v[a] = 0.5f * (boxes_[std::size_t(f)].low[a] + boxes_[std::size_t(f)].high[a]);
      tree.order[std::size_t(f)] = f;
    }
    split(0, count);
  }
  Tree tree;

 private:
  std::int32_t split(std::int32_t from, std::int32_t to) {
    const auto at = std::int32_t(tree.nodes.size());
    tree.nodes.emplace_back();
    Box box, inner;
    for (std::int32_t k = from; k < to; ++k) {
      box.add(boxes_[std::size_t(tree.order[std::size_t(k)])]);
      inner.add(centres_[std::size_t(tree.order[std::size_t(k)])].v);
    }
    tree.nodes[std::size_t(at)].box = box;
    if (to - from <= leaf_) {
      tree.nodes[std::size_t(at)].first = from;
      tree.nodes[std::size_t(at)].count = to - from;
      return at;
    }
    const std::int32_t middle = partition(from, to, inner);
    const std::int32_t left = split(from, middle), right = split(middle, to);
    tree.nodes[std::size_t(at)].left = left;
    tree.nodes[std::size_t(at)].right = right;
    return at;
  }

  std::int32_t partition(std::int32_t from, std::int32_t to, const Box& inner) {
    float best = INFINITY;
    int best_axis = -1, best_bin = 0;
    auto bin_of = [&](std::int32_t face, int axis) {
      const float extent = inner.high[axis] - inner.low[axis];
      return std::min(kBins - 1, int(float(kBins) * (centres_[std::size_t(face)].v[axis] - inner.low[axis]) / extent));
    };
    for (int axis = 0; axis < 3; ++axis) {
      if (!(inner.high[axis] > inner.low[axis])) continue;
      Box bins[kBins], right[kBins];
      int counts[kBins] = {};
      for (std::int32_t k = from; k < to; ++k) {
        const int bin = bin_of(tree.order[std::size_t(k)], axis);
        bins[bin].add(boxes_[std::size_t(tree.order[std::size_t(k)])]);
        ++counts[bin];
      }
      Box sum;
      for (int b = kBins - 1; b > 0; --b) sum.add(bins[b]), right[b] = sum;
      sum = {};
      int left = 0;
      for (int b = 0; b + 1 < kBins; ++b) {
        sum.add(bins[b]);
        left += counts[b];
        const float cost = sum.area() * float(left) + right[b + 1].area() * float(to - from - left);
        if (left > 0 && left < to - from && cost < best) best = cost, best_axis = axis, best_bin = b;
      }
    }
    const std::int32_t half = from + (to - from) / 2;
    if (best_axis < 0) return half;
    auto begin = tree.order.begin();
    auto middle =
        std::partition(begin + from, begin + to, [&](std::int32_t f) { return bin_of(f, best_axis) <= best_bin; });
    const auto found = std::int32_t(middle - begin);
    return found > from && found < to ? found : half;
  }

  std::vector<Box> boxes_;
  std::vector<Vec> centres_;
  std::int32_t leaf_;
};

void put_word(float& where, std::uint32_t word) { std::memcpy(&where, &word, 4); }

class WideLayout {
 public:
  WideLayout(Tree& tree, const float* points, const std::int32_t* indices)
      : tree_(tree), points_(points), indices_(indices) {
    place(0);
  }

 private:
  std::uint32_t place(std::int32_t node) {
    if (tree_.nodes[std::size_t(node)].count) return leaf(tree_.nodes[std::size_t(node)]);
    const std::size_t at = tree_.wide.size();
    tree_.wide.resize(at + 64);
    std::vector<std::int32_t> children = {tree_.nodes[std::size_t(node)].left, tree_.nodes[std::size_t(node)].right};
    while (children.size() < 8) {
      int largest = -1;
      for (int k = 0; k < int(children.size()); ++k) {
        const BinaryNode& child = tree_.nodes[std::size_t(children[std::size_t(k)])];
        if (!child.count &&
            (largest < 0 || child.box.area() > tree_.nodes[std::size_t(children[std::size_t(largest)])].box.area()))
          largest = k;
      }
      if (largest < 0) break;
      const BinaryNode opened = tree_.nodes[std::size_t(children[std::size_t(largest)])];
      children[std::size_t(largest)] = opened.left;
      children.push_back(opened.right);
    }
    for (int k = 0; k < 8; ++k) {
      Box box;
      std::uint32_t word = kLeaf;
      if (k < int(children.size())) {
        box = tree_.nodes[std::size_t(children[std::size_t(k)])].box;
        word = place(children[std::size_t(k)]);
      }
      for (int a = 0; a < 3; ++a) {
        tree_.wide[at + std::size_t(8 * a + k)] = box.low[a];
        tree_.wide[at + std::size_t(8 * (3 + a) + k)] = box.high[a];
      }
      put_word(tree_.wide[at + 48 + std::size_t(k)], word);
    }
    return std::uint32_t(at / 64);
  }

  std::uint32_t leaf(const BinaryNode& node) {
    const std::size_t block = tree_.blocks.size() / 40;
    const int blocks = (node.count + kBlock - 1) / kBlock;
    tree_.blocks.resize(tree_.blocks.size() + std::size_t(blocks) * 40, NAN);
    for (int k = 0; k < node.count; ++k) {
      const std::int32_t face = tree_.order[std::size_t(node.first + k)];
      float* rows = tree_.blocks.data() + 40 * (block + std::size_t(k / kBlock)) + k % kBlock;
      for (int c = 0; c < 3; ++c)
        for (int a = 0; a < 3; ++a) rows[4 * (3 * c + a)] = points_[3 * indices_[3 * face + c] + a];
      put_word(rows[36], std::uint32_t(face));
    }
    return kLeaf | std::uint32_t(block) << 3 | std::uint32_t(blocks);
  }

  Tree& tree_;
  const float* points_;
  const std::int32_t* indices_;
};

class NarrowLayout {
 public:
  NarrowLayout(Tree& tree, const float* points, const std::int32_t* indices)
      : tree_(tree), points_(points), indices_(indices) {
    place(0);
  }

 private:
  std::uint32_t place(std::int32_t number) {
    const BinaryNode node = tree_.nodes[std::size_t(number)];
    if (node.count) {
      const std::size_t first = tree_.faces.size() / 12;
      tree_.faces.resize(tree_.faces.size() + std::size_t(node.count) * 12);
      for (int k = 0; k < node.count; ++k) {
        const std::int32_t face = tree_.order[std::size_t(node.first + k)];
        float* to = tree_.faces.data() + 12 * (first + std::size_t(k));
        for (int c = 0; c < 3; ++c)
          for (int a = 0; a < 3; ++a) to[4 * c + a] = points_[3 * indices_[3 * face + c] + a];
        put_word(to[3], std::uint32_t(face));
      }
      return kLeaf | std::uint32_t(first) << 3 | std::uint32_t(node.count);
    }
    const std::size_t at = tree_.narrow.size();
    tree_.narrow.resize(at + 16);
    const std::int32_t children[2] = {node.left, node.right};
    for (int k = 0; k < 2; ++k) {
      const Box& box = tree_.nodes[std::size_t(children[k])].box;
      std::memcpy(&tree_.narrow[at + std::size_t(6 * k)], box.low, 12);
      std::memcpy(&tree_.narrow[at + std::size_t(6 * k) + 3], box.high, 12);
      const std::uint32_t word = place(children[k]);
      put_word(tree_.narrow[at + 12 + std::size_t(k)], word);
    }
    return std::uint32_t(at / 16);
  }

  Tree& tree_;
  const float* points_;
  const std::int32_t* indices_;
};

// ---- the walk, eight children at once ----

#if defined(__ARM_NEON)
struct F8 {
  float32x4_t a, b;
};
inline F8 load8(const float* p) { return {vld1q_f32(p), vld1q_f32(p + 4)}; }
inline F8 slab(F8 p, float o, float r) {
  const float32x4_t ov = vdupq_n_f32(o);
  return {vmulq_n_f32(vsubq_f32(p.a, ov), r), vmulq_n_f32(vsubq_f32(p.b, ov), r)};
}
inline F8 least(F8 x, F8 y) { return {vminnmq_f32(x.a, y.a), vminnmq_f32(x.b, y.b)}; }
inline F8 greatest(F8 x, F8 y) { return {vmaxnmq_f32(x.a, y.a), vmaxnmq_f32(x.b, y.b)}; }
inline F8 all8(float v) { return {vdupq_n_f32(v), vdupq_n_f32(v)}; }
inline F8 scaled(F8 x, float s) { return {vmulq_n_f32(x.a, s), vmulq_n_f32(x.b, s)}; }
inline std::uint32_t less_equal(F8 x, F8 y) {
  const uint16x8_t bits = {1, 2, 4, 8, 16, 32, 64, 128};
  const uint16x8_t m = vcombine_u16(vmovn_u32(vcleq_f32(x.a, y.a)), vmovn_u32(vcleq_f32(x.b, y.b)));
  return vaddvq_u16(vandq_u16(m, bits));
}
inline void store8(float* p, F8 x) { vst1q_f32(p, x.a), vst1q_f32(p + 4, x.b); }
using F4 = float32x4_t;
inline F4 load4(const float* p) { return vld1q_f32(p); }
inline F4 all4(float v) { return vdupq_n_f32(v); }
inline F4 least(F4 x, F4 y) { return vminnmq_f32(x, y); }
inline F4 greatest(F4 x, F4 y) { return vmaxnmq_f32(x, y); }
inline std::uint32_t bits4(uint32x4_t m) {
  const uint32x4_t bits = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(m, bits));
}
inline std::uint32_t less(F4 x, F4 y) { return bits4(vcltq_f32(x, y)); }
inline std::uint32_t less_equal(F4 x, F4 y) { return bits4(vcleq_f32(x, y)); }
#elif defined(__AVX2__)
using F8 = __m256;
inline F8 load8(const float* p) { return _mm256_loadu_ps(p); }
inline F8 slab(F8 p, float o, float r) { return _mm256_mul_ps(_mm256_sub_ps(p, _mm256_set1_ps(o)), _mm256_set1_ps(r)); }
inline F8 least(F8 x, F8 y) { return _mm256_min_ps(x, y); }
inline F8 greatest(F8 x, F8 y) { return _mm256_max_ps(x, y); }
inline F8 all8(float v) { return _mm256_set1_ps(v); }
inline F8 scaled(F8 x, float s) { return _mm256_mul_ps(x, _mm256_set1_ps(s)); }
inline std::uint32_t less_equal(F8 x, F8 y) {
  return std::uint32_t(_mm256_movemask_ps(_mm256_cmp_ps(x, y, _CMP_LE_OQ)));
}
inline void store8(float* p, F8 x) { _mm256_storeu_ps(p, x); }
using F4 = __m128;
inline F4 load4(const float* p) { return _mm_loadu_ps(p); }
inline F4 all4(float v) { return _mm_set1_ps(v); }
inline F4 least(F4 x, F4 y) { return _mm_min_ps(x, y); }
inline F4 greatest(F4 x, F4 y) { return _mm_max_ps(x, y); }
inline std::uint32_t less(F4 x, F4 y) { return std::uint32_t(_mm_movemask_ps(_mm_cmp_ps(x, y, _CMP_LT_OQ))); }
inline std::uint32_t less_equal(F4 x, F4 y) { return std::uint32_t(_mm_movemask_ps(_mm_cmp_ps(x, y, _CMP_LE_OQ))); }
#else
#error "a processor with NEON or AVX2 is wanted"
#endif

struct Entry {
  std::uint32_t word;
  float key;
};

std::int32_t walk(const float* nodes, const float* blocks, const float* o, const float* d, float max_t, float& t_out) {
  float r[3];
  int near[3], far[3];
  for (int a = 0; a < 3; ++a) {
    const float kept = std::fabs(d[a]) < 1e-18f ? std::copysign(1e-18f, d[a]) : d[a];
    r[a] = 1.0f / kept;
    near[a] = kept < 0 ? 3 + a : a;
    far[a] = kept < 0 ? a : 3 + a;
  }
  int kz = std::fabs(d[0]) > std::fabs(d[1]) ? 0 : 1;
  kz = std::fabs(d[2]) > std::fabs(d[kz]) ? 2 : kz;
  const int kx = kz == 2 ? 0 : kz + 1, ky = kx == 2 ? 0 : kx + 1;
  const float sz = 1.0f / d[kz], sx = d[kx] * sz, sy = d[ky] * sz;
  float best = max_t;
  std::int32_t face = -1;
  Entry stack[256];
  int top = 0;
  std::uint32_t word = 0;
  for (;;) {
    if (!(word & kLeaf)) {
      const float* node = nodes + 64 * std::size_t(word);
      const F8 entry =
          greatest(greatest(slab(load8(node + 8 * near[0]), o[0], r[0]), slab(load8(node + 8 * near[1]), o[1], r[1])),
                   greatest(slab(load8(node + 8 * near[2]), o[2], r[2]), all8(0.0f)));
      const F8 exit =
          least(least(slab(load8(node + 8 * far[0]), o[0], r[0]), slab(load8(node + 8 * far[1]), o[1], r[1])),
                least(slab(load8(node + 8 * far[2]), o[2], r[2]), all8(best)));
      std::uint32_t mask = less_equal(entry, scaled(exit, 1.0f + 0x1p-21f));
      if (mask) {
        const auto* children = reinterpret_cast<const std::uint32_t*>(node + 48);
        const int k = std::countr_zero(mask);
        mask &= mask - 1;
        if (!mask) {
          word = children[k];
          continue;
        }
        float keys[8];
        store8(keys, entry);
        const int base = top;
        stack[top++] = {children[k], keys[k]};
        for (; mask; mask &= mask - 1) {
          const int j = std::countr_zero(mask);
          const Entry in = {children[j], keys[j]};
          int at = top++;
          for (; at > base && stack[at - 1].key < in.key; --at) stack[at] = stack[at - 1];
          stack[at] = in;
        }
        word = stack[--top].word;
        continue;
      }
    } else {
      const int count = int(word & 7);
      const float* block = blocks + 40 * std::size_t((word & ~kLeaf) >> 3);
      for (int n = 0; n < count; ++n, block += 40) {
        auto corner = [&](int c, F4& x, F4& y, F4& z) {
          z = load4(block + 4 * (3 * c + kz)) - all4(o[kz]);
          x = load4(block + 4 * (3 * c + kx)) - all4(o[kx]) - all4(sx) * z;
          y = load4(block + 4 * (3 * c + ky)) - all4(o[ky]) - all4(sy) * z;
        };
        F4 ax, ay, az, bx, by, bz, cx, cy, cz;
        corner(0, ax, ay, az), corner(1, bx, by, bz), corner(2, cx, cy, cz);
        const F4 u = cx * by - cy * bx, v = ax * cy - ay * cx, w = bx * ay - by * ax;
        const F4 zero = all4(0.0f);
        std::uint32_t mask = less_equal(zero, least(least(u, v), w)) | less_equal(greatest(greatest(u, v), w), zero);
        if (!mask) continue;
        const F4 t = (u * az + v * bz + w * cz) * all4(sz) / (u + v + w);
        mask &= less_equal(zero, t) & less(t, all4(best));
        for (; mask; mask &= mask - 1) {
          const int k = std::countr_zero(mask);
          if (t[k] < best) {
            best = t[k];
            std::memcpy(&face, block + 36 + k, 4);
          }
        }
      }
    }
    for (;;) {
      if (top == 0) {
        t_out = best;
        return face;
      }
      --top;
      if (stack[top].key <= best) break;
    }
    word = stack[top].word;
  }
}

}  // namespace

extern "C" {

Tree* tree_build(const float* points, const std::int32_t* indices, std::int32_t faces, std::int32_t leaf) {
  Builder builder(points, indices, faces, leaf);
  auto* tree = new Tree(std::move(builder.tree));
  WideLayout(*tree, points, indices);
  NarrowLayout(*tree, points, indices);
  return tree;
}
void tree_drop(Tree* tree) { delete tree; }
/// 0: nodes of eight, 1: blocks, 2: nodes of two, 3: faces.
std::int64_t tree_part(Tree* tree, int which, const float** data) {
  const std::vector<float>& part = which == 0   ? tree->wide
                                   : which == 1 ? tree->blocks
                                   : which == 2 ? tree->narrow
                                                : tree->faces;
  *data = part.data();
  return std::int64_t(part.size());
}
void tree_rays(const float* nodes, const float* blocks, const float* starts, const float* directions,
               std::int64_t count, float max_t, std::int32_t* faces, float* t, int threads) {
  auto work = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i)
      faces[i] = walk(nodes, blocks, starts + 3 * i, directions + 3 * i, max_t, t[i]);
  };
  std::vector<std::thread> pool;
  for (int k = 1; k < threads; ++k) pool.emplace_back(work, count * k / threads, count * (k + 1) / threads);
  work(0, count / threads);
  for (std::thread& thread : pool) thread.join();
}
}
