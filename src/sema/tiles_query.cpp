// What reads and changes tiles by indices of other tiles or of threads, queries of a block, choices between tiles, and printing.
#include <algorithm>

#include "ir/tile_memory.h"
#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

Entity Tiles::form_query_next(std::string_view name, std::vector<Argument> args) {
  if (args.size() != 1 || !(args[0].keyword.empty() || args[0].keyword == "query"))
    return fail(DiagCode::bad_call, at_, std::string(name) + "() takes a query");
  const bool mesh = name.find("mesh") != std::string_view::npos;
  const std::string_view wanted = mesh ? "MeshQueryAABBTiled" : "BvhQueryTiled";
  const Entity& query = args[0].entity;
  if (!query.is_value() || query.type()->user_name() != wanted)
    return fail(DiagCode::bad_call, node(args[0]),
                std::string(name) + "() takes a " + std::string(wanted) + ", not " + f_.describe(query),
                std::string("make one: wp.") + (mesh ? "tile_mesh_query_aabb" : "tile_bvh_query_aabb") + "(…)");
  args[0].keyword = {};
  meet();
  const Window made = make(types::i32(), {threads_});
  if (threads_ > 1) {
    if (!f_.module_.options().block_rows) fill(made, i32(-1));  // threads that are missing find nothing
    const Window totals = make(types::i32(), {(threads_ + 31) / 32});
    for (ir::Value* v : {made.data, totals.data, thread(), thread_count()})
      args.push_back({{}, Entity::of(v), nullptr, nullptr});
  }
  const std::string_view step = threads_ > 1 ? "_tile_query_next_block" : "_tile_query_next";
  const Entity found = f_.call_functions({library_function(step)}, std::move(args), at_);
  if (!found.is_value()) return Entity::failed();
  ir::Value* first[] = {i32(0)};
  if (threads_ == 1) put(made, first, found.value);
  return fresh(made);
}

// ---- Index tiles -------------------------------------------------------------------------------------------------------

Tiles::Window Tiles::gathered(const Window& w, const Window& indices, std::size_t axis, const Node& at) {
  if (indices.type->rank() != 1 || !indices.type->element->is_int()) {
    fail(DiagCode::bad_index, at,
         "an index of a tile is an integer or an integer index tile of one dimension, not " +
             indices.type->type->user_name());
    return {};
  }
  Shape shape = w.type->shape;
  const std::int64_t n = shape[axis];
  shape[axis] = indices.type->shape[0];
  if (!check_shape(shape, w.type->element, at)) return {};
  const Window made = make(w.type->element, shape);
  each(shape, [&](Coords to) {
    std::vector<ir::Value*> from(to.begin(), to.end());
    ir::Value* i = f_.cast(get(indices, to.subspan(axis, 1)), types::i32());
    i = b_.select(b_.binary(OpCode::lt, i, i32(0)), b_.binary(OpCode::add, i, i32(n)), i);
    ir::Value* inside = is_inside(i, i32(n));
    from[axis] = n == 1 ? i32(0) : b_.select(inside, i, i32(0));
    put(made, to, b_.select(inside, get(w, from), f_.function_.zero(w.type->element)));
  });
  return made;
}

Entity Tiles::form_slice_indexed(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"t", "indices"};
  const auto bound = bind("tile_slice_indexed", kParams, 2, args);
  const Window w = bound ? tile_argument("tile_slice_indexed", "t", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  const Entity& given = (*bound)[1]->entity;
  const std::vector<Entity> parts = given.kind == Entity::Kind::tuple ? *given.elements : std::vector<Entity>{given};
  for (std::size_t d = 0; d < parts.size() && d < w.type->rank(); ++d) {
    if (!parts[d].is_value() || !tile_type(parts[d].type())) continue;
    const Window made = gathered(w, window(parts[d].value), d, node(*(*bound)[1]));
    return made ? fresh(made) : Entity::failed();
  }
  return fail(DiagCode::bad_call, node(*(*bound)[1]), "tile_slice_indexed() takes an integer index tile");
}

