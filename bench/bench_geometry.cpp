// Trees on the CPU: builds and refits over a displaced sphere of a million faces, in faces per second, beside Embree's build
// of the same mesh where that is installed, in the same run. For every constructor the cost of what it built: surface of
// children over that of the root, the number of boxes and blocks that a random line meets.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "common/machine.h"
#include "common/quick.h"
#include "geometry/host/build_tree.h"
#include "runtime/scheduler.h"
#if defined(WEFT_BENCH_EMBREE)
#include WEFT_BENCH_EMBREE
#endif

namespace {

using namespace weft;
using namespace weft::geometry;

struct Sphere {
  std::vector<float> points;
  std::vector<std::int32_t> indices;

  Sphere() {
    int rings = 0, segments = 0;
#define SCENE_SIZE(r, s) rings = r, segments = s;
#include "common/scene.def"
    for (int r = 0; r <= rings; ++r)
      for (int s = 0; s < segments; ++s) {
        const double theta = std::numbers::pi * r / rings, phi = 2 * std::numbers::pi * s / segments;
        const double x = std::sin(theta) * std::cos(phi), y = std::sin(theta) * std::sin(phi), z = std::cos(theta);
        const double radius = radius_at(x, y, z);
        for (double v : {x, y, z}) points.push_back(float(radius * v));
      }
    const auto point = [&](int r, int s) { return r * segments + s % segments; };
    for (int r = 0; r < rings; ++r)
      for (int s = 0; s < segments; ++s) {
        const int quad[6] = {point(r, s),     point(r + 1, s), point(r, s + 1),
                             point(r, s + 1), point(r + 1, s), point(r + 1, s + 1)};
        indices.insert(indices.end(), quad, quad + 6);
      }
  }
  /// That of the scene "displaced".
  static double radius_at(double x, double y, double z) {
    double radius = 1;
    const auto displaced = [&](double amplitude, double fx, double px, double fy, double py, double fz, double pz) {
      radius += amplitude * std::sin(fx * x + px) * std::sin(fy * y + py) * std::sin(fz * z + pz);
    };
    const auto round = [](auto...) {};
#define SCENE_WAVE(name, ...) name(__VA_ARGS__);
#include "common/scene.def"
    return radius;
  }
  TreeInput input() const {
    TreeInput in;
    in.points = points.data();
    in.point_count = points.size() / 3;
    in.indices = indices.data();
    in.count = std::uint32_t(indices.size() / 3);
    return in;
  }
  static const Sphere& get() {
    static const Sphere* only = new Sphere;
    return *only;
  }
};

/// Boxes and blocks that a random line through the root's box meets on average.
double cost_of(const HostTree& tree) {
  const auto* nodes = tree.nodes.as<WideNode>();
  const auto area = [&](const WideNode& node, std::uint32_t first, std::uint32_t last) {
    double sides[3];
    for (int d = 0; d < 3; ++d) {
      float low = node.planes[d][first], high = node.planes[3 + d][first];
      for (std::uint32_t k = first; k < last; ++k) {
        low = std::min(low, node.planes[d][k]);
        high = std::max(high, node.planes[3 + d][k]);
      }
      sides[d] = double(high) - double(low);
    }
    return sides[0] * sides[1] + sides[1] * sides[2] + sides[2] * sides[0];
  };
  double sum = 0;
  for (std::uint32_t n = 0; n < tree.node_count; ++n)
    for (std::uint32_t k = 0; k < nodes[n].count; ++k) sum += area(nodes[n], k, k + 1);
  return sum / area(nodes[0], 0, nodes[0].count);
}

void faces_per_second(benchmark::State& state) {
  state.counters["faces"] =
      benchmark::Counter(double(Sphere::get().input().count), benchmark::Counter::kIsIterationInvariantRate);
}

void build(benchmark::State& state, Constructor constructor, bool wide, int threads) {
  const TreeInput input = Sphere::get().input();
  runtime::set_thread_limit(threads);
  HostTree tree;
  TreeFacts facts;
  for (auto _ : state) {
    tree = build_tree(input, {.constructor = constructor}, wide, &facts);
    benchmark::DoNotOptimize(tree.nodes.memory.get());
  }
  runtime::set_thread_limit(0);
  faces_per_second(state);
  const std::uint64_t bytes = tree.nodes.bytes + tree.leaves.bytes;
  state.counters["bytes_per_face"] = double(bytes) / double(input.count);
  if (wide) state.counters["cost"] = cost_of(tree);
}

void refit(benchmark::State& state, bool wide, int threads) {
  const TreeInput input = Sphere::get().input();
  runtime::set_thread_limit(threads);
  HostTree tree = build_tree(input, {}, wide, nullptr);
  for (auto _ : state) benchmark::DoNotOptimize(refit_tree(tree, input));
  runtime::set_thread_limit(0);
  faces_per_second(state);
}

#if defined(WEFT_BENCH_EMBREE)
void embree(benchmark::State& state, int threads) {
  const Sphere& sphere = Sphere::get();
  RTCDevice device = rtcNewDevice(("threads=" + std::to_string(threads)).c_str());
  for (auto _ : state) {
    RTCScene scene = rtcNewScene(device);
    RTCGeometry mesh = rtcNewGeometry(device, RTC_GEOMETRY_TYPE_TRIANGLE);
    rtcSetSharedGeometryBuffer(mesh, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, sphere.points.data(), 0, 12,
                               sphere.points.size() / 3);
    rtcSetSharedGeometryBuffer(mesh, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, sphere.indices.data(), 0, 12,
                               sphere.indices.size() / 3);
    rtcCommitGeometry(mesh);
    rtcAttachGeometry(scene, mesh);
    rtcReleaseGeometry(mesh);
    rtcCommitScene(scene);
    rtcReleaseScene(scene);
  }
  rtcReleaseDevice(device);
  faces_per_second(state);
}
#endif

}  // namespace

int main(int argc, char** argv) {
  bench::use_private_cache();
  const auto add = [](const std::string& name, int threads, auto body) {
    benchmark::RegisterBenchmark((name + "/threads:" + std::to_string(threads)).c_str(), body)
        ->Repetitions(bench::repetitions(5))
        ->MinTime(bench::least_seconds(0.1))
        ->MeasureProcessCPUTime()
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  };
  std::vector<int> thread_counts = {1, 2};
  if (const int all = runtime::thread_count(); all > 2) thread_counts.push_back(all);
  for (int threads : thread_counts) {
    const std::pair<const char*, Constructor> constructors[] = {{"best", Constructor::best},
                                                                {"sah", Constructor::sah},
                                                                {"median", Constructor::median},
                                                                {"lbvh", Constructor::lbvh}};
    for (const auto& [name, constructor] : constructors)
      add(std::string("build/") + name, threads,
          [constructor, threads](benchmark::State& state) { build(state, constructor, true, threads); });
    add("build/narrow", threads,
        [threads](benchmark::State& state) { build(state, Constructor::best, false, threads); });
    add("refit/wide", threads, [threads](benchmark::State& state) { refit(state, true, threads); });
    add("refit/narrow", threads, [threads](benchmark::State& state) { refit(state, false, threads); });
#if defined(WEFT_BENCH_EMBREE)
    add("build/embree", threads, [threads](benchmark::State& state) { embree(state, threads); });
#endif
  }
#if !defined(WEFT_BENCH_EMBREE)
  std::printf("no comparison with Embree: it is not installed\n");
#endif
  return bench::run_main(argc, argv, "", true);
}
