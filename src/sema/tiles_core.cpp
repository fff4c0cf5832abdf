// Memory of tiles, loops over their elements, and how builtins read their arguments.
#include <algorithm>
#include <utility>

#include "ir/tile_memory.h"
#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

namespace {

/// What a struct was made of, where that is in sight; else taken out of it.
ir::Value* part(ir::Builder& b, ir::Value* tile, std::int32_t field) {
  if (tile->kind == ir::ValueKind::result && tile->op->code == OpCode::construct)
    return tile->op->operand(std::size_t(field));
  const ir::PathStep step{ir::PathStep::field, false, false, field};
  return b.extract(tile, std::span(&step, 1));
}

}  // namespace

Tiles::Tiles(FunctionLowering& lowering, const syntax::Node& at)
    : f_(lowering), b_(lowering.builder_), at_(at), threads_(lowering.module_.options().block_dim) {}

Tiles::Window Tiles::window(ir::Value* tile) {
  const TileType* type = tile_type(tile->type);
  Window w{type, part(b_, tile, 0), part(b_, tile, 1)};
  w.by_thread =
      w.offset->is_zero() && type->contiguous && type->shape.back() == threads_ && f_.tiles_by_thread_.contains(w.data);
  return w;
}

ir::Value* Tiles::value(const Window& w) {
  ir::Value* parts[] = {w.data, w.offset};
  return b_.construct(w.type->type, parts);
}

Entity Tiles::entity(const Window& w, Entity::Hold hold) {
  Entity made = Entity::of(value(w));
  made.hold = hold;
  return made;
}

Tiles::Window Tiles::make(const Type* element, const Shape& shape) {
  const TileType& type = types::tile(element, shape);
  b_.set_loc(at_.loc);
  // Zeroed where something reads it so; what threads share is written before it is read.
  ir::Value* memory = b_.local(types::array(element, 1), std::span(&type.count, 1));
  ir::mark_tile_memory(*memory->op);
  if (cooperates()) memory->op->imm = ir::kOfBlock | ir::kRaw;
  return {&type, memory, i32(0)};
}

Entity Tiles::stored(const Window& w, const Argument* storage) {
  const bool shared =
      storage && storage->entity.kind == Entity::Kind::string && storage->entity.symbol->constant.text == "shared";
  if (shared) ir::mark_tile_memory(*w.data->op, true);
  return fresh(w);
}

Tiles::Window Tiles::make_before(const ir::Op* loops, ir::Region* region, const Type* element, const Shape& shape) {
  ir::Region* here = b_.region();
  const bool sharing = std::exchange(sharing_, false);
  if (loops) b_.set_place(region, const_cast<ir::Op*>(loops));
  Window made = make(element, shape);
  if (loops) b_.set_place(here);
  sharing_ = sharing;
  return made;
}

Tiles::Window Tiles::view(const Window& w, const Shape& shape, const Shape& strides, ir::Value* offset) {
  return {&types::tile(w.type->element, shape, strides), w.data, offset};
}

Tiles::Window Tiles::flat(const Window& w) {
  Window made = view(w, {w.type->count}, {1}, w.offset);
  made.by_thread = w.by_thread;
  return made;
}

Tiles::Window Tiles::make_like(const Window& w) {
  Window made = make(w.type->element, w.type->shape);
  made.by_thread = w.by_thread;
  if (w.by_thread) note_by_thread(made);
  return made;
}

Tiles::Window Tiles::copy_of(const Window& w) {
  const Window made = make_like(w);
  copy(w, made);
  return made;
}

Tiles::Window Tiles::packed(const Window& w) { return w.type->contiguous ? w : copy_of(w); }

ir::Value* Tiles::plus(ir::Value* a, ir::Value* b) {
  if (a->is_zero()) return b;
  if (b->is_zero()) return a;
  return f_.fold(OpCode::add, a, b);
}

ir::Value* Tiles::times(ir::Value* a, std::int64_t n) {
  if (n == 1) return a;
  return n == 0 ? i32(0) : f_.fold(OpCode::mul, a, i32(n));
}

