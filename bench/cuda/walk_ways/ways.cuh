// Kernels of walk_ways.cu: rays and closest points, by each of the ways.
#pragma once
#include <type_traits>

#include "walks.cuh"

enum Way { PLAIN, IFIF, VOTE, DYN, OWN, POOL, SHARE };
struct RayJob {
  const float3 *starts, *dirs;
  int* faces;
  float* ts;
  int n;
  int* counter;
};

template <Format F, class R>
HD void ray_leaf(const Tree& t, const R& r, unsigned word, float& best, int& found) {
  const float4* at = t.leaves + 3 * size_t(word & 0x0fffffff);
  const int count = int((word >> 28) & 7) + 1;
  for (int k = 0; k < count; ++k) r.meet(at + 3 * k, best, found);
}

/// PLAIN: every thread for itself. VOTE: nodes until at most PARAM lanes are at one. DYN: persistent, lanes are refilled when fewer
/// than PARAM are busy. OWN: a thread has PARAM rays and begins the next at once. POOL: a warp has 32·PARAM, refilled below 20.
template <bool QUICK>
struct Kept {
  uint2 room[64];
  Stack stack;
  __device__ Kept() : stack{room, 0} {}
};
template <>
struct Kept<true> {
  uint2 room[64];
  QuickStack stack;
  __device__ Kept(uint2* q = nullptr) : stack{room, q, 0} {}
};

template <Format F, bool RULE, Way WAY, int PARAM, int BLOCKS, bool INTS = false, bool QUICK = false>
__global__ void __launch_bounds__(128, BLOCKS) rays(Tree t, RayJob j) {
  __shared__ uint2 quick[QUICK ? 12 * 128 : 1];
  Kept<QUICK> kept;
  if constexpr (QUICK) kept.stack.quick = quick + threadIdx.x;
  auto& stack = kept.stack;
  Ray<RULE, INTS> r;
  float best = 1e6f;
  int found = -1;
  const int lane = threadIdx.x & 31;
  if (WAY == PLAIN || WAY == IFIF || WAY == VOTE) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= j.n) return;
    r.begin(t, j.starts[i], j.dirs[i]);
    unsigned word = 0;
    if (WAY == PLAIN)
      while (word != NONE) {
        while (!is_leaf(word)) word = ray_step<F>(t, r, word, best, stack);
        if (word != NONE) {
          ray_leaf<F>(t, r, word, best, found);
          word = stack.pop(best);
        }
      }
    if (WAY == IFIF)
      while (word != NONE) {
        if (!is_leaf(word)) word = ray_step<F>(t, r, word, best, stack);
        if (is_leaf(word) && word != NONE) {
          ray_leaf<F>(t, r, word, best, found);
          word = stack.pop(best);
        }
      }
    if (WAY == VOTE) {
      const unsigned warp = __activemask();
      while (__any_sync(warp, word != NONE)) {
        do {
          if (!is_leaf(word)) word = ray_step<F>(t, r, word, best, stack);
        } while (__popc(__ballot_sync(warp, !is_leaf(word))) > PARAM);
        if (is_leaf(word) && word != NONE) {
          ray_leaf<F>(t, r, word, best, found);
          word = stack.pop(best);
        }
      }
    }
    j.faces[i] = found;
    j.ts[i] = best;
    return;
  }
  if (WAY == OWN) {
    const int warp_first = ((blockIdx.x * 128 + threadIdx.x) >> 5) * 32 * PARAM;
    int i = warp_first + lane, k = 0;
    unsigned word = NONE;
    bool has = false;
    while (true) {
      if (word == NONE) {
        if (has) {
          j.faces[i] = found;
          j.ts[i] = best;
          i += 32;
        }
        if (k == PARAM || i >= j.n) break;
        ++k;
        has = true;
        r.begin(t, j.starts[i], j.dirs[i]);
        best = 1e6f;
        found = -1;
        word = 0;
        stack.top = 0;
      }
      if (!is_leaf(word)) word = ray_step<F>(t, r, word, best, stack);
      if (is_leaf(word) && word != NONE) {
        ray_leaf<F>(t, r, word, best, found);
        word = stack.pop(best);
      }
    }
    return;
  }
  // DYN, POOL
  const unsigned all = 0xffffffffu;
  const int busy_least = WAY == DYN ? PARAM : 20;
  int next = ((blockIdx.x * 128 + threadIdx.x) >> 5) * 32 * PARAM, end = min(next + 32 * PARAM, j.n);
  bool more = true, has = false;
  int i = 0;
  unsigned word = NONE;
  while (true) {
    const unsigned idle = __ballot_sync(all, word == NONE);
    if (idle == all || (more && 32 - __popc(idle) < busy_least)) {
      if (word == NONE && has) {
        j.faces[i] = found;
        j.ts[i] = best;
        has = false;
      }
      if (!more) break;
      const int wanted = __popc(idle), rank = __popc(idle & ((1u << lane) - 1));
      int base = next, limit = end;
      if (WAY == DYN) {
        if (lane == 0) base = atomicAdd(j.counter, wanted);
        base = __shfl_sync(all, base, 0);
        limit = j.n;
      } else
        next += wanted;
      more = base + wanted < limit;
      if (word == NONE && base + rank < limit) {
        i = base + rank;
        has = true;
        r.begin(t, j.starts[i], j.dirs[i]);
        best = 1e6f;
        found = -1;
        word = 0;
        stack.top = 0;
      }
    }
    do {
      if (!is_leaf(word)) word = ray_step<F>(t, r, word, best, stack);
    } while (__popc(__ballot_sync(all, !is_leaf(word))) > 4);
    if (is_leaf(word) && word != NONE) {
      ray_leaf<F>(t, r, word, best, found);
      word = stack.pop(best);
    }
  }
}

