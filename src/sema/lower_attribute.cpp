// Attributes: members of modules, classes and enum members, fields and components of values, members of types, functions
// that are reached through an object of the host.
#include "builtins/near_name.h"
#include "sema/lowering.h"
#include "sema/tiles.h"
#include "syntax/print.h"
#include "types/fabric_type.h"

namespace weft::sema {

using namespace syntax;

Entity FunctionLowering::lower_attribute(const AttributeExpr& expr) {
  Entity object;
  // A part of an element is read alone: p[i].mass loads the mass.
  const Expr& root = root_of(expr);
  int variable = root.kind == ExprKind::name ? find_variable(root.as<NameExpr>().name) : -1;
  const bool part = expr.object->kind == ExprKind::subscript || expr.object->kind == ExprKind::attribute;
  if (part && variable >= 0 && read_variable(variable, nullptr).is_value()) {
    Place place = place_of(*expr.object, &object);
    builder_.set_loc(expr.loc);
    if (place.root != Place::Root::none) {
      if (attribute_step(place, expr.name)) return read_place(place);
      return value_attribute(read_place(place), expr);
    }
    if (object.kind == Entity::Kind::none) return Entity::failed();
  } else {
    object = lower_any(*expr.object);
    builder_.set_loc(expr.loc);
  }
  return attribute_of(object, expr);
}

Entity FunctionLowering::attribute_of(const Entity& object, const AttributeExpr& expr) {
  if (object.is_error()) return object;
  if (object.symbol && object.symbol->scope)
    if (auto symbol = object.symbol->scope->lookup(expr.name)) return from_symbol(*symbol, expr);
  switch (object.kind) {
    case Entity::Kind::scope: {
      std::string_view near = builtins::near_name(expr.name);
      if (!near.empty() && !object.symbol->scope->lookup(near)) near = {};
      return no_attribute("'" + to_source(*expr.object) + "'", expr,
                          (near.empty() ? "" : "did you mean '" + std::string(near) + "'? ") +
                              "Could not find function " + to_source(*expr.object) + "." + std::string(expr.name));
    }
    case Entity::Kind::value: return value_attribute(object, expr);
    case Entity::Kind::integer:
    case Entity::Kind::real:
      if (expr.name == "dtype") return Entity::of_symbol(Entity::Kind::type, Symbol::of_type(type_of_literal(object)));
      break;
    case Entity::Kind::type: return type_attribute(object.symbol->pattern, expr);
    case Entity::Kind::other:
      if (!object.symbol->host_type.empty()) return foreign_value(object, expr);
      // A module that nobody looked into: its functions may still be called by the name of a builtin.
      return Entity::of_symbol(Entity::Kind::other,
                               Symbol::of_other("'" + std::string(expr.name) + "' of " + object.symbol->text));
    default: break;
  }
  return no_attribute(describe(object), expr);
}

std::optional<Entity> FunctionLowering::bound_of_object(const AttributeExpr& expr) {
  if (!reads_bounds_) return std::nullopt;
  try {
    auto symbol = scope_->eval_static(to_source(expr), {});
    if (symbol && symbol->kind == Symbol::Kind::constant) return from_symbol(*symbol, expr);
  } catch (const StaticError&) {  // it has no such attribute, or one that is no constant
  }
  return std::nullopt;
}

Entity FunctionLowering::no_attribute(const std::string& what, const AttributeExpr& expr, std::string cure) {
  return fail(DiagCode::unknown_attribute, expr, "`" + std::string(expr.name) + "` is not an attribute of " + what,
              std::move(cure));
}

Entity FunctionLowering::type_attribute(const builtins::Pattern& pattern, const AttributeExpr& expr) {
  const Type* type = pattern.kind == builtins::Pattern::Kind::exact ? pattern.type : nullptr;
  if (type && expr.name == "dtype" && type->element())
    return Entity::of_symbol(Entity::Kind::type, Symbol::of_type(type->element()));
  if (type && expr.name == "length" && type->is_composite()) return Entity::of(builder_.i32(type->component_count()));
  if (type && expr.name == "ndim" && (type->is_array() || type->is_indexed_array()))
    return Entity::of(builder_.i32(type->rank()));
  if (const FabricType* fabric = type ? fabric_type(type) : nullptr) {
    if (expr.name == "ndim") return Entity::of(builder_.i32(fabric->rank));
    if (expr.name == "dtype") return Entity::of_symbol(Entity::Kind::type, Symbol::of_type(fabric->element));
  }
  return no_attribute("the type " + builtins::to_string(pattern), expr);
}

Entity FunctionLowering::value_attribute(Entity object, const AttributeExpr& expr) {
  const Type* type = object.type();
  Place place;
  place.root = Place::Root::temporary;
  place.base = object.value;
  place.type = type;
  if (attribute_step(place, expr.name)) return read_place(place);
  if (tile_type(type))
    if (auto known = Tiles(*this, expr).attribute(type, expr.name)) return *known;
  if (type->is_array() || type->is_indexed_array()) {
    if (expr.name == "shape") {
      std::vector<Entity> extents;
      for (std::uint32_t d = 0; d < type->rank(); ++d) extents.push_back(Entity::of(extent_of(object.value, d)));
      return Entity::of_tuple(std::move(extents));
    }
    if (expr.name == "ndim") return Entity::of(builder_.i32(type->rank()));
    if (expr.name == "size") {
      ir::Value* size = extent_of(object.value, 0);
      for (std::uint32_t d = 1; d < type->rank(); ++d)
        size = builder_.binary(ir::OpCode::mul, size, extent_of(object.value, d));
      return Entity::of(size);
    }
    if (expr.name == "dtype") return Entity::of_symbol(Entity::Kind::type, Symbol::of_type(type->element()));
    if (expr.name == "ptr" && type->is_array()) {
      ir::Value* operands[] = {object.value};
      return Entity::of(builder_.op(ir::OpCode::data_ptr, operands)->result());
    }
  }
  if (const FabricType* fabric = fabric_type(type)) {
    if (expr.name == "shape") return Entity::of_tuple({Entity::of(fabric_size(object.value))});
    if (expr.name == "size") return Entity::of(fabric_size(object.value));
    if (expr.name == "ndim") return Entity::of(builder_.i32(fabric->rank));
    if (expr.name == "dtype") return Entity::of_symbol(Entity::Kind::type, Symbol::of_type(fabric->element));
  }
  if (type->is_composite() && expr.name == "dtype")
    return Entity::of_symbol(Entity::Kind::type, Symbol::of_type(type->element()));
  if (type->is_composite() && expr.name == "length") return Entity::of(builder_.i32(type->component_count()));
  if (type->is_scalar() && expr.name == "dtype") return Entity::of_symbol(Entity::Kind::type, Symbol::of_type(type));
  std::string cure;
  if (type->is_struct() && !type->is_indexed_array() && !tile_type(type) && !fabric_type(type)) {
    for (const Field& f : type->fields())
      if (library() || !is_private(type, f)) cure += (cure.empty() ? "its fields are " : ", ") + std::string(f.name);
    if (type->field_index(expr.name) >= 0)
      return fail(DiagCode::unknown_attribute, expr,
                  "the field '" + std::string(expr.name) + "' of " + type->user_name() + " is the library's own", cure);
  } else if (type->is_vec() || type->is_quat()) {
    cure = "components are single letters (x, y, z, w) or indices; several at once need a slice";
  }
  return no_attribute("'" + to_source(*expr.object) + "' (" + type->user_name() + ")", expr, std::move(cure));
}

}  // namespace weft::sema