ir::Value* Tiles::index(const Window& w, Coords at) {
  ir::Value* sum = w.offset;
  if (shared_number_ && w.type->contiguous && w.type->shape == shared_shape_ &&
      std::equal(at.begin(), at.end(), shared_at_.begin(), shared_at_.end()))
    return plus(sum, shared_number_);  // without taking the number apart and putting it together again
  for (std::size_t d = 0; d < at.size(); ++d) sum = plus(sum, times(at[d], w.type->strides[d]));
  return sum;
}

void Tiles::note_start(const Window& w) {
  if (!sharing_ || w.offset->is_constant()) return;
  if (std::find(window_starts_.begin(), window_starts_.end(), w.offset) == window_starts_.end())
    window_starts_.push_back(w.offset);
}

ir::Value* Tiles::get(const Window& w, Coords at) {
  note_start(w);
  ir::Value* indices[] = {index(w, at)};
  return b_.load(w.data, indices, 0);
}

void Tiles::put(const Window& w, Coords at, ir::Value* value) {
  note_start(w);
  ir::Value* indices[] = {index(w, at)};
  b_.store(w.data, indices, 0, {}, {}, value);
}

void Tiles::loop(std::int64_t n, const std::function<void(ir::Value*)>& body) {
  if (cooperates()) return share(n, body);
  plain_loop(n, body);
}

void Tiles::plain_loop(std::int64_t n, const std::function<void(ir::Value*)>& body) {
  if (n == 1) return body(i32(0));
  if (n < 1 || !f_.enter_region(at_)) return;
  ir::Region* outer = b_.region();
  b_.set_loc(at_.loc);
  ir::Op* op = b_.for_op(i32(0), i32(n), i32(1), {});
  const bool first = !outermost_;
  if (first) outermost_ = op;
  b_.set_place(op->regions[0]);
  body(op->regions[0]->args[0]);
  b_.yield({});
  b_.set_place(outer);
  if (first) outermost_ = nullptr;
  --f_.region_depth_;
}

void Tiles::each(const Shape& shape, const std::function<void(Coords)>& body) {
  if (cooperates()) {
    std::int64_t count = 1;
    for (std::int64_t n : shape) count *= n;
    return share(count, [&](ir::Value* i) {
      shared_shape_ = shape;
      shared_at_ = coordinates(shape, i);
      shared_number_ = i;
      body(shared_at_);
      shared_number_ = nullptr;
    });
  }
  std::vector<ir::Value*> at;
  const std::function<void(std::size_t)> nest = [&](std::size_t d) {
    if (d == shape.size()) return body(at);
    loop(shape[d], [&](ir::Value* i) {
      at.push_back(i);
      nest(d + 1);
      at.pop_back();
    });
  };
  nest(0);
}

void Tiles::copy(const Window& from, const Window& to) {
  if (from.type->contiguous && to.type->contiguous && from.type->rank() > 1) return copy(flat(from), flat(to));
  each(to.type->shape, [&](Coords at) { put(to, at, get(from, at)); });
}

bool Tiles::may_overlap(const Window& a, const Window& b) const {
  const auto is_local = [](const ir::Value* v) {
    return v->kind == ir::ValueKind::result && v->op->code == OpCode::local;
  };
  if (is_local(a.data) && is_local(b.data)) return a.data == b.data;
  return true;
}

void Tiles::watch(ir::Value* inside, ir::Value* index, ir::Value* extent, const std::string& what) {
  if (!f_.module_.options().debug || inside->is_constant()) return;
  ir::Value* operands[] = {inside, f_.cast(index, types::i64()), f_.cast(extent, types::i64())};
  ir::Op* op = b_.op(OpCode::check, operands);
  op->check = ir::CheckKind::bounds;
  op->text = f_.function_.arena.copy(std::string_view(what));
}

// ---- Arguments ---------------------------------------------------------------------------------------------------------

const Node& Tiles::node(const Argument& arg) const { return arg.expr ? static_cast<const Node&>(*arg.expr) : at_; }

