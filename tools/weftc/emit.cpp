// From source text (or textual IR) to the stage that was asked for.
#include "emit.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

#include "analysis/lane_text.h"
#include "autodiff/adjoint.h"
#include "codegen/own_target.h"
#include "driver/kernel_binary.h"
#include "driver/pipeline.h"
#include "driver/taping.h"
#include "ir/clone.h"
#include "ir/text.h"
#include "sema/file_scope.h"
#include "sema/lowering.h"
#include "syntax/parser.h"
#include "syntax/print.h"
#include "weft/weft.h"

namespace weftc {
namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;

class Report {
 public:
  explicit Report(bool on) : on_(on) {}
  void add(std::string_view stage, double seconds, std::size_t ops = 0) {
    if (!on_) return;
    char line[160];
    if (ops)
      std::snprintf(line, sizeof line, "%-16.*s %10.3f ms %8zu ops\n", int(stage.size()), stage.data(), seconds * 1e3,
                    ops);
    else
      std::snprintf(line, sizeof line, "%-16.*s %10.3f ms\n", int(stage.size()), stage.data(), seconds * 1e3);
    std::cerr << line;
  }
  template <class F>
  auto time(std::string_view stage, F&& f) {
    Clock::time_point start = Clock::now();
    auto result = f();
    add(stage, std::chrono::duration<double>(Clock::now() - start).count());
    return result;
  }

