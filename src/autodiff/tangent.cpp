// Forward mode: every float value gets a tangent beside it, and every descriptor another one, its shadow, for the memory
// where the tangents of its elements lie. Far simpler than the reverse, which makes it a good second opinion: the two
// share nothing but the IR. A shadow may be null: its elements don't move, and what is stored there is not followed.
#include "autodiff/tangent.h"

#include "autodiff/float_leaves.h"
#include "ir/op_cases.h"

namespace weft::autodiff {

using ir::AtomicKind;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// Tangents of the functions of a module, made on demand.
class TangentFunctions {
 public:
  explicit TangentFunctions(DiagnosticSink& sink) : sink_(sink) {}
  ir::Function* of(const ir::Function& function) {
    if (auto it = known_.find(&function); it != known_.end()) return it->second;
    auto made = std::make_unique<ir::Function>("tangent." + function.name, ir::FunctionKind::function);
    made->loc = function.loc;
    Tangent tangent(function, *made, *this, sink_);
    std::vector<Value*> values;
    for (const Value* param : function.params()) values.push_back(made->add_argument(made->body, param->type));
    for (std::size_t k = 0; k < values.size(); ++k)
      tangent.bind(function.params()[k], values[k],
                   carries(values[k]->type) ? made->add_argument(made->body, values[k]->type) : nullptr);
    made->result_types = function.result_types;
    for (const Type* type : function.result_types)
      // (params…, tangents of those that carry one…) → (results…, tangents…), as `call` passes and takes them.
      if (carries(type)) made->result_types.push_back(type);
    tangent.run();
    made_.push_back(std::move(made));
    return known_[&function] = made_.back().get();
  }
  std::vector<std::unique_ptr<ir::Function>> take() { return std::move(made_); }

 private:
  DiagnosticSink& sink_;
  std::unordered_map<const ir::Function*, ir::Function*> known_;
  std::vector<std::unique_ptr<ir::Function>> made_;
};

void Tangent::visit(const Op& op) {
  b_.set_loc(op.loc);
  switch (op.code) {
    case OpCode::if_:
    case OpCode::for_:
    case OpCode::while_: return control(op);
    case OpCode::call: return call(op);
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic:
    case OpCode::local: return memory(op);
    case OpCode::return_:
    case OpCode::yield:
    case OpCode::test: return;  // whoever walks their region writes its end
    case OpCode::prefetch:
    WEFT_CASES(WEFT_DESCRIPTOR_OPS)
    WEFT_CASES(WEFT_NUMBER_OPS)
    WEFT_CASES(WEFT_DATA_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) break;
  }
  copy(op);
  if (op.results.size() != 1 || !carries(op.result()->type)) return;
  bool any = false;
  for (const Value* value : op.operands) any |= moves(value);
  // No entry means a tangent of zero: constants never get arithmetic of their own.
  if (!any) return;
  if (Value* d = derivative(op)) tangents_[op.result()] = d;
}

/// Regions carry tangents beside values, behind all of them:
///   for i (s = s0)  →  for i (s = s0, ds = ds0)  { …  yield s1, ds1 }
void Tangent::control(const Op& op) {
  std::vector<Value*> operands = all(op.operands);
  std::vector<const Type*> types;
  for (const Value* result : op.results) types.push_back(result->type);
  std::size_t skip = op.code == OpCode::for_ ? 3 : 0;
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    if (!carries(op.result(k)->type)) continue;
    types.push_back(op.result(k)->type);
    // A tangent that is not there becomes zero here: both sides of an `if`, and all turns, must yield one.
    if (op.code != OpCode::if_) operands.push_back(dot(op.operand(skip + k)));
  }
  Op* made = b_.op_typed(op.code, operands, types, op.regions.size());
  ir::copy_attributes(op, target_, *made);
  Region* outer = b_.region();
  for (std::size_t r = 0; r < op.regions.size(); ++r) {
    const Region& from = *op.regions[r];
    for (const Value* arg : from.args) values_[arg] = target_.add_argument(made->regions[r], arg->type);
    // The counter of a `for` has no tangent.
    for (std::size_t k = skip ? 1 : 0; k < from.args.size(); ++k)
      if (carries(from.args[k]->type))
        // Carried tangents even where they start at zero: what an iteration adds may move.
        tangents_[from.args[k]] = target_.add_argument(made->regions[r], from.args[k]->type);
    b_.set_place(made->regions[r]);
    region(from);
    // A test gives a condition alone; what a `while` carries goes by its body.
    bool test = from.last->code == OpCode::test;
    b_.op(from.last->code, test ? all(from.last->operands) : with_tangents(from.last->operands));
  }
  b_.set_place(outer);
  std::size_t next = op.results.size();
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    values_[op.result(k)] = made->result(k);
    if (carries(op.result(k)->type)) tangents_[op.result(k)] = made->result(next++);
  }
}