std::optional<Place> Tiles::indexed_place(const Window& w, const SubscriptExpr& expr, std::span<const Entity> given) {
  // The index tile, if there is one; what else stands in the brackets then is `:`.
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < given.size(); ++d) {
    if (!given[d].is_value() || !tile_type(given[d].type())) continue;
    if (axis) {
      fail(DiagCode::bad_index, *expr.indices[d], "a tile takes one index tile; the other axes take ':'");
      return Place{};
    }
    axis = d;
  }
  if (!axis) return std::nullopt;
  for (std::size_t d = 0; d < expr.indices.size(); ++d) {
    const auto* slice = expr.indices[d]->as_if<SliceExpr>();
    if (d == *axis || (slice && !slice->lower && !slice->upper && !slice->step)) continue;
    fail(DiagCode::bad_index, *expr.indices[d], "an index tile requires ':' on all other axes",
         "take a window first: t[:, 1:5][indices, :]");
    return Place{};
  }
  const Window made = gathered(w, window(given[*axis].value), *axis, *expr.indices[*axis]);
  if (!made) return Place{};
  Place place;
  place.root = Place::Root::temporary;
  place.base = value(made);
  place.type = place.base->type;
  return place;
}

ir::Value* Tiles::as_index(const Entity& given, const Node& at) {
  if (auto constant = f_.constant_int(given); constant && given.is_literal()) {
    const bool narrow = *constant >= INT32_MIN && *constant <= INT32_MAX;
    return f_.function_.constant_int(narrow ? types::i32() : types::i64(), *constant);
  }
  ir::Value* i = f_.value_of(given, at);
  if (i && !i->type->is_int()) {
    fail(DiagCode::bad_index, at, "an index must be an integer, not " + i->type->user_name(), "convert it: int(…)");
    return nullptr;
  }
  return i;
}

// ---- Elements that threads change --------------------------------------------------------------------------------------

Entity Tiles::form_element_inplace(std::string_view name, const std::vector<Argument>& args) {
  if (args.empty()) return fail(DiagCode::bad_call, at_, std::string(name) + "() takes a tile first");
  const Window w = tile_argument(name, "a", args[0]);
  if (!w) return Entity::failed();
  std::vector<std::string_view> params = {"a", "i", "j", "k", "l"};
  params.resize(1 + w.type->rank());
  params.push_back("value");
  const auto bound = bind(name, params, params.size(), args);
  if (!bound) return Entity::failed();
  if (is_broadcast(w)) return fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
  std::vector<Entity> indices;
  std::vector<const Node*> nodes;
  for (std::size_t d = 1; d + 1 < params.size(); ++d) {
    indices.push_back((*bound)[d]->entity);
    nodes.push_back(&node(*(*bound)[d]));
  }
  const auto place = element_place(w, indices, nodes);
  if (!place) return Entity::failed();
  const Argument& given = *bound->back();
  ir::Value* value = given.entity.is_literal() && w.type->element->is_scalar()
                         ? f_.literal_as(given.entity, w.type->element, node(given))
                         : f_.value_of(given.entity, node(given));
  if (!value) return Entity::failed();
  const std::string_view op = name.substr(5, name.size() - 5 - std::string_view("_inplace").size());
  bool failed = false;
  guarded(place->inside ? place->inside : b_.boolean(true), [&] {
    if (threads_ > 1 && (op == "add" || op == "sub") && value->type == w.type->element &&
        (can_add(value->type) || value->type->is_struct())) {
      add_to_element(*place, value, op == "sub");  // of several threads all are counted
      return;
    }
    if (threads_ > 1 && op.starts_with("bit_") && value->type == w.type->element && can_add(value->type) &&
        value->type->scalar_kind() < ScalarKind::f16) {
      const ir::AtomicKind kind = op == "bit_and"  ? ir::AtomicKind::bit_and
                                  : op == "bit_or" ? ir::AtomicKind::bit_or
                                                   : ir::AtomicKind::bit_xor;
      b_.atomic(kind, w.data, place->indices, 0, {}, {}, value);
      return;
    }
    const Entity now = call_on(builtin(op), {Entity::of(b_.load(w.data, place->indices, 0)), Entity::of(value)});
    failed = !now.is_value();
    if (now.is_value() && now.type() != w.type->element) {
      fail(DiagCode::type_mismatch, node(given), same_types_wanted(w.type->element, value->type));
      failed = true;
    }
    if (!failed) b_.store(w.data, place->indices, 0, {}, {}, now.value);
  });
  return failed ? Entity::failed() : Entity::nothing();
}

// ---- Choices -----------------------------------------------------------------------------------------------------------

