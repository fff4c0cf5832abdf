// The adjoint of a kernel: replay, then reverse, in a function of the same parameters that takes the kernel's place.
#include "autodiff/adjoint.h"

#include "autodiff/reverse.h"
#include "ir/walk.h"

namespace weft::autodiff {

void make_adjoint(ir::Module& module, const AdjointOptions& options, DiagnosticSink& sink) {
  std::unique_ptr<ir::Function> source = std::move(module.functions.back());
  module.functions.pop_back();
  Recorded recorded;
  // Before anything is added to the source: sites are counted by their place in the text, and
  // the reads of the log are loads themselves.
  recorded.numbers = number_sites(*source);
  if (options.log && !options.log->empty()) recorded.values = add_log_reads(*source, *options.log);
  if (options.into_numbers) recorded.roots = take_out_numbers(*source);
  auto made = std::make_unique<ir::Function>(source->name, source->kind);
  // A new function and not the source itself: rules read the source while the
  // target grows, and the two never share a value.
  made->form = source->form;
  made->loc = source->loc;
  for (const ir::Value* param : source->params())
    made->add_argument(made->body, param->type, made->arena.copy(param->name));
  if (options.seeds)
    for (const ir::Value* param : source->params())
      made->add_argument(made->body, param->type,
                         made->arena.copy(std::string(param->name) + std::string(kSeedSuffix)));
  if (!recorded.roots.empty()) made->add_argument(made->body, numbers_type(), kNumbersName);
  Functions functions(module, options, sink);
  // No seeds: a kernel returns nothing, its adjoints begin with the gradients of what it has stored.
  Reverser(*source, *made, functions, options, sink, &recorded).run({});
  ir::Builder(*made, made->body).ret({});
  // Callees stand before their callers, and the kernel is the last function.
  for (auto& function : functions.take()) module.functions.push_back(std::move(function));
  module.functions.push_back(std::move(made));
}

void make_taped(ir::Module& module, const LogPlan& log) {
  if (!log.empty()) add_log_writes(*module.functions.back(), log);
}

std::vector<std::uint32_t> missing_sites(const ir::Module& adjoint) {
  std::vector<std::uint32_t> sites;
  for (const auto& function : adjoint.functions)
    ir::walk(*function->body, [&](const ir::Op& op) {
      // Others (−1) no log can hold; they are left for check_recalls, which says where they are.
      if (op.code == ir::OpCode::recall && op.imm >= 0) sites.push_back(std::uint32_t(op.imm));
    });
  return sites;
}

bool check_recalls(const ir::Module& module, DiagnosticSink& sink) {
  bool none = true;
  for (const auto& function : module.functions)
    ir::walk(*function->body, [&](const ir::Op& op) {
      if (op.code != ir::OpCode::recall) return;
      none = false;
      Diagnostic& d = sink.report(DiagCode::no_gradient, op.loc,
                                  "the backward pass needs the value read here, and the kernel may overwrite it");
      d.notes.push_back({{},
                         "launch the kernel under a wp.Tape, which writes such values down, or write to another array "
                         "than the one that is read"});
    });
  return none;
}

}  // namespace weft::autodiff
