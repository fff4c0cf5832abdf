// What a launch costs beside the work itself: empty and small launches through the runtime and through the public
// interface, against a call through a pointer and against OpenMP and oneTBB loops of the same size.
#include <benchmark/benchmark.h>
#ifdef WEFT_BENCH_TBB
#include <oneapi/tbb/parallel_for.h>
#endif

#include <vector>

#include "common/machine.h"
#include "common/quick.h"
#include "common/sources.h"
#include "driver/kernel_binary.h"
#include "hand/loops.h"
#include "runtime/launch.h"
#include "runtime/params.h"
#include "runtime/scheduler.h"
#include "sema/file_scope.h"
#include "syntax/parser.h"
#include "weft/weft.h"

namespace {

using namespace weft;

/// A kernel below the public interface: its code and the layout of its parameters.
struct Compiled {
  std::shared_ptr<const driver::KernelBinary> binary;
  ParamLayout layout;
};

Compiled build(const char* text) {
  DiagnosticSink sink;
  auto source = std::make_shared<SourceFile>("bench.py", text);
  auto scope = sema::FileScope::make(syntax::parse(source, sink), sink);
  driver::BuildRequest request;
  request.kernel = scope->kernels().front().get();
  Compiled out;
  for (const sema::KernelParam& p : sema::kernel_params(*request.kernel, sink)) {
    request.arg_types.push_back(p.pattern.type);
    out.layout.add(p.name, p.pattern.type);
  }
  request.form.rank = 1;
  request.form.no_overlap = true;
  out.binary = driver::BinaryStore::shared().get(request, sink);
  return out;
}

void call_pointer(benchmark::State& state) {
  void (*volatile function)(std::int64_t, std::int64_t, const void*, void*) = hand_empty;
  bench::let_others_sleep();
  for (auto _ : state) function(0, 1, nullptr, nullptr);
}

void runtime_empty(benchmark::State& state) {
  Compiled kernel = build(bench::kEmpty);
  bench::let_others_sleep();
  for (auto _ : state) runtime::launch(kernel.binary->code(), nullptr, {1});
}

void api_empty(benchmark::State& state) {
  Program program = Program::compile(bench::kEmpty);
  Kernel kernel = program.kernel("empty");
  bench::let_others_sleep();
  for (auto _ : state) kernel.launch({1});
}

void runtime_saxpy(benchmark::State& state) {
  Compiled kernel = build(bench::kSaxpy);
  const std::int64_t n = state.range(0);
  runtime::ParamBlock block("saxpy", kernel.layout);
  runtime::Array x = runtime::Array::zeros(types::f32(), {n}), y = runtime::Array::zeros(types::f32(), {n});
  block.set(0, 0.5);
  block.set(1, x);
  block.set(2, y);
  bench::let_others_sleep();
  for (auto _ : state) runtime::launch(kernel.binary->code(), block.data(), {n});
}

void api_saxpy(benchmark::State& state) {
  Program program = Program::compile(bench::kSaxpy);
  Kernel kernel = program.kernel("saxpy");
  const std::int64_t n = state.range(0);
  Array x = Array::zeros("float32", {n}), y = Array::zeros("float32", {n});
  bench::let_others_sleep();
  for (auto _ : state) kernel.launch({n}, 0.5, x, y);
}

void openmp_saxpy(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  std::vector<float> x(std::size_t(n), 0.0f), y(std::size_t(n), 0.0f);
  bench::let_others_sleep();
  for (auto _ : state) hand_saxpy(n, 0.5f, x.data(), y.data(), runtime::thread_count());
}

void serial_saxpy(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  std::vector<float> x(std::size_t(n), 0.0f), y(std::size_t(n), 0.0f);
  bench::let_others_sleep();
  for (auto _ : state) hand_saxpy(n, 0.5f, x.data(), y.data(), 1);
}

#ifdef WEFT_BENCH_TBB
void tbb_saxpy(benchmark::State& state) {
  const std::int64_t n = state.range(0);
  std::vector<float> x(std::size_t(n), 0.0f), y(std::size_t(n), 0.0f);
  bench::let_others_sleep();
  for (auto _ : state)
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, n), [&](const tbb::blocked_range<std::int64_t>& r) {
      for (std::int64_t i = r.begin(); i < r.end(); ++i)
        y[std::size_t(i)] = 0.5f * x[std::size_t(i)] + y[std::size_t(i)];
    });
}
#endif

}  // namespace

int main(int argc, char** argv) {
  bench::use_private_cache();
  bench::limit_spinning();
  auto add = [](const char* name, auto body) {
    return benchmark::RegisterBenchmark(name, body)
        ->Repetitions(bench::repetitions(7))
        ->MinTime(bench::least_seconds(0.05))
        ->UseRealTime();
  };
  add("launch/call_pointer", call_pointer);
  add("launch/runtime_empty", runtime_empty);
  add("launch/api_empty", api_empty);
  for (std::int64_t n : {16, 256, 4096, 65536, 1 << 20}) {
    add("launch/runtime_saxpy", runtime_saxpy)->Arg(n);
    add("launch/api_saxpy", api_saxpy)->Arg(n);
    add("launch/serial_loop", serial_saxpy)->Arg(n);
    add("launch/openmp_loop", openmp_saxpy)->Arg(n);
#ifdef WEFT_BENCH_TBB
    add("launch/tbb_loop", tbb_saxpy)->Arg(n);
#endif
  }
  return bench::run_main(argc, argv, hand_compiler(), true);
}
