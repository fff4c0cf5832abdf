// The runner behind harness.h.
#include "harness.h"

#include "ir/text.h"
#include "ir/verify.h"

namespace weft::codegen::test {

Program::Program(const std::string& text) {
  DiagnosticSink sink;
  module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  if (!module) throw std::runtime_error(sink.render_all());
  std::string problems = ir::verify(*module);
  if (!problems.empty()) throw std::runtime_error(problems);
}

Failure run(const Program& program, const Block& block, std::vector<std::int64_t> dims, const RunOptions& options) {
  // Written only where it changes: threads may run one program at the same time.
  bool& strided = program.module->functions.back()->form.strided;
  if (strided != (options.strided || block.strided())) strided = !strided;
  EmitOptions emit_options;
  emit_options.lanes = options.lanes;
  emit_options.opt_level = options.opt_level;
  emit_options.free_masks = options.free_masks;
  emit_options.verify = true;
  Emitted code = emit(*program.module, program.kernel(), options.target, emit_options, Output::object);
  std::shared_ptr<LoadedCode> loaded = load_object(code.bytes, code.entry);
  runtime::LaunchContext context;
  runtime::ErrorRecord error;
  context.error = &error;
  std::int64_t total = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    context.dims[d] = dims[d];
    total *= dims[d];
  }
  context.rank = std::int32_t(dims.size());
  std::int64_t step = options.chunk ? options.chunk : std::max<std::int64_t>(total, 1);
  for (std::int64_t at = 0; at < total; at += step)
    loaded->entry()(at, std::min(at + step, total), block.data(), &context);
  Failure failure;
  failure.state = error.state;
  failure.site = error.site;
  for (std::size_t d = 0; d < dims.size(); ++d) failure.linear = failure.linear * dims[d] + error.thread[d];
  failure.index = error.index;
  failure.extent = error.extent;
  return failure;
}

std::vector<int> lane_counts() { return {2, 4, 8, 16}; }

std::vector<TargetSpec> runnable_targets() {
  std::vector<TargetSpec> targets = {host_target()};
  if (targets[0].triple.starts_with("aarch64")) {
    TargetSpec plain = targets[0];
    plain.cpu_name = "generic";
    plain.features = "";
    if (plain != targets[0]) targets.push_back(plain);
  }
  if (!targets[0].triple.starts_with("x86_64")) return targets;
  auto add = [&](const char* cpu, int lanes, const char* without = "") {
    TargetSpec target = targets[0];
    target.cpu_name = cpu;
    target.features = lanes == 8 ? std::string("+avx2,+fma,+f16c,+bmi2") + without : "";
    if (natural_lanes(targets[0]) >= lanes) targets.push_back(target);
  };
  add("x86-64", 4);
  add("haswell", 8);  // AVX2, whose gathers LLVM takes apart
  add("skylake", 8);  // whose gathers are slower than single loads
  add("alderlake", 8, ",-gfni,-vaes,-vpclmulqdq,-avxvnni");
  return targets;
}

}  // namespace weft::codegen::test
