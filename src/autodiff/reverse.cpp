// Walking regions backwards: the frame of an adjoint and `if`.
#include "autodiff/reverse.h"

#include "autodiff/thread_sharing.h"
#include "ir/op_cases.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

std::vector<std::size_t> float_positions(std::span<Value* const> values) {
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < values.size(); ++k)
    if (has_floats(values[k]->type)) out.push_back(k);
  return out;
}

Reverser::Reverser(const ir::Function& source, ir::Function& target, Functions& functions,
                   const AdjointOptions& options, DiagnosticSink& sink, const Recorded* recorded)
    : source_(source),
      target_(target),
      functions_(functions),
      options_(options),
      sink_(sink),
      recorded_(recorded),
      alias_(source, effects_),
      activity_(source, options.prints,
                recorded ? std::span<const NumberRoot>(recorded->roots) : std::span<const NumberRoot>()),
      zero_adjoints_(source),
      b_(target, target.body) {
  ir::walk(*source.body, [&](const Op& op) {
    // Everything that may have changed by the end of the launch. Where in the kernel a write stands makes no
    // difference: the adjoint runs when all of it is over, and all threads have written.
    written_ |= alias_.touched(alias_.direct_writes(op));
    writes_arrays_ |= op.code == OpCode::call || (op.code == OpCode::store && ir::has_array(op.operands.back()->type));
    if (op.code == OpCode::for_ || op.code == OpCode::while_) ++loops_;
  });
  // Private arrays are gone when the launch is over, and are replayed instead (is_fresh).
  written_ &= ~alias_.private_locals();
  find_locals();
  apart_ = arrays_apart(source, alias_);
  only_extremes_ = arrays_of_extremes(source_, alias_);
}

std::vector<Value*> Reverser::run(std::span<Value* const> seeds) {
  for (std::size_t k = 0; k < source_.params().size(); ++k) forward_[source_.params()[k]] = target_.params()[k];
  b_.set_place(target_.body);
  // First all values, then all adjoints: a rule may ask for any operand, or for the result, of any operation.
  replay(*source_.body, true);
  forget_adjoints(*source_.body);
  const std::size_t params = source_.params().size();
  const bool seeded = options_.seeds && source_.kind == ir::FunctionKind::kernel;
  for (std::size_t k = 0; seeded && k < params; ++k)
    if (const Value* param = source_.params()[k];
        param->type->is_numeric() && !param->type->is_bool())  // of integers it is what prints show
      set(param, target_.params()[params + k]);
  const Op* end = source_.body->last;
  std::size_t next = 0;
  // Added, for one value may be returned twice.
  for (std::size_t k : float_positions(end->operands)) add(end->operand(k), seeds[next++]);
  reverse(*source_.body);
  // At the end, when every use has given its part: one addition to memory per number and thread.
  add_to_numbers();
  std::vector<Value*> out;
  for (std::size_t k : float_positions(source_.params())) out.push_back(adjoint_or_zero(source_.params()[k]));
  return out;
}

/// A region is gone back over several times, in trials and in reverse: its values begin without an adjoint each time.
/// Those of nested regions are forgotten when their turn comes.
void Reverser::forget_adjoints(const Region& region) {
  for (const Value* arg : region.args) adjoints_.erase(arg);
  for (const Op& op : region)
    for (const Value* result : op.results) adjoints_.erase(result);
}

void Reverser::reverse(const Region& region) {
  std::vector<const Op*> list;
  for (const Op& op : region) list.push_back(&op);
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    b_.set_loc((*it)->loc);
    reverse_op(**it);
  }
}

