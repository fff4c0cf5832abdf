// Which sites a log must have is found by differentiating: what the adjoint has to recall is added, and the adjoint made
// again, until nothing is missing. A recalled value may hang on conditions that need another one, so it can take rounds.
#include "driver/taping.h"

#include "analysis/handles.h"
#include "autodiff/activity.h"
#include "autodiff/adjoint.h"
#include "autodiff/tangent_order.h"
#include "driver/pipeline.h"
#include "ir/clone.h"
#include "ir/walk.h"

namespace weft::driver {
namespace {

autodiff::AdjointOptions adjoint_options(const CompileOptions& options, DiagnosticSink& ordered) {
  autodiff::AdjointOptions how;
  how.slots_are_far = options.gpu.target;
  how.ordered = &ordered;
  how.seeds = options.seeds;
  return how;
}

/// What an adjoint does beside the gradients of arrays.
struct Extras {
  bool prints = false;   // what the kernel prints, and its adjoints
  bool numbers = false;  // gradients of numbers in structs
};

std::unique_ptr<ir::Module> logging_adjoint(const ir::Module& prepared, const CompileOptions& options, Extras extras,
                                            autodiff::LogPlan& log, DiagnosticSink& ordered, DiagnosticSink& sink) {
  std::size_t errors = sink.error_count();
  for (;;) {
    std::unique_ptr<ir::Module> adjoint = ir::clone(prepared);
    autodiff::AdjointOptions how = adjoint_options(options, ordered);
    how.log = &log;
    how.prints = extras.prints;
    how.into_numbers = extras.numbers;
    autodiff::make_adjoint(*adjoint, how, sink);
    if (sink.error_count() != errors) return adjoint;
    drop_dead_gradients(*adjoint, *adjoint->functions.back(), options);
    std::vector<std::uint32_t> sites = autodiff::missing_sites(*adjoint);
    if (sites.empty()) {
      autodiff::check_recalls(*adjoint, sink);
      return adjoint;
    }
    sites.insert(sites.end(), log.sites.begin(), log.sites.end());
    log = autodiff::plan_log(*prepared.functions.back(), std::move(sites), sink);
    if (sink.error_count() != errors) return adjoint;
  }
}

bool has_numbers(const ir::Function& kernel) {
  std::vector<const Type*> types;
  for (const ir::Value* param : kernel.params()) types.push_back(param->type);
  return !autodiff::number_leaves(types).empty();
}

/// The adjoint of a prepared module, with a log of all that it can't compute again. Kernels that print do so in reverse, too,
/// and numbers in structs get gradients, unless that needs what can't be written down.
std::unique_ptr<ir::Module> recording_adjoint(const ir::Module& prepared, const CompileOptions& options,
                                              autodiff::LogPlan& log, DiagnosticSink& ordered, DiagnosticSink& sink) {
  const ir::Function& kernel = *prepared.functions.back();
  const Extras all{autodiff::prints(kernel), has_numbers(kernel)};
  std::vector<Extras> ways = {all};
  if (all.prints && all.numbers) ways.insert(ways.end(), {{.numbers = true}, {.prints = true}});
  for (Extras tried : ways) {
    if (!tried.prints && !tried.numbers) break;
    DiagnosticSink notes, errors;
    autodiff::LogPlan own_log;
    auto made = logging_adjoint(prepared, options, tried, own_log, notes, errors);
    if (errors.has_errors()) continue;
    log = std::move(own_log);
    ordered = std::move(notes);
    return made;
  }
  return logging_adjoint(prepared, options, {}, log, ordered, sink);
}

/// Without a log: what the kernel prints is left out if the adjoint would have to recall it.
bool make_printing_adjoint(ir::Module& module, const CompileOptions& options) {
  std::unique_ptr<ir::Module> trial = ir::clone(module);
  DiagnosticSink ordered, unheard;
  autodiff::AdjointOptions how = adjoint_options(options, ordered);
  how.prints = true;
  autodiff::make_adjoint(*trial, how, unheard);
  if (unheard.has_errors()) return false;
  finish_gradients(*trial, *trial->functions.back(), options, unheard);
  if (unheard.has_errors()) return false;
  module.functions = std::move(trial->functions);
  return true;
}

/// The numbers in structs that an adjoint has a use for their gradients of.
std::vector<autodiff::NumberLeaf> used_numbers(const ir::Function& kernel, const ir::Function& adjoint) {
  std::vector<const Type*> types;
  for (const ir::Value* param : kernel.params()) types.push_back(param->type);
  std::vector<autodiff::NumberLeaf> leaves = autodiff::number_leaves(types);
  const ir::Value* numbers = adjoint.params().back();
  bool used = false;
  ir::walk(*adjoint.body,
           [&](const ir::Op& op) { used = used || (op.code == ir::OpCode::atomic && op.operand(0) == numbers); });
  if (!used) leaves.clear();
  return leaves;
}

}  // namespace

ParamLayout log_layout(const ParamLayout& layout) {
  ParamLayout extended = layout;
  for (std::size_t k = 0; k < autodiff::kLogParams; ++k)
    extended.add(std::string(autodiff::kLogParamNames[k]), autodiff::log_param_type(k));
  return extended;
}

ParamLayout taped_layout(const ParamLayout& layout, const TapeFacts& facts, bool adjoint) {
  ParamLayout extended = facts.log.empty() ? layout : log_layout(layout);
  if (adjoint && facts.takes_numbers) extended.add(std::string(autodiff::kNumbersName), autodiff::numbers_type());
  return extended;
}

void make_tangent(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink) {
  prepare_gradients(module, *module.functions.back(), {}, options);
  autodiff::make_tangent(module, autodiff::Directions::in_parameters, sink);
}

TangentPlan plan_tangent(ir::Module& module, const CompileOptions& options) {
  TangentPlan plan;
  prepare_gradients(module, *module.functions.back(), {}, options);
  DiagnosticSink ordered, unheard;
  const std::vector<std::size_t> settled = autodiff::tangent_order(*module.functions.back(), ordered);
  plan.ordered = ordered.render_all();
  if (settled.empty()) return plan;
  autodiff::make_tangent(module, autodiff::Directions::in_parameters, unheard);
  const ir::Function& tangent = *module.functions.back();
  const std::size_t params = tangent.params().size();
  const std::vector<autodiff::ArrayLeaf> leaves = autodiff::array_leaves(tangent, params);  // the kernel's own in front
  const autodiff::Accesses found = autodiff::accesses(tangent, params);
  if (found.written_elsewhere) {  // what the first launch does could not be undone
    plan.ordered = "kernel '" + tangent.name +
                   "' takes minima or maxima and writes to arrays that it finds in memory: its "
                   "derivative depends on the order of the threads";
    return plan;
  }
  for (std::size_t k : settled) plan.settled.push_back(leaves[k]);
  for (std::size_t k = 0; k < leaves.size(); ++k)
    if (found.written[k]) plan.written.push_back(leaves[k]);
  return plan;
}

void differentiate(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink) {
  const ir::Form form = module.functions.back()->form;
  prepare_gradients(module, *module.functions.back(), {}, options);
  if (!form.taped) {
    std::size_t errors = sink.error_count();
    if (autodiff::prints(*module.functions.back()) && make_printing_adjoint(module, options)) return;
    DiagnosticSink ordered;  // Kernel asks tape_facts for it
    autodiff::make_adjoint(module, adjoint_options(options, ordered), sink);
    if (sink.error_count() == errors) finish_gradients(module, *module.functions.back(), options, sink);
    return;
  }
  autodiff::LogPlan log;
  DiagnosticSink ordered;
  std::unique_ptr<ir::Module> adjoint = recording_adjoint(module, options, log, ordered, sink);
  if (form.adjoint)
    module.functions = std::move(adjoint->functions);
  else
    autodiff::make_taped(module, log);
}

TapeFacts tape_facts(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink) {
  TapeFacts facts;
  prepare_gradients(module, *module.functions.back(), {}, options);
  const ir::Function& kernel = *module.functions.back();
  const std::size_t params = kernel.params().size();
  facts.leaves = autodiff::array_leaves(kernel, params);
  facts.handles = handle_places(kernel);
  ir::walk(*kernel.body, [&](const ir::Op& op) { facts.together |= op.code == ir::OpCode::any; });
  autodiff::Accesses forward = autodiff::accesses(kernel, params);
  facts.read = std::move(forward.read);
  facts.written = std::move(forward.written);
  facts.replaced = std::move(forward.replaced);
  facts.read_elsewhere = forward.read_elsewhere || forward.read_objects;
  facts.written_elsewhere = forward.written_elsewhere;
  DiagnosticSink ordered;
  std::unique_ptr<ir::Module> adjoint = recording_adjoint(module, options, facts.log, ordered, sink);
  facts.ordered = ordered.render_all();
  autodiff::Accesses reverse = autodiff::accesses(*adjoint->functions.back(), params);
  facts.needed = std::move(reverse.read);
  // Objects that a launch does not know by an argument could not be kept as they are.
  const bool known = analysis::all_ids_are_arguments(kernel);
  facts.needed_objects = reverse.read_objects;
  facts.needed_elsewhere = reverse.read_elsewhere || (reverse.read_objects && !known);
  facts.named_kinds = analysis::kinds_elsewhere(*adjoint->functions.back());
  facts.any_order = facts.ordered.empty();
  facts.takes_numbers =
      has_numbers(kernel) && adjoint->functions.back()->params().back()->name == autodiff::kNumbersName;
  if (facts.takes_numbers) facts.numbers = used_numbers(kernel, *adjoint->functions.back());
  auto look = [&](const ir::Op& op) {  // what is called has gradients that the program wrote
    const bool takes = op.code == ir::OpCode::atomic && op.atomic != ir::AtomicKind::add;
    facts.any_order = facts.any_order && !takes && op.code != ir::OpCode::call;
  };
  ir::walk(*adjoint->functions.back()->body, look);
  return facts;
}

}  // namespace weft::driver
