// Assignment: plain, annotated, augmented, unpacking.
#include "sema/lowering.h"
#include "sema/tile_hints.h"
#include "sema/tiles.h"
#include "sema/written.h"

namespace weft::sema {

using namespace syntax;

void FunctionLowering::lower_assign(const AssignStmt& stmt) {
  tid_arity_ = 1;
  if (stmt.value->kind == ExprKind::call)  // i, j = wp.tid()
    for (const Expr* target : stmt.targets)
      if (const auto* tuple = target->as_if<TupleExpr>()) tid_arity_ = int(tuple->elements.size());
  Entity value = lower_expr(*stmt.value);
  tid_arity_ = 1;
  for (const Expr* target : stmt.targets) assign_target(*target, value, *stmt.value);
}

void FunctionLowering::assign_target(const Expr& target, Entity value, const Node& at_node) {
  switch (target.kind) {
    case ExprKind::name:
      if (value.is_literal()) {  // gets its type here, where it stands
        std::shared_ptr<const Symbol> constant = value.symbol;
        ir::Value* typed = value_of(value, at_node);
        value = typed ? Entity::of(typed) : Entity::failed();
        if (typed) value.symbol = std::move(constant);  // m = Mode.FAST, then m.value; x = 0.1, then wp.float64(x)
      } else {
        forget_written(value);  // y = x
      }
      return assign_variable(target, target.as<NameExpr>().name, std::move(value));
    case ExprKind::tuple: return unpack(target.as<TupleExpr>().elements, std::move(value), at_node);
    case ExprKind::list: return unpack(target.as<ListExpr>().elements, std::move(value), at_node);
    case ExprKind::subscript:
    case ExprKind::attribute: {
      Place place = place_of(target);
      if (place.root == Place::Root::none || value.is_error()) return;
      return write_place(place, std::move(value), target, &at_node);
    }
    default: fail(DiagCode::bad_assignment, target, "this can't be assigned to"); return;
  }
}

void FunctionLowering::unpack(std::span<Expr* const> targets, Entity value, const Node& at_node) {
  std::vector<Entity> parts;
  if (value.kind == Entity::Kind::tuple) {
    parts = *value.elements;
  } else if (value.is_value() && value.type()->is_tuple()) {
    for (std::size_t k = 0; k < value.type()->fields().size(); ++k) {
      ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
      parts.push_back(Entity::of(at(at_node).extract(value.value, std::span(&step, 1))));
    }
  } else if (value.is_value() && value.type()->is_composite() && !value.type()->is_mat()) {
    for (std::uint32_t k = 0; k < value.type()->component_count(); ++k)
      parts.push_back(Entity::of(at(at_node).extract(value.value, std::int32_t(k))));
  } else if (value.is_error()) {
    parts.assign(targets.size(), Entity::failed());
  } else {
    fail(DiagCode::bad_assignment, at_node, describe(value) + " can't be unpacked into several names");
    parts.assign(targets.size(), Entity::failed());
  }
  if (parts.size() != targets.size()) {
    fail(DiagCode::bad_assignment, at_node,
         "there are " + std::to_string(targets.size()) + " names to assign but " + std::to_string(parts.size()) +
             " values");
    parts.assign(targets.size(), Entity::failed());
  }
  // All values exist before the first name is assigned: `a, b = b, a` swaps.
  for (Entity& part : parts)
    if (part.is_value() && tile_type(part.type())) part = Tiles(*this, at_node).copied(part);
  for (std::size_t k = 0; k < targets.size(); ++k) assign_target(*targets[k], parts[k], at_node);
}

Entity FunctionLowering::storable(Entity value, const Type* type, const Node& at_node, const char* what) {
  if (value.is_error()) return value;
  if (value.is_literal() && library() && type->is_scalar()) return Entity::of(literal_as(value, type, at_node));
  ir::Value* v = value_of(value, at_node);
  if (!v) return Entity::failed();
  if (v->type != type) {
    std::string cure = type->is_scalar() && v->type->is_scalar()
                           ? "convert the value: " +
                                 std::string(type == types::f32()   ? "float"
                                             : type == types::i32() ? "int"
                                                                    : "wp." + type->user_name()) +
                                 "(…)"
                       : is_tile_of_one(v->type) ? std::string(kTakeElement)
                                                 : "make a " + type->user_name() + " of it first";
    return fail(DiagCode::type_mismatch, at_node,
                std::string("can't store ") + v->type->user_name() + " in " + what + " of type " + type->user_name(),
                cure);
  }
  return Entity::of(v);
}

void FunctionLowering::lower_annotated(const AnnotatedAssignStmt& stmt) {
  auto pattern = eval_annotation(*stmt.annotation, *scope_, sink_);
  const auto* name = stmt.target->as_if<NameExpr>();
  if (!pattern) {
    if (stmt.value) lower_expr(*stmt.value);
    if (name) poison(name->name);
    return;
  }
  if (!stmt.value) {
    if (name && pattern->kind == builtins::Pattern::Kind::exact) {
      int variable = find_variable(name->name);
      if (variable < 0) {
        variable = new_variable(name->name);
        variable_index_.emplace(name->name, variable);
        variables_[std::size_t(variable)].first = stmt.loc;
        variables_[std::size_t(variable)].type = pattern->type;
      }
    }
    return;
  }
  Entity value = lower_expr(*stmt.value);
  if (value.is_error()) return assign_target(*stmt.target, value, stmt);
  if (pattern->kind == builtins::Pattern::Kind::exact && value.is_literal() && pattern->type->is_scalar()) {
    bool same_sort = value.kind == Entity::Kind::integer || pattern->type->is_float();
    if (same_sort) value = Entity::of(literal_as(value, pattern->type, *stmt.value));
  }
  ir::Value* v = value_of(value, *stmt.value);
  if (!v) return assign_target(*stmt.target, Entity::failed(), stmt);
  builtins::Bindings bindings;
  if (!builtins::match(*pattern, v->type, bindings)) {
    fail(DiagCode::type_mismatch, *stmt.value,
         "the value is " + v->type->user_name() + ", the annotation says " + builtins::to_string(*pattern),
         "convert the value or change the annotation");
    return assign_target(*stmt.target, Entity::failed(), stmt);
  }
  assign_target(*stmt.target, Entity::of(v), stmt);
}

void FunctionLowering::lower_augmented(const AugmentedAssignStmt& stmt) {
  // As in Python, the target is looked at first, then the value is computed.
  if (const auto* name = stmt.target->as_if<NameExpr>()) {
    int variable = find_variable(name->name);
    Entity current = Entity::failed();
    if (variable >= 0)
      current = read_variable(variable, stmt.target);
    else if (!names_lost_)
      fail(DiagCode::unknown_name, *stmt.target, "'" + std::string(name->name) + "' is used before it is assigned",
           "give it a value first");
    Entity value = lower_expr(*stmt.value);
    if (current.is_value() && tile_type(current.type())) {
      if (!value.is_error()) Tiles(*this, stmt).update(operator_name(stmt.op), current, value);
      return;
    }
    Entity result = binary(stmt.op, current, value, stmt);
    if (result.is_error()) return poison(name->name);
    return assign_variable(stmt, name->name, result);
  }
  Place place = place_of(*stmt.target);
  Entity value = lower_expr(*stmt.value);
  if (place.root == Place::Root::none || value.is_error()) return;
  if (place.root == Place::Root::temporary && tile_type(place.type)) {
    Tiles(*this, stmt).update(operator_name(stmt.op), Entity::of(place.base), value);
    return;
  }
  if (place.repeated) {
    Tiles(*this, stmt).refuse_write();
    return;
  }
  if (place.of_tile && place.type->is_struct() && place.dynamic.empty() && value.is_value() &&
      value.type() == place.type && Tiles(*this, stmt).update_element(operator_name(stmt.op), place, value.value))
    return;
  // On array elements += and -= are atomic, and so are &= |= ^= on integers; the rest reads, computes and writes.
  if (place.root == Place::Root::memory && place.type->is_numeric() &&
      place.type->scalar_kind() != ScalarKind::boolean) {
    bool is_int = place.type->scalar_kind() < ScalarKind::f16;
    std::optional<ir::AtomicKind> kind;
    switch (stmt.op) {
      case BinaryOp::add:
      case BinaryOp::sub: kind = ir::AtomicKind::add; break;
      case BinaryOp::bit_and:
        if (is_int) kind = ir::AtomicKind::bit_and;
        break;
      case BinaryOp::bit_or:
        if (is_int) kind = ir::AtomicKind::bit_or;
        break;
      case BinaryOp::bit_xor:
        if (is_int) kind = ir::AtomicKind::bit_xor;
        break;
      default: break;
    }
    if (kind) {
      value = storable(value, place.type, *stmt.value, "an array element");
      if (!value.is_value()) return;
      builder_.set_loc(stmt.loc);
      ir::Value* v = stmt.op == BinaryOp::sub ? fold(ir::OpCode::neg, value.value) : value.value;
      auto update = [&](const Place& one, ir::Value* by) {
        where_inside(one, [&] { builder_.atomic(*kind, one.base, one.indices, one.wrap, one.path, one.dynamic, by); });
      };
      if (place.is_run()) return for_each_part(place, v, update);
      return update(place, v);
    }
  }
  Entity before = read_place(place);
  // The first addition to wp.adjoint[x] needs no addition to zero.
  bool first = is_gradient_ && stmt.op == BinaryOp::add && before.is_value() && before.value->is_zero();
  bool same = value.is_value() && before.is_value() && value.type() == before.type();
  Entity result = first && same ? value : binary(stmt.op, before, value, stmt);
  if (!result.is_error()) write_place(place, result, stmt, stmt.value);
}

}  // namespace weft::sema
