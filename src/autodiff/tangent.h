// What writes a function's tangent: values and tangents side by side, walked once (tangent.cpp); what each operation's
// tangent is stands in tangent_rules.cpp.
#pragma once
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "autodiff/activity.h"
#include "autodiff/adjoint.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::autodiff {

/// Whether values of this type have tangents.
inline bool carries(const Type* type) { return has_floats(type) || ir::has_array(type); }

class TangentFunctions;

class Tangent {
  using Op = ir::Op;
  using OpCode = ir::OpCode;
  using Region = ir::Region;
  using Value = ir::Value;

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
  struct Scalar {
    Value* value = nullptr;
    Value* tangent = nullptr;
  };
  /// `value`, made of the tangent `moved` of a scalar: what does not move contributes nothing, whatever the slope. Where it
  /// is a number it stays: its own derivative is not zero where the tangent is.
  Value* gated(Value* moved, Value* value);
  /// The tangent of an elementwise operation on scalars with result r.
  Value* elementary(OpCode code, Scalar a, Scalar b, Value* r);

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
  Value* div(Value* a, Value* b) { return b_.binary(OpCode::div, a, b); }

  const ir::Function& source_;
  ir::Function& target_;
  TangentFunctions& functions_;
  DiagnosticSink& sink_;
  ir::Builder b_;
  ir::ValueMap values_;
  std::unordered_map<const Value*, Value*> tangents_;
};

}  // namespace weft::autodiff