std::optional<Tiles::Bound> Tiles::bind(std::string_view form, std::span<const std::string_view> params,
                                        std::size_t needed, const std::vector<Argument>& args) {
  Bound bound(params.size(), nullptr);
  std::size_t position = 0;
  for (const Argument& arg : args) {
    const std::size_t p = arg.keyword.empty()
                              ? position++
                              : std::size_t(std::find(params.begin(), params.end(), arg.keyword) - params.begin());
    if (p >= params.size()) {
      fail(DiagCode::bad_call, node(arg),
           arg.keyword.empty() ? std::string(form) + "() takes at most " + std::to_string(params.size()) + " arguments"
                               : std::string(form) + "() has no parameter '" + std::string(arg.keyword) + "'",
           arg.keyword == "m" || arg.keyword == "n" ? "extents are one argument: shape=(m, n); offsets count elements"
                                                    : "");
      return std::nullopt;
    }
    if (bound[p]) {
      fail(DiagCode::bad_call, node(arg), "the argument '" + std::string(params[p]) + "' is given twice");
      return std::nullopt;
    }
    bound[p] = &arg;
  }
  for (std::size_t p = 0; p < needed; ++p)
    if (!bound[p]) {
      fail(DiagCode::bad_call, at_, std::string(form) + "() lacks the argument '" + std::string(params[p]) + "'");
      return std::nullopt;
    }
  return bound;
}

Tiles::Window Tiles::tile_argument(std::string_view form, std::string_view param, const Argument& arg) {
  if (arg.entity.is_value() && tile_type(arg.entity.type())) return window(arg.entity.value);
  if (!arg.entity.is_error())
    fail(DiagCode::bad_call, node(arg),
         std::string(form) + "() takes a tile as '" + std::string(param) + "', not " + f_.describe(arg.entity),
         arg.entity.is_value() && arg.entity.type()->is_array() ? "load it: wp.tile_load(…)" : "");
  return {};
}

Tiles::Window Tiles::whole_argument(std::string_view form, std::string_view param, const Argument& arg) {
  const Window w = tile_argument(form, param, arg);
  if (w) agree(w.offset, kWindowStart);
  return w;
}

bool Tiles::check_shape(const Shape& shape, const Type* element, const Node& at) {
  if (shape.empty() || shape.size() > std::size_t(kMaxRank)) {
    fail(DiagCode::value_out_of_range, at, "a tile has 1 to 4 dimensions, not " + std::to_string(shape.size()));
    return false;
  }
  std::int64_t count = 1;
  for (std::int64_t n : shape) {
    if (n < 1) {
      fail(DiagCode::value_out_of_range, at,
           "the extents of a tile are positive; " + shape_text(shape) + " has a zero-length or negative one");
      return false;
    }
    count = n > kMaxTileElements ? kMaxTileElements + 1 : count * n;
    if (count > kMaxTileElements) {
      fail(DiagCode::value_out_of_range, at,
           "a tile has at most " + std::to_string(kMaxTileElements) + " elements; " + shape_text(shape) + " has more",
           "work on parts, or on arrays");
      return false;
    }
  }
  if (!element->size() || element->is_array() || tile_type(element) || element->is_tuple()) {
    fail(DiagCode::bad_call, at, "a tile can't have elements of type " + element->user_name());
    return false;
  }
  return true;
}

std::optional<Tiles::Shape> Tiles::shape_argument(const Argument& arg, const Type* element) {
  std::optional<Shape> shape = f_.constant_shape(arg.entity);
  if (!shape) {
    if (!arg.entity.is_error())
      fail(DiagCode::not_constant, node(arg), "the shape of a tile must be a compile time constant",
           "use numbers, wp.constant(…), names from outside the kernel, or wp.static(…)");
    return std::nullopt;
  }
  if (!check_shape(*shape, element, node(arg))) return std::nullopt;
  return shape;
}

const Type* Tiles::dtype_argument(const Argument* arg, const Type* otherwise) {
  if (!arg) return otherwise;
  if (arg->entity.kind == Entity::Kind::type && arg->entity.symbol->pattern.kind == builtins::Pattern::Kind::exact)
    return arg->entity.symbol->pattern.type;
  if (!arg->entity.is_error())
    fail(DiagCode::bad_call, node(*arg), "dtype must be a type, not " + f_.describe(arg->entity));
  return nullptr;
}

