// wp.grad: functions that are derivatives of others get their bodies. Each one is differentiated in a module of its own,
// tidied and inlined as for any adjoint, so that the rest of the program stays as it was written.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "autodiff/derive.h"
#include "driver/pipeline.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::driver {
namespace {

/// A function and everything that it, or its differentiation, can call.
std::unordered_set<const ir::Function*> reach_of(const ir::Function& root) {
  std::unordered_set<const ir::Function*> seen = {&root};
  std::vector<const ir::Function*> work = {&root};
  auto add = [&](const ir::Function* function) {
    if (function && seen.insert(function).second) work.push_back(function);
  };
  while (!work.empty()) {
    const ir::Function* at = work.back();
    work.pop_back();
    ir::walk(*at->body, [&](const ir::Op& op) { add(op.callee); });
    add(at->gradient);
    add(at->replay);
  }
  return seen;
}

void write(ir::Module& module, ir::Function& derivative, const CompileOptions& options, DiagnosticSink& sink) {
  std::size_t errors = sink.error_count();
  auto part = ir::extract_closure(*derivative.derives, &module);
  ir::Function* source = part->find(derivative.derives->name);
  if (options.gpu.block && ir::find_tile_memory(*part)) {
    sink.report(
        DiagCode::no_gradient, derivative.loc,
        "the gradient of a function that works on tiles is that of a whole block, of which each thread has a share",
        "record the launch by wp.Tape(), or launch it with device=\"cpu\"");
    return;
  }
  // Arrays are constants here, so that a gradient which adds to them would be lost; tiles are no arrays of the program's,
  // and are derived through.
  for (const auto& function : part->functions)
    if (ir::is_tile_function(*function)) function->gradient = nullptr;
  constexpr std::size_t kMost = 1 << 16;
  prepare_gradients(*part, *source, {kMost, kMost, kMost, true}, options);
  ir::Function* adjoint = autodiff::make_derivative(*part, *source, derivative.loc, sink);
  if (sink.error_count() != errors) return;
  finish_gradients(*part, *adjoint, options, sink);
  if (sink.error_count() != errors) return;
  for (auto& function : part->functions) {
    function->name = derivative.name + "." + function->name;
    module.functions.push_back(std::move(function));
  }
  while (derivative.body->first) ir::remove_op(derivative.body->first);
  ir::Builder builder(derivative, derivative.body);
  builder.set_loc(derivative.loc);
  std::vector<ir::Value*> args(derivative.params().begin(), derivative.params().end());
  ir::Op* call = builder.call(adjoint, args);
  builder.ret(std::vector<ir::Value*>(call->results.begin(), call->results.end()));
  derivative.derives = nullptr;
}

/// Callees before callers again, and `last` at the end.
void sort_by_calls(ir::Module& module, const ir::Function* last) {
  std::unordered_map<const ir::Function*, std::unique_ptr<ir::Function>> waiting;
  std::vector<const ir::Function*> order;
  for (auto& function : module.functions) {
    order.push_back(function.get());
    waiting.emplace(function.get(), std::move(function));
  }
  if (auto at = std::find(order.begin(), order.end(), last); at != order.end()) std::rotate(at, at + 1, order.end());
  module.functions.clear();
  std::unordered_set<const ir::Function*> opened;
  for (const ir::Function* root : order) {
    std::vector<const ir::Function*> stack = {root};
    while (!stack.empty()) {
      const ir::Function* at = stack.back();
      if (opened.insert(at).second) {
        ir::walk(*at->body, [&](const ir::Op& op) {
          if (op.callee && !opened.contains(op.callee)) stack.push_back(op.callee);
        });
        continue;
      }
      stack.pop_back();
      if (auto it = waiting.find(at); it != waiting.end()) {
        module.functions.push_back(std::move(it->second));
        waiting.erase(it);
      }
    }
  }
}

}  // namespace

void derive(ir::Module& module, const CompileOptions& options, DiagnosticSink& sink) {
  std::vector<ir::Function*> open;
  for (const auto& function : module.functions)
    if (function->derives) open.push_back(function.get());
  if (open.empty()) return;
  const ir::Function* last = module.functions.back().get();
  while (!open.empty()) {
    // Inner ones first: what is differentiated must be complete, the gradients of what it calls included.
    auto next = std::find_if(open.begin(), open.end(), [&](const ir::Function* one) {
      auto reach = reach_of(*one->derives);
      return std::none_of(open.begin(), open.end(), [&](const ir::Function* other) { return reach.contains(other); });
    });
    if (next == open.end()) {
      sink.report(DiagCode::recursion, open.front()->loc,
                  "this derivative is needed to compute itself: a gradient function asks for it");
      return;
    }
    std::size_t errors = sink.error_count();
    write(module, **next, options, sink);
    if (sink.error_count() != errors) return;
    open.erase(next);
  }
  sort_by_calls(module, last);
}

}  // namespace weft::driver