void Tangent::call(const Op& op) {
  // The library's rules only replace what is derived; those of programs may say something else.
  if (op.callee->gradient && !op.callee->from_library) return call_custom(op);
  if (!op.callee->native.empty()) {
    sink_.report(DiagCode::no_gradient, op.loc,
                 "forward mode does not pass through the native function '" + op.callee->name + "'");
    copy(op);
    return;
  }
  std::vector<Value*> args = with_tangents(op.operands);
  Op* made = b_.call(functions_.of(*op.callee), args);
  std::size_t next = op.results.size();
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    values_[op.result(k)] = made->result(k);
    if (carries(op.result(k)->type)) tangents_[op.result(k)] = made->result(next++);
  }
}

void Tangent::call_custom(const Op& op) {
  // A gradient gives rows of the Jacobian: one call for each number in the results.
  const ir::Function& gradient = *op.callee->gradient;
  copy(op);
  bool into_arrays = !gradient.native.empty();
  ir::walk(*gradient.body, [&](const Op& inner) { into_arrays = into_arrays || inner.code == OpCode::gradient; });
  bool arrays = std::any_of(op.operands.begin(), op.operands.end(),
                            [](const Value* value) { return ir::has_array(value->type); });
  if (into_arrays && arrays) {
    sink_.report(DiagCode::no_gradient, op.loc,
                 "forward mode does not pass through '" + op.callee->name + "', whose gradient adds to arrays");
    return;
  }
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    const Type* type = op.result(k)->type;
    if (!has_floats(type)) continue;
    Value* tangent = b_.zero(type);
    for (const auto& leaf : float_leaves(type)) {
      // Seeds: one for this number of this result, zero for all others. What comes back is the row of the Jacobian.
      std::vector<Value*> args = all(op.operands);
      for (const Value* result : op.results) {
        if (!has_floats(result->type)) continue;
        Value* seed = b_.zero(result->type);
        if (result == op.result(k)) seed = put(seed, number(leaf.type, 1.0), leaf.path);
        args.push_back(seed);
      }
      Op* row = b_.call(op.callee->gradient, args);
      // Row times tangents: Σ ∂r/∂x · dx over all numbers in the operands.
      Value* sum = number(leaf.type, 0.0);
      std::size_t next = 0;
      for (const Value* operand : op.operands) {
        if (!has_floats(operand->type)) continue;
        Value* slope = row->result(next++);
        if (!moves(operand)) continue;
        for (const auto& part : float_leaves(operand->type)) {
          Value* along = get(dot(operand), part.path);
          Value* product = gated(along, mul(get(slope, part.path), along));
          sum = add(sum, product->type == leaf.type ? product : b_.cast(product, leaf.type));
        }
      }
      tangent = put(tangent, sum, leaf.path);
    }
    tangents_[op.result(k)] = tangent;
  }
}

void Tangent::memory(const Op& op) {
  if (op.code == OpCode::local) {
    Op* made = copy(op);
    // A shadow is as private as its array, and has the same shape; as zeroed or as raw:
    // whatever stores a value stores its tangent.
    if (!carries(made->result()->type->element())) return;
    std::vector<const Type*> type = {made->result()->type};
    Op* shadow = b_.op_typed(OpCode::local, {}, type);
    ir::copy_attributes(op, target_, *shadow);
    tangents_[op.result()] = shadow->result();
    return;
  }
  const Type* moved = op.code == OpCode::load ? op.result()->type : op.operands.back()->type;
  // No shadow, or nothing in the element that could have a tangent: integers go their way alone.
  if (!carries(moved) || !moves(op.operand(0))) {
    copy(op);
    return;
  }
  if (op.code == OpCode::atomic) return atomic(op);
  Value* shadow = dot(op.operand(0));
  std::size_t dynamic = 0;
  for (const ir::PathStep& step : op.path) dynamic += step.dynamic;
  std::vector<Value*> indices = all(op.indices());
  std::vector<Value*> steps = all(op.operands.subspan(1 + op.num_indices, dynamic));
  // Which of the two accesses comes first makes no difference: an array and its shadow share no memory.
  bool gives = op.code == OpCode::load;
  Op* there = b_.if_op(b_.unary(OpCode::nonnull, shadow), {&moved, gives ? std::size_t(1) : 0});
  Region* outer = b_.region();
  b_.set_place(there->regions[0]);
  std::vector<Value*> got;
  if (gives)
    got = {b_.load(shadow, indices, op.wrap, op.path, steps)};
  else
    b_.store(shadow, indices, op.wrap, op.path, steps, dot(op.operands.back()));
  b_.yield(got);
  b_.set_place(there->regions[1]);
  std::vector<Value*> none;
  // Not plain zero: an element may hold descriptors, whose tangents are descriptors of nothing.
  if (gives) none.push_back(nothing(moved));
  b_.yield(none);
  b_.set_place(outer);
  copy(op);
  if (gives) tangents_[op.result()] = there->result();
}