Entity Tiles::choose(const Entity& condition, const Entity& yes, const Entity& no) {
  const auto is_tile = [](const Entity& e) { return e.is_value() && tile_type(e.type()); };
  if (is_tile(condition)) {
    std::vector<Entity> args = {condition, yes, no};
    const Type* element = nullptr;
    for (const Entity* e : {&yes, &no})
      if (e->is_value()) element = is_tile(*e) ? tile_type(e->type())->element : e->type();
    for (std::size_t k : {1, 2}) {
      if (!args[k].is_literal()) continue;
      ir::Value* v = element && element->is_scalar() ? f_.literal_as(args[k], element, at_) : f_.value_of(args[k], at_);
      if (!v) return Entity::failed();
      args[k] = Entity::of(v);
    }
    return map("where", builtin("where"), args, nullptr);
  }
  ir::Value* chosen = f_.truth(condition, at_);
  if (!chosen) return Entity::failed();
  if (!is_tile(yes) || !is_tile(no))
    return fail(DiagCode::type_mismatch, at_,
                "where() chooses between two tiles, not between " + f_.describe(yes) + " and " + f_.describe(no),
                "make one: wp.tile_full(shape, value)");
  const Window a = window(yes.value), b = window(no.value);
  if (!same_shape("where()", a, b, at_)) return Entity::failed();
  if (a.type->element != b.type->element)
    return fail(DiagCode::type_mismatch, at_, "where(): " + same_types_wanted(a.type->element, b.type->element));
  const Window made = make(a.type->element, a.type->shape);
  guarded(chosen, [&] { copy(a, made); }, [&] { copy(b, made); });
  return fresh(made);
}

// ---- Printing ----------------------------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t kPrintedWhole = 512;  // elements; of larger tiles the borders are shown
constexpr std::int64_t kBorder = 3;

std::string_view format_of(const Type* type) {
  if (type->is_float()) return "%g";
  if (type->is_bool()) return "%d";
  const bool wide = type->size() == 8;
  if (type->is_signed_int()) return wide ? "%lld" : "%d";
  return wide ? "%llu" : "%u";
}

}  // namespace

Entity Tiles::print(const Entity& tile) {
  const Window w = window(tile.value);
  const Type* element = w.type->element;
  const Type* scalar = element->is_composite() ? element->element() : element;
  if (!scalar->is_scalar())
    return fail(DiagCode::bad_call, at_, "print() can't show a tile of " + element->user_name(),
                "print its elements: wp.print(t[i].field)");
  std::string text;
  std::vector<ir::Value*> operands;
  const auto show = [&](ir::Value* v) {
    text += format_of(scalar);
    const Type* as = scalar->is_float() ? types::f64() : scalar->size() < 4 ? types::i32() : scalar;
    operands.push_back(f_.cast(v, as));
  };
  const auto show_element = [&](Coords at) {
    ir::Value* v = get(w, at);
    if (element->is_scalar()) return show(v);
    const bool matrix = element->is_mat();
    const std::int32_t cols = std::int32_t(matrix ? element->cols() : 1);
    text += "(";
    for (std::int32_t k = 0; k < std::int32_t(element->component_count()); ++k) {
      const ir::PathStep path[] = {{ir::PathStep::index, false, false, k / cols},
                                   {ir::PathStep::index, false, false, k % cols}};
      if (k) text += " ";
      show(b_.extract(v, std::span<const ir::PathStep>(path, matrix ? 2u : 1u)));
    }
    text += ")";
  };
  const bool whole = w.type->count <= kPrintedWhole;
  std::vector<ir::Value*> at;
  const std::function<void(std::size_t)> nest = [&](std::size_t d) {
    if (d == w.type->rank()) return show_element(at);
    const std::int64_t n = w.type->shape[d];
    const bool inner = d + 1 == w.type->rank();
    const std::string gap = inner ? " " : "\n" + std::string(d + 1, ' ');
    text += "[";
    for (std::int64_t i = 0; i < n; ++i) {
      if (i) text += gap;
      if (!whole && n > 2 * kBorder && i == kBorder) {
        text += "...";
        i = n - kBorder - 1;
        continue;
      }
      at.push_back(i32(i));
      nest(d + 1);
      at.pop_back();
    }
    text += "]";
  };
  nest(0);
  std::string shape;
  for (std::int64_t n : w.type->shape) shape += (shape.empty() ? "" : ",") + std::to_string(n);
  const bool shared = w.data->kind == ir::ValueKind::result && ir::is_shared_tile_memory(*w.data->op);
  text += " = tile(shape=(" + shape + "), storage=" + (shared ? "shared" : "register") + ")\n";
  once([&] {
    b_.set_loc(at_.loc);
    ir::Op* op = b_.op(OpCode::printf, operands);
    op->text = f_.function_.arena.copy(text);
  });
  return Entity::nothing();
}

}  // namespace weft::sema
