// Windows of tiles: views, slices, transposes, broadcasts; single elements; and writing through all of them.
#include <algorithm>

#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

bool Tiles::is_broadcast(const Window& w) const {
  for (std::size_t d = 0; d < w.type->rank(); ++d)
    if (w.type->strides[d] == 0 && w.type->shape[d] > 1) return true;
  return false;
}

ir::Value* Tiles::clamped_offset(const Window& w, std::size_t d, ir::Value* offset, std::int64_t length, const Node& at,
                                 bool& ok) {
  const std::int64_t last = w.type->shape[d] - length;
  if (last < 0) {
    fail(DiagCode::value_out_of_range, at,
         "a window of " + std::to_string(length) + " is out of bounds: axis " + std::to_string(d) + " has extent " +
             std::to_string(w.type->shape[d]));
    ok = false;
    return i32(0);
  }
  if (offset->is_constant()) {
    const std::int64_t n = offset->as_int();
    if (n < 0 || n > last) {
      fail(DiagCode::value_out_of_range, at,
           "offset " + std::to_string(n) + " is out of bounds: a window of " + std::to_string(length) + " along axis " +
               std::to_string(d) + ", whose extent is " + std::to_string(w.type->shape[d]));
      ok = false;
    }
    return i32(n);
  }
  // A window that would reach outside is moved inside: memory of others is never touched.
  ir::Value* at32 = narrowed(offset);
  watch(is_inside(at32, i32(last + 1)), at32, i32(last + 1),
        "the offset of a window of " + std::to_string(length) + " along axis " + std::to_string(d) + " of a tile");
  return b_.binary(OpCode::min, b_.binary(OpCode::max, at32, i32(0)), i32(last));
}

ir::Value* Tiles::narrowed(ir::Value* index) {
  const Type* type = index->type;
  if (type->size() < 4 || type == types::i32() || index->is_constant()) return f_.cast(index, types::i32());
  ir::Value* most = b_.binary(OpCode::min, index, f_.function_.constant_int(type, INT32_MAX));
  if (type->is_signed_int()) most = b_.binary(OpCode::max, most, f_.function_.constant_int(type, INT32_MIN));
  return f_.cast(most, types::i32());
}

Entity Tiles::form_view(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"t", "offset", "shape"};
  const auto bound = bind("tile_view", kParams, 2, args);
  const Window w = bound ? tile_argument("tile_view", "t", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  const Argument& offset_arg = *(*bound)[1];
  const std::size_t rank = w.type->rank();
  const bool several = offset_arg.entity.kind == Entity::Kind::tuple;
  const std::vector<Entity> parts = several ? *offset_arg.entity.elements : std::vector{offset_arg.entity};
  if (std::ranges::any_of(parts, [](const Entity& e) { return e.kind == Entity::Kind::slice; })) {
    if ((*bound)[2])
      return fail(DiagCode::bad_call, node(*(*bound)[2]),
                  "tile_view() does not take 'shape' together with a slice, which has a length already",
                  "leave the shape out, or give integers as offsets");
    if (parts.size() > rank)
      return fail(DiagCode::bad_call, node(offset_arg),
                  "tile_view(): the offset has " + std::to_string(parts.size()) + " dimensions, the tile has " +
                      std::to_string(rank));
    const Window made = part_of(w, parts, std::vector<const Expr*>(parts.size(), offset_arg.expr), false);
    return made ? entity(made, Entity::Hold::window) : Entity::failed();
  }
  Shape shape;
  std::size_t given = rank;
  if ((*bound)[2]) {
    const auto wanted = shape_argument(*(*bound)[2], w.type->element);
    if (!wanted) return Entity::failed();
    shape = *wanted;
    if (shape.size() != rank)
      return fail(DiagCode::bad_call, node(*(*bound)[2]),
                  "tile_view(): the shape has " + std::to_string(shape.size()) + " dimensions, the tile has " +
                      std::to_string(rank));
  } else {
    const Entity& e = offset_arg.entity;
    given = e.kind == Entity::Kind::tuple          ? e.elements->size()
            : e.is_value() && e.type()->is_tuple() ? e.type()->fields().size()
                                                   : 1;
    if (given > rank)
      return fail(
          DiagCode::bad_call, node(offset_arg),
          "tile_view(): the offset has " + std::to_string(given) + " dimensions, the tile has " + std::to_string(rank));
  }
  const auto offset = offsets_argument(&offset_arg, given, "tile");
  if (!offset) return Entity::failed();
  bool ok = true;
  ir::Value* first = w.offset;
  for (std::size_t d = 0; d < given; ++d)
    first = plus(first, times(clamped_offset(w, d, (*offset)[d], shape.empty() ? 1 : shape[d], node(offset_arg), ok),
                              w.type->strides[d]));
  if (!ok) return Entity::failed();
  if (!shape.empty()) return entity(view(w, shape, w.type->strides, first), Entity::Hold::window);
  if (given == rank) return entity(view(w, {1}, {1}, first), Entity::Hold::window);
  const auto from = std::ptrdiff_t(given);
  return entity(view(w, Shape(w.type->shape.begin() + from, w.type->shape.end()),
                     Shape(w.type->strides.begin() + from, w.type->strides.end()), first),
                Entity::Hold::window);
}

