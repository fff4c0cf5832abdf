// One compile, stage by stage.
#include "common/stages.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/machine.h"
#include "driver/kernel_binary.h"
#include "driver/pipeline.h"
#include "sema/file_scope.h"
#include "syntax/parser.h"

namespace weft::bench {
namespace {

class Clock {
 public:
  /// Seconds since the last call.
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void stop_on_errors(const DiagnosticSink& sink) {
  if (!sink.has_errors()) return;
  std::fputs(sink.render_all().c_str(), stderr);
  std::abort();
}

}  // namespace

StageTimes compile_stages(const std::string& text, bool machine_code, int lanes) {
  StageTimes times;
  times.lines = std::size_t(std::count(text.begin(), text.end(), '\n'));
  std::size_t memory = peak_memory();
  DiagnosticSink sink;

  Clock clock;
  auto source = std::make_shared<SourceFile>("bench.py", text);
  auto scope = sema::FileScope::make(syntax::parse(source, sink), sink);
  times.parse = clock.lap();
  stop_on_errors(sink);

  std::vector<std::unique_ptr<ir::Module>> modules;
  driver::CompileOptions options;
  for (const auto& kernel : scope->kernels()) {
    driver::BuildRequest request;
    request.kernel = kernel.get();
    request.form.no_overlap = true;
    request.form.rank = 1;
    clock.lap();
    auto module = driver::front_end(request, sink);
    times.lower += clock.lap();
    stop_on_errors(sink);
    times.ops_lowered += driver::count_ops(*module);
    clock.lap();
    driver::optimize(*module, options);
    times.passes += clock.lap();
    times.ops_optimised += driver::count_ops(*module);
    modules.push_back(std::move(module));
  }
  times.kernels = modules.size();
  times.memory_own = peak_memory() - memory;
  if (!machine_code) return times;

  memory = peak_memory();
  const codegen::TargetSpec target = codegen::host_target();
  codegen::EmitOptions emit;
  emit.lanes = lanes;
  for (const auto& module : modules) {
    codegen::Emitted code = codegen::emit(*module, *module->functions.back(), target, emit, codegen::Output::object);
    times.emit += code.seconds_emit;
    times.llvm_opt += code.seconds_opt;
    times.llvm_codegen += code.seconds_codegen;
    times.object_bytes += code.bytes.size();
    clock.lap();
    auto loaded = codegen::load_object(code.bytes, code.entry);
    times.load += clock.lap();
  }
  times.memory_llvm = peak_memory() - memory;
  return times;
}

StageTimes in_child(const std::function<StageTimes()>& work) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) {
    StageTimes times = work();
    bool sent = write(ends[1], &times, sizeof times) == ssize_t(sizeof times);
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  StageTimes times;
  bool received = read(ends[0], &times, sizeof times) == ssize_t(sizeof times);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!received || status != 0) {
    std::fputs("a benchmark's child process failed\n", stderr);
    std::abort();
  }
  return times;
}

}  // namespace weft::bench
