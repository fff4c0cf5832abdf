// Counts of builds, and the functions that tell them to Python.
#include "bind/build_counts.h"

#include <algorithm>
#include <atomic>

#include "driver/late_code.h"

namespace weft::bind {
namespace {

/// Where the forms of this process came from, and what compiling took; for reports and tests.
struct BuildCounts {
  std::atomic<int> compiled{0}, disk{0}, process{0}, by_source{0}, first{0}, full{0}, late{0};
  std::atomic<double> front{0}, passes{0}, emit{0}, llvm_opt{0}, codegen{0}, load{0};
} counts;

}  // namespace

void count_build(const driver::BuildReport& report, bool late) {
  if (late) ++counts.late;
  counts.front += report.seconds_front;
  counts.passes += report.seconds_passes;
  counts.emit += report.seconds_emit;
  counts.llvm_opt += report.seconds_llvm_opt;
  counts.codegen += report.seconds_codegen;
  counts.load += report.seconds_load;
  switch (report.source) {
    case driver::BuildReport::Source::compiled: ++counts.compiled; break;
    case driver::BuildReport::Source::disk: ++counts.disk; break;
    case driver::BuildReport::Source::process: ++counts.process; break;
  }
  if (report.source_key_hit) ++counts.by_source;
  if (report.first) ++counts.first;
}

void count_full_version() { ++counts.full; }

void register_build_counts(nb::module_& m) {
  m.def(
      "build_counts",
      [] {
        nb::dict out;
        out["compiled"] = int(counts.compiled);
        out["disk"] = int(counts.disk);
        out["process"] = int(counts.process);
        out["by_source"] = int(counts.by_source);
        out["first"] = int(counts.first);
        out["full"] = int(counts.full);
        return out;
      },
      "How many forms of kernels were compiled, loaded from disk or found in the process, how many of these were found by "
      "their source key, without the front end, how many are first versions, and how many full ones replaced one.");
  m.def(
      "build_seconds",
      [] {
        nb::dict out;
        out["front end"] = double(counts.front);
        out["passes"] = double(counts.passes);
        out["emission"] = double(counts.emit);
        out["LLVM's passes"] = double(counts.llvm_opt);
        const double assembler = driver::assembler_seconds();
        out["LLVM's code generation"] = std::max(double(counts.codegen) - assembler, 0.0);
        out["assembler"] = assembler;
        out["loading"] = double(counts.load);
        return out;
      },
      "What the stages of compiling took for kernels that were launched, in seconds of all threads together.");
  m.def(
      "count_late_launches", [] { return int(counts.late); },
      "How many kernels were compiled while launches of them waited in a queue.");
}

}  // namespace weft::bind
