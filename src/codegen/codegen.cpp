// The back end's front door: chooses lanes, emits LLVM IR, optimises it and writes what was asked for.
#include "codegen/codegen.h"

#include "codegen/emission.h"

#include <chrono>
#include <optional>

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "analysis/lifetimes.h"
#include "codegen/background.h"
#include "codegen/cpu/lane_choice.h"
#include "codegen/cpu/spin_loops.h"
#include "codegen/emit/emitter.h"
#include "codegen/emit/line_table.h"
#include "codegen/emit/target_hooks.h"
#include "codegen/llvm_passes/keep_negations.h"
#include "codegen/llvm_passes/keep_selects.h"
#include "codegen/llvm_passes/machine_passes.h"
#include "codegen/llvm_passes/optimize.h"
#include "codegen/llvm_passes/reductions.h"
#include "codegen/nvptx/early_start.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::codegen {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The wished lane count, or 1 where more would be wrong: spin loops hang in lockstep, stacks are finite.
int allowed_lanes(const ir::Function& kernel, const TargetSpec& target, const EmitOptions& options) {
  PrivateMemory memory = private_memory(kernel);
  if (memory.bytes > kMaxPrivateBytes)
    throw Error("kernel " + kernel.name + " needs " + std::to_string(memory.bytes >> 10) +
                    " KiB of private memory per thread; " + std::to_string(kMaxPrivateBytes >> 10) +
                    " KiB are allowed: use a smaller local array or an array argument",
                memory.largest ? memory.largest->loc : kernel.loc);
  int lanes = options.lanes;
  if (lanes == 0) return choose_lanes(kernel, target);
  if (lanes != 1 && lanes != 2 && lanes != 4 && lanes != 8 && lanes != 16 && lanes != 32)
    throw Error("lanes must be 1, 2, 4, 8, 16 or 32, not " + std::to_string(lanes));
  if (target.arch == TargetSpec::nvptx || kernel.form.block || has_spin_loop(kernel) || calls_native(kernel)) return 1;
  return memory.bytes * unsigned(lanes) > kMaxPrivateBytes ? 1 : lanes;
}

/// Throws for private arrays that would have to live longer than their memory.
void check_lifetimes(const ir::Module& module) {
  analysis::Effects effects;
  for (const auto& function : module.functions) {
    bool any = false;
    ir::walk(*function->body, [&](const ir::Op& op) { any = any || (op.code == ir::OpCode::local && !op.imm); });
    if (!any) continue;
    const analysis::Alias alias(*function, effects);
    if (const ir::Op* local = analysis::outliving_local(*function, alias))
      throw Error(analysis::kOutlivingLocal, local->loc);
  }
}

std::string print_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

void set_target(CodeUnit& unit) {
  unit.module->setTargetTriple(unit.target.triple);
  unit.module->setDataLayout(target_machine(unit.target, unit.options.opt_level).createDataLayout());
}

/// Asks LLVM whether what was emitted is whole, in tests.
void verify(const CodeUnit& unit) {
  if (!unit.options.verify) return;
  std::string problems;
  llvm::raw_string_ostream out(problems);
  const bool broken = llvm::verifyModule(*unit.module, &out);
  WEFT_CHECK(!broken, problems + "\n" + print_module(*unit.module));
}