 private:
  bool on_;
};

codegen::TargetSpec target_of(const Arguments& args) {
  if (args.target == "cpu") return codegen::host_target();
  if (args.target == "sm_90a") return codegen::with_own(codegen::nvptx_target(90));
  if (args.target.size() == 5 && args.target.starts_with("sm_")) {
    int sm = std::atoi(args.target.c_str() + 3);
    if (sm >= 70 && sm <= 90) return codegen::nvptx_target(sm);
  }
  throw UsageError("unknown target '" + args.target + "'; there are cpu, sm_70 to sm_90 and sm_90a");
}

/// A module from textual IR: its last kernel counts.
std::vector<std::unique_ptr<ir::Module>> modules_from_ir(const Arguments& args, Report& report, DiagnosticSink& sink) {
  auto source = std::make_shared<SourceFile>(args.file, read_text(args.file));
  auto module = report.time("parse-ir", [&] { return ir::parse_module(source, sink); });
  std::vector<std::unique_ptr<ir::Module>> out;
  if (!module) return out;
  for (const auto& function : module->functions)
    if (args.kernel.empty() ? function->kind == ir::FunctionKind::kernel : function->name == args.kernel)
      out.push_back(ir::extract_closure(*function, module.get()));
  for (auto& one : out) driver::derive(*one, args.options, sink);
  if (sink.has_errors()) return {};
  if (args.options.tangent)
    for (auto& one : out) driver::make_tangent(*one, args.options, sink);
  if (args.adjoint || args.taped)
    for (auto& one : out) {
      one->functions.back()->form.adjoint = args.adjoint;
      one->functions.back()->form.taped = args.taped;
      driver::differentiate(*one, args.options, sink);
    }
  if (out.empty())
    throw Error(args.kernel.empty() ? "there is no kernel in the IR"
                                    : "there is no kernel '" + args.kernel + "' in the IR");
  return out;
}

const Type* type_from_text(const std::string& text, sema::Scope& scope) {
  syntax::Tree tree;
  tree.source = std::make_shared<SourceFile>("<type>", text);
  DiagnosticSink sink;
  const syntax::Expr* expr = syntax::parse_expression(tree, sink);
  auto pattern = expr ? sema::eval_annotation(*expr, scope, sink) : std::nullopt;
  if (!pattern || pattern->kind != builtins::Pattern::Kind::exact) throw UsageError("'" + text + "' is not a type");
  return pattern->type;
}

std::vector<std::unique_ptr<ir::Module>> modules_from_source(const Arguments& args, Report& report,
                                                             DiagnosticSink& sink) {
  auto source = std::make_shared<SourceFile>(args.file, read_text(args.file));
  auto tree = report.time("parse", [&] { return syntax::parse(source, sink); });
  auto scope = sema::FileScope::make(tree, sink);
  std::vector<std::unique_ptr<ir::Module>> out;
  std::vector<std::shared_ptr<const sema::FunctionDecl>> chosen;
  if (args.kernel.empty())
    chosen = scope->kernels();
  else if (auto decl = scope->find_kernel(args.kernel))
    chosen.push_back(decl);
  else if (!sink.has_errors())
    throw Error("there is no kernel '" + args.kernel + "' in " + args.file);
  if (chosen.empty() && !sink.has_errors()) throw Error("there is no kernel in " + args.file);
  for (const auto& decl : chosen) {
    driver::BuildRequest request;
    request.kernel = decl.get();
    request.options = args.options;
    request.form.rank = std::uint8_t(args.rank);
    request.form.no_overlap = args.no_overlap;
    request.form.strided = args.strided;
    request.form.aligned = args.aligned;
    request.form.adjoint = args.adjoint;
    request.form.taped = args.taped;
    if (!args.types.empty() || args.options.tangent) {
      for (const sema::KernelParam& p : sema::kernel_params(*decl, sink)) {
        const Type* type = p.pattern.kind == builtins::Pattern::Kind::exact ? p.pattern.type : nullptr;
        for (const std::string& given : args.types)
          if (given.substr(0, given.find('=')) == p.name)
            type = type_from_text(given.substr(given.find('=') + 1), *scope);
        request.arg_types.push_back(type);
      }
      const std::vector<const Type*> own = request.arg_types;
      if (args.options.tangent) request.arg_types.insert(request.arg_types.end(), own.begin(), own.end());
    }
    auto module =
        report.time("lower " + std::string(decl->def->name), [&] { return driver::front_end(request, sink); });
    if (module) out.push_back(std::move(module));
  }
  return out;
}

std::string emit_machine(const ir::Module& module, const Arguments& args, Report& report) {
  codegen::TargetSpec target = target_of(args);
  bool gpu = target.arch == codegen::TargetSpec::nvptx;
  codegen::Output output = codegen::Output::llvm_ir;
  if (args.emit == "llvm-opt")
    output = codegen::Output::llvm_ir_opt;
  else if (args.emit == "asm")
    output = gpu ? codegen::Output::ptx : codegen::Output::assembly;
  else if (args.emit == "obj")
    output = codegen::Output::object;
  else if (args.emit == "ptx")
    output = codegen::Output::ptx;
  if (args.emit == "ptx" && !gpu) target = codegen::nvptx_target(75);
  codegen::EmitOptions options;
  options.lanes = args.options.lanes;
  options.opt_level = args.options.opt_level;
  options.fast_math = args.options.fast_math;
  options.libdevice = args.options.gpu.libdevice;
  options.line_info = args.options.gpu.line_info;
  codegen::Emitted emitted = codegen::emit(module, *module.functions.back(), target, options, output);
  report.add("emit", emitted.seconds_emit);
  report.add("llvm-opt", emitted.seconds_opt);
  report.add("llvm-codegen", emitted.seconds_codegen);
  return emitted.bytes;
}

}  // namespace

void write_output(const Arguments& args, const std::string& bytes) {
  if (args.output.empty()) {
    std::cout.write(bytes.data(), std::streamsize(bytes.size()));
    std::cout.flush();
    return;
  }
  std::ofstream out(args.output, std::ios::binary);
  out.write(bytes.data(), std::streamsize(bytes.size()));
  if (!out) throw Error("can't write '" + args.output + "'");
}