void Reverser::reverse_op(const Op& op) {
  // Private arrays are the function's own values, in memory: derivatives pass
  // through them also where arrays are constants.
  auto follows = [&](const Value* array) { return options_.into_arrays || is_private(array); };
  if (op.code == OpCode::print) return reverse_print(op);
  if (op.code == OpCode::barrier || op.code == OpCode::fence || op.code == OpCode::meet) {
    // What threads did before it, others may have seen after it: on the way back it is the other way round.
    b_.op_typed(op.code, {}, {});
    return;
  }
  if (op.code == OpCode::tally) return void(b_.op_typed(OpCode::barrier, {}, {}));
  if (op.code == OpCode::warp_sync) return void(b_.op_typed(op.code, mapped_all(op.operands), {}));
  switch (op.code) {
    case OpCode::if_: return reverse_if(op);
    case OpCode::for_:
    case OpCode::while_: return reverse_loop(op);
    case OpCode::call: return reverse_call(op);
    case OpCode::load:
      if (follows(op.operand(0))) reverse_load(op);
      return;
    case OpCode::store:
      if (follows(op.operand(0))) reverse_store(op);
      return;
    case OpCode::atomic:
      if (follows(op.operand(0))) reverse_atomic(op);
      return;
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test:
    case OpCode::prefetch: WEFT_CASES(WEFT_DESCRIPTOR_OPS)
    case OpCode::local:
    WEFT_CASES(WEFT_EFFECT_OPS) return;  // descriptors pass no derivative, and nothing else here is a float
    WEFT_CASES(WEFT_NUMBER_OPS)
    WEFT_CASES(WEFT_DATA_OPS) break;
  }
  if (op.results.size() != 1) return;
  // No entry: nothing that matters was made of it, or nothing has come back to it.
  // Both mean that the operation adds nothing.
  if (Value* g = adjoint(op.result())) apply_rule(op, g);
}

/// For  y = if c { yield f(x) } else { yield x }  this writes  gx = if c { replay f;
/// yield gx + f'(x)·gy } else { yield gx + gy }.
void Reverser::reverse_if(const Op& op) {
  if (!activity_.matters(op)) return;
  std::vector<Value*> outside = active_from_outside(op, activity_);
  std::vector<const Type*> types;
  std::vector<Value*> before;
  for (const Value* value : outside) {
    types.push_back(value->type);
    before.push_back(adjoint_or_zero(value));
  }
  Op* choice = b_.if_op(map(op.operand(0)), types);
  Region* outer = b_.region();
  std::vector<bool> changed(outside.size(), false);
  for (std::size_t side = 0; side < 2; ++side) {
    const Region& from = *op.regions[side];
    // Both sides begin with what had come back so far. What the other side has made of it lies in that
    // one's region, where this one can't see it.
    for (std::size_t k = 0; k < outside.size(); ++k) set(outside[k], before[k]);
    b_.set_place(choice->regions[side]);
    ReplayRoot inside(*this, &from);
    // The values of the first replay lie in a region that is closed.
    replay(from, true);
    forget_adjoints(from);
    for (std::size_t k = 0; k < op.results.size(); ++k)
      if (Value* g = adjoint(op.result(k))) add(from.last->operand(k), g);
    reverse(from);
    // Every value from outside, also those that this side never used: the results of an `if` are the same for both.
    std::vector<Value*> after;
    for (std::size_t k = 0; k < outside.size(); ++k) {
      after.push_back(adjoint_or_zero(outside[k]));
      changed[k] = changed[k] || after[k] != before[k];
    }
    b_.yield(after);
  }
  b_.set_place(outer);
  // What neither side added to is what it was: zeros above all, to which nothing has to be added.
  for (std::size_t k = 0; k < outside.size(); ++k) set(outside[k], changed[k] ? choice->result(k) : before[k]);
}

ir::Function* Functions::adjoint_of(const ir::Function& function) {
  if (auto it = adjoints_.find(&function); it != adjoints_.end()) return it->second;
  if (function.gradient) return adjoints_[&function] = function.gradient;
  auto made = std::make_unique<ir::Function>("adjoint." + function.name, ir::FunctionKind::function);
  made->loc = function.loc;
  made->from_library = function.from_library;
  for (const Value* param : function.params())
    made->add_argument(made->body, param->type, made->arena.copy(param->name));
  std::vector<Value*> seeds;
  for (const Type* type : function.result_types)
    if (has_floats(type)) seeds.push_back(made->add_argument(made->body, type));
  // Nothing of a log or of numbers in structs: sites are those of a kernel,
  // and what touches memory was inlined there.
  std::vector<Value*> out = Reverser(function, *made, *this, options_, sink_).run(seeds);
  for (const Value* value : out) made->result_types.push_back(value->type);
  ir::Builder(*made, made->body).ret(out);
  ir::Function* result = made.get();
  made_.push_back(std::move(made));
  return adjoints_[&function] = result;
}

}  // namespace weft::autodiff
