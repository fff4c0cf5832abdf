// The number that a value was written as: a name that was assigned one (x = 0.1), or the counter of an unrolled loop, still
// stands for what the program says where it is converted (wp.float64(x)) or becomes a component (wp.vec3d(x, 0.0, 0.0)).
// Everywhere else it is a value of its type, float32 or int32.
#pragma once
#include "sema/entity.h"

namespace weft::sema {

/// The plain number of a value that is known to be written as one; any other entity as it is.
inline Entity as_written(const Entity& entity) {
  using Form = Constant::Form;
  if (!entity.is_value() || !entity.symbol || entity.symbol->kind != Symbol::Kind::constant) return entity;
  const Form form = entity.symbol->constant.form;
  if (form != Form::integer && form != Form::real) return entity;
  Entity number = Entity::of_kind(form == Form::real ? Entity::Kind::real : Entity::Kind::integer);
  number.symbol = entity.symbol;
  return number;
}

/// Forgets it: from here on the value is one like any other. Constants with attributes (members of enums) stay what they are.
inline void forget_written(Entity& entity) {
  if (as_written(entity).is_literal() && !entity.is_literal() && !entity.symbol->scope) entity.symbol = nullptr;
}

}  // namespace weft::sema
