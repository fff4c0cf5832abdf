// Elementwise work on tiles, and reductions: operators, tile_map, tile_astype, tile_reduce and their like.
#include <algorithm>

#include "sema/tile_hints.h"
#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

Entity Tiles::builtin(std::string_view name) const {
  return Entity::of_symbol(Entity::Kind::builtin, Symbol::of_builtin(std::string(name)));
}

Entity Tiles::call_on(const Entity& function, std::vector<Entity> entities) {
  std::vector<Argument> args;
  for (Entity& e : entities) args.push_back({{}, std::move(e), nullptr, nullptr});
  b_.set_loc(at_.loc);
  switch (function.kind) {
    case Entity::Kind::functions: return f_.call_functions(function.symbol->functions, std::move(args), at_);
    case Entity::Kind::builtin:
      if (args.size() == 2 && (function.symbol->text == "add" || function.symbol->text == "sub") &&
          args[0].entity.is_value() && args[1].entity.is_value() && args[0].entity.type()->is_struct() &&
          args[0].entity.type() == args[1].entity.type())
        return Entity::of(by_fields(function.symbol->text == "add" ? OpCode::add : OpCode::sub, args[0].entity.value,
                                    args[1].entity.value));
      return f_.call_builtin(function.symbol->text, std::move(args), at_);
    case Entity::Kind::type: return f_.construct(function.symbol->pattern, std::move(args), at_);
    default:
      return fail(DiagCode::bad_call, at_, f_.describe(function) + " can't be called for each element of a tile");
  }
}

ir::Value* Tiles::by_fields(OpCode code, ir::Value* a, ir::Value* b) {
  const Type* type = a->type;
  if (!type->is_struct()) return can_add(type) ? b_.binary(code, a, b) : a;
  std::vector<ir::Value*> parts;
  for (std::int32_t k = 0; k < std::int32_t(type->fields().size()); ++k)
    parts.push_back(by_fields(code, b_.extract(a, k), b_.extract(b, k)));
  return b_.construct(type, parts);
}

Entity Tiles::map(std::string_view form, const Entity& function, const std::vector<Entity>& args, const Window* into) {
  std::vector<Window> tiles;
  const Window* first = into;
  bool all_packed = !into || into->type->contiguous;
  for (const Entity& e : args) {
    if (e.is_value() && !tile_type(e.type())) agree(e.value, "a value that goes into every element");
    if (!e.is_value() || !tile_type(e.type())) continue;
    tiles.push_back(window(e.value));
    all_packed = all_packed && tiles.back().type->contiguous;
  }
  if (!first && tiles.empty()) return fail(DiagCode::bad_call, at_, std::string(form) + "() takes at least one tile");
  if (!first) first = &tiles[0];
  for (const Window& w : tiles)
    if (!same_shape(form, *first, w, at_)) return Entity::failed();
  const Shape shape = first->type->shape;
  const bool by_thread = !into && std::any_of(tiles.begin(), tiles.end(), [](const Window& w) { return w.by_thread; });
  if (all_packed)
    for (Window& w : tiles) w = flat(w);
  const Shape turns = all_packed ? Shape{first->type->count} : shape;
  Window target = into ? (all_packed ? flat(*into) : *into) : Window{};
  Window result = into ? *into : Window{};
  ir::Region* region = b_.region();
  bool failed = false;
  each(turns, [&](Coords at) {
    std::vector<Entity> elements;
    std::size_t next = 0;
    for (const Entity& e : args) {
      const bool is_tile = e.is_value() && tile_type(e.type());
      elements.push_back(is_tile ? Entity::of(get(tiles[next++], at)) : e);
    }
    const Entity made = call_on(function, std::move(elements));
    if (made.is_error()) {
      failed = true;
      return;
    }
    if (!made.is_value()) {
      fail(DiagCode::bad_call, at_,
           std::string(form) + "() wants a function that returns one value, " + f_.describe(function) + " gives " +
               f_.describe(made));
      failed = true;
      return;
    }
    if (!result) {
      if (!check_shape(shape, made.type(), at_)) {
        failed = true;
        return;
      }
      result = make_before(outermost_, region, made.type(), shape);
      target = all_packed ? flat(result) : result;
    } else if (made.type() != target.type->element) {
      fail(DiagCode::type_mismatch, at_,
           "the result is " + made.type()->user_name() + ", the tile has elements of type " +
               target.type->element->user_name());
      failed = true;
      return;
    }
    put(target, at, made.value);
  });
  if (failed || !result) return Entity::failed();
  if (by_thread) note_by_thread(result);
  return into ? entity(result, Entity::Hold::shared) : fresh(result);
}