template <Format F, bool RULE>
__global__ void count_rays(Tree t, RayJob j, int* nodes, int* faces_seen) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= j.n) return;
  uint2 room[64];
  Stack stack{room, 0};
  Ray<RULE> r;
  r.begin(t, j.starts[i], j.dirs[i]);
  float best = 1e6f;
  int found = -1, a = 0, b = 0;
  unsigned word = 0;
  while (word != NONE) {
    if (!is_leaf(word)) {
      ++a;
      word = ray_step<F>(t, r, word, best, stack);
    } else {
      b += int((word >> 28) & 7) + 1;
      ray_leaf<F>(t, r, word, best, found);
      word = stack.pop(best);
    }
  }
  nodes[i] = a;
  faces_seen[i] = b;
}

struct PointJob {
  const float3* points;
  int* faces;
  float* ts;
  int n;
  int* counter;
};

HD void point_leaf(const Tree& t, float3 p, unsigned word, float& best, int& found) {
  const float4* at = t.leaves + 3 * size_t(word & 0x0fffffff);
  const int count = int((word >> 28) & 7) + 1;
  for (int k = 0; k < count; ++k) approach(at + 3 * k, p, t.scale, best, found);
}
__device__ bool better(float b, int f, float than, int other) { return b < than || (b == than && f < other); }

