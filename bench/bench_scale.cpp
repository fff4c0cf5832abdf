// How compile time and memory grow with the program: long kernels, files with many kernels, and the shapes that make
// careless compilers explode. Our stages and LLVM's are measured apart; every case runs in a process of its own.
#include <benchmark/benchmark.h>

#include "common/machine.h"
#include "common/quick.h"
#include "common/sources.h"
#include "common/stages.h"

namespace {

using namespace weft::bench;

void compile_case(benchmark::State& state, const std::string& text) {
  StageTimes t;
  for (auto _ : state) {
    t = in_child([&] { return compile_stages(text, true); });
    state.SetIterationTime(t.total());
  }
  auto ms = [](double seconds) { return seconds * 1e3; };
  auto mb = [](std::size_t bytes) { return double(bytes) / 1e6; };
  state.counters["lines"] = double(t.lines);
  state.counters["kernels"] = double(t.kernels);
  state.counters["ops_lowered"] = double(t.ops_lowered);
  state.counters["ops"] = double(t.ops_optimised);
  state.counters["object_kB"] = double(t.object_bytes) / 1e3;
  state.counters["parse_ms"] = ms(t.parse);
  state.counters["lower_ms"] = ms(t.lower);
  state.counters["passes_ms"] = ms(t.passes);
  state.counters["emit_ms"] = ms(t.emit);
  state.counters["opt_ms"] = ms(t.llvm_opt);
  state.counters["codegen_ms"] = ms(t.llvm_codegen);
  state.counters["load_ms"] = ms(t.load);
  state.counters["own_us_per_line"] = t.own() * 1e6 / double(t.lines);
  state.counters["llvm_us_per_line"] = t.llvm() * 1e6 / double(t.lines);
  state.counters["own_MB"] = mb(t.memory_own);
  state.counters["llvm_MB"] = mb(t.memory_llvm);
}

}  // namespace

int main(int argc, char** argv) {
  use_private_cache();
  auto add = [](const std::string& name, const std::string& text, int times) {
    benchmark::RegisterBenchmark(("scale/" + name).c_str(), [text](benchmark::State& s) { compile_case(s, text); })
        ->UseManualTime()
        ->Iterations(1)
        ->Repetitions(repetitions(times))
        ->Unit(benchmark::kMillisecond);
  };
  for (int lines : {100, 1000, 10'000, 100'000})
    if (lines < 100'000 || !is_quick())
      add("lines/" + std::to_string(lines), long_kernel(lines), lines < 10'000 ? 3 : 1);
  for (int kernels : {10, 100, 1000})
    if (kernels < 1000 || !is_quick())
      add("kernels/" + std::to_string(kernels), many_kernels(kernels), kernels < 1000 ? 3 : 1);
  for (int levels : {5, 10, 20, 40}) add("call_tree/" + std::to_string(levels), call_tree(levels), 3);
  add("nested_ranges", kNestedRanges, 3);
  add("product_16x16", kProduct16, 3);
  add("inverse_12x12", kInverse12, 3);
  return run_main(argc, argv, "", false);
}