std::optional<std::string> Tiles::word_argument(const Argument* arg, std::string_view param, std::string_view otherwise,
                                                std::initializer_list<std::string_view> words) {
  if (!arg) return std::string(otherwise);
  std::string allowed;
  for (std::string_view word : words) {
    if (arg->entity.kind == Entity::Kind::string && arg->entity.symbol->constant.text == word) return std::string(word);
    allowed += (allowed.empty() ? "\"" : ", \"") + std::string(word) + "\"";
  }
  if (!arg->entity.is_error())
    fail(DiagCode::bad_call, node(*arg), "'" + std::string(param) + "' is one of " + allowed);
  return std::nullopt;
}

bool Tiles::check_storage(const Argument* arg) {
  return word_argument(arg, "storage", "register", {"register", "shared"}).has_value();
}

std::optional<bool> Tiles::flag_argument(const Argument* arg, std::string_view param, bool otherwise) {
  if (!arg) return otherwise;
  if (arg->entity.is_value() && arg->entity.type()->is_bool() && arg->entity.value->is_constant())
    return arg->entity.value->bits != 0;
  if (auto n = f_.constant_int(arg->entity)) return *n != 0;
  if (!arg->entity.is_error())
    fail(DiagCode::not_constant, node(*arg),
         "'" + std::string(param) + "' must be a compile time constant, True or False");
  return std::nullopt;
}

std::optional<std::vector<ir::Value*>> Tiles::offsets_argument(const Argument* arg, std::size_t rank,
                                                               std::string_view what) {
  std::vector<ir::Value*> out;
  if (!arg) return std::vector<ir::Value*>(rank, i32(0));
  std::vector<Entity> parts;
  const Entity& e = arg->entity;
  if (e.is_error()) return std::nullopt;
  if (e.kind == Entity::Kind::tuple) {
    parts = *e.elements;
  } else if (e.is_value() && e.type()->is_tuple()) {
    for (std::size_t k = 0; k < e.type()->fields().size(); ++k) {
      const ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
      parts.push_back(Entity::of(b_.extract(e.value, std::span(&step, 1))));
    }
  } else if (e.is_value() && e.type()->is_vec()) {
    for (std::uint32_t k = 0; k < e.type()->rows(); ++k)
      parts.push_back(Entity::of(b_.extract(e.value, std::int32_t(k))));
  } else {
    parts = {e};
  }
  if (parts.size() != rank) {
    fail(DiagCode::bad_call, node(*arg),
         "the offset has " + std::to_string(parts.size()) + " dimensions, the " + std::string(what) + " has " +
             std::to_string(rank));
    return std::nullopt;
  }
  for (const Entity& one : parts) {
    ir::Value* v = f_.value_of(one, node(*arg));
    if (!v) return std::nullopt;
    if (!v->type->is_int()) {
      fail(DiagCode::bad_index, node(*arg), "offsets are integers, not " + v->type->user_name(), "convert it: int(…)");
      return std::nullopt;
    }
    out.push_back(v);
  }
  return out;
}

std::optional<std::int64_t> Tiles::axis_argument(const Argument& arg, std::size_t rank) {
  const auto axis = f_.constant_int(arg.entity);
  if (!axis) {
    if (!arg.entity.is_error()) fail(DiagCode::not_constant, node(arg), "'axis' must be a compile time constant");
    return std::nullopt;
  }
  const std::int64_t n = std::int64_t(rank), at = *axis < 0 ? *axis + n : *axis;
  if (at < 0 || at >= n) {
    fail(DiagCode::value_out_of_range, node(arg),
         "axis " + std::to_string(*axis) + " is out of bounds for a tile of " + std::to_string(n) + " dimensions");
    return std::nullopt;
  }
  return at;
}

bool Tiles::same_shape(std::string_view form, const Window& a, const Window& b, const Node& at) {
  if (a.type->shape == b.type->shape) return true;
  fail(DiagCode::type_mismatch, at,
       std::string(form) + ": tiles of different shapes, " + shape_text(a.type->shape) + " and " +
           shape_text(b.type->shape),
       "one of them may come from wp.tile(…), whose last extent is block_dim: 1 on the CPU");
  return false;
}

// ---- Variables ---------------------------------------------------------------------------------------------------------

bool Tiles::made_in_loop(const ir::Value* memory) const {
  if (memory->kind != ir::ValueKind::result || memory->op->code != OpCode::local) return false;
  for (const ir::Region* at = memory->op->parent; at && at->parent_op; at = at->parent_op->parent)
    if (std::any_of(f_.loops_.begin(), f_.loops_.end(), [&](const auto& loop) { return loop.op == at->parent_op; }))
      return true;
  return false;
}

