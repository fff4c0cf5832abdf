// The order of passes between the front end and the executors, with a hook to watch, print and time each stage.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "ir/ir.h"
#include "support/diagnostic.h"

namespace weft::driver {

/// Called after each stage: its name, the module as it is now, and how long the stage took.
using StageObserver = std::function<void(std::string_view stage, const ir::Module& module, double seconds)>;

/// Optimises a module in place, for the given options. The kernel is the module's last function and stays so;
/// functions that nothing calls any more are dropped.
void optimize(ir::Module& module, const CompileOptions& options, const StageObserver& observer = {});

/// Makes the module's kernel its adjoint (autodiff/adjoint.h), tidied far enough to be optimised like any kernel. Errors,
/// with the place in the kernel, go to the sink.
void differentiate(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink);

/// Runs one stage alone, by its name; false if there is none of that name. For tests of single passes.
bool run_stage(ir::Module& module, std::string_view name, const CompileOptions& options);

/// The names of the stages in order, for `weftc --after`.
std::vector<std::string_view> stage_names();

/// Operations in a function, nested ones included.
std::size_t count_ops(const ir::Function& function);
std::size_t count_ops(const ir::Module& module);

}  // namespace weft::driver
