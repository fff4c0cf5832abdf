// Counts of builds, and the functions that tell them to Python.
#include "bind/build_counts.h"

#include <algorithm>
#include <atomic>

#include "driver/build_log.h"
#include "driver/late_code.h"

namespace weft::bind {
namespace {

/// Where the forms of this process came from, and what compiling took; for reports and tests.
struct BuildCounts {
  std::atomic<int> compiled{0}, disk{0}, process{0}, by_source{0}, first{0}, full{0}, late{0};
  std::atomic<double> front{0}, passes{0}, emit{0}, llvm_opt{0}, codegen{0}, load{0};
} counts;

/// A row of the record as Python has it; times in seconds.
nb::dict row_as_dict(const driver::BuildRow& row) {
  using Source = driver::BuildReport::Source;
  const driver::BuildReport& report = row.report;
  const bool gpu = row.device >= 0;
  auto known = [](bool is, int number) { return is ? nb::object(nb::int_(number)) : nb::none(); };
  nb::dict out;
  out["kernel"] = row.kernel;
  out["place"] = row.place;
  out["adjoint"] = row.form.adjoint;
  out["device"] = row.device;
  out["first"] = report.first;
  out["after_first"] = row.after_first;
  out["source"] = report.source == Source::compiled ? "compiled" : report.source == Source::disk ? "cache" : "process";
  out["lanes"] = known(!gpu, report.lanes);
  out["block"] = known(gpu, row.block);
  out["registers"] = known(gpu, row.registers);
  out["local_bytes"] = known(gpu, row.local_bytes);
  out["shared_bytes"] = known(gpu, row.shared_bytes);
  out["operations"] = known(report.ir_ops != 0, int(report.ir_ops));
  out["front_end"] = report.seconds_front;
  out["passes"] = report.seconds_passes;
  out["emission"] = report.seconds_emit;
  out["llvm_passes"] = report.seconds_llvm_opt;
  out["code_generation"] = std::max(report.seconds_codegen - report.seconds_assembler, 0.0);
  out["assembler"] = report.seconds_assembler;
  out["loading"] = report.seconds_load;
  return out;
}

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
      "compiled_count", [] { return int(counts.compiled); },
      "How many forms of kernels were compiled; first launches ask for it.");
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
  m.def("record_kernels", &driver::BuildLog::record, nb::arg("wanted"),
        "Begins a record of what is compiled and loaded, or ends it; its rows stay.");
  m.def(
      "recorded_kernels",
      [] {
        nb::list out;
        for (const driver::BuildRow& row : driver::BuildLog::rows()) out.append(row_as_dict(row));
        return out;
      },
      "The record, a dictionary for each build in the order in which they ended; times in seconds.");
  m.def(
      "count_late_launches", [] { return int(counts.late); },
      "How many kernels were compiled while launches of them waited in a queue.");
}

}  // namespace weft::bind
