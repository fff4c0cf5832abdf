// Forward mode: every float value gets a tangent beside it, and every descriptor another one, its shadow, for the memory
// where the tangents of its elements lie. Far simpler than the reverse, which makes it a good second opinion: the two
// share nothing but the IR. A shadow may be null: its elements don't move, and what is stored there is not followed.
#include <algorithm>
#include <unordered_map>

#include "autodiff/activity.h"
#include "autodiff/adjoint.h"
#include "autodiff/float_leaves.h"
#include "autodiff/tangent_elementary.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/op_cases.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::autodiff {
namespace {

using ir::AtomicKind;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// Whether values of this type have tangents.
bool carries(const Type* type) { return has_floats(type) || ir::has_array(type); }

class TangentFunctions;

class Tangent {
 public:
  Tangent(const ir::Function& source, ir::Function& target, TangentFunctions& functions, DiagnosticSink& sink)
      : source_(source), target_(target), functions_(functions), sink_(sink), b_(target, target.body) {}

  /// Parameters are bound by the caller; the body ends in `return` of results and their tangents.
  void run() {
    region(*source_.body);
    const Op* end = source_.body->last;
    b_.ret(with_tangents(end->operands));
  }
  void bind(const Value* param, Value* value, Value* tangent) {
    values_[param] = value;
    if (tangent) tangents_[param] = tangent;
  }
  /// A parameter whose arrays have their tangents where gradients are.
  void bind_gradients(const Value* param, Value* value) {
    bind(param, value, ir::has_array(value->type) ? gradients_in(value) : nullptr);
  }

 private:
  Value* at(Value* value) { return ir::mapped(target_, values_, value); }
  Value* dot(const Value* value) {
    auto it = tangents_.find(value);
    return it == tangents_.end() ? nothing(value->type) : it->second;
  }
  bool is_used(const Value* value) const {
    bool used = false;
    ir::walk(*source_.body, [&](const Op& op) {
      used = used || std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end();
    });
    return used;
  }
  Value* gradients_in(Value* value) {
    const Type* type = value->type;
    if (type->is_array()) return b_.gradient(value);
    if (!ir::has_array(type)) return b_.zero(type);
    std::vector<Value*> parts;
    for (std::size_t k = 0; k < type->fields().size(); ++k) {
      const ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
      parts.push_back(gradients_in(b_.extract(value, {&step, 1})));
    }
    return b_.construct(type, parts);
  }
  /// The tangent of what does not move: zeros, and descriptors of no memory.
  Value* nothing(const Type* type) {
    if (!ir::has_array(type)) return b_.zero(type);
    std::vector<Value*> parts;
    if (type->is_array()) {
      parts.assign(1 + type->rank(), b_.i64(0));
      parts[0] = b_.constant(types::u64(), 0);
      return b_.op_typed(OpCode::from_ptr, parts, {&type, 1})->result();
    }
    for (const Field& field : type->fields()) parts.push_back(nothing(field.type));
    return b_.construct(type, parts);
  }
  bool moves(const Value* value) const { return tangents_.contains(value); }
  std::vector<Value*> all(std::span<Value* const> list) {
    std::vector<Value*> out;
    for (Value* value : list) out.push_back(at(value));
    return out;
  }
  std::vector<Value*> with_tangents(std::span<Value* const> list) {
    std::vector<Value*> out = all(list);
    for (const Value* value : list)
      if (carries(value->type)) out.push_back(dot(value));
    return out;
  }

  void region(const Region& from) {
    for (const Op& op : from)
      if (ir::effect_of(op.code) != ir::Effect::end) visit(op);
  }

  Op* copy(const Op& op) {
    std::vector<Value*> operands = all(op.operands);
    std::vector<const Type*> types;
    for (const Value* result : op.results) types.push_back(result->type);
    Op* made = b_.op_typed(op.code, operands, types);
    ir::copy_attributes(op, target_, *made);
    for (std::size_t k = 0; k < op.results.size(); ++k) values_[op.results[k]] = made->results[k];
    return made;
  }

  void visit(const Op& op);
  void control(const Op& op);
  void call(const Op& op);
  void call_custom(const Op& op);
  void memory(const Op& op);
  void atomic(const Op& op);
  Value* derivative(const Op& op);

