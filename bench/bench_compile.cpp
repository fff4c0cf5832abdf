// How long a ten-line kernel takes from text to running code: stage by stage in a process that has compiled before, and
// as a user meets it, in a fresh process with an empty cache and with a filled one.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "common/machine.h"
#include "common/quick.h"
#include "common/sources.h"
#include "common/stages.h"
#include "driver/kernel_binary.h"
#include "hand/loops.h"
#include "sema/file_scope.h"
#include "syntax/parser.h"
#include "weft/weft.h"

namespace {

using namespace weft;
using bench::StageTimes;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Text to the end of the first launch through the public interface.
double text_to_result(bool cache) {
  static const Array v3 = Array::zeros("vec3", {64}), other = Array::zeros("vec3", {64}),
                     force = Array::zeros("vec3", {64});
  static const Array mass = Array::zeros("float32", {64});
  Options options;
  options.cache = cache;
  auto start = std::chrono::steady_clock::now();
  Program program = Program::compile(bench::kTenLines, "bench.py", options);
  program.kernel("step").launch({64}, v3, other, force, mass, 0.01);
  return seconds_since(start);
}

/// The same below the public interface, to see where the code came from.
driver::BuildReport build_report() {
  DiagnosticSink sink;
  auto source = std::make_shared<SourceFile>("bench.py", bench::kTenLines);
  auto scope = sema::FileScope::make(syntax::parse(source, sink), sink);
  driver::BuildRequest request;
  request.kernel = scope->kernels().front().get();
  for (const sema::KernelParam& p : sema::kernel_params(*request.kernel, sink))
    request.arg_types.push_back(p.pattern.type);
  request.form.rank = 1;
  request.form.no_overlap = true;
  request.source_hash = Hasher().text("bench_compile").text(bench::kTenLines).finish();
  driver::BuildReport report;
  driver::BinaryStore::shared().get(request, sink, &report);
  return report;
}

enum Figure { parse, lower, passes, front, emit, llvm_opt, llvm_codegen, llvm, load, total };
constexpr const char* kFigures[] = {"parse",    "lower",        "passes", "front", "emit",
                                    "llvm_opt", "llvm_codegen", "llvm",   "load",  "total"};

double pick(const StageTimes& t, Figure figure) {
  switch (figure) {
    case parse: return t.parse;
    case lower: return t.lower;
    case passes: return t.passes;
    case front: return t.own();
    case emit: return t.emit;
    case llvm_opt: return t.llvm_opt;
    case llvm_codegen: return t.llvm_codegen;
    case llvm: return t.llvm();
    case load: return t.load;
    case total: return t.total();
  }
  return 0;
}

/// One stage's share of compiles in this process, caches of the processor and of LLVM warm.
void stage(benchmark::State& state, Figure figure) {
  bool machine_code = figure >= emit;
  for (auto _ : state) state.SetIterationTime(pick(bench::compile_stages(bench::kTenLines, machine_code), figure));
}

void repeated_without_cache(benchmark::State& state) {
  for (auto _ : state) state.SetIterationTime(text_to_result(false));
}

/// The code dies with each program, so that every round reads it from disk anew.
void repeated_from_disk(benchmark::State& state) {
  text_to_result(true);
  for (auto _ : state) state.SetIterationTime(text_to_result(true));
  build_report();
  driver::BuildReport report = build_report();
  if (report.source != driver::BuildReport::Source::disk || !report.source_key_hit)
    state.SkipWithError("the cache was not hit");
  state.counters["llvm_seconds"] = report.seconds_emit + report.seconds_llvm_opt + report.seconds_codegen;
}

/// A process that has never compiled: pages of the library untouched, no target machine, nothing warmed up.
void fresh_process(benchmark::State& state, bool cache) {
  auto work = [cache] {
    StageTimes times;
    times.load = text_to_result(cache);
    return times;
  };
  if (cache) bench::in_child(work);
  for (auto _ : state) state.SetIterationTime(bench::in_child(work).load);
}

}  // namespace

int main(int argc, char** argv) {
  bench::use_private_cache();
  auto add = [](const std::string& name, auto body) {
    return benchmark::RegisterBenchmark(("compile/" + name).c_str(), body)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  };
  // Fresh processes come first: children inherit what this process has touched.
  add("fresh/no_cache", [](benchmark::State& s) { fresh_process(s, false); })
      ->Iterations(1)
      ->Repetitions(bench::repetitions(9));
  add("fresh/disk_cache", [](benchmark::State& s) { fresh_process(s, true); })
      ->Iterations(1)
      ->Repetitions(bench::repetitions(9));
  for (int figure = parse; figure <= total; ++figure)
    add("stage/" + std::string(kFigures[figure]), [figure](benchmark::State& s) { stage(s, Figure(figure)); })
        ->Iterations(figure < emit ? 50 : 5)
        ->Repetitions(bench::repetitions(5));
  add("text_to_result/no_cache", repeated_without_cache)->Iterations(5)->Repetitions(bench::repetitions(5));
  add("text_to_result/disk_cache", repeated_from_disk)->Iterations(20)->Repetitions(bench::repetitions(5));
  return bench::run_main(argc, argv, "", false);
}
