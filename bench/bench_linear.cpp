// Inverses, singular values, products and rotations of small matrices and quaternions at all lanes, one thread, against
// Eigen's fixed-size types in a plain loop.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <functional>
#include <string>

#include "common/machine.h"
#include "common/quick.h"
#include "hand/linear.h"
#include "hand/loops.h"
#include "weft/weft.h"

namespace {

using namespace weft;

constexpr std::int64_t kCount = 1024;  // stays in the second cache

/// One case: its kernel over arrays a, b, c, d, e, and how many scalars an element of each has (0: not there).
struct Case {
  const char* name;
  const char* types[5];
  int scalars[5];
  const char* body;
};

const Case kCases[] = {
    {"inverse3", {"mat33", nullptr, "mat33"}, {9, 0, 9}, "c[i] = wp.inverse(a[i])"},
    {"inverse4", {"mat44", nullptr, "mat44"}, {16, 0, 16}, "c[i] = wp.inverse(a[i])"},
    {"svd3",
     {"mat33", nullptr, "mat33", "vec3", "mat33"},
     {9, 0, 9, 3, 9},
     "u, s, v = wp.svd3(a[i])\n    c[i] = u\n    d[i] = s\n    e[i] = v"},
    {"rotate", {"quat", "vec3", "vec3"}, {4, 3, 3}, "c[i] = wp.quat_rotate(a[i], b[i])"},
    {"multiply4", {"mat44", "mat44", "mat44"}, {16, 16, 16}, "c[i] = a[i] * b[i]"},
};

void add(const std::string& name, std::function<void()> work) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [work](benchmark::State& state) {
                                 set_thread_limit(1);
                                 bench::let_others_sleep();
                                 work();
                                 for (auto _ : state) work();
                                 set_thread_limit(0);
                                 state.counters["values"] =
                                     benchmark::Counter(double(kCount), benchmark::Counter::kIsIterationInvariantRate);
                               })
      ->Repetitions(bench::repetitions(5))
      ->MinTime(bench::least_seconds(0.05))
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

template <class T>
void add_case(const Case& one, HandLinearLoop<T> loop) {
  const std::string letter = sizeof(T) == 4 ? "f" : "d", scalar = sizeof(T) == 4 ? "float32" : "float64";
  Array arrays[5];
  std::string parameters;
  for (int k = 0; k < 5; ++k) {
    const char* type = one.types[k] ? one.types[k] : "vec3";
    arrays[k] = Array::empty(type + letter, {one.types[k] ? kCount : 0});
    parameters += std::string(k ? ", " : "") + "abcde"[k] + ": wp.array(dtype=wp." + type + letter + ")";
    std::uint32_t seed = std::uint32_t(k + 1);
    T* scalars = static_cast<T*>(arrays[k].data());
    for (std::int64_t i = 0; i < kCount * one.scalars[k]; ++i) {
      seed = seed * 1664525u + 1013904223u;
      scalars[i] = T((seed >> 8) * 0x1p-23 - 1);
    }
  }
  std::string text =
      "import warp as wp\n@wp.kernel\ndef k(" + parameters + "):\n    i = wp.tid()\n    " + one.body + "\n";
  Kernel kernel = Program::compile(text, "bench.py", {}).kernel("k");
  const auto [a, b, c, d, e] = arrays;
  auto at = [](const Array& array) { return static_cast<T*>(array.data()); };
  std::string name = std::string("linear/") + one.name + "/" + scalar;
  if (loop) add(name + "/eigen", [=] { loop(kCount, at(a), at(b), at(c), at(d), at(e)); });
  add(name + "/weft", [=] { kernel.launch({kCount}, a, b, c, d, e); });
}

}  // namespace

int main(int argc, char** argv) {
  bench::use_private_cache();
  const HandLinear* by_eigen = hand_linear();
  if (!by_eigen) std::fputs("no comparison with Eigen: it was not installed (libeigen3-dev) at the build\n", stderr);
  for (const Case& one : kCases) {
    const HandLinear* peer = by_eigen;
    while (peer && peer->name && std::string(peer->name) != one.name) ++peer;
    add_case<float>(one, peer ? peer->loop32 : nullptr);
    add_case<double>(one, peer ? peer->loop64 : nullptr);
  }
  std::string who = hand_compiler();
  if (by_eigen) who += std::string(", Eigen ") + hand_eigen_version();
  return bench::run_main(argc, argv, who, true);
}