Entity Tiles::form_map(const std::vector<Argument>& args) {
  if (args.size() < 2)
    return fail(DiagCode::bad_call, at_, "tile_map() takes a function and its arguments, at least one of them a tile");
  std::vector<Entity> rest;
  const Entity* function = nullptr;
  for (const Argument& arg : args) {
    if (arg.entity.is_error()) return Entity::failed();
    if (arg.keyword == "op" || (!function && arg.keyword.empty())) {
      function = &arg.entity;
      continue;
    }
    Entity e = arg.entity;
    if (e.is_literal()) {
      ir::Value* value = f_.value_of(e, node(arg));
      if (!value) return Entity::failed();
      e = Entity::of(value);
    }
    if (!e.is_value() && e.kind != Entity::Kind::functions && e.kind != Entity::Kind::builtin)
      return fail(DiagCode::bad_call, node(arg), "tile_map() takes tiles and values, not " + f_.describe(e));
    rest.push_back(std::move(e));
  }
  if (!function || (function->kind != Entity::Kind::functions && function->kind != Entity::Kind::builtin &&
                    function->kind != Entity::Kind::type))
    return fail(DiagCode::bad_call, at_, "tile_map() takes a function first: a builtin or a @wp.func");
  if (rest.size() > 8) return fail(DiagCode::bad_call, at_, "tile_map() passes at most 8 arguments to its function");
  return map("tile_map", *function, rest, nullptr);
}

Entity Tiles::form_astype(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"t", "dtype"};
  const auto bound = bind("tile_astype", kParams, 2, args);
  const Window w = bound ? tile_argument("tile_astype", "t", *(*bound)[0]) : Window{};
  const Type* to = w ? dtype_argument((*bound)[1], nullptr) : nullptr;
  if (!to) return Entity::failed();
  if (!can_convert(w.type->element, to))
    return fail(DiagCode::bad_call, at_,
                "elements of type " + w.type->element->user_name() + " can't become " + to->user_name());
  const Window from = w.type->contiguous ? flat(w) : w;
  const Window made = make(to, w.type->shape);
  const Window target = w.type->contiguous ? flat(made) : made;
  each(from.type->shape, [&](Coords at) { put(target, at, converted(get(from, at), to)); });
  if (w.by_thread) note_by_thread(made);
  return fresh(made);
}

namespace {

bool is_bitwise(std::string_view name) { return name == "bit_and" || name == "bit_or" || name == "bit_xor"; }

}  // namespace

