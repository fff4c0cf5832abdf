// Throughput of kernels against the same loops written by hand, and against what the machine can do at all: bandwidth
// of a copy and of an update in place for kernels that move memory, multiply-adds on registers for those that compute. One lane beside all lanes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/machine.h"
#include "common/quick.h"
#include "common/sources.h"
#include "hand/loops.h"
#include "runtime/scheduler.h"
#include "weft/weft.h"

namespace {

using namespace weft;

constexpr std::int64_t kFloats = std::int64_t(1) << 24;  // saxpy: twice the size of most last-level caches
constexpr std::int64_t kVectors = std::int64_t(1) << 22;
constexpr std::int64_t kPolynomials = std::int64_t(1) << 20;

Array filled(const char* type, std::int64_t n) {
  Array array = Array::empty(type, {n});
  std::span<float> values = array.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i % 1024) / 2048.0f;
  return array;
}

/// The arrays of one case, made on first use, freed never: hand-written loops and kernels use the same memory.
struct Data {
  Array x = filled("float32", kFloats), y = filled("float32", kFloats);
  Array a = filled("vec3", kVectors), b = filled("vec3", kVectors);
  static Data& get() {
    static Data* data = new Data;
    return *data;
  }
};

float* floats(const Array& array) { return array.as<float>().data(); }

/// Runs under a thread limit and reports `amount` (bytes or operations) per second as `unit`.
void measure(benchmark::State& state, int threads, double amount, const char* unit, const std::function<void()>& work) {
  set_thread_limit(threads);
  bench::let_others_sleep();
  work();
  for (auto _ : state) work();
  set_thread_limit(0);
  state.counters[unit] = benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
}

std::function<void()> kernel_call(const char* text, const char* name, int lanes, std::function<void(Kernel&)> call) {
  Options options;
  options.lanes = lanes;
  auto kernel = std::make_shared<Kernel>(Program::compile(text, "bench.py", options).kernel(name));
  return [kernel, call] { call(*kernel); };
}

struct Case {
  const char* name;
  double amount;
  const char* unit;
  std::function<void(int threads)> hand;
  std::function<std::function<void()>(int lanes)> weft;
};

std::vector<Case> cases() {
  return {
      {"saxpy", 12.0 * kFloats, "bytes",
       [](int threads) { hand_saxpy(kFloats, 0.5f, floats(Data::get().x), floats(Data::get().y), threads); },
       [](int lanes) {
         return kernel_call(bench::kSaxpy, "saxpy", lanes,
                            [](Kernel& k) { k.launch({kFloats}, 0.5, Data::get().x, Data::get().y); });
       }},
      {"dot3", 28.0 * kVectors, "bytes",
       [](int threads) {
         hand_dot3(kVectors, floats(Data::get().a), floats(Data::get().b), floats(Data::get().y), threads);
       },
       [](int lanes) {
         return kernel_call(bench::kDot3, "dot3", lanes,
                            [](Kernel& k) { k.launch({kVectors}, Data::get().a, Data::get().b, Data::get().y); });
       }},
      {"polynomial", 128.0 * kPolynomials, "flops",
       [](int threads) { hand_polynomial(kPolynomials, floats(Data::get().x), floats(Data::get().y), threads); },
       [](int lanes) {
         return kernel_call(bench::kPolynomial, "polynomial", lanes,
                            [](Kernel& k) { k.launch({kPolynomials}, Data::get().x, Data::get().y); });
       }},
  };
}

}  // namespace

int main(int argc, char** argv) {
  bench::use_private_cache();
  bench::limit_spinning();
  auto add = [](const std::string& name, int threads, auto body) {
    benchmark::RegisterBenchmark((name + "/threads:" + std::to_string(threads)).c_str(), body)
        ->Repetitions(bench::repetitions(9))
        ->MinTime(bench::least_seconds(0.05))
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  };
  std::vector<int> thread_counts = {1, 2};
  if (int all = runtime::thread_count(); all > 2) thread_counts.push_back(all);
  for (int threads : thread_counts) {
    add("limit/copy", threads, [threads](benchmark::State& state) {
      Data& d = Data::get();
      measure(state, threads, 8.0 * kFloats, "bytes", [&] { limit_copy(kFloats, floats(d.x), floats(d.y), threads); });
    });
    add("limit/update", threads, [threads](benchmark::State& state) {
      measure(state, threads, 8.0 * kFloats, "bytes", [&] { limit_update(kFloats, floats(Data::get().y), threads); });
    });
    add("limit/fma", threads, [threads](benchmark::State& state) {
      constexpr std::int64_t kSteps = 1'000'000;
      double operations = limit_fma(1, threads) * double(kSteps);
      measure(state, threads, operations, "flops", [&] { limit_fma(kSteps, threads); });
    });
    for (const Case& c : cases()) {
      std::string name = c.name;
      add(name + "/hand", threads, [c, threads](benchmark::State& state) {
        measure(state, threads, c.amount, c.unit, [&] { c.hand(threads); });
      });
      add(name + "/weft", threads,
          [c, threads](benchmark::State& state) { measure(state, threads, c.amount, c.unit, c.weft(0)); });
      add(name + "/weft_one_lane", threads,
          [c, threads](benchmark::State& state) { measure(state, threads, c.amount, c.unit, c.weft(1)); });
    }
  }
  return bench::run_main(argc, argv, hand_compiler(), true);
}