void Tangent::atomic(const Op& op) {
  // Two operations, one behind the other: what they make is right if no other thread comes between (tangent_order.h).
  copy(op);
  const Type* type = op.result()->type;
  Value *shadow = dot(op.operand(0)), *slope = dot(op.operands.back());
  Value *value = at(op.operands.back()), *found = at(op.result());
  std::size_t dynamic = 0;
  for (const ir::PathStep& step : op.path) dynamic += step.dynamic;
  std::vector<Value*> indices = all(op.indices());
  std::vector<Value*> steps = all(op.operands.subspan(1 + op.num_indices, dynamic));
  // Most atomics are sums that nobody looks at. For those no value is asked for, so
  // that codegen may use its forms without one.
  const bool gives = is_used(op.result());
  Op* there = b_.if_op(b_.unary(OpCode::nonnull, shadow), {&type, gives ? std::size_t(1) : 0});
  Region* outer = b_.region();
  b_.set_place(there->regions[0]);
  auto store_if = [&](Value* wins, std::span<const ir::PathStep> part) {
    std::vector<ir::PathStep> path(op.path.begin(), op.path.end());
    path.insert(path.end(), part.begin(), part.end());
    Op* choice = b_.if_op(wins, {});
    Region* around = b_.region();
    b_.set_place(choice->regions[0]);
    b_.store(shadow, indices, op.wrap, path, steps, get(slope, part));
    b_.yield({});
    b_.set_place(choice->regions[1]);
    b_.yield({});
    b_.set_place(around);
  };
  Value* before = nullptr;
  if (op.atomic == AtomicKind::add || op.atomic == AtomicKind::exch) {
    // The same operation on the tangents is the tangent of the operation: d(a + b) =
    // da + db, and an exchange exchanges both.
    before = b_.atomic(op.atomic, shadow, indices, op.wrap, op.path, steps, slope);
  } else {
    if (gives) before = b_.load(shadow, indices, op.wrap, op.path, steps);
    // Each component of a composite is an operation of its own, with its own outcome.
    for (const FloatLeaf& leaf : float_leaves(type)) {
      Value *was = get(found, leaf.path), *wins = nullptr;
      if (op.atomic == AtomicKind::cas) {
        // It took place if what was found has the bits of what was expected.
        Value* expected = get(at(op.operand(op.operands.size() - 2)), leaf.path);
        const Type* bits = bits_type(leaf.type);
        wins = b_.binary(OpCode::eq, b_.bitcast(was, bits), b_.bitcast(expected, bits));
      } else {  // of equal ones the last, as in reverse; what is no number loses against whatever is one
        Value* brought = get(value, leaf.path);
        Value* better = b_.binary(op.atomic == AtomicKind::min ? OpCode::le : OpCode::ge, brought, was);
        Value* alone =
            b_.binary(OpCode::bit_and, b_.binary(OpCode::ne, was, was), b_.binary(OpCode::eq, brought, brought));
        wins = b_.binary(OpCode::bit_or, better, alone);
      }
      store_if(wins, leaf.path);
    }
  }
  b_.yield({&before, gives ? std::size_t(1) : 0});
  b_.set_place(there->regions[1]);
  Value* none = b_.zero(type);
  b_.yield({&none, gives ? std::size_t(1) : 0});
  b_.set_place(outer);
  if (gives) tangents_[op.result()] = there->result();
}

void make_tangent(ir::Module& module, Directions directions, DiagnosticSink& sink) {
  std::unique_ptr<ir::Function> source = std::move(module.functions.back());
  module.functions.pop_back();
  auto made = std::make_unique<ir::Function>(source->name, source->kind);
  made->form = source->form;
  made->loc = source->loc;
  TangentFunctions functions(sink);
  Tangent tangent(*source, *made, functions, sink);
  std::vector<Value*> values;
  for (const Value* param : source->params())
    values.push_back(made->add_argument(made->body, param->type, made->arena.copy(param->name)));
  for (std::size_t k = 0; k < values.size(); ++k)
    if (directions == Directions::in_parameters)
      tangent.bind(source->params()[k], values[k],
                   made->add_argument(made->body, values[k]->type,
                                      made->arena.copy(std::string(values[k]->name) + std::string(kTangentSuffix))));
    else
      tangent.bind_gradients(source->params()[k], values[k]);
  tangent.run();
  for (auto& function : functions.take()) module.functions.push_back(std::move(function));
  module.functions.push_back(std::move(made));
}

}  // namespace weft::autodiff
