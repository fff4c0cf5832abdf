// The shared main, the private cache folder, memory.
#include "common/machine.h"

#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "codegen/codegen.h"
#include "runtime/scheduler.h"

namespace weft::bench {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return codegen::host_target().cpu_name;
}

}  // namespace

int run_main(int argc, char** argv, const std::string& hand, bool interleave) {
  std::vector<char*> arguments = {argv[0]};
  std::string own[] = {"--benchmark_enable_random_interleaving=true", "--benchmark_counters_tabular=true"};
  for (std::string& argument : own)
    if (interleave || &argument != &own[0]) arguments.push_back(argument.data());
  for (int i = 1; i < argc; ++i) arguments.push_back(argv[i]);
  int count = int(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  const codegen::TargetSpec target = codegen::host_target();
  benchmark::AddCustomContext("processor", processor());
  benchmark::AddCustomContext("llvm_cpu", target.cpu_name);
  benchmark::AddCustomContext("natural_lanes", std::to_string(codegen::natural_lanes(target)));
  benchmark::AddCustomContext("threads", std::to_string(runtime::thread_count()));
  if (!hand.empty()) benchmark::AddCustomContext("hand_written_by", hand);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

const std::string& use_private_cache() {
  static const std::string folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "weft_bench_XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    setenv("WEFT_CACHE_PATH", name.c_str(), 1);
    return name;
  }();
  // Children that benchmarks fork leave by _exit and so never remove it.
  static const bool removed_at_exit = std::atexit([] {
                                        std::error_code ignored;
                                        std::filesystem::remove_all(use_private_cache(), ignored);
                                      }) == 0;
  (void)removed_at_exit;
  return folder;
}

void limit_spinning() {
  setenv("KMP_BLOCKTIME", "20", 0);
  setenv("GOMP_SPINCOUNT", "2000000", 0);
}

void let_others_sleep() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

std::size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::size_t(usage.ru_maxrss) * 1024;
}

}  // namespace weft::bench
