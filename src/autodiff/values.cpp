// Adjoints of values and the small arithmetic on scalars, composites and structs that rules are written in.
#include "autodiff/reverse.h"

namespace weft::autodiff {

using ir::OpCode;
using ir::Value;

namespace {

/// Composites with more components than this are worked on by a loop.
constexpr std::uint32_t kMaxUnrolled = 16;

}  // namespace

Value* Reverser::adjoint(const Value* value) const {
  auto it = adjoints_.find(value);
  return it == adjoints_.end() ? nullptr : it->second;
}

Value* Reverser::adjoint_or_zero(const Value* value) {
  Value* known = adjoint(value);
  return known ? known : b_.zero(value->type);
}

void Reverser::add(const Value* value, Value* contribution) {
  if (!wants(value)) return;
  Value*& slot = adjoints_[value];
  // The first contribution is taken as it is: 0 + x would turn −0 into +0, and is one operation more.
  slot = slot ? sum(slot, contribution) : contribution;
}

// The sum is chosen, not the product, which can then be fused into it.

void Reverser::add_product(const Value* result, const Value* value, Value* g, Value* contribution,
                           const Value* partial) {
  if (!wants(value)) return;
  if (!zero_adjoints_.product(result, partial)) return add(value, contribution);
  Value* before = adjoint_or_zero(value);
  Value* after = sum(before, contribution);
  set(value, b_.select(is_void(g, after), before, after));
}

void Reverser::add_products(const Value* result, const Value* value, Value* g, Value* contribution,
                            const Value* partial) {
  if (!wants(value)) return;
  if (!zero_adjoints_.product(result, partial)) return add(value, contribution);
  Value* before = adjoint_or_zero(value);
  Value* in[] = {g, before, sum(before, contribution)};
  set(value, by_component(in, [&](std::span<Value* const> v) { return b_.select(is_void(v[0], v[2]), v[1], v[2]); }));
}

Value* Reverser::sum(Value* a, Value* b) {
  if (a->is_zero()) return b;
  if (b->is_zero()) return a;
  const Type* type = a->type;
  // Integers in a struct ride along in its adjoint and mean nothing: either will do.
  if (type->is_numeric()) return has_floats(type) ? plus(a, b) : a;
  if (!has_floats(type)) return a;
  std::vector<Value*> parts;
  for (std::size_t k = 0; k < type->fields().size(); ++k)
    parts.push_back(sum(b_.extract(a, std::int32_t(k)), b_.extract(b, std::int32_t(k))));
  return b_.construct(type, parts);
}

Value* Reverser::number(const Type* type, double value) {
  if (type->is_scalar()) return target_.constant_float(type, value);
  return b_.splat(type, target_.constant_float(type->element(), value));
}

/// Where something made of the adjoint g counts for nothing. An adjoint that may be differentiated again (wp.grad) keeps
/// what is a number: its own derivative is not zero where g is.
Value* Reverser::is_void(Value* g, Value* made) {
  Value* none = b_.binary(OpCode::eq, g, b_.zero(g->type));
  if (options_.into_arrays) return none;
  return b_.binary(OpCode::bit_and, none, b_.binary(OpCode::ne, made, made));
}

Value* Reverser::gated(Value* g, Value* contribution) {
  return b_.select(is_void(g, contribution), b_.zero(contribution->type), contribution);
}

Value* Reverser::inner(Value* a, Value* b) {
  const Type* type = a->type;
  if (type->is_scalar()) return times(a, b);
  if (type->is_vec() || type->is_quat()) return b_.binary(OpCode::dot, a, b);
  if (type->is_mat()) {
    Value* total = nullptr;
    for (std::uint32_t r = 0; r < type->rows(); ++r) {
      Value* row = inner(b_.extract(a, std::int32_t(r)), b_.extract(b, std::int32_t(r)));
      total = total ? plus(total, row) : row;
    }
    return total;
  }
  return component_sum(times(a, b));
}

Value* Reverser::component_sum(Value* a) {
  const Type* type = a->type;
  if (type->is_scalar()) return a;
  // A product with ones: one operation of the IR, in the order of sums that every executor keeps to.
  if (type->is_vec() || type->is_quat()) return b_.binary(OpCode::dot, a, number(type, 1.0));
  Value* total = nullptr;
  std::uint32_t count = type->is_mat() ? type->rows() : type->component_count();
  for (std::uint32_t k = 0; k < count; ++k) {
    Value* part = component_sum(b_.extract(a, std::int32_t(k)));
    total = total ? plus(total, part) : part;
  }
  return total;
}

Value* Reverser::by_component(std::span<Value* const> values,
                              const std::function<Value*(std::span<Value* const>)>& rule) {
  const Type* type = values[0]->type;
  if (type->is_scalar()) return rule(values);
  auto path_of = [&](std::uint32_t k) {
    std::vector<ir::PathStep> path;
    auto step = [](std::uint32_t i) { return ir::PathStep{ir::PathStep::index, false, false, std::int32_t(i)}; };
    if (type->is_mat()) path.push_back(step(k / type->cols()));
    path.push_back(step(type->is_mat() ? k % type->cols() : k));
    return path;
  };
  if (type->component_count() <= kMaxUnrolled) {
    std::vector<Value*> parts;
    for (std::uint32_t k = 0; k < type->component_count(); ++k) {
      std::vector<Value*> at;
      for (Value* value : values) at.push_back(b_.extract(value, path_of(k)));
      parts.push_back(rule(at));
    }
    return b_.construct(type, parts);
  }
  // Large composites: code must not grow with the number of components.
  Value* init[] = {b_.zero(type)};
  ir::Op* loop = b_.for_op(b_.i32(0), b_.i32(type->component_count()), b_.i32(1), init);
  ir::Region* outer = b_.region();
  b_.set_place(loop->regions[0]);
  Value* k = loop->regions[0]->args[0];
  std::vector<ir::PathStep> path = {{ir::PathStep::index, true, false, 0}};
  std::vector<Value*> dynamic = {k};
  if (type->is_mat()) {
    path.push_back({ir::PathStep::index, true, false, 0});
    Value* cols = b_.i32(type->cols());
    // Row by row, as construct has it.
    dynamic = {b_.binary(OpCode::div, k, cols), b_.binary(OpCode::rem, k, cols)};
  }
  std::vector<Value*> at;
  for (Value* value : values) at.push_back(b_.extract(value, path, dynamic));
  Value* next[] = {b_.insert(loop->regions[0]->args[1], rule(at), path, dynamic)};
  b_.yield(next);
  b_.set_place(outer);
  return loop->result();
}

}  // namespace weft::autodiff