template <Format F, Way WAY, int PARAM, int BLOCKS>
__global__ void __launch_bounds__(128, BLOCKS) points(Tree t, PointJob j) {
  uint2 room[64];
  Stack stack{room, 0};
  Place r;
  float best = 1e12f;
  int found = -1;
  const int lane = threadIdx.x & 31;
  const unsigned all = 0xffffffffu;
  if (WAY == PLAIN || WAY == VOTE) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= j.n) return;
    r.begin(t, j.points[i]);
    unsigned word = 0;
    if (WAY == PLAIN)
      while (word != NONE) {
        while (!is_leaf(word)) word = point_step<F>(t, r, word, best, stack);
        if (word != NONE) {
          point_leaf(t, r.p, word, best, found);
          word = stack.pop(best);
        }
      }
    else
      while (__any_sync(all, word != NONE)) {
        do {
          if (!is_leaf(word)) word = point_step<F>(t, r, word, best, stack);
        } while (__popc(__ballot_sync(all, !is_leaf(word))) > PARAM);
        if (is_leaf(word) && word != NONE) {
          point_leaf(t, r.p, word, best, found);
          word = stack.pop(best);
        }
      }
    j.faces[i] = found;
    j.ts[i] = best;
    return;
  }
  if (WAY == SHARE) {  // lanes that are done take subtrees of others
    const int i = blockIdx.x * 128 + threadIdx.x;
    r.begin(t, j.points[i]);
    float own_best = best;
    int own_found = -1, owner = lane;
    unsigned word = 0;
    while (true) {
      const unsigned busy = __ballot_sync(all, word != NONE), givers = __ballot_sync(all, stack.top > 0);
      if (busy != all && (givers || !busy)) {
        for (unsigned rest = all & ~busy; rest; rest &= rest - 1) {
          const int h = __ffs(int(rest)) - 1, o = __shfl_sync(all, owner, h), f = __shfl_sync(all, found, h);
          const float b = __shfl_sync(all, best, h);
          if (lane == o && better(b, f, own_best, own_found)) own_best = b, own_found = f;
        }
        if (!busy) break;
        if (owner == lane && better(best, found, own_best, own_found)) own_best = best, own_found = found;
        const float known = __shfl_sync(all, own_best, owner);
        const int known_face = __shfl_sync(all, own_found, owner);
        if (better(known, known_face, best, found)) best = known, found = known_face;
        const unsigned idle = all & ~busy, below = (1u << lane) - 1;
        const int rank = __popc((word == NONE ? idle : givers) & below), pairs = min(__popc(givers), __popc(idle));
        unsigned given = NONE;
        if (stack.top > 0 && rank < pairs) given = room[--stack.top].x;
        const bool takes = word == NONE && rank < pairs;
        const int from = takes ? int(__fns(givers, 0, rank + 1)) : lane;
        given = __shfl_sync(all, given, from);
        r.p = make_float3(__shfl_sync(all, r.p.x, from), __shfl_sync(all, r.p.y, from), __shfl_sync(all, r.p.z, from));
        r.g = make_float3(__shfl_sync(all, r.g.x, from), __shfl_sync(all, r.g.y, from), __shfl_sync(all, r.g.z, from));
        best = __shfl_sync(all, best, from);
        found = __shfl_sync(all, found, from);
        owner = __shfl_sync(all, owner, from);
        if (takes) word = given;
      }
      do {
        if (!is_leaf(word)) word = point_step<F>(t, r, word, best, stack);
      } while (__popc(__ballot_sync(all, !is_leaf(word))) > PARAM);
      if (is_leaf(word) && word != NONE) {
        point_leaf(t, r.p, word, best, found);
        word = stack.pop(best);
      }
    }
    j.faces[i] = own_found;
    j.ts[i] = own_best;
    return;
  }
  // DYN, POOL: as for rays
  const int busy_least = WAY == DYN ? PARAM : 20;
  int next = ((blockIdx.x * 128 + threadIdx.x) >> 5) * 32 * PARAM, end = min(next + 32 * PARAM, j.n);
  bool more = true, has = false;
  int i = 0;
  unsigned word = NONE;
  while (true) {
    const unsigned idle = __ballot_sync(all, word == NONE);
    if (idle == all || (more && 32 - __popc(idle) < busy_least)) {
      if (word == NONE && has) {
        j.faces[i] = found;
        j.ts[i] = best;
        has = false;
      }
      if (!more) break;
      const int wanted = __popc(idle), rank = __popc(idle & ((1u << lane) - 1));
      int base = next, limit = end;
      if (WAY == DYN) {
        if (lane == 0) base = atomicAdd(j.counter, wanted);
        base = __shfl_sync(all, base, 0);
        limit = j.n;
      } else
        next += wanted;
      more = base + wanted < limit;
      if (word == NONE && base + rank < limit) {
        i = base + rank;
        has = true;
        r.begin(t, j.points[i]);
        best = 1e12f;
        found = -1;
        word = 0;
        stack.top = 0;
      }
    }
    do {
      if (!is_leaf(word)) word = point_step<F>(t, r, word, best, stack);
    } while (__popc(__ballot_sync(all, !is_leaf(word))) > 8);
    if (is_leaf(word) && word != NONE) {
      point_leaf(t, r.p, word, best, found);
      word = stack.pop(best);
    }
  }
}

template <Format F>
__global__ void count_points(Tree t, PointJob j, int* nodes, int* faces_seen) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= j.n) return;
  uint2 room[64];
  Stack stack{room, 0};
  Place r;
  r.begin(t, j.points[i]);
  float best = 1e12f;
  int found = -1, a = 0, b = 0;
  unsigned word = 0;
  while (word != NONE) {
    if (!is_leaf(word)) {
      ++a;
      word = point_step<F>(t, r, word, best, stack);
    } else {
      b += int((word >> 28) & 7) + 1;
      point_leaf(t, r.p, word, best, found);
      word = stack.pop(best);
    }
  }
  nodes[i] = a;
  faces_seen[i] = b;
}