/// From LLVM IR to what was asked for.
void finish(CodeUnit& unit, Output output, Emitted& result, bool vectors = false, bool of_block = false) {
  if (output == Output::llvm_ir) {
    result.bytes = print_module(*unit.module);
    return;
  }

  auto start = std::chrono::steady_clock::now();
  const bool natives = unit.has_natives();
  const bool linked = unit.hooks->link_libraries(*unit.module, unit.options, natives) || natives;
  int level = effective_level(*unit.module, unit.options.opt_level);
  // Vectors that LLVM makes take what its processors' features say of gathers.
  TargetSpec machines = unit.target;
  if (vectors && unit.traits.gathers && !unit.traits.quick_gathers) machines.features += ",+prefer-no-gather";
  llvm::TargetMachine& machine = target_machine(machines, level);
  optimize(*unit.module, machine, level, linked, vectors, of_block);
  if (!unit.traits.x86) keep_selects(*unit.module);
  if (machine.getTargetTriple().isAArch64()) keep_negations(*unit.module);
  if (unit.target.arch == TargetSpec::cpu) find_reductions(*unit.module);
  result.seconds_opt = seconds_since(start);
  if (output == Output::llvm_ir_opt) {
    result.bytes = print_module(*unit.module);
    return;
  }

  start = std::chrono::steady_clock::now();
  auto type = output == Output::object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  result.bytes = write_machine_code(*unit.module, machine, type, level);
  unit.hooks->finish_output(*unit.module, result.bytes);
  result.seconds_codegen = seconds_since(start);
}

}  // namespace

struct Emission::State {
  State(const ir::Module& module, const TargetSpec& asked_target, const EmitOptions& asked_options, int lanes,
        Output asked)
      : target(asked_target), options(asked_options), output(asked), unit(module, target, options, lanes) {}

  const TargetSpec target;
  const EmitOptions options;
  const Output output;
  CodeUnit unit;
  Emitted result;
  bool along = false;     // LLVM makes vectors along the elements of tiles
  bool of_block = false;  // threads share memory
};

Emission::Emission(const ir::Module& module, const ir::Function& kernel, const TargetSpec& target,
                   const EmitOptions& options, Output output) {
  WEFT_CHECK(kernel.kind == ir::FunctionKind::kernel, "only kernels have an entry");
  if ((output == Output::ptx) != (target.arch == TargetSpec::nvptx) &&
      (output == Output::ptx || output == Output::object))
    throw Error(output == Output::ptx ? "PTX is for nvptx targets" : "object code is for CPU targets; ask for PTX");
  check_lifetimes(module);
  std::optional<BackgroundCompile> background;
  if (options.background) background.emplace();
  const int lanes = allowed_lanes(kernel, target, options);
  const auto start = std::chrono::steady_clock::now();
  state_ = std::make_unique<State>(module, target, options, lanes, output);
  CodeUnit& unit = state_->unit;
  Emitted& result = state_->result;
  result.lanes = lanes;
  result.entry = entry_name(kernel);
  set_target(unit);
  unit.emit_kernel(kernel);
  if (unit.lines) unit.lines->finish();
  unit.hooks->describe(result);
  // With many lanes, too: the last few blocks run one by one.
  state_->along = target.arch == TargetSpec::cpu && !kernel.form.block && ir::find_tile_memory(*kernel.body);
  state_->of_block = kernel.form.block > 0;
  verify(unit);
  result.seconds_emit = seconds_since(start);
}

Emission::~Emission() = default;

const Emitted& Emission::begun() const { return state_->result; }

Emitted Emission::finish() {
  std::optional<BackgroundCompile> background;
  if (state_->options.background) background.emplace();
  codegen::finish(state_->unit, state_->output, state_->result, state_->along, state_->of_block);
  if (state_->output == Output::ptx && state_->target.sm >= kFirstEarlyStart) {
    begin_by_waiting(state_->result.bytes);
    state_->result.waits_first = true;
  }
  return std::move(state_->result);
}

Emitted emit(const ir::Module& module, const ir::Function& kernel, const TargetSpec& target, const EmitOptions& options,
             Output output) {
  return Emission(module, kernel, target, options, output).finish();
}

Emitted emit_apart(const ir::Module& module, const ir::Function& function, const std::string& symbol,
                   const TargetSpec& target, const EmitOptions& options) {
  std::optional<BackgroundCompile> background;
  if (options.background) background.emplace();
  Emitted result;
  result.entry = symbol;
  auto start = std::chrono::steady_clock::now();
  CodeUnit unit(module, target, options, 1);
  set_target(unit);
  unit.emit_function(function, symbol);
  verify(unit);
  result.seconds_emit = seconds_since(start);
  finish(unit, Output::object, result);
  return result;
}

}  // namespace weft::codegen
