// The builder: every operation goes through `infer`, so nothing ill-typed can be built.
#include "ir/builder.h"

#include "ir/infer.h"

namespace weft::ir {
namespace {

std::vector<Value*> joined(std::initializer_list<std::span<Value* const>> lists) {
  std::vector<Value*> all;
  for (std::span<Value* const> list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::span<Value* const> one(Value* const& value) { return {&value, 1}; }

/// Attributes that inference needs are set on a detached probe before results exist.
Op probe_of(OpCode code, std::vector<Value*>& operands) {
  Op probe{};
  probe.code = code;
  probe.operands = operands;
  return probe;
}

/// Checks the probe and makes the real operation from it.
Op* realise(Function& function, const Op& probe, std::vector<const Type*> result_types, std::size_t num_regions = 0) {
  std::optional<std::string> error = infer(probe, result_types);
  WEFT_CHECK(!error, *error);
  Op* op = function.make_op(probe.code, probe.operands, result_types, num_regions);
  op->atomic = probe.atomic;
  op->num_indices = probe.num_indices;
  op->wrap = probe.wrap;
  op->path = function.arena.copy(std::span<const PathStep>(probe.path));
  op->ints = function.arena.copy(std::span<const std::int64_t>(probe.ints));
  op->imm = probe.imm;
  op->callee = probe.callee;
  return op;
}

}  // namespace

Op* Builder::place(Op* op) {
  op->loc = loc_;
  insert_op(region_, op, before_);
  return op;
}

Op* Builder::op(OpCode code, std::span<Value* const> operands, std::size_t num_regions) {
  std::vector<Value*> list(operands.begin(), operands.end());
  return place(realise(*function_, probe_of(code, list), {}, num_regions));
}

Op* Builder::op_typed(OpCode code, std::span<Value* const> operands, std::span<const Type* const> result_types,
                      std::size_t num_regions) {
  return place(function_->make_op(code, operands, result_types, num_regions));
}

Value* Builder::unary(OpCode code, Value* a) { return op(code, one(a))->result(); }

Value* Builder::binary(OpCode code, Value* a, Value* b) {
  Value* operands[] = {a, b};
  return op(code, operands)->result();
}

Value* Builder::ternary(OpCode code, Value* a, Value* b, Value* c) {
  Value* operands[] = {a, b, c};
  return op(code, operands)->result();
}

Value* Builder::select(Value* condition, Value* if_true, Value* if_false) {
  return ternary(OpCode::select, condition, if_true, if_false);
}

Value* Builder::cast(Value* a, const Type* to) {
  std::vector<Value*> operands = {a};
  return place(realise(*function_, probe_of(OpCode::cast, operands), {to}))->result();
}

Value* Builder::bitcast(Value* a, const Type* to) {
  std::vector<Value*> operands = {a};
  return place(realise(*function_, probe_of(OpCode::bitcast, operands), {to}))->result();
}

Value* Builder::construct(const Type* type, std::span<Value* const> parts) {
  std::vector<Value*> operands(parts.begin(), parts.end());
  return place(realise(*function_, probe_of(OpCode::construct, operands), {type}))->result();
}

Value* Builder::splat(const Type* type, Value* scalar) {
  std::vector<Value*> operands = {scalar};
  return place(realise(*function_, probe_of(OpCode::splat, operands), {type}))->result();
}

Value* Builder::extract(Value* aggregate, std::span<const PathStep> path, std::span<Value* const> dynamic) {
  std::vector<Value*> operands = joined({one(aggregate), dynamic});
  std::vector<PathStep> steps(path.begin(), path.end());
  Op probe = probe_of(OpCode::extract, operands);
  probe.path = steps;
  return place(realise(*function_, probe, {}))->result();
}

Value* Builder::insert(Value* aggregate, Value* part, std::span<const PathStep> path, std::span<Value* const> dynamic) {
  std::vector<Value*> operands = joined({one(aggregate), one(part), dynamic});
  std::vector<PathStep> steps(path.begin(), path.end());
  Op probe = probe_of(OpCode::insert, operands);
  probe.path = steps;
  return place(realise(*function_, probe, {}))->result();
}

Value* Builder::extract(Value* aggregate, std::int32_t index) {
  PathStep step{aggregate->type->is_composite() ? PathStep::index : PathStep::field, false, false, index};
  return extract(aggregate, std::span<const PathStep>(&step, 1));
}

Value* Builder::insert(Value* aggregate, Value* part, std::int32_t index) {
  PathStep step{aggregate->type->is_composite() ? PathStep::index : PathStep::field, false, false, index};
  return insert(aggregate, part, std::span<const PathStep>(&step, 1));
}

Value* Builder::load(Value* array, std::span<Value* const> indices, std::uint8_t wrap, std::span<const PathStep> path,
                     std::span<Value* const> dynamic) {
  std::vector<Value*> operands = joined({one(array), indices, dynamic});
  std::vector<PathStep> steps(path.begin(), path.end());
  Op probe = probe_of(OpCode::load, operands);
  probe.num_indices = std::uint8_t(indices.size());
  probe.wrap = wrap;
  probe.path = steps;
  return place(realise(*function_, probe, {}))->result();
}

void Builder::store(Value* array, std::span<Value* const> indices, std::uint8_t wrap, std::span<const PathStep> path,
                    std::span<Value* const> dynamic, Value* value) {
  std::vector<Value*> operands = joined({one(array), indices, dynamic, one(value)});
  std::vector<PathStep> steps(path.begin(), path.end());
  Op probe = probe_of(OpCode::store, operands);
  probe.num_indices = std::uint8_t(indices.size());
  probe.wrap = wrap;
  probe.path = steps;
  place(realise(*function_, probe, {}));
}

Value* Builder::atomic(AtomicKind kind, Value* array, std::span<Value* const> indices, std::uint8_t wrap,
                       std::span<const PathStep> path, std::span<Value* const> dynamic, Value* value, Value* expected) {
  WEFT_CHECK((kind == AtomicKind::cas) == (expected != nullptr));
  std::vector<Value*> operands = joined({one(array), indices, dynamic});
  if (expected) operands.push_back(expected);
  operands.push_back(value);
  std::vector<PathStep> steps(path.begin(), path.end());
  Op probe = probe_of(OpCode::atomic, operands);
  probe.atomic = kind;
  probe.num_indices = std::uint8_t(indices.size());
  probe.wrap = wrap;
  probe.path = steps;
  return place(realise(*function_, probe, {}))->result();
}

void Builder::prefetch(Value* array, std::span<Value* const> indices) {
  std::vector<Value*> operands = joined({one(array), indices});
  Op probe = probe_of(OpCode::prefetch, operands);
  probe.num_indices = std::uint8_t(indices.size());
  place(realise(*function_, probe, {}));
}

Value* Builder::view(Value* array, std::span<Value* const> indices, std::uint8_t wrap, int first_dimension) {
  std::vector<Value*> operands = joined({one(array), indices});
  Op probe = probe_of(OpCode::view, operands);
  probe.imm = first_dimension;
  probe.num_indices = std::uint8_t(indices.size());
  probe.wrap = wrap;
  return place(realise(*function_, probe, {}))->result();
}

Value* Builder::slice(Value* array, int dimension, Value* start, Value* stop, Value* step) {
  std::vector<Value*> operands = {array, start, stop, step};
  Op probe = probe_of(OpCode::slice, operands);
  probe.imm = dimension;
  return place(realise(*function_, probe, {}))->result();
}

Value* Builder::dim(Value* array, int dimension, const Type* type) {
  std::vector<Value*> operands = {array};
  Op probe = probe_of(OpCode::dim, operands);
  probe.imm = dimension;
  return place(realise(*function_, probe, {type}))->result();
}

Value* Builder::local(const Type* array_type, std::span<const std::int64_t> shape, bool raw) {
  std::vector<Value*> operands;
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  Op probe = probe_of(OpCode::local, operands);
  probe.ints = extents;
  probe.imm = raw;
  return place(realise(*function_, probe, {array_type}))->result();
}

Value* Builder::tid(int dimension) {
  std::vector<Value*> operands;
  Op probe = probe_of(OpCode::tid, operands);
  probe.imm = dimension;
  return place(realise(*function_, probe, {}))->result();
}

Op* Builder::if_op(Value* condition, std::span<const Type* const> result_types) {
  std::vector<Value*> operands = {condition};
  return place(realise(*function_, probe_of(OpCode::if_, operands),
                       std::vector<const Type*>(result_types.begin(), result_types.end()), 2));
}

Op* Builder::for_op(Value* lo, Value* hi, Value* step, std::span<Value* const> init) {
  std::vector<Value*> operands = joined({one(lo), one(hi), one(step), init});
  std::vector<const Type*> carried;
  for (Value* value : init) carried.push_back(value->type);
  Op* op = place(realise(*function_, probe_of(OpCode::for_, operands), carried, 1));
  function_->add_argument(op->regions[0], lo->type);
  for (const Type* type : carried) function_->add_argument(op->regions[0], type);
  return op;
}

Op* Builder::while_op(std::span<Value* const> init) {
  std::vector<Value*> operands(init.begin(), init.end());
  std::vector<const Type*> carried;
  for (Value* value : init) carried.push_back(value->type);
  Op* op = place(realise(*function_, probe_of(OpCode::while_, operands), carried, 2));
  for (Region* region : op->regions)
    for (const Type* type : carried) function_->add_argument(region, type);
  return op;
}

Op* Builder::call(Function* callee, std::span<Value* const> args) {
  std::vector<Value*> operands(args.begin(), args.end());
  Op probe = probe_of(OpCode::call, operands);
  probe.callee = callee;
  return place(realise(*function_, probe, {}));
}

void Builder::yield(std::span<Value* const> values) { op(OpCode::yield, values); }
void Builder::test(Value* condition) { op(OpCode::test, one(condition)); }
void Builder::ret(std::span<Value* const> values) { op(OpCode::return_, values); }

}  // namespace weft::ir
