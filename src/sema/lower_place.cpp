// Places: what can stand left of `=`, and what subscripts and attributes read. A place is a variable or an array element
// with a path into it, so that `p[i].mass` and `out[0][2]` touch only those bytes, reading as well as writing.
#include "sema/lowering.h"

#include <utility>

#include "ir/infer.h"
#include "sema/tiles.h"
#include "types/fabric_type.h"

namespace weft::sema {

using namespace syntax;
using ir::PathStep;

namespace {

std::string_view kComponents = "xyzw";

PathStep field_step(std::int32_t k) { return {PathStep::field, false, false, k}; }
PathStep index_step(std::int32_t k) { return {PathStep::index, false, false, k}; }

}  // namespace

bool FunctionLowering::is_foreign(const Expr& expr) const {
  const Expr* root = &expr;
  while (const auto* attribute = root->as_if<AttributeExpr>()) root = attribute->object;
  const auto* name = root->as_if<NameExpr>();
  return name && find_variable(name->name) < 0;
}

Place FunctionLowering::place_of(const Expr& expr, Entity* instead) {
  auto temporary = [&](Entity value) -> Place {
    if (!value.is_value()) {
      if (instead && !value.is_error())
        *instead = std::move(value);
      else if (!value.is_error())
        fail(DiagCode::bad_assignment, expr, "this can't be assigned to or indexed: " + describe(value));
      return {};
    }
    Place place;
    place.root = Place::Root::temporary;
    place.base = value.value;
    place.type = value.type();
    return place;
  };
  auto taken = [&] { return instead ? std::exchange(*instead, Entity::nothing()) : Entity::nothing(); };
  if (const auto* attribute = expr.as_if<AttributeExpr>(); attribute && !is_foreign(expr)) {
    Place place = place_of(*attribute->object, instead);
    if (place.root == Place::Root::none) {
      Entity object = taken();
      return object.kind == Entity::Kind::none ? place : temporary(attribute_of(object, *attribute));
    }
    if (place.type && attribute_step(place, attribute->name)) return place;
    return temporary(value_attribute(read_place(place), *attribute));
  }
  if (const auto* subscript = expr.as_if<SubscriptExpr>()) {
    if (is_adjoint(*subscript)) return adjoint_place(*subscript);
    Place place = place_of(*subscript->object, instead);
    if (place.root != Place::Root::none) return subscript_place(std::move(place), *subscript);
    Entity object = taken();
    if (object.kind == Entity::Kind::tuple) return temporary(element_of_tuple(object, *subscript));
    if (object.kind != Entity::Kind::none)
      fail(DiagCode::bad_index, *subscript->object, describe(object) + " can't be indexed");
    return {};
  }
  Place place;
  if (const auto* name = expr.as_if<NameExpr>()) {
    int variable = find_variable(name->name);
    if (variable >= 0) {
      Entity value = read_variable(variable, &expr);
      if (!value.is_value()) {
        if (!value.is_error()) fail(DiagCode::bad_index, expr, describe(value) + " can't be indexed");
        return {};
      }
      place.root = Place::Root::variable;
      place.variable = variable;
      place.base = value.value;
      place.type = value.type();
      return place;
    }
  }
  Entity value = lower_expr(expr);
  ir::Value* v = value_of(value, expr);
  if (!v) return {};
  place.root = Place::Root::temporary;
  place.base = v;
  place.type = v->type;
  return place;
}

bool FunctionLowering::attribute_step(Place& place, std::string_view name) {
  const Type* type = place.type;
  if (type->is_struct() && !type->is_indexed_array() && !tile_type(type) && !fabric_type(type)) {
    int field = type->field_index(name);
    if (field < 0 || hidden_field(type, field)) return false;
    place.path.push_back(field_step(field));
    place.type = type->fields()[std::size_t(field)].type;
    return true;
  }
  if (type->is_transform() && (name == "p" || name == "q")) {
    bool p = name == "p";
    place.whole = type;
    place.type = p ? types::vec(type->element(), 3) : types::quat(type->element());
    for (std::int32_t k = p ? 0 : 3; k < (p ? 3 : 7); ++k) place.parts.push_back({{index_step(k)}, {}});
    return true;
  }
  if ((type->is_vec() || type->is_quat()) && name.size() == 1) {
    std::size_t k = kComponents.find(name[0]);
    if (k == std::string_view::npos || k >= type->rows()) return false;
    if (place.is_run()) {
      take_part(place, k);
    } else {
      place.path.push_back(index_step(std::int32_t(k)));
      place.type = type->element();
    }
    return true;
  }
  return false;
}

ir::Value* FunctionLowering::index_value(const Expr& expr, bool or_array) {
  Entity index = lower_expr(expr);
  if (index.is_error()) return nullptr;
  if (auto constant = constant_int(index); constant && index.is_literal()) {
    bool fits32 = *constant >= INT32_MIN && *constant <= INT32_MAX;
    return function_.constant_int(fits32 ? types::i32() : types::i64(), *constant);
  }
  ir::Value* value = value_of(index, expr);
  if (!value) return nullptr;
  if (or_array && value->type == types::array(types::i32(), 1)) return value;
  if (!value->type->is_int()) {
    fail(DiagCode::bad_index, expr, "an index must be an integer, not " + value->type->user_name(),
         "convert it: int(…)");
    return nullptr;
  }
  return value;
}

Place FunctionLowering::subscript_place(Place base, const SubscriptExpr& expr) {
  if (base.type->is_array()) return array_place(std::move(base), expr);
  if (base.type->is_indexed_array()) return indexed_place(read_place(base).value, expr);
  if (fabric_type(base.type)) return fabric_place(read_place(base).value, expr);
  if (tile_type(base.type)) return Tiles(*this, expr).place(read_place(base).value, expr);
  if (base.type->is_composite()) return component_place(std::move(base), expr);
  if (const Type* scalar = empty_vector_scalar(base.type)) return empty_place(scalar, expr);
  if (base.type->is_tuple()) {
    if (expr.indices.size() != 1 || expr.indices[0]->kind == ExprKind::slice) {
      fail(DiagCode::bad_index, expr, "a tuple takes one constant index");
      return {};
    }
    auto k = need_constant(lower_expr(*expr.indices[0]), *expr.indices[0], "the index of a tuple");
    if (!k) return {};
    std::int64_t n = std::int64_t(base.type->fields().size());
    std::int64_t at_index = *k < 0 ? *k + n : *k;
    if (at_index < 0 || at_index >= n) {
      fail(DiagCode::bad_index, *expr.indices[0],
           "index " + std::to_string(*k) + " is out of range for a tuple of " + std::to_string(n));
      return {};
    }
    base.type = base.type->fields()[std::size_t(at_index)].type;
    base.path.push_back(field_step(std::int32_t(at_index)));
    return base;
  }
  fail(DiagCode::bad_index, expr, base.type->user_name() + " can't be indexed");
  return {};
}

Place FunctionLowering::empty_place(const Type* scalar, const SubscriptExpr& expr) {
  ir::Value* index = expr.indices.size() == 1 ? index_value(*expr.indices[0]) : nullptr;
  if (!index) {
    if (expr.indices.size() != 1) fail(DiagCode::bad_index, expr, "too many indices for a vector of length 0");
    return {};
  }
  if (module_.options().debug) {  // whoever comes here is wrong; that nobody does is why programs may say this
    ir::Value* operands[] = {function_.constant_bool(false), cast(index, types::i64()), builder_.i64(0)};
    ir::Op* check = at(expr).op(ir::OpCode::check, operands);
    check->check = ir::CheckKind::bounds;
    check->text = function_.arena.copy(std::string_view("a component of a vector of length 0"));
  }
  Place out;
  out.root = Place::Root::temporary;
  out.base = function_.zero(scalar);
  out.type = scalar;
  out.nowhere = true;
  return out;
}

bool FunctionLowering::Subscript::wraps() const {
  return index->type->is_signed_int() && !(index->is_constant() && index->as_int() >= 0);
}

std::optional<FunctionLowering::Subscript> FunctionLowering::slice_subscript(const SliceExpr& slice) {
  auto part = [&](const Expr* expr) -> ir::Value* {
    ir::Value* v = index_value(*expr);
    return v ? cast(v, types::i64()) : nullptr;
  };
  Subscript out;
  out.step = slice.step ? part(slice.step) : builder_.i64(1);
  if (!out.step) return std::nullopt;
  const bool known = out.step->is_constant();
  if (known && out.step->as_int() == 0) {
    fail(DiagCode::value_out_of_range, *slice.step, "Slice step cannot be zero");
    return std::nullopt;
  }
  ir::Value* backwards = nullptr;
  if (!known) {
    ir::Value* zero = builder_.i64(0);
    ir::Value* moves = at(*slice.step).binary(ir::OpCode::ne, out.step, zero);
    builder_.op(ir::OpCode::assert_, {&moves, 1})->text = "slice step cannot be zero";  // in every mode
    backwards = builder_.binary(ir::OpCode::lt, out.step, zero);
  }
  // A bound that is left out is the end that the direction says. No number that counts from the end is before the
  // first element; the smallest of all is, by clamping.
  auto bound = [&](const Expr* expr, std::int64_t forwards, std::int64_t otherwise) -> ir::Value* {
    if (expr) return part(expr);
    if (known) return builder_.i64(out.step->as_int() < 0 ? otherwise : forwards);
    return builder_.select(backwards, builder_.i64(otherwise), builder_.i64(forwards));
  };
  out.start = bound(slice.lower, 0, INT64_MAX);
  out.stop = bound(slice.upper, INT64_MAX, INT64_MIN);
  if (!out.start || !out.stop) return std::nullopt;
  return out;
}

bool FunctionLowering::array_subscripts(const SubscriptExpr& expr, const Type* array, std::vector<Subscript>& out) {
  std::size_t rank = array->rank();
  if (expr.indices.size() > rank) {
    fail(DiagCode::bad_index, *expr.indices[rank],
         "too many indices: " + array->user_name() + " has " + std::to_string(rank) + " dimension" +
             (rank == 1 ? "" : "s") + ", got " + std::to_string(expr.indices.size()),
         "Incorrect number of indices specified for array indexing");
    return false;
  }
  for (const Expr* index : expr.indices) {
    if (const auto* slice = index->as_if<SliceExpr>()) {
      auto read = slice_subscript(*slice);
      if (!read) return false;
      out.push_back(*read);
      continue;
    }
    Subscript one;
    one.index = index_value(*index, true);
    if (!one.index) return false;
    out.push_back(one);
  }
  return true;
}

ir::Value* FunctionLowering::narrowed(ir::Value* array, const Subscript& subscript, int dimension,
                                      const Node& at_node) {
  if (subscript.is_slice()) return at(at_node).slice(array, dimension, subscript.start, subscript.stop, subscript.step);
  ir::Value* list[] = {subscript.index};
  return at(at_node).view(array, list, subscript.wraps(), dimension);
}

Place FunctionLowering::array_place(Place base, const SubscriptExpr& expr) {
  ir::Value* array = read_place(base).value;
  std::size_t rank = array->type->rank();
  std::vector<Subscript> subscripts;
  if (!array_subscripts(expr, array->type, subscripts)) return {};
  bool any_slice = false;
  for (const Subscript& s : subscripts) {
    if (s.is_gather()) return gathered_place(array, subscripts, expr);
    any_slice = any_slice || s.is_slice();
  }
  Place place;
  if (!any_slice) {
    for (std::size_t k = 0; k < subscripts.size(); ++k) {
      place.indices.push_back(subscripts[k].index);
      if (subscripts[k].wraps()) place.wrap = std::uint8_t(place.wrap | (1u << k));
    }
    if (subscripts.size() == rank) {
      place.root = Place::Root::memory;
      place.base = array;
      place.type = array->type->element();
      return place;
    }
    place.base = at(expr).view(array, place.indices, place.wrap);
    place.indices.clear();
    place.wrap = 0;
  } else {
    int dimension = 0;
    place.base = array;
    for (const Subscript& s : subscripts) {
      place.base = narrowed(place.base, s, dimension, expr);
      dimension += s.is_slice();
    }
  }
  place.root = Place::Root::temporary;
  place.type = place.base->type;
  return place;
}

Entity FunctionLowering::read_place(const Place& place) {
  if (place.is_run()) {
    Place whole = place;
    whole.parts.clear();
    whole.type = place.whole;
    ir::Value* value = read_place(whole).value;
    std::vector<ir::Value*> parts;
    for (const Place::Part& part : place.parts) parts.push_back(builder_.extract(value, part.path, part.dynamic));
    return Entity::of(builder_.construct(place.type, parts));
  }
  if (place.root == Place::Root::memory) {
    ir::Value* read = builder_.load(place.base, place.indices, place.wrap, place.path, place.dynamic);
    return Entity::of(place.inside ? builder_.select(place.inside, read, function_.zero(read->type)) : read);
  }
  if (place.path.empty()) {
    Entity whole = Entity::of(place.base);
    if (place.root == Place::Root::temporary && tile_type(place.type)) whole.hold = Entity::Hold::window;
    return whole;
  }
  return Entity::of(builder_.extract(place.base, place.path, place.dynamic));
}

void FunctionLowering::for_each_part(const Place& run, ir::Value* value,
                                     const std::function<void(const Place&, ir::Value*)>& use) {
  std::int32_t cols = std::int32_t(run.type->is_mat() ? run.type->cols() : 1);
  Place rest = run;
  rest.parts.clear();
  for (std::size_t k = 0; k < run.parts.size(); ++k) {
    Place one = rest;
    one.parts = {run.parts[k]};
    take_part(one, 0);
    std::int32_t number = std::int32_t(k);
    PathStep steps[] = {index_step(number / cols), index_step(number % cols)};
    std::span<const PathStep> path = run.type->is_mat() ? std::span<const PathStep>(steps) : std::span(steps, 1);
    use(one, builder_.extract(value, path));
  }
}

void FunctionLowering::where_inside(const Place& place, const std::function<void()>& write) {
  if (!place.inside) return write();
  ir::Region* outer = builder_.region();
  ir::Op* op = builder_.if_op(place.inside, {});
  builder_.set_place(op->regions[0]);
  write();
  builder_.yield({});
  builder_.set_place(op->regions[1]);
  builder_.yield({});
  builder_.set_place(outer);
}

void FunctionLowering::write_place(const Place& place, Entity value, const Node& at_node, const Node* value_node) {
  if (place.root == Place::Root::temporary && tile_type(place.type)) {
    if (!value.is_error()) Tiles(*this, at_node).assign(place.base, value);
    return;
  }
  if (place.repeated) {
    Tiles(*this, at_node).refuse_write();
    return;
  }
  // A tile's elements take numbers of any type, as tile_assign does.
  if (place.of_tile && place.type->is_scalar() &&
      (value.is_literal() || (value.is_value() && value.type()->is_scalar())))
    value = construct_scalar(place.type, {{{}, value, nullptr, nullptr}}, value_node ? *value_node : at_node);
  value = storable(value, place.type, value_node ? *value_node : at_node,
                   place.root == Place::Root::memory ? "an array element" : "a component");
  if (!value.is_value()) return;
  builder_.set_loc(at_node.loc);
  if (place.is_run())  // component by component, so that only those are touched
    return for_each_part(place, value.value, [&](const Place& one, ir::Value* component) {
      write_place(one, Entity::of(component), at_node);
    });
  switch (place.root) {
    case Place::Root::memory:
      where_inside(place, [&] {
        builder_.store(place.base, place.indices, place.wrap, place.path, place.dynamic, value.value);
      });
      return;
    case Place::Root::variable: {
      ir::Value* current = read_variable(place.variable, nullptr).value;
      ir::Value* changed =
          place.path.empty() ? value.value : builder_.insert(current, value.value, place.path, place.dynamic);
      return set_variable(place.variable, Entity::of(changed));
    }
    case Place::Root::temporary:
      if (place.nowhere) return;
      if (place.run_index) {
        need_constant(Entity::nothing(), *place.run_index, "the index of a component that is assigned to");
        return;
      }
      fail(DiagCode::bad_assignment, at_node, "this assigns to a temporary value and would have no effect",
           "store the value in a variable first");
      return;
    case Place::Root::none: return;
  }
}

}  // namespace weft::sema
