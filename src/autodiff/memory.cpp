// Arrays in reverse: a load adds to the gradient of what it read, a store takes the gradient of what it wrote. Where
// threads may meet, gradients are added and taken atomically. Atomic operations: atomics.cpp.
#include "autodiff/float_leaves.h"
#include "autodiff/reverse.h"

namespace weft::autodiff {

using ir::AtomicKind;
using ir::Op;
using ir::OpCode;
using ir::Value;

void Reverser::find_leaves(const Type* type, std::vector<std::int32_t>& prefix, std::vector<Leaf>& out) {
  // Composites stay whole: the gradient of a vec3 is one access. Structs are taken apart, because only some of their
  // fields have gradients; the bytes of the others in a gradient array mean nothing and are left alone.
  if (type->is_numeric()) {
    if (has_floats(type)) out.push_back({type, prefix});
    return;
  }
  if (!type->is_struct()) return;
  for (std::size_t k = 0; k < type->fields().size(); ++k) {
    prefix.push_back(std::int32_t(k));
    find_leaves(type->fields()[k].type, prefix, out);
    prefix.pop_back();
  }
}

std::vector<Reverser::Leaf> Reverser::leaves(const Type* type) {
  std::vector<Leaf> out;
  std::vector<std::int32_t> prefix;
  find_leaves(type, prefix, out);
  return out;
}

Reverser::Access Reverser::gradient_access(const Op& op, const Leaf& leaf, Value* gradient) {
  Access access;
  access.array = gradient;
  // The indices of the replay, not new ones: they are as they were, and a
  // gradient has the shape and strides of its array.
  access.indices = mapped_all(op.indices());
  access.wrap = op.wrap;
  access.path.assign(op.path.begin(), op.path.end());
  std::size_t dynamic = 0;
  for (const ir::PathStep& step : op.path) dynamic += step.dynamic;
  access.dynamic = mapped_all(op.operands.subspan(1 + op.num_indices, dynamic));
  for (std::int32_t field : leaf.fields) access.path.push_back({ir::PathStep::field, false, false, field});
  return access;
}

std::vector<Value*> Reverser::where_gradient(Value* gradient, std::span<const Type* const> types,
                                             const std::function<std::vector<Value*>()>& make) {
  // Whether an array has a gradient is known at the launch alone. The question has the same answer for all
  // threads, so that lanes need no mask for it.
  Op* choice = b_.if_op(b_.unary(OpCode::nonnull, gradient), types);
  ir::Region* outer = b_.region();
  b_.set_place(choice->regions[0]);
  b_.yield(make());
  b_.set_place(choice->regions[1]);
  std::vector<Value*> zeros;
  for (const Type* type : types) zeros.push_back(b_.zero(type));
  b_.yield(zeros);
  b_.set_place(outer);
  return {choice->results.begin(), choice->results.end()};
}

namespace {

/// The part of a value that a leaf names.
Value* part_of(ir::Builder& b, Value* value, const std::vector<std::int32_t>& fields) {
  for (std::int32_t field : fields) value = b.extract(value, field);
  return value;
}

/// The value with a leaf replaced.
Value* with_part(ir::Builder& b, Value* value, Value* part, const std::vector<std::int32_t>& fields) {
  if (fields.empty()) return part;
  std::vector<ir::PathStep> path;
  for (std::int32_t field : fields) path.push_back({ir::PathStep::field, false, false, field});
  return b.insert(value, part, path);
}

}  // namespace

void Reverser::reverse_load(const Op& op) {
  Value* g = adjoint(op.result());
  if (!g) return;
  Value* gradient = b_.gradient(map(op.operand(0)));
  bool own = is_apart(op.operand(0));
  where_gradient(gradient, {}, [&]() -> std::vector<Value*> {
    for (const Leaf& leaf : leaves(op.result()->type)) {
      Access at = gradient_access(op, leaf, gradient);
      Value* part = part_of(b_, g, leaf.fields);
      if (own) {
        Value* before = b_.load(at.array, at.indices, at.wrap, at.path, at.dynamic);
        b_.store(at.array, at.indices, at.wrap, at.path, at.dynamic, plus(before, part));
      } else {
        b_.atomic(AtomicKind::add, at.array, at.indices, at.wrap, at.path, at.dynamic, part);
      }
    }
    return {};
  });
}

void Reverser::add_to_numbers() {
  if (!recorded_ || recorded_->roots.empty()) return;
  // Null if nobody wants these gradients; behind all others, where make_adjoint has put it.
  Value* numbers = target_.params().back();
  where_gradient(numbers, {}, [&]() -> std::vector<Value*> {
    for (const NumberRoot& root : recorded_->roots) {
      Value* g = adjoint(root.value);
      if (!g) continue;
      std::size_t at = root.first;
      for (const FloatLeaf& one : float_leaves(root.value->type)) {
        Value* part = one.path.empty() ? g : b_.extract(g, one.path);
        Value* index[] = {b_.i64(std::int64_t(at++))};
        // All threads add to the same few elements, which the CPU turns into private sums. In double precision, for a
        // sum over millions of threads loses the small ones otherwise.
        b_.atomic(AtomicKind::add, numbers, index, 0, {}, {}, b_.cast(part, types::f64()));
      }
    }
    return {};
  });
}

void Reverser::reverse_store(const Op& op) {
  Value* value = op.operands.back();
  std::vector<Leaf> parts = leaves(value->type);
  // Integers and descriptors have no gradient that a store could end.
  if (parts.empty()) return;
  Value* gradient = b_.gradient(map(op.operand(0)));
  bool own = is_apart(op.operand(0));
  std::vector<const Type*> types;
  for (const Leaf& leaf : parts) types.push_back(leaf.type);
  // Taken even where the value has no adjoint: what was overwritten does not depend on what came before.
  std::vector<Value*> taken = where_gradient(gradient, types, [&] {
    std::vector<Value*> out;
    for (const Leaf& leaf : parts) {
      Access at = gradient_access(op, leaf, gradient);
      Value* none = b_.zero(leaf.type);
      if (own) {
        out.push_back(b_.load(at.array, at.indices, at.wrap, at.path, at.dynamic));
        b_.store(at.array, at.indices, at.wrap, at.path, at.dynamic, none);
      } else {
        // Two threads that stored to one element: one of them was the last, nobody knows which. One
        // takes the gradient here, and never both.
        out.push_back(b_.atomic(AtomicKind::exch, at.array, at.indices, at.wrap, at.path, at.dynamic, none));
      }
    }
    return out;
  });
  if (!wants(value)) return;
  // Put together as the value is; fields without floats stay zero.
  Value* g = b_.zero(value->type);
  for (std::size_t k = 0; k < parts.size(); ++k) g = with_part(b_, g, taken[k], parts[k].fields);
  add(value, g);
}

}  // namespace weft::autodiff
