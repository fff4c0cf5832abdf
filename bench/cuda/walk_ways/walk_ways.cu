// Rays and closest points by hand, over the scene of bench/common/scene.def: formats of nodes, trees, ways to keep lanes busy, orders of
// rays. Prints a table of millions a second, with the registers of each kernel and how many answers differ from the first one's.
//
//     nvcc -O3 -std=c++20 -arch=sm_90 -o walk_ways walk_ways.cu && ./walk_ways      (half a minute on an H200; --check: no GPU)
//
// docs/design/geometry.md, "What limits walks on a GPU", has what came out.
#include "queries.cuh"

int main(int argc, char** argv) {
  const bool host_only = argc > 1 && std::string(argv[1]) == "--check";
  double begin = now();
  const float half = 1.3f;
  Mesh m = host_only ? make_mesh(0.3, 0.03, 100, 200) : make_mesh(0.3, 0.03);
  Binary sweep = sah(m, 0);
  Host h2 = emit(m, sweep, 2, true);
  printf("mesh and sweep tree %.1f s: %zu binary nodes, %zu of four, step %g\n", now() - begin, h2.q32.size() / 2,
         h2.w4q.size() / 4, h2.step);
  if (host_only) N = 4096;
  Rays random = random_rays(half, N);
  std::vector<float3> box, near;
  {
    std::mt19937 g(6);
    std::uniform_real_distribution<float> u(-half, half), e(-0.01f, 0.01f);
    std::uniform_int_distribution<int> f(0, int(m.corners.size()) - 1);
    for (int k = 0; k < N; ++k) {
      box.push_back(make_float3(u(g), u(g), u(g)));
      const int3 c = m.corners[f(g)];
      const float3 a = m.points[c.x], b = m.points[c.y], d = m.points[c.z];
      const float s = (1 + e(g)) / 3;
      near.push_back(make_float3((a.x + b.x + d.x) * s, (a.y + b.y + d.y) * s, (a.z + b.z + d.z) * s));
    }
  }
  if (host_only) {
    check_host<Q32>(h2, random, box, "q32 box");
    check_host<W4F>(h2, random, box, "w4f box");
    check_host<W4Q>(h2, random, near, "w4q near");
    check_host<W4Q>(h2, camera(half, 64, false), near, "w4q camera");
    Binary mo = morton(m);
    check_host<Q32>(emit(m, mo, 2, true), random, near, "morton q32");
    Binary bi = sah(m, 16);
    check_host<W4Q>(emit(m, bi, 4, true), random, near, "binned w4q");
    return 0;
  }
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  SMS = prop.multiProcessorCount;
  std::vector<RayJob> r{upload(camera(half, 2048, false)), upload(random)};
  std::vector<PointJob> p{upload(box), upload(near)};
  Tree t = device_tree(h2);
  int *cn, *cf;
  CHECK(cudaMalloc(&cn, N * 4));
  CHECK(cudaMalloc(&cf, N * 4));
  printf("set up %.1f s\n\n", now() - begin);

  printf(
      "rays, M/s: camera (rows), random; sweep SAH, leaves of 2; rule: exact order, Woop; mt: fused slabs, Moeller\n");
  RAY("b64 rule vote4 (as the library)", B64, true, VOTE, 4, 6);
  for (int s = 0; s < 2; ++s) {
    count_rays<B64, true><<<N / 128, 128>>>(t, r[s], cn, cf);
    shape(s ? "random" : "camera", got(cn, N), got(cf, N));
  }
  std::vector<int> lengths = got(cn, N);
  for (int s = 0; s < 2; ++s) {
    count_rays<W4Q, true><<<N / 128, 128>>>(t, r[s], cn, cf);
    shape(s ? "random w4q" : "camera w4q", got(cn, N), got(cf, N));
  }
  RAY("b64 rule plain", B64, true, PLAIN, 0, 6);
  RAY("b64 rule plain 40 regs", B64, true, PLAIN, 0, 12);
  RAY("b64 rule if-if", B64, true, IFIF, 0, 6);
  RAY("b64 mt plain", B64, false, PLAIN, 0, 6);
  RAY("b64 mt plain 40 regs", B64, false, PLAIN, 0, 12);
  RAY("b64 mt if-if 40 regs", B64, false, IFIF, 0, 12);
  RAY("b64 mt vote4", B64, false, VOTE, 4, 6);
  RAY("q32 rule vote4", Q32, true, VOTE, 4, 6);
  RAY("q32 rule vote8", Q32, true, VOTE, 8, 6);
  RAY("q32 rule vote4 48 regs", Q32, true, VOTE, 4, 10);
  RAY("q32 rule plain", Q32, true, PLAIN, 0, 6);
  RAY("q32 rule plain 48 regs", Q32, true, PLAIN, 0, 10);
  RAY("q32 mt plain 40 regs", Q32, false, PLAIN, 0, 12);
  RAY("w4f rule vote4", W4F, true, VOTE, 4, 6);
  RAY("w4f rule plain", W4F, true, PLAIN, 0, 6);
  RAY("w4q rule vote4", W4Q, true, VOTE, 4, 6);
  RAY("w4q rule vote8", W4Q, true, VOTE, 8, 6);
  RAY("w4q rule vote4 48 regs", W4Q, true, VOTE, 4, 10);
  RAY("w4q rule plain", W4Q, true, PLAIN, 0, 6);
  RAY("w4q rule plain 48 regs", W4Q, true, PLAIN, 0, 10);
  RAY("w4q rule if-if", W4Q, true, IFIF, 0, 6);
  RAY("w4q mt plain", W4Q, false, PLAIN, 0, 8);
#define RAY_MORE(name, F, WAY, P, MB, INTS, QUICK) \
  row(name, (const void*)rays<F, true, WAY, P, MB, INTS, QUICK>, WAY, P, t, r, 0)
  RAY_MORE("q32 rule vote4 int min3", Q32, VOTE, 4, 6, true, false);
  RAY_MORE("w4q rule vote4 int min3", W4Q, VOTE, 4, 6, true, false);
  RAY_MORE("b64 rule vote4 stack 12 shared", B64, VOTE, 4, 6, false, true);
  RAY_MORE("w4q rule vote4 stack 12 shared", W4Q, VOTE, 4, 6, false, true);
  printf("persistent, lanes refilled below n busy\n");
  RAY("b64 rule dyn 8", B64, true, DYN, 8, 6);
  RAY("b64 rule dyn 16", B64, true, DYN, 16, 6);
  RAY("b64 rule dyn 20", B64, true, DYN, 20, 6);
  RAY("b64 rule dyn 24", B64, true, DYN, 24, 6);
  RAY("b64 mt dyn 20", B64, false, DYN, 20, 8);
  RAY("q32 rule dyn 16", Q32, true, DYN, 16, 6);
  RAY("q32 rule dyn 20", Q32, true, DYN, 20, 6);
  RAY("w4q rule dyn 16", W4Q, true, DYN, 16, 6);
  RAY("w4q rule dyn 20", W4Q, true, DYN, 20, 6);
  printf("a thread's own rays, the next at once / a warp's pool of 32 k, refilled below 20\n");
  RAY("b64 rule own 2", B64, true, OWN, 2, 6);
  RAY("b64 rule own 4", B64, true, OWN, 4, 6);
  RAY("b64 rule pool 2", B64, true, POOL, 2, 6);
  RAY("b64 rule pool 4", B64, true, POOL, 4, 6);
  RAY("q32 rule own 4", Q32, true, OWN, 4, 6);
  RAY("q32 rule pool 2", Q32, true, POOL, 2, 6);
  RAY("q32 rule pool 4", Q32, true, POOL, 4, 6);
  RAY("w4q rule own 4", W4Q, true, OWN, 4, 6);
  RAY("w4q rule pool 4", W4Q, true, POOL, 4, 6);
  printf("%.1f s\n", now() - begin);

  printf("\nclosest points, M/s: in the box, near\n");
  POINT("b64 share8 (as the library)", B64, SHARE, 8, 5);
  for (int s = 0; s < 2; ++s) {
    count_points<B64><<<N / 128, 128>>>(t, p[s], cn, cf);
    shape(s ? "near" : "box", got(cn, N), got(cf, N));
  }
  for (int s = 0; s < 2; ++s) {
    count_points<W4Q><<<N / 128, 128>>>(t, p[s], cn, cf);
    shape(s ? "near w4q" : "box w4q", got(cn, N), got(cf, N));
  }
  POINT("b64 plain", B64, PLAIN, 0, 8);
  POINT("b64 vote8", B64, VOTE, 8, 6);
  POINT("q32 share8", Q32, SHARE, 8, 5);
  POINT("q32 share8 8 blocks", Q32, SHARE, 8, 8);
  POINT("q32 plain", Q32, PLAIN, 0, 8);
  POINT("q32 vote8", Q32, VOTE, 8, 8);
  POINT("w4f share8", W4F, SHARE, 8, 5);
  POINT("w4q share8", W4Q, SHARE, 8, 5);
  POINT("w4q share8 8 blocks", W4Q, SHARE, 8, 8);
  POINT("w4q share4", W4Q, SHARE, 4, 5);
  POINT("w4q plain", W4Q, PLAIN, 0, 8);
  POINT("w4q vote8", W4Q, VOTE, 8, 6);
  POINT("b64 dyn 20", B64, DYN, 20, 6);
  POINT("q32 dyn 16", Q32, DYN, 16, 6);
  POINT("q32 dyn 20", Q32, DYN, 20, 6);
  POINT("w4q dyn 20", W4Q, DYN, 20, 6);
  POINT("q32 pool 4", Q32, POOL, 4, 6);
  POINT("w4q pool 4", W4Q, POOL, 4, 6);
  {
    std::vector<int> o(N);
    std::iota(o.begin(), o.end(), 0);
    std::vector<uint32_t> k(N);
    for (int i = 0; i < N; ++i) k[i] = place_key(box[i], half);
    std::sort(o.begin(), o.end(), [&](int a, int b) { return k[a] < k[b]; });
    std::vector<PointJob> p2{upload(permuted(box, o))};
    auto keep = p;
    p = p2;
    row("b64 share8, places in Morton order", (const void*)points<B64, SHARE, 8, 5>, SHARE, 8, t, p, truth.size());
    row("w4q vote8, places in Morton order", (const void*)points<W4Q, VOTE, 8, 6>, VOTE, 8, t, p, truth.size());
    p = keep;
  }

  printf(
      "\norders of rays (b64 rule vote4 / w4q rule vote4 / b64 mt plain): tiles of 8x4; random by place and octant; random by length of walk\n");
  {
    std::vector<int> o(N);
    std::iota(o.begin(), o.end(), 0);
    std::vector<uint64_t> k(N);
    for (int i = 0; i < N; ++i) {
      const float3 d = random.dirs[i];
      k[i] = uint64_t(place_key(random.starts[i], half)) >> 9 << 3 | (d.x < 0) | (d.y < 0) << 1 | (d.z < 0) << 2;
    }
    auto by_place = o;
    std::sort(by_place.begin(), by_place.end(), [&](int a, int b) { return k[a] < k[b]; });
    auto by_length = o;
    std::stable_sort(by_length.begin(), by_length.end(), [&](int a, int b) { return lengths[a] < lengths[b]; });
    auto keep = r;
    r = {upload(camera(half, 2048, true)), upload(permuted(random, by_place)), upload(permuted(random, by_length))};
    row("b64 rule vote4", (const void*)rays<B64, true, VOTE, 4, 6>, VOTE, 4, t, r, truth.size());
    row("w4q rule vote4", (const void*)rays<W4Q, true, VOTE, 4, 6>, VOTE, 4, t, r, truth.size());
    row("b64 mt plain", (const void*)rays<B64, false, PLAIN, 0, 12>, PLAIN, 0, t, r, truth.size());
    r = keep;
  }
  printf("\nother boxes for random rays, b64 mt plain 40 regs / b64 rule vote4: half a side 0.8, 1.3, 2.0, 3.0\n");
  {
    auto keep = r;
    r.clear();
    for (float h : {0.8f, 1.3f, 2.0f, 3.0f}) r.push_back(upload(random_rays(h, N)));
    row("b64 mt plain 40 regs", (const void*)rays<B64, false, PLAIN, 0, 12>, PLAIN, 0, t, r, truth.size());
    row("b64 rule vote4", (const void*)rays<B64, true, VOTE, 4, 6>, VOTE, 4, t, r, truth.size());
    for (auto& j : r) {
      count_rays<B64, true><<<N / 128, 128>>>(t, j, cn, cf);
      shape("", got(cn, N), got(cf, N));
    }
    r = keep;
  }
  drop(t);
  std::vector<int> few(N);
  for (int k = 0; k < N; ++k) few[k] = k % 64;
  r.push_back(upload(permuted(random, few)));
  {
    std::vector<float3> b2(N);
    for (int k = 0; k < N; ++k) b2[k] = box[k % 64];
    p.push_back(upload(b2));
  }
  auto counts = [&](const char* name) {
    for (int s = 0; s < 2; ++s) {
      count_rays<B64, true><<<N / 128, 128>>>(t, r[s], cn, cf);
      shape(s ? "random" : "camera", got(cn, N), got(cf, N));
    }
    for (int s = 0; s < 2; ++s) {
      count_points<B64><<<N / 128, 128>>>(t, p[s], cn, cf);
      shape(s ? "near" : "box", got(cn, N), got(cf, N));
    }
  };
  auto all = [&](const char* name, const Host& h) {
    t = device_tree(h);
    printf("\n%s: rays of a camera, random, 64 of them again and again; points in the box, near, 64 again\n", name);
    counts(name);
    RAY("b64 rule vote4 (as the library)", B64, true, VOTE, 4, 6);
    RAY("b64 rule vote8", B64, true, VOTE, 8, 6);
    RAY("b64 rule plain 40 regs", B64, true, PLAIN, 0, 12);
    RAY("q32 rule vote4", Q32, true, VOTE, 4, 6);
    RAY("q32 rule vote8", Q32, true, VOTE, 8, 6);
    RAY("q32 rule plain 48 regs", Q32, true, PLAIN, 0, 10);
    RAY("w4f rule vote4", W4F, true, VOTE, 4, 6);
    RAY("w4f rule vote8", W4F, true, VOTE, 8, 6);
    RAY("w4q rule vote4", W4Q, true, VOTE, 4, 6);
    RAY("w4q rule vote8", W4Q, true, VOTE, 8, 6);
    RAY("w4q rule plain 48 regs", W4Q, true, PLAIN, 0, 10);
    RAY("b64 rule dyn 8", B64, true, DYN, 8, 6);
    RAY("w4f rule dyn 8", W4F, true, DYN, 8, 6);
    RAY("w4q rule dyn 8", W4Q, true, DYN, 8, 6);
    RAY("b64 rule pool 4", B64, true, POOL, 4, 6);
    RAY("w4q rule pool 4", W4Q, true, POOL, 4, 6);
    POINT("b64 share8 (as the library)", B64, SHARE, 8, 5);
    POINT("b64 share16", B64, SHARE, 16, 5);
    POINT("q32 share8", Q32, SHARE, 8, 5);
    POINT("q32 share16", Q32, SHARE, 16, 5);
    POINT("w4q share8", W4Q, SHARE, 8, 5);
    drop(t);
  };
  all("sweep SAH, leaves of 2", h2);
  all("sweep SAH, leaves of 4", emit(m, sweep, 4, true));
  Binary ours = morton(m);
  rotate(ours, 4);
  all("Morton order turned once (the library's), leaves of 2", emit(m, ours, 2, true));
  all("the same, leaves of 4", emit(m, ours, 4, true));
  printf("%.1f s in all\n", now() - begin);
  return 0;
}