  Value* number(const Type* type, double v) {
    if (type->is_scalar()) return target_.constant_float(type, v);
    return b_.splat(type, target_.constant_float(type->element(), v));
  }
  Value* get(Value* from, std::span<const ir::PathStep> path) { return path.empty() ? from : b_.extract(from, path); }
  Value* put(Value* into, Value* part, std::span<const ir::PathStep> path) {
    return path.empty() ? part : b_.insert(into, part, path);
  }
  Value* mul(Value* a, Value* b) { return b_.binary(OpCode::mul, a, b); }
  Value* add(Value* a, Value* b) { return b_.binary(OpCode::add, a, b); }
  Value* sub(Value* a, Value* b) { return b_.binary(OpCode::sub, a, b); }

  const ir::Function& source_;
  ir::Function& target_;
  TangentFunctions& functions_;
  DiagnosticSink& sink_;
  ir::Builder b_;
  ir::ValueMap values_;
  std::unordered_map<const Value*, Value*> tangents_;
};

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

void Tangent::control(const Op& op) {
  std::vector<Value*> operands = all(op.operands);
  std::vector<const Type*> types;
  for (const Value* result : op.results) types.push_back(result->type);
  std::size_t skip = op.code == OpCode::for_ ? 3 : 0;
  for (std::size_t k = 0; k < op.results.size(); ++k) {
    if (!carries(op.result(k)->type)) continue;
    types.push_back(op.result(k)->type);
    if (op.code != OpCode::if_) operands.push_back(dot(op.operand(skip + k)));
  }
  Op* made = b_.op_typed(op.code, operands, types, op.regions.size());
  Region* outer = b_.region();
  for (std::size_t r = 0; r < op.regions.size(); ++r) {
    const Region& from = *op.regions[r];
    for (const Value* arg : from.args) values_[arg] = target_.add_argument(made->regions[r], arg->type);
    for (std::size_t k = skip ? 1 : 0; k < from.args.size(); ++k)
      if (carries(from.args[k]->type))
        // Carried tangents even where they start at zero: what an iteration adds may move.
        tangents_[from.args[k]] = target_.add_argument(made->regions[r], from.args[k]->type);
    b_.set_place(made->regions[r]);
    region(from);
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
      std::vector<Value*> args = all(op.operands);
      for (const Value* result : op.results) {
        if (!has_floats(result->type)) continue;
        Value* seed = b_.zero(result->type);
        if (result == op.result(k)) seed = put(seed, number(leaf.type, 1.0), leaf.path);
        args.push_back(seed);
      }
      Op* row = b_.call(op.callee->gradient, args);
      Value* sum = number(leaf.type, 0.0);
      std::size_t next = 0;
      for (const Value* operand : op.operands) {
        if (!has_floats(operand->type)) continue;
        Value* slope = row->result(next++);
        if (!moves(operand)) continue;
        for (const auto& part : float_leaves(operand->type)) {
          Value* product = mul(get(slope, part.path), get(dot(operand), part.path));
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
    if (!carries(made->result()->type->element())) return;
    std::vector<const Type*> type = {made->result()->type};
    Op* shadow = b_.op_typed(OpCode::local, {}, type);
    ir::copy_attributes(op, target_, *shadow);
    tangents_[op.result()] = shadow->result();
    return;
  }
  const Type* moved = op.code == OpCode::load ? op.result()->type : op.operands.back()->type;
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
    before = b_.atomic(op.atomic, shadow, indices, op.wrap, op.path, steps, slope);
  } else {
    if (gives) before = b_.load(shadow, indices, op.wrap, op.path, steps);
    if (op.atomic == AtomicKind::cas) {
      store_if(b_.binary(OpCode::eq, found, at(op.operand(op.operands.size() - 2))), {});
    } else {  // of equal ones the last, as in reverse
      const OpCode wins = op.atomic == AtomicKind::min ? OpCode::le : OpCode::ge;
      for (const FloatLeaf& leaf : float_leaves(type))
        store_if(b_.binary(wins, get(value, leaf.path), get(found, leaf.path)), leaf.path);
    }
  }
  b_.yield({&before, gives ? std::size_t(1) : 0});
  b_.set_place(there->regions[1]);
  Value* none = b_.zero(type);
  b_.yield({&none, gives ? std::size_t(1) : 0});
  b_.set_place(outer);
  if (gives) tangents_[op.result()] = there->result();
}

Value* Tangent::derivative(const Op& op) {
  auto v = [&](std::size_t k) { return at(op.operand(k)); };
  auto d = [&](std::size_t k) { return dot(op.operand(k)); };
  // One after the other: the order in which arguments are evaluated is the compiler's.
  auto product = [&](OpCode code) {
    Value* first = b_.binary(code, d(0), v(1));
    return add(first, b_.binary(code, v(0), d(1)));
  };
  Value* r = values_[op.result()];
  if (ir::derivative_of(op.code) == ir::Derivative::none) return nullptr;
  switch (op.code) {
    case OpCode::add: return add(d(0), d(1));
    case OpCode::sub: return sub(d(0), d(1));
    case OpCode::neg: return b_.unary(OpCode::neg, d(0));
    case OpCode::fma: return add(product(v(0)->type == v(1)->type ? OpCode::mul : OpCode::scale), d(2));
    case OpCode::mul:
    case OpCode::scale:
    case OpCode::dot:
    case OpCode::matmul:
    case OpCode::outer: return product(op.code);
    case OpCode::transpose: return b_.unary(op.code, d(0));
    case OpCode::choose_bits: {
      Value* chosen[] = {v(0), d(1), d(2)};
      return b_.op(op.code, chosen)->result();
    }
    case OpCode::select: return b_.select(v(0), d(1), d(2));
    case OpCode::cast: return op.operand(0)->type->is_float() ? b_.cast(d(0), op.result()->type) : nullptr;
    case OpCode::construct: {
      std::vector<Value*> parts;
      for (std::size_t k = 0; k < op.operands.size(); ++k) parts.push_back(d(k));
      return b_.construct(op.result()->type, parts);
    }
    case OpCode::splat: return b_.splat(op.result()->type, d(0));
    case OpCode::extract: return b_.extract(d(0), op.path, all(op.operands.subspan(1)));
    case OpCode::insert: return b_.insert(d(0), d(1), op.path, all(op.operands.subspan(2)));
    case OpCode::view:
    case OpCode::slice:
    case OpCode::gradient: {
      std::vector<Value*> operands = all(op.operands);
      operands[0] = d(0);
      const Type* type = op.result()->type;
      Op* made = b_.op_typed(op.code, operands, {&type, 1});
      ir::copy_attributes(op, target_, *made);
      return made->result();
    }
    case OpCode::with_gradient: return b_.with_gradient(d(0), d(1));
    case OpCode::from_ptr: return nullptr;
    case OpCode::div:
    case OpCode::rem:
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest:
    case OpCode::abs:
    case OpCode::unscale:
    WEFT_CASES(WEFT_ROUND_OPS)
    WEFT_CASES(WEFT_MATH_OPS) break;
    case OpCode::floordiv:
    // A number's bits have no derivative.
    case OpCode::bitcast:
    case OpCode::load:
    case OpCode::store:
    case OpCode::atomic:
    case OpCode::dim:
    case OpCode::nonnull:
    case OpCode::prefetch:
    case OpCode::data_ptr:
    case OpCode::recall:
    case OpCode::local:
    case OpCode::less_bits:
    case OpCode::less_equal_bits:
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_CONTROL_OPS)
    WEFT_CASES(WEFT_EFFECT_OPS) WEFT_UNREACHABLE("no tangent of " + std::string(ir::name_of(op.code)));
  }
  // Choices, quotients and elementary functions: component by component.
  const Type* type = op.result()->type;
  if (type->is_scalar()) {
    Moving second;
    if (op.operands.size() > 1) second = {v(1), d(1)};
    return elementary_tangent(b_, op.code, {v(0), d(0)}, second, r);
  }
  std::vector<Value*> parts;
  for (std::uint32_t k = 0; k < type->component_count(); ++k) {
    std::vector<ir::PathStep> path;
    if (type->is_mat()) path.push_back({ir::PathStep::index, false, false, std::int32_t(k / type->cols())});
    path.push_back({ir::PathStep::index, false, false, std::int32_t(type->is_mat() ? k % type->cols() : k)});
    auto part = [&](std::size_t i) -> Moving {
      if (v(i)->type->is_scalar()) return {v(i), d(i)};  // by which all are divided
      return {b_.extract(v(i), path), b_.extract(d(i), path)};
    };
    const OpCode code = op.code == OpCode::unscale ? OpCode::div : op.code;
    parts.push_back(
        elementary_tangent(b_, code, part(0), op.operands.size() > 1 ? part(1) : Moving{}, b_.extract(r, path)));
  }
  return b_.construct(type, parts);
}

}  // namespace

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
