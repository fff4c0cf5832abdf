// Elementary functions on float32 at all lanes, one thread, against plain loops over the C library; and Black-Scholes.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "common/machine.h"
#include "hand/functions.h"
#include "hand/loops.h"
#include "weft/weft.h"

namespace {

using namespace weft;

constexpr std::int64_t kCount = std::int64_t(1) << 14;  // stays in the first caches: functions are measured, not memory
constexpr std::int64_t kOptions = std::int64_t(1) << 22;

Array uniform(std::int64_t n, float low, float high, std::uint32_t seed) {
  Array array = Array::empty("float32", {n});
  for (float& value : array.as<float>()) {
    seed = seed * 1664525u + 1013904223u;
    value = low + (high - low) * float(seed >> 8) * 0x1p-24f;
  }
  return array;
}

float* floats(const Array& array) { return array.as<float>().data(); }

void measure(benchmark::State& state, double amount, int threads, const std::function<void()>& work) {
  set_thread_limit(threads);
  bench::let_others_sleep();
  work();
  for (auto _ : state) work();
  set_thread_limit(0);
  state.counters["values"] = benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr const char* kBlackScholes = R"(
import warp as wp

@wp.func
def cdf(x: float):
    return 0.5 * wp.erfc(-0.70710678 * x)

@wp.kernel
def black_scholes(spot: wp.array(dtype=float), strike: wp.array(dtype=float), years: wp.array(dtype=float), rate: float,
                  volatility: float, call: wp.array(dtype=float), put: wp.array(dtype=float)):
    i = wp.tid()
    s = spot[i]
    t = years[i]
    root = wp.sqrt(t)
    d1 = (wp.log(s / strike[i]) + (rate + 0.5 * volatility * volatility) * t) / (volatility * root)
    d2 = d1 - volatility * root
    n1 = cdf(d1)
    n2 = cdf(d2)
    discounted = strike[i] * wp.exp(-rate * t)
    call[i] = s * n1 - discounted * n2
    put[i] = discounted * (1.0 - n2) - s * (1.0 - n1)
)";

void add(const std::string& name, std::function<void(benchmark::State&)> body) {
  benchmark::RegisterBenchmark(name.c_str(), [body](benchmark::State& state) { body(state); })
      ->Repetitions(5)
      ->MinTime(0.05)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void add_function(const HandMath& f) {
  Array x = uniform(kCount, f.low, f.high, 1), y = uniform(kCount, -5, 5, 2), out = Array::empty("float32", {kCount});
  std::string name = f.name;
  add("math/" + name + "/libm", [=](benchmark::State& state) {
    measure(state, double(kCount), 1, [&] { f.loop(kCount, floats(x), floats(y), floats(out)); });
  });
  std::string text =
      "import warp as wp\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float), out: "
      "wp.array(dtype=float)):\n    i = wp.tid()\n    out[i] = wp." +
      name + (f.binary ? "(x[i], y[i])\n" : "(x[i])\n");
  for (int lanes : {0, 1}) {
    Options options;
    options.lanes = lanes;
    Kernel kernel = Program::compile(text, "bench.py", options).kernel("k");
    add("math/" + name + (lanes ? "/weft_one_lane" : "/weft"), [=](benchmark::State& state) {
      measure(state, double(kCount), 1, [&] { kernel.launch({kCount}, x, y, out); });
    });
  }
}

void add_black_scholes() {
  Array spot = uniform(kOptions, 5, 30, 3), strike = uniform(kOptions, 1, 100, 4),
        years = uniform(kOptions, 0.25, 10, 5);
  Array call = Array::empty("float32", {kOptions}), put = Array::empty("float32", {kOptions});
  Kernel kernel = Program::compile(kBlackScholes, "bench.py", {}).kernel("black_scholes");
  add("black_scholes/libm/threads:1", [=](benchmark::State& state) {
    measure(state, double(kOptions), 1, [&] {
      hand_black_scholes(kOptions, floats(spot), floats(strike), floats(years), 0.02f, 0.3f, floats(call), floats(put));
    });
  });
  for (int threads : {1, 2})
    add("black_scholes/weft/threads:" + std::to_string(threads), [=](benchmark::State& state) {
      measure(state, double(kOptions), threads,
              [&] { kernel.launch({kOptions}, spot, strike, years, 0.02, 0.3, call, put); });
    });
}

}  // namespace

int main(int argc, char** argv) {
  bench::use_private_cache();
  bench::limit_spinning();
  for (const HandMath* f = hand_math(); f->name; ++f) add_function(*f);
  add_black_scholes();
  return bench::run_main(argc, argv, hand_compiler(), true);
}