void Tiles::give(int variable, const Entity& value, const Window& to) {
  const Window from = window(value.value);
  ir::Region* region = b_.region();
  ir::Op* before = region->last;
  copy(from, to);
  if (threads_ == 1 || region->last == before) return;  // on CPUs a copy is what everybody makes
  for (ir::Op* op = before ? before->next : region->first; op; op = op->next) f_.second_names_.note_assignment(*op);
  const ir::Op *first = tile_memory_of(from.data), *second = tile_memory_of(to.data);
  if (value.hold != Entity::Hold::shared || !first || !second || !ir::is_shared_tile_memory(*first)) return;
  const auto known = std::ranges::find_if(f_.variables_, [&](const auto& v) { return v.value.value == value.value; });
  if (known == f_.variables_.end()) return;
  f_.second_names_.note({first, second, region->last, std::string(known->name),
                         std::string(f_.variables_[std::size_t(variable)].name), at_.loc, at_.underline()});
}

Entity Tiles::held(int variable, Entity value) {
  Window given = window(value.value);
  auto& var = f_.variables_[std::size_t(variable)];
  const bool other_kind = var.type && var.type != value.type();
  const bool looping =
      std::any_of(f_.loops_.begin(), f_.loops_.end(), [](const auto& loop) { return loop.op != nullptr; });
  // A window of what this turn made is gone when the next one has made its own.
  const bool goes = looping && var.value.is_value() && made_in_loop(given.data);
  if (value.hold == Entity::Hold::window && !other_kind && !goes) return value;
  if (!given.type->contiguous) {  // memory of its own lies row after row
    given = copy_of(given);
    value = fresh(given);
  }
  if (!looping || !var.value.is_value() || var.value.type() != value.type()) {
    Entity kept = value;
    if (value.hold != Entity::Hold::fresh) {
      const Window own = make_like(given);
      give(variable, value, own);
      kept = fresh(own);
    }
    kept.hold = Entity::Hold::shared;
    return kept;
  }
  // A turn of a loop may read what another one assigned, and what is assigned may be made of it: memory in front of all
  // loops holds the variable's value from one turn to the next.
  if (!var.home) {
    ir::Region* here = b_.region();
    ir::Op* start = f_.function_.body->first;
    if (start) b_.set_place(f_.function_.body, start);
    var.home = this->value(make(given.type->element, given.type->shape));
    if (start) b_.set_place(here);
  }
  if (value.value != var.home) give(variable, value, window(var.home));
  return Entity::of(var.home);
}

ir::Value* Tiles::unassigned(const Type* type) {
  const TileType& tile = *tile_type(type);
  std::int64_t count = 1, first = 0;
  for (std::size_t d = 0; d < tile.rank(); ++d) {
    const std::int64_t reach = (tile.shape[d] - 1) * tile.strides[d];
    count += reach < 0 ? -reach : reach;
    if (reach < 0) first -= reach;
  }
  ir::Region* here = b_.region();
  ir::Op* start = f_.function_.body->first;
  if (start) b_.set_place(f_.function_.body, start);
  ir::Value* parts[] = {b_.local(types::array(tile.element, 1), std::span(&count, 1), false), i32(first)};
  if (threads_ > 1) parts[0]->op->imm = ir::kOfBlock;
  ir::Value* made = b_.construct(type, parts);
  if (start) b_.set_place(here);
  return made;
}

std::optional<Entity> Tiles::attribute(const Type* type, std::string_view name) {
  const TileType& tile = *tile_type(type);
  if (name == "dtype") return Entity::of_symbol(Entity::Kind::type, Symbol::of_type(tile.element));
  if (name == "ndim") return Entity::of(i32(std::int64_t(tile.rank())));
  if (name == "size") return Entity::of(i32(tile.count));
  if (name != "shape") return std::nullopt;
  std::vector<Entity> extents;
  for (std::int64_t n : tile.shape) extents.push_back(Entity::of(i32(n)));
  return Entity::of_tuple(std::move(extents));
}

}  // namespace weft::sema
