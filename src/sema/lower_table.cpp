// Tables: constants of the library that are indexed. A constant index gives the element as it stands there, a plain
// number perhaps; any other looks it up in a vector of the elements.
#include <algorithm>

#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;

Entity FunctionLowering::table_element(const Entity& table, const SubscriptExpr& expr) {
  if (table.is_error()) return table;
  if (table.kind != Entity::Kind::tuple) {  // a vector
    Place place;
    place.root = Place::Root::temporary;
    place.base = value_of(table, expr);
    if (!place.base) return Entity::failed();
    place.type = place.base->type;
    place = subscript_place(std::move(place), expr);
    return place.root == Place::Root::none ? Entity::failed() : read_place(place);
  }
  if (expr.indices.size() != 1) return fail(DiagCode::bad_index, expr, "a table takes one index");
  Entity index = lower_expr(*expr.indices[0]);
  if (auto k = constant_int(index)) {
    if (*k < 0 || *k >= std::int64_t(table.elements->size()))
      return fail(DiagCode::bad_index, *expr.indices[0], "index " + std::to_string(*k) + " is not in the table");
    return (*table.elements)[std::size_t(*k)];
  }
  ir::Value* number = value_of(index, *expr.indices[0]);
  return number ? chosen_element(*table.elements, number, expr) : Entity::failed();
}

Entity FunctionLowering::chosen_element(const std::vector<Entity>& elements, ir::Value* index, const Node& at_node) {
  auto all = [&](auto holds) { return std::all_of(elements.begin(), elements.end(), holds); };
  const Entity& first = elements[0];
  if (first.kind == Entity::Kind::tuple && all([&](const Entity& e) {
        return e.kind == Entity::Kind::tuple && e.elements->size() == first.elements->size();
      })) {  // rows of a table: column by column
    std::vector<Entity> out;
    for (std::size_t k = 0; k < first.elements->size(); ++k) {
      std::vector<Entity> column;
      for (const Entity& row : elements) column.push_back((*row.elements)[k]);
      out.push_back(chosen_element(column, index, at_node));
      if (out.back().is_error()) return Entity::failed();
    }
    return Entity::of_tuple(std::move(out));
  }
  auto is_real = [](const Entity& e) { return e.kind == Entity::Kind::real; };
  const Type* type = first.is_value()                                         ? first.type()
                     : std::any_of(elements.begin(), elements.end(), is_real) ? types::f32()
                                                                              : types::i32();
  std::vector<ir::Value*> values;
  for (const Entity& e : elements)
    if (ir::Value* v = e.is_literal() && type->is_float() ? literal_as(e, type, at_node) : value_of(e, at_node))
      values.push_back(v);
  if (values.size() != elements.size()) return Entity::failed();
  if (!std::all_of(values.begin(), values.end(), [&](ir::Value* v) { return v->type == type; }) || !type->is_numeric())
    return fail(DiagCode::type_mismatch, at_node, "a table that is indexed at run time has elements of one type");
  builder_.set_loc(at_node.loc);
  auto look_up = [&](std::span<ir::Value* const> column, const Type* scalar) {
    ir::Value* table = builder_.construct(types::vec(scalar, std::uint32_t(column.size())), column);
    ir::PathStep step{ir::PathStep::index, true, false, 0};
    return builder_.extract(table, std::span(&step, 1), std::span(&index, 1));
  };
  if (type->is_scalar()) return Entity::of(look_up(values, type));
  std::vector<ir::Value*> parts;
  const std::int32_t cols = std::int32_t(type->is_mat() ? type->cols() : 1);
  for (std::int32_t k = 0; k < std::int32_t(type->component_count()); ++k) {
    ir::PathStep path[] = {{ir::PathStep::index, false, false, k / cols},
                           {ir::PathStep::index, false, false, k % cols}};
    std::vector<ir::Value*> column;
    for (ir::Value* v : values) column.push_back(builder_.extract(v, std::span(path, type->is_mat() ? 2 : 1)));
    parts.push_back(look_up(column, type->element()));
  }
  return Entity::of(builder_.construct(type, parts));
}

}  // namespace weft::sema
