// The order of passes between the front end and the executors, with a hook to watch, print and time each stage.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "driver/options.h"
#include "ir/ir.h"
#include "passes/inline_calls.h"
#include "support/diagnostic.h"

namespace weft::driver {

/// Called after each stage: its name, the module as it is now, and how long the stage took.
using StageObserver = std::function<void(std::string_view stage, const ir::Module& module, double seconds)>;

/// Optimises a module in place, for the given options. The kernel is the module's last function and stays so;
/// functions that nothing calls any more are dropped.
void optimize(ir::Module& module, const CompileOptions& options, const StageObserver& observer = {});

/// The two halves around differentiation, for modules where `root` is what shall be differentiated: tidied and inlined
/// as far as it may be, and after it rid of dead code, with errors for what can't be computed again.
void prepare_gradients(ir::Module& module, const ir::Function& root, passes::InlineLimits limits,
                       const CompileOptions& options);
void finish_gradients(ir::Module& module, const ir::Function& root, const CompileOptions& options,
                      DiagnosticSink& sink);
/// The second half without its errors.
void drop_dead_gradients(ir::Module& module, const ir::Function& root, const CompileOptions& options);

/// Writes the bodies of functions that are derivatives of others (wp.grad). Errors go to the sink.
void derive(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink);

/// Runs one stage alone, by its name, or a pass that is part of one; false if there is none of that name. For tests of
/// single passes.
bool run_stage(ir::Module& module, std::string_view name, const CompileOptions& options);

/// The names of the stages in order, for `weftc --after`.
std::vector<std::string_view> stage_names();

/// Operations in a function, nested ones included.
std::size_t count_ops(const ir::Function& function);
std::size_t count_ops(const ir::Module& module);

}  // namespace weft::driver
