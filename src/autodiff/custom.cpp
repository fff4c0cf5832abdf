// Calls in reverse, and what programs say about them: functions with a gradient or a replay of their own (@wp.func_grad,
// @wp.func_replay, adj_snippet, gradients of the library), and derivatives that programs ask for (wp.grad).
#include "autodiff/derive.h"
#include "autodiff/private_calls.h"
#include "autodiff/reverse.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Value;

namespace {

bool takes_arrays(const ir::Function& function) {
  for (const Value* param : function.params())
    if (ir::has_array(param->type)) return true;
  return false;
}

/// Whether a gradient function can reach gradients of arrays.
bool writes_gradients(const ir::Function& function) {
  if (!takes_arrays(function)) return false;
  // What native code does with the descriptors it is given nobody can see.
  bool any = !function.native.empty();
  ir::walk(*function.body, [&](const Op& op) { any = any || op.code == OpCode::gradient; });
  return any;
}

/// Whether no result of a call can carry a derivative.
bool is_discrete(const Op& call) {
  for (const Value* result : call.results)
    if (has_floats(result->type) || ir::has_array(result->type)) return false;
  return true;
}

}  // namespace

bool Functions::can_reverse(const ir::Function& function, const SourceLoc& call) {
  if (!function.gradient && !function.native.empty()) {
    Diagnostic& d = sink_.report(DiagCode::no_gradient, call,
                                 "the native function '" + function.name + "' has no code to differentiate it by");
    d.notes.push_back({{}, "give it an adj_snippet"});
    return false;
  }
  if (options_.into_arrays) return true;
  // Arrays count as constants here (wp.grad). A gradient of the program's own passes if it returns all that it
  // computes. A function that is derived would take every array that it is given as a constant, also a private one of
  // its caller, whose derivative would be lost in silence.
  bool blocked = function.gradient ? writes_gradients(*function.gradient) : takes_arrays(function);
  if (!blocked) return true;
  Diagnostic& d = sink_.report(DiagCode::no_gradient, call,
                               "wp.grad can't pass through '" + function.name + "', which works on arrays");
  d.notes.push_back({{},
                     function.gradient ? "wp.grad takes arrays as constants, and its gradient function adds to them"
                                       : "it is too large to be taken apart here; give it the elements instead"});
  return false;
}

void Reverser::replay_call(const Op& op) {
  // Native code that sees arrays may write to them: it runs again only if the program says so, by a replay.
  const ir::Function& callee = *op.callee;
  // A log has room for one value per site, so several results have no site (−1).
  auto recall_results = [&] {
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      const Type* type = op.result(k)->type;
      forward_[op.results[k]] =
          op.results.size() == 1 ? recall(op) : b_.op_typed(OpCode::recall, {}, {&type, 1})->result();
      if (op.results.size() > 1) forward_[op.results[k]]->op->imm = -1;
    }
  };
  if (!callee.native.empty() && !callee.replay && takes_arrays(callee)) return recall_results();
  // Functions that touch memory were inlined, but for those with a gradient of their own.
  if (fills_private(op, alias_, effects_)) {
    // Memory that is made in the region under replay is filled again. Other memory has been, by the replay of its region,
    // and what was read of it since is found there or was written down.
    if (!is_fresh(alias_.direct_writes(op))) return;
    if (reads_changed(op, callee, false)) report_changed(op);
    b_.call(op.callee, mapped_all(op.operands));
    return;
  }
  // The replay of others leaves out all writes, so a private array that one of them fills would be empty for the loads that
  // follow it here.
  for (std::size_t k = 0; k < op.operands.size(); ++k)
    if (callee.native.empty() && effects_.of(callee).writes[k] && is_private(op.operand(k))) {
      Diagnostic& d = sink_.report(DiagCode::no_gradient, op.loc,
                                   "'" + callee.name + "' has a gradient of its own and writes to a private array");
      d.notes.push_back({{}, "let it return the values instead"});
    }
  // Called again, it would read what the launch has left there and not what it read then: its results are written
  // down like a load's.
  if (callee.native.empty() && reads_changed(op, callee.replay ? *callee.replay : callee, false))
    return recall_results();
  std::vector<Value*> args = mapped_all(op.operands);
  Op* call = b_.call(functions_.replay_of(*op.callee), args);
  for (std::size_t k = 0; k < op.results.size(); ++k) forward_[op.results[k]] = call->result(k);
}

bool Reverser::reads_changed(const Op& op, const ir::Function& callee, bool on_the_way_back) {
  const analysis::FunctionEffects& effects = effects_.of(callee);
  // Memory found by an address or in other memory may be any array's, so that
  // any write behind the call may change it.
  if (effects.reads_elsewhere && written_behind(alias_, op, analysis::kUnknownBase, *source_.body)) return true;
  for (std::size_t k = 0; k < op.operands.size(); ++k) {
    if (!effects.reads[k]) continue;
    const analysis::BaseMask bases = alias_.bases(op.operand(k));
    // Memory of the thread's own is made again by the replay, and on the way back is what the replay has left; all other
    // is what the launch has left.
    if (!is_private(op.operand(k)) ? written_behind(alias_, op, bases, *source_.body)
                                   : !is_final(op, bases) && (on_the_way_back || !is_fresh(bases)))
      return true;
  }
  return false;
}

void Reverser::report_changed(const Op& op) {
  Diagnostic& d = sink_.report(
      DiagCode::no_gradient, op.loc,
      "the gradient of '" + op.callee->name + "' reads an array that the kernel may overwrite after this call");
  d.notes.push_back({{}, "write to another array, or pass the elements instead of the array"});
}

void Reverser::reverse_call(const Op& op) {
  // What only finds out something discrete, such as a walk over a tree, passes nothing on.
  if (is_discrete(op) && effects_.of(*op.callee).removable()) return;
  if (!activity_.matters(op) || !functions_.can_reverse(*op.callee, op.loc)) return;
  // Asked of the gradient, not of the function: it may read arrays that its function never looks at.
  ir::Function* adjoint_function = functions_.adjoint_of(*op.callee);
  if (op.callee->native.empty() && reads_changed(op, *adjoint_function, true)) report_changed(op);
  std::vector<Value*> args = mapped_all(op.operands);
  // The signature is fixed, whatever is active here: seeds of all float results go in, adjoints of all float
  // parameters come out, and `add` drops those that nobody wants.
  for (std::size_t k : float_positions(op.results)) args.push_back(adjoint_or_zero(op.result(k)));
  Op* call = b_.call(adjoint_function, args);
  std::size_t next = 0;
  for (std::size_t k : float_positions(op.callee->params())) add(op.operand(k), call->result(next++));
}

ir::Function* make_derivative(ir::Module& module, const ir::Function& source, const SourceLoc& at,
                              DiagnosticSink& sink) {
  AdjointOptions options;
  options.into_arrays = false;
  Functions functions(module, options, sink);
  // Only where the body is not ours to derive; what a derived body calls is asked for at each call.
  if (source.gradient || !source.native.empty())
    if (!functions.can_reverse(source, at)) return nullptr;
  ir::Function* made = functions.adjoint_of(source);
  for (auto& function : functions.take()) module.functions.push_back(std::move(function));
  return made;
}

}  // namespace weft::autodiff
