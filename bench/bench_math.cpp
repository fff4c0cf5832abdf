// Elementary functions at all lanes, one thread, float32 and float64, against plain loops over the C library; and
// Black-Scholes.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "common/machine.h"
#include "common/quick.h"
#include "hand/functions.h"
#include "hand/loops.h"
#include "weft/weft.h"

namespace {

using namespace weft;

constexpr std::int64_t kCount = std::int64_t(1) << 14;  // stays in the first caches: functions are measured, not memory
constexpr std::int64_t kOptions = std::int64_t(1) << 22;

template <class T>
constexpr const char* kType = sizeof(T) == 4 ? "float32" : "float64";

template <class T>
Array uniform(std::int64_t n, double low, double high, std::uint32_t seed) {
  Array array = Array::empty(kType<T>, {n});
  for (T& value : array.as<T>()) {
    seed = seed * 1664525u + 1013904223u;
    value = T(low + (high - low) * (seed >> 8) * 0x1p-24);
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
      ->Repetitions(bench::repetitions(5))
      ->MinTime(bench::least_seconds(0.05))
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

template <class T>
void add_function(const HandMath& f, HandLoop<T> loop) {
  Array x = uniform<T>(kCount, f.low, f.high, 1), y = uniform<T>(kCount, -5, 5, 2),
        out = Array::empty(kType<T>, {kCount});
  std::string name = std::string("math/") + f.name + "/" + kType<T>;
  if (loop)
    add(name + "/libm", [=](benchmark::State& state) {
      measure(state, double(kCount), 1, [&] { loop(kCount, x.as<T>().data(), y.as<T>().data(), out.as<T>().data()); });
    });
  std::string array = std::string("wp.array(dtype=wp.") + kType<T> + ")";
  std::string text = "import warp as wp\n@wp.kernel\ndef k(x: " + array + ", y: " + array + ", out: " + array +
                     "):\n    i = wp.tid()\n    out[i] = wp." + f.name + (f.binary ? "(x[i], y[i])\n" : "(x[i])\n");
  for (int lanes : {0, 1}) {
    Options options;
    options.lanes = lanes;
    Kernel kernel = Program::compile(text, "bench.py", options).kernel("k");
    add(name + (lanes ? "/weft_one_lane" : "/weft"), [=](benchmark::State& state) {
      measure(state, double(kCount), 1, [&] { kernel.launch({kCount}, x, y, out); });
    });
  }
}

void add_black_scholes() {
  Array spot = uniform<float>(kOptions, 5, 30, 3), strike = uniform<float>(kOptions, 1, 100, 4),
        years = uniform<float>(kOptions, 0.25, 10, 5);
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
  for (const HandMath* f = hand_math(); f->name; ++f) {
    add_function<float>(*f, f->loop32);
    add_function<double>(*f, f->loop64);
  }
  add_black_scholes();
  return bench::run_main(argc, argv, hand_compiler(), true);
}