std::string read_text(const std::string& path) {
  std::stringstream text;
  if (path == "-") {
    text << std::cin.rdbuf();
    return text.str();
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("can't read the file '" + path + "'");
  text << in.rdbuf();
  return text.str();
}

int emit_stage(const Arguments& asked) {
  Arguments args = asked;
  args.options.gpu.target = args.emit == "ptx" || args.target.starts_with("sm_");
  if (args.target.starts_with("sm_")) {
    const codegen::TargetSpec target = target_of(args);
    args.options.gpu.sm = target.sm;
    args.options.gpu.own = codegen::has_own(target);
  }
  if (args.emit == "adjoint") {  // as people read it: elementary functions still by name
    args.adjoint = true;
    args.emit = "ir-opt";
    if (args.after.empty()) args.after = "dce-3";
  }
  if (args.after == "help") {
    for (std::string_view name : driver::stage_names()) std::cout << name << "\n";
    return 0;
  }
  static const char* known[] = {"tokens", "ast", "ir", "ir-opt", "ir-lanes", "llvm", "llvm-opt", "asm", "obj", "ptx"};
  bool ok = false;
  for (const char* k : known) ok = ok || args.emit == k;
  if (!ok) throw UsageError("unknown stage '" + args.emit + "' for --emit");

  DiagnosticSink sink;
  Report report(args.time);
  auto finish = [&](const std::string& bytes) {
    std::cerr << sink.render_all();
    if (sink.has_errors()) return 1;
    write_output(args, bytes);
    return 0;
  };
  if (args.emit == "tokens" || args.emit == "ast") {
    auto source = std::make_shared<SourceFile>(args.file, read_text(args.file));
    if (args.emit == "tokens") return finish(syntax::print_tokens(*source, sink));
    auto tree = report.time("parse", [&] { return syntax::parse(source, sink); });
    return finish(syntax::print(*tree));
  }
  bool from_ir = args.file.ends_with(".wir");
  auto modules = from_ir ? modules_from_ir(args, report, sink) : modules_from_source(args, report, sink);
  if (sink.has_errors()) return finish("");
  bool machine =
      args.emit == "llvm" || args.emit == "llvm-opt" || args.emit == "asm" || args.emit == "obj" || args.emit == "ptx";
  if (machine && modules.size() != 1)
    throw UsageError("--emit=" + args.emit + " is for one kernel: name it with --kernel");

  ir::PrintOptions print;
  print.locations = args.locations;
  if (!args.after.empty()) {
    bool found = false;
    for (std::string_view name : driver::stage_names()) found = found || name == args.after;
    if (!found) throw UsageError("there is no stage '" + args.after + "'; '--after help' names them");
  }
  std::string out;
  for (auto& module : modules) {
    if (!args.passes.empty()) {
      for (const std::string& pass : args.passes)
        if (!driver::run_stage(*module, pass, args.options))
          throw UsageError("there is no stage '" + pass + "'; '--after help' names them");
      out += ir::print(*module, print);
      continue;
    }
    std::string at_stage;
    auto lanes_text = [&](const ir::Module& now) {
      const ir::Function& kernel = *now.functions.back();
      int lanes = args.options.lanes ? args.options.lanes : codegen::choose_lanes(kernel, target_of(args));
      return analysis::lane_text(kernel, lanes);
    };
    if (args.emit != "ir" || !args.after.empty())
      driver::optimize(*module, args.options, [&](std::string_view stage, const ir::Module& now, double seconds) {
        report.add(stage, seconds, args.time ? driver::count_ops(now) : 0);
        if (stage == args.after) at_stage = args.emit == "ir-lanes" ? lanes_text(now) : ir::print(now, print);
      });
    if (!args.after.empty())
      out += at_stage;
    else if (args.emit == "ir" || args.emit == "ir-opt")
      out += ir::print(*module, print);
    else if (args.emit == "ir-lanes")
      out += lanes_text(*module);
    else if (autodiff::check_recalls(*module, sink))
      out += emit_machine(*module, args, report);
  }
  return finish(out);
}

int list_kernels(const Arguments& args) {
  Program program = Program::load(args.file);
  for (const std::string& name : program.kernel_names()) {
    std::cout << name << "(";
    bool first = true;
    for (const Kernel::Param& p : program.kernel(name).params()) {
      std::cout << (first ? "" : ", ") << p.name << ": " << p.type;
      first = false;
    }
    std::cout << ")\n";
  }
  return 0;
}

}  // namespace weftc