Entity Tiles::binary(std::string_view name, const Entity& left, const Entity& right) {
  const auto is_tile = [](const Entity& e) { return e.is_value() && tile_type(e.type()); };
  const bool scales = name == "mul" || name == "div", both = is_tile(left) && is_tile(right);
  if (!scales && name != "add" && name != "sub" && !is_bitwise(name))
    return fail(DiagCode::type_mismatch, at_, "this operator does not work on tiles",
                name == "matmul" ? "use wp.tile_matmul(a, b)" : "use wp.tile_map(wp." + std::string(name) + ", …)");
  if (!both && !scales)
    return fail(
        DiagCode::type_mismatch, at_,
        "'" + std::string(name) + "' of a tile takes another tile, not " + f_.describe(is_tile(left) ? right : left),
        is_tile_of_one(is_tile(left) ? left.type() : right.type())
            ? std::string(kTakeElement)
            : "make one: wp.tile_full(shape, value), or use wp.tile_map(…)");
  Entity a = left, b = right;
  const Type* element = tile_type((is_tile(a) ? a : b).type())->element;
  const Type* scalar = element->is_composite() ? element->element() : element;
  for (Entity* e : {&a, &b})
    if (e->is_literal()) {
      if (!scalar->is_scalar())
        return fail(DiagCode::type_mismatch, at_, "tiles of " + element->user_name() + " can't be scaled");
      // A whole number adapts to any type; a float to floats.
      const bool fits = e->kind == Entity::Kind::integer || scalar->is_float();
      ir::Value* value = fits ? f_.literal_as(*e, scalar, at_) : f_.value_of(*e, at_);
      if (!value) return Entity::failed();
      *e = Entity::of(value);
    }
  if (!a.is_value() || !b.is_value())
    return fail(DiagCode::type_mismatch, at_,
                "tiles are scaled by values, not by " + f_.describe(a.is_value() ? b : a));
  const auto element_of = [](const Entity& e) {
    const TileType* t = tile_type(e.type());
    return t ? t->element : e.type();
  };
  const auto scalar_of = [](const Type* t) { return t->is_composite() ? t->element() : t; };
  if (scalar_of(element_of(a)) != scalar_of(element_of(b)))
    return fail(DiagCode::type_mismatch, at_, same_types_wanted(element_of(a), element_of(b)),
                "convert one of them: wp.tile_astype(t, dtype)");
  if (scales && !element_of(a)->is_scalar() && !element_of(b)->is_scalar())
    return fail(DiagCode::tile_operand, at_,
                "'" + std::string(name) + "' of tiles: at least one operand must be a scalar type, not " +
                    element_of(a)->user_name() + " and " + element_of(b)->user_name(),
                "use wp.tile_map(wp." + std::string(name) + ", …)");
  if (!scales && element_of(a) != element_of(b))
    return fail(DiagCode::type_mismatch, at_, same_types_wanted(element_of(a), element_of(b)));
  return map(name, builtin(name), {a, b}, nullptr);
}

Entity Tiles::unary(std::string_view name, const Entity& a) { return map(name, builtin(name), {a}, nullptr); }

bool Tiles::update(std::string_view name, const Entity& tile, const Entity& given) {
  const Window w = window(tile.value);
  if (is_broadcast(w)) {
    fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
    return false;
  }
  Entity value = given;
  const bool is_tile = value.is_value() && tile_type(value.type());
  if (value.is_literal()) {
    const Type* scalar = w.type->element->is_composite() ? w.type->element->element() : w.type->element;
    const bool fits = scalar->is_scalar() && (value.kind == Entity::Kind::integer || scalar->is_float());
    ir::Value* v = fits ? f_.literal_as(value, scalar, at_) : f_.value_of(value, at_);
    if (!v) return false;
    value = Entity::of(v);
  }
  if (!value.is_value()) {
    if (!value.is_error()) fail(DiagCode::type_mismatch, at_, "a tile can't be changed by " + f_.describe(value));
    return false;
  }
  if (!is_tile && name != "mul" && name != "div" && !is_bitwise(name)) {
    fail(DiagCode::type_mismatch, at_,
         "'" + std::string(name) + "' of a tile takes another tile, not " + f_.describe(value),
         "make one: wp.tile_full(shape, value)");
    return false;
  }
  if (is_tile && value.hold != Entity::Hold::fresh) {  // what is read must not change meanwhile
    const Window other = window(value.value);
    const bool same = other.type == w.type && other.data == w.data && other.offset == w.offset;
    if (!same && may_overlap(w, other)) value = fresh(copy_of(other));
  }
  return !map(name, builtin(name), {tile, value}, &w).is_error();
}

// ---- Reductions --------------------------------------------------------------------------------------------------------