Entity Tiles::form_transpose(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a"};
  const auto bound = bind("tile_transpose", kParams, 1, args);
  const Window w = bound ? tile_argument("tile_transpose", "a", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  if (w.type->rank() != 2)
    return fail(DiagCode::bad_call, at_,
                "tile_transpose() takes a tile of 2 dimensions, not " + w.type->type->user_name());
  const Shape &s = w.type->shape, &t = w.type->strides;
  return entity(view(w, {s[1], s[0]}, {t[1], t[0]}, w.offset), Entity::Hold::window);
}

Entity Tiles::form_broadcast(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a", "shape"};
  const auto bound = bind("tile_broadcast", kParams, 2, args);
  const Window w = bound ? tile_argument("tile_broadcast", "a", *(*bound)[0]) : Window{};
  const auto shape = w ? shape_argument(*(*bound)[1], w.type->element) : std::nullopt;
  if (!shape) return Entity::failed();
  const Shape& have = w.type->shape;
  bool fits = have.size() <= shape->size();
  Shape strides(shape->size(), 0);
  for (std::size_t k = 0; fits && k < have.size(); ++k) {
    const std::size_t d = shape->size() - have.size() + k;
    fits = have[k] == (*shape)[d] || have[k] == 1;
    strides[d] = have[k] == 1 ? 0 : w.type->strides[k];
  }
  if (!fits)
    return fail(DiagCode::bad_call, node(*(*bound)[1]),
                "a tile of shape " + shape_text(have) + " can't be broadcast to " + shape_text(*shape));
  return entity(view(w, *shape, strides, w.offset), Entity::Hold::window);
}

Entity Tiles::form_reshape(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"t", "shape"};
  const auto bound = bind("tile_reshape", kParams, 2, args);
  const Window w = bound ? tile_argument("tile_reshape", "t", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  const Argument& arg = *(*bound)[1];
  auto shape = f_.constant_shape(arg.entity);
  if (!shape)
    return arg.entity.is_error()
               ? Entity::failed()
               : fail(DiagCode::not_constant, node(arg), "the shape of a tile must be a compile time constant");
  std::int64_t rest = w.type->count;
  std::int64_t* open = nullptr;
  for (std::int64_t& n : *shape) {
    if (n == -1 && open) return fail(DiagCode::bad_call, node(arg), "only one extent of a shape can be -1");
    if (n == -1)
      open = &n;
    else if (n > 0 && rest % n == 0)
      rest /= n;
  }
  if (open) *open = rest;
  if (!check_shape(*shape, w.type->element, node(arg))) return Entity::failed();
  std::int64_t count = 1;
  for (std::int64_t n : *shape) count *= n;
  if (count != w.type->count)
    return fail(DiagCode::bad_call, node(arg),
                "a tile of " + std::to_string(w.type->count) + " elements can't be reshaped to " + shape_text(*shape) +
                    ", which has " + std::to_string(count));
  if (!w.type->contiguous)
    return fail(DiagCode::bad_call, at_, "tile_reshape() requires a contiguous tile; this window has gaps",
                "copy it first: t = wp.tile_zeros(…), then wp.tile_assign(t, window)");
  return entity(view(w, *shape, types::tile(w.type->element, *shape).strides, w.offset), Entity::Hold::window);
}

Entity Tiles::form_squeeze(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"t", "axis"};
  const auto bound = bind("tile_squeeze", kParams, 1, args);
  const Window w = bound ? tile_argument("tile_squeeze", "t", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  std::vector<bool> drop(w.type->rank(), (*bound)[1] == nullptr);
  if (const Argument* arg = (*bound)[1]) {
    const auto axes = f_.constant_shape(arg->entity);
    if (!axes)
      return arg->entity.is_error()
                 ? Entity::failed()
                 : fail(DiagCode::not_constant, node(*arg), "'axis' must be a compile time constant");
    for (std::int64_t axis : *axes) {
      const std::int64_t at = axis < 0 ? axis + std::int64_t(w.type->rank()) : axis;
      if (at < 0 || at >= std::int64_t(w.type->rank()))
        return fail(DiagCode::value_out_of_range, node(*arg),
                    "tile_squeeze() axis " + std::to_string(axis) + " is out of bounds for tile with " +
                        std::to_string(w.type->rank()) + " dimensions");
      if (w.type->shape[std::size_t(at)] != 1)
        return fail(DiagCode::value_out_of_range, node(*arg),
                    "axis " + std::to_string(axis) + " of " + shape_text(w.type->shape) + " can't be squeezed");
      drop[std::size_t(at)] = true;
    }
  }
  Shape shape, strides;
  for (std::size_t d = 0; d < w.type->rank(); ++d) {
    if (drop[d] && w.type->shape[d] == 1) continue;
    shape.push_back(w.type->shape[d]);
    strides.push_back(w.type->strides[d]);
  }
  if (shape.empty()) shape = {1}, strides = {1};
  return entity(view(w, shape, strides, w.offset), Entity::Hold::window);
}

// ---- Elements ----------------------------------------------------------------------------------------------------------

std::optional<Place> Tiles::element_place(const Window& w, std::span<const Entity> indices,
                                          std::span<const Node* const> nodes) {
  Place place;
  ir::Value* flat_index = w.offset;
  for (std::size_t d = 0; d < w.type->rank(); ++d) {
    const std::int64_t n = w.type->shape[d];
    ir::Value* i = f_.value_of(indices[d], *nodes[d]);
    if (!i) return std::nullopt;
    if (!i->type->is_int()) {
      fail(DiagCode::bad_index, *nodes[d], "indices of tiles must be integers or slices, not " + i->type->user_name(),
           "convert it: int(…)");
      return std::nullopt;
    }
    if (i->is_constant()) {
      const std::int64_t given = i->as_int(), at = given < 0 ? given + n : given;
      if (at < 0 || at >= n) {
        fail(DiagCode::bad_index, *nodes[d],
             "index " + std::to_string(given) + " is out of bounds: axis " + std::to_string(d) + " has extent " +
                 std::to_string(n));
        return std::nullopt;
      }
      flat_index = plus(flat_index, times(i32(at), w.type->strides[d]));
      continue;
    }
    ir::Value* at = narrowed(i);
    ir::Value* negative = b_.binary(OpCode::lt, at, i32(0));
    at = b_.select(negative, b_.binary(OpCode::add, at, i32(n)), at);
    ir::Value* inside = is_inside(at, i32(n));
    watch(inside, i, i32(n), "axis " + std::to_string(d) + " of a tile");
    place.inside = place.inside ? b_.binary(OpCode::bit_and, place.inside, inside) : inside;
    ir::Value* safe = n == 1 ? i32(0) : b_.select(inside, at, i32(0));
    flat_index = plus(flat_index, times(safe, w.type->strides[d]));
  }
  place.root = Place::Root::memory;
  place.base = w.data;
  place.of_tile = true;
  place.repeated = is_broadcast(w);
  place.indices = {flat_index};
  place.type = w.type->element;
  return place;
}

Place Tiles::place(ir::Value* tile, const SubscriptExpr& expr) {
  const Window w = window(tile);
  const std::size_t rank = w.type->rank();
  if (expr.indices.size() > rank) {
    fail(DiagCode::bad_index, *expr.indices[rank],
         "too many indices: a tile of shape " + shape_text(w.type->shape) + " has " + std::to_string(rank) +
             " dimensions, got " + std::to_string(expr.indices.size()));
    return {};
  }
  std::vector<Entity> given;  // each is evaluated once
  for (const Expr* index : expr.indices) {
    const auto* slice = index->as_if<SliceExpr>();
    given.push_back(slice ? f_.slice_entity(*slice) : f_.lower_expr(*index));
    if (given.back().is_error()) return {};
  }
  if (auto picked = indexed_place(w, expr, given)) return *std::move(picked);
  bool elements = expr.indices.size() == rank;
  for (const Entity& e : given) elements = elements && e.kind != Entity::Kind::slice;
  if (elements) {
    std::vector<Entity> indices;
    std::vector<const Node*> nodes;
    for (std::size_t d = 0; d < rank; ++d) {
      ir::Value* i = as_index(given[d], *expr.indices[d]);
      if (!i) return {};
      indices.push_back(Entity::of(i));
      nodes.push_back(expr.indices[d]);
    }
    return element_place(w, indices, nodes).value_or(Place{});
  }
  const Window made = part_of(w, given, expr.indices, true);
  if (!made) return {};
  Place place;
  place.root = Place::Root::temporary;
  place.base = value(made);
  place.type = place.base->type;
  return place;
}

Tiles::Window Tiles::part_of(const Window& w, std::span<const Entity> given, std::span<const Expr* const> nodes,
                             bool from_end) {
  Shape shape, strides;
  ir::Value* offset = w.offset;
  for (std::size_t d = 0; d < w.type->rank(); ++d) {
    if (d >= given.size()) {
      shape.push_back(w.type->shape[d]);
      strides.push_back(w.type->strides[d]);
      continue;
    }
    const Node& at = nodes[d] ? static_cast<const Node&>(*nodes[d]) : at_;
    if (given[d].kind == Entity::Kind::slice) {
      const auto positions = f_.slice_positions(given[d], *nodes[d], w.type->shape[d]);
      if (!positions) return {};
      if (positions->empty()) {
        fail(DiagCode::bad_index, at, "this slice is an empty tile");
        return {};
      }
      const std::int64_t step = positions->size() > 1 ? (*positions)[1] - (*positions)[0] : 1;
      shape.push_back(std::int64_t(positions->size()));
      strides.push_back(w.type->strides[d] * step);
      offset = plus(offset, i32((*positions)[0] * w.type->strides[d]));
      continue;
    }
    ir::Value* i = as_index(given[d], at);
    if (!i) return {};
    bool ok = true;
    if (from_end && i->is_constant() && i->as_int() < 0) {
      i = i32(i->as_int() + w.type->shape[d]);
    } else if (from_end && !i->is_constant() && i->type->is_signed_int()) {
      ir::Value* end = f_.function_.constant_int(i->type, w.type->shape[d]);
      ir::Value* negative = b_.binary(OpCode::lt, i, f_.function_.zero(i->type));
      i = b_.select(negative, b_.binary(OpCode::add, i, end), i);
    }
    offset = plus(offset, times(clamped_offset(w, d, i, 1, at, ok), w.type->strides[d]));
    if (!ok) return {};
  }
  if (shape.empty()) shape = {1}, strides = {1};
  return view(w, shape, strides, offset);
}

Entity Tiles::form_extract(const std::vector<Argument>& args) {
  if (args.empty() || !args[0].keyword.empty())
    return fail(DiagCode::bad_call, at_, "tile_extract() takes a tile and an index for each dimension");
  const Window w = tile_argument("tile_extract", "a", args[0]);
  if (!w) return Entity::failed();
  const std::size_t rank = w.type->rank();
  const Type* element = w.type->element;
  const std::size_t more = element->is_mat() ? 2 : element->is_composite() ? 1 : 0;
  if (args.size() < 1 + rank || args.size() > 1 + rank + more)
    return fail(DiagCode::bad_call, at_,
                "tile_extract() on " + w.type->type->user_name() + " takes " + std::to_string(rank) + " indices" +
                    (more ? ", and up to " + std::to_string(more) + " into the element" : "") + ", got " +
                    std::to_string(args.size() - 1));
  std::vector<Entity> indices;
  std::vector<const Node*> nodes;
  for (std::size_t k = 1; k < args.size(); ++k) {
    indices.push_back(args[k].entity);
    nodes.push_back(&node(args[k]));
  }
  auto place = element_place(w, std::span(indices).first(rank), nodes);
  if (!place) return Entity::failed();
  for (std::size_t k = rank; k < indices.size(); ++k) {
    ir::Value* i = f_.value_of(indices[k], *nodes[k]);
    if (!i) return Entity::failed();
    const bool known = i->is_constant();
    const std::int64_t n = place->type->rows();
    std::int64_t at = known ? i->as_int() : 0;
    if (at < 0) at += n;
    if (!i->type->is_int() || at < 0 || at >= n)
      return fail(DiagCode::bad_index, *nodes[k], "this component index is out of bounds or no integer");
    place->path.push_back({ir::PathStep::index, !known, !known, std::int32_t(at)});
    if (!known) place->dynamic.push_back(i);
    place->type =
        place->type->is_mat() ? types::vec(place->type->element(), place->type->cols()) : place->type->element();
  }
  return f_.read_place(*place);
}

Entity Tiles::form_scatter(std::string_view name, const std::vector<Argument>& args) {
  const bool add = name == "tile_scatter_add";
  if (args.empty()) return fail(DiagCode::bad_call, at_, std::string(name) + "() takes a tile first");
  const Window w = tile_argument(name, "a", args[0]);
  if (!w) return Entity::failed();
  std::vector<std::string_view> params = {"a", "i", "j", "k", "l"};
  params.resize(1 + w.type->rank());
  const std::size_t rank = w.type->rank(), value_at = params.size();
  params.insert(params.end(), {"value", "has_value"});
  if (add) params.push_back("atomic");
  const auto bound = bind(name, params, add ? value_at + 1 : value_at + 2, args);
  if (!bound) return Entity::failed();
  if (is_broadcast(w)) return fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
  if (add && !flag_argument((*bound)[value_at + 2], "atomic", true)) return Entity::failed();
  std::vector<Entity> indices;
  std::vector<const Node*> nodes;
  for (std::size_t d = 0; d < rank; ++d) {
    indices.push_back((*bound)[1 + d]->entity);
    nodes.push_back(&node(*(*bound)[1 + d]));
  }
  const Argument& given = *(*bound)[value_at];
  ir::Value* value = given.entity.is_literal() && w.type->element->is_scalar()
                         ? f_.literal_as(given.entity, w.type->element, node(given))
                         : f_.value_of(given.entity, node(given));
  ir::Value* wanted = (*bound)[value_at + 1] ? f_.truth((*bound)[value_at + 1]->entity, at_) : b_.boolean(true);
  auto place = element_place(w, indices, nodes);
  if (!value || !wanted || !place) return Entity::failed();
  if (value->type != w.type->element)
    return fail(DiagCode::type_mismatch, node(given),
                std::string(name) + "(): the value is " + value->type->user_name() + ", the tile has " +
                    w.type->element->user_name());
  if (add && !can_add(value->type) && !value->type->is_struct())
    return fail(DiagCode::bad_call, at_, "tile_scatter_add() does not work on " + w.type->type->user_name());
  ir::Value* condition = place->inside ? f_.fold(OpCode::bit_and, wanted, place->inside) : wanted;
  if (!add && threads_ > 1 && f_.region_depth_ == 0 && f_.function_.kind == ir::FunctionKind::kernel) {
    // All threads come by. They put their numbers at their elements, where the highest stays; each element takes that one's value.
    const Window highest = make(types::i32(), w.type->shape), values = make(value->type, {threads_});
    fill(highest, i32(-1));
    const auto slot = element_place(highest, indices, nodes);
    guarded(condition, [&] { b_.atomic(ir::AtomicKind::max, slot->base, slot->indices, 0, {}, {}, thread()); });
    ir::Value* own[] = {thread()};
    put(values, own, value);
    each(w.type->shape, [&](Coords at) {
      ir::Value* from[] = {get(highest, at)};
      guarded(b_.binary(OpCode::ge, from[0], i32(0)), [&] { put(w, at, get(values, from)); });
    });
    return Entity::nothing();
  }
  guarded(condition, [&] {
    if (add && (threads_ > 1 || value->type->is_struct())) return add_to_element(*place, value, false);
    ir::Value* now = add ? b_.binary(OpCode::add, b_.load(w.data, place->indices, 0), value) : value;
    b_.store(w.data, place->indices, 0, {}, {}, now);
  });
  return Entity::nothing();
}

// ---- Assignment --------------------------------------------------------------------------------------------------------

bool Tiles::can_convert(const Type* from, const Type* to) const {
  if (from == to) return true;
  if (from->is_scalar() && to->is_scalar()) return true;
  return from->is_composite() && to->is_composite() && from->kind() == to->kind() && from->rows() == to->rows() &&
         from->cols() == to->cols();
}

ir::Value* Tiles::converted(ir::Value* value, const Type* to) {
  if (value->type == to) return value;
  if (to->is_scalar()) return f_.cast(value, to);
  std::vector<ir::Value*> parts;
  const bool matrix = to->is_mat();
  const std::int32_t cols = std::int32_t(matrix ? to->cols() : 1);
  for (std::int32_t k = 0; k < std::int32_t(to->component_count()); ++k) {
    const ir::PathStep path[] = {{ir::PathStep::index, false, false, k / cols},
                                 {ir::PathStep::index, false, false, k % cols}};
    parts.push_back(f_.cast(b_.extract(value, std::span(path, matrix ? 2u : 1u)), to->element()));
  }
  return b_.construct(to, parts);
}

bool Tiles::assign(ir::Value* target, const Entity& given) {
  const Window to = window(target);
  if (is_broadcast(to)) {
    fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
    return false;
  }
  const bool is_tile = given.is_value() && tile_type(given.type());
  if (!is_tile) {
    ir::Value* value = given.is_literal() && to.type->element->is_scalar() ? f_.literal_as(given, to.type->element, at_)
                                                                           : f_.value_of(given, at_);
    if (!value) return false;
    if (value->type != to.type->element) {
      fail(DiagCode::type_mismatch, at_,
           "can't assign " + value->type->user_name() + " to a part of " + to.type->type->user_name());
      return false;
    }
    fill(to, value);
    return true;
  }
  Window from = window(given.value);
  if (!same_shape("assignment", to, from, at_)) return false;
  if (!can_convert(from.type->element, to.type->element)) {
    fail(DiagCode::type_mismatch, at_,
         "can't assign elements of type " + from.type->element->user_name() + " to those of " +
             to.type->element->user_name());
    return false;
  }
  if (given.hold != Entity::Hold::fresh && may_overlap(from, to)) from = copy_of(from);
  if (from.type->contiguous && to.type->contiguous) {
    const Window a = flat(from), b = flat(to);
    each(b.type->shape, [&](Coords at) { put(b, at, converted(get(a, at), b.type->element)); });
  } else {
    each(to.type->shape, [&](Coords at) { put(to, at, converted(get(from, at), to.type->element)); });
  }
  return true;
}

Entity Tiles::form_assign(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"dst", "src", "offset"};
  const auto bound = bind("tile_assign", kParams, 2, args);
  const Window to = bound ? tile_argument("tile_assign", "dst", *(*bound)[0]) : Window{};
  Window from = to ? tile_argument("tile_assign", "src", *(*bound)[1]) : Window{};
  if (!from) return Entity::failed();
  const std::size_t rank = to.type->rank();
  if (from.type->rank() > rank)
    return fail(DiagCode::bad_call, at_,
                "tile_assign(): the source has " + std::to_string(from.type->rank()) + " dimensions, the target has " +
                    std::to_string(rank));
  Shape shape(rank - from.type->rank(), 1), strides(rank - from.type->rank(), 0);
  shape.insert(shape.end(), from.type->shape.begin(), from.type->shape.end());
  strides.insert(strides.end(), from.type->strides.begin(), from.type->strides.end());
  from = view(from, shape, strides, from.offset);
  const auto offset = offsets_argument((*bound)[2], rank, "target");
  if (!offset) return Entity::failed();
  bool ok = true;
  ir::Value* first = to.offset;
  for (std::size_t d = 0; d < rank; ++d)
    first = plus(first, times(clamped_offset(to, d, (*offset)[d], shape[d], at_, ok), to.type->strides[d]));
  if (!ok) return Entity::failed();
  Entity source = entity(from, (*bound)[1]->entity.hold);
  return assign(value(view(to, shape, to.type->strides, first)), source) ? Entity::nothing() : Entity::failed();
}

}  // namespace weft::sema