Entity Tiles::form_reduce(std::string_view name, const std::vector<Argument>& args) {
  const bool general = name == "tile_reduce";
  static constexpr std::string_view kGeneral[] = {"op", "a", "axis"};
  const auto params = std::span(kGeneral).subspan(general ? 0 : 1);
  const auto bound = bind(name, params, general ? 2 : 1, args);
  if (!bound) return Entity::failed();
  const Window w = tile_argument(name, "a", *(*bound)[general ? 1 : 0]);
  if (!w) return Entity::failed();
  std::optional<std::int64_t> axis;
  if (const Argument* arg = bound->back(); arg && bound->size() > (general ? 2u : 1u)) {
    axis = axis_argument(*arg, w.type->rank());
    if (!axis) return Entity::failed();
  }
  Entity function = name == "tile_sum" ? builtin("add") : builtin(name == "tile_min" ? "min" : "max");
  if (general) {
    function = (*bound)[0]->entity;
    if (function.kind != Entity::Kind::functions && function.kind != Entity::Kind::builtin)
      return fail(DiagCode::bad_call, node(*(*bound)[0]),
                  "tile_reduce() takes a function first: a builtin or a @wp.func, not " + f_.describe(function));
  }
  const Combine combine = [&](ir::Value* a, ir::Value* b) -> ir::Value* {
    const Entity made = call_on(function, {Entity::of(a), Entity::of(b)});
    if (made.is_error()) return nullptr;
    if (!made.is_value() || made.type() != a->type) {
      fail(DiagCode::bad_call, at_,
           std::string(name) + "() wants a function that returns the type of the elements, " +
               w.type->element->user_name() + "; " + f_.describe(function) + " gives " + f_.describe(made));
      return nullptr;
    }
    return made.value;
  };
  const bool builtin = function.kind == Entity::Kind::builtin;
  const bool adds = builtin && function.symbol->text == "add" && can_add(w.type->element);
  return reduce(w, axis, combine, adds ? Joins::components : builtin ? Joins::any_pair : Joins::as_asked);
}

Entity Tiles::form_dot(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a", "b"};
  const auto bound = bind("tile_dot", kParams, 2, args);
  const Window a = bound ? tile_argument("tile_dot", "a", *(*bound)[0]) : Window{};
  const Window b = a ? tile_argument("tile_dot", "b", *(*bound)[1]) : Window{};
  if (!b || !same_shape("tile_dot", a, b, at_)) return Entity::failed();
  const Type* element = a.type->element;
  if (b.type->element != element || !element->is_numeric() || element->scalar_kind() == ScalarKind::boolean)
    return fail(DiagCode::type_mismatch, at_, same_types_wanted(element, b.type->element));
  const Window products = make(element->is_scalar() ? element : element->element(), a.type->shape);
  each(a.type->shape, [&](Coords at) {
    ir::Value *x = get(a, at), *y = get(b, at), *sum = nullptr;
    if (element->is_scalar()) {
      sum = b_.binary(OpCode::mul, x, y);
    } else {
      const bool matrix = element->is_mat();
      const std::int32_t cols = std::int32_t(matrix ? element->cols() : 1);
      for (std::int32_t k = 0; k < std::int32_t(element->component_count()); ++k) {
        const ir::PathStep path[] = {{ir::PathStep::index, false, false, k / cols},
                                     {ir::PathStep::index, false, false, k % cols}};
        const std::span<const ir::PathStep> way(path, matrix ? 2u : 1u);
        ir::Value* product = b_.binary(OpCode::mul, b_.extract(x, way), b_.extract(y, way));
        sum = sum ? b_.binary(OpCode::add, sum, product) : product;
      }
    }
    put(products, at, sum);
  });
  return reduce(products, std::nullopt, [&](ir::Value* x, ir::Value* y) { return b_.binary(OpCode::add, x, y); });
}

Entity Tiles::form_axpy(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"alpha", "src", "dest"};
  const auto bound = bind("tile_axpy", kParams, 3, args);
  const Window src = bound ? tile_argument("tile_axpy", "src", *(*bound)[1]) : Window{};
  const Window dest = src ? tile_argument("tile_axpy", "dest", *(*bound)[2]) : Window{};
  if (!dest) return Entity::failed();
  const Argument& alpha = *(*bound)[0];
  Entity factor = alpha.entity;
  const Type* scalar = src.type->element->is_composite() ? src.type->element->element() : src.type->element;
  if (factor.is_literal() && scalar->is_scalar()) factor = Entity::of(f_.literal_as(factor, scalar, node(alpha)));
  const Entity scaled = binary("mul", factor, (*bound)[1]->entity);
  if (scaled.is_error()) return Entity::failed();
  return update("add", (*bound)[2]->entity, scaled) ? Entity::nothing() : Entity::failed();
}

}  // namespace weft::sema
