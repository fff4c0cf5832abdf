// Tiles that are made, loaded from arrays and stored to them.
#include <cmath>

#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

ir::Value* Tiles::one_of(const Type* type) {
  if (type->is_bool()) return b_.boolean(true);
  if (type->is_int()) return f_.function_.constant_int(type, 1);
  if (type->is_float()) return f_.function_.constant_float(type, 1.0);
  if (!type->is_composite()) return nullptr;
  ir::Value* one = one_of(type->element());
  if (!type->is_quat()) return b_.splat(type, one);
  ir::Value* zero = f_.function_.zero(type->element());
  ir::Value* parts[] = {one, zero, zero, zero};
  return b_.construct(type, parts);
}

void Tiles::fill(const Window& w, ir::Value* value) {
  const Window all = w.type->contiguous ? flat(w) : w;
  each(all.type->shape, [&](Coords at) { put(all, at, value); });
}

Entity Tiles::form_fill(std::string_view name, const std::vector<Argument>& args) {
  const bool full = name == "tile_full", thread = name == "tile_from_thread";
  static constexpr std::string_view kPlain[] = {"shape", "dtype", "storage"};
  static constexpr std::string_view kFull[] = {"shape", "value", "dtype", "storage"};
  static constexpr std::string_view kThread[] = {"shape", "value", "thread_idx", "storage"};
  const std::span<const std::string_view> params = full     ? std::span<const std::string_view>(kFull)
                                                   : thread ? std::span<const std::string_view>(kThread)
                                                            : std::span<const std::string_view>(kPlain);
  const auto bound = bind(name, params, thread ? 3 : full ? 2 : 1, args);
  if (!bound || !check_storage(bound->back())) return Entity::failed();
  ir::Value* value = nullptr;
  const Type* element = types::f32();
  if (full || thread) {
    const Argument& given = *(*bound)[1];
    const Argument* dtype = full ? (*bound)[2] : nullptr;
    if (dtype) {
      element = dtype_argument(dtype, nullptr);
      if (!element) return Entity::failed();
      value = given.entity.is_literal() && element->is_scalar() ? f_.literal_as(given.entity, element, node(given))
                                                                : f_.value_of(given.entity, node(given));
      if (value && value->type != element && value->type->is_scalar() && element->is_scalar())
        value = f_.cast(value, element);
      if (value && value->type != element && value->type->is_scalar() && element->is_composite() &&
          value->type == element->element())
        value = b_.splat(element, value);
      if (value && value->type != element)
        return fail(DiagCode::type_mismatch, node(given),
                    "the value is " + value->type->user_name() + ", dtype says " + element->user_name());
    } else {
      value = f_.value_of(given.entity, node(given));
    }
    if (!value) return Entity::failed();
    element = value->type;
  } else {
    element = dtype_argument((*bound)[1], types::f32());
    if (!element) return Entity::failed();
  }
  const auto shape = shape_argument(*(*bound)[0], element);
  if (!shape) return Entity::failed();
  if (!value) value = name == "tile_ones" ? one_of(element) : f_.function_.zero(element);
  if (!value)
    return fail(DiagCode::bad_call, at_, "there is no one of type " + element->user_name(),
                "use wp.tile_full(shape, value)");
  if (thread && threads_ > 1) value = from_thread(value, *(*bound)[2]);
  if (!value) return Entity::failed();
  if (full) agree(value, "a value that goes into every element");
  const Window made = make(element, *shape);
  fill(made, value);
  return stored(made, bound->back());
}

Entity Tiles::form_arange(const std::vector<Argument>& args) {
  std::vector<const Argument*> numbers;
  const Argument *dtype = nullptr, *storage = nullptr, *named[3] = {};
  for (const Argument& arg : args) {
    if (arg.keyword.empty())
      numbers.push_back(&arg);
    else if (arg.keyword == "dtype")
      dtype = &arg;
    else if (arg.keyword == "storage")
      storage = &arg;
    else if (arg.keyword == "start" || arg.keyword == "stop" || arg.keyword == "step")
      named[arg.keyword == "start" ? 0 : arg.keyword == "stop" ? 1 : 2] = &arg;
    else
      return fail(DiagCode::bad_call, node(arg), "tile_arange() has no parameter '" + std::string(arg.keyword) + "'");
  }
  const Argument* order[3] = {};
  if (numbers.size() > 3) return fail(DiagCode::bad_call, at_, "tile_arange() takes one to three numbers");
  if (numbers.size() == 1)
    order[1] = numbers[0];
  else
    for (std::size_t k = 0; k < numbers.size(); ++k) order[k] = numbers[k];
  for (std::size_t k = 0; k < 3; ++k)
    if (named[k]) order[k] = named[k];
  if (!order[1]) return fail(DiagCode::bad_call, at_, "tile_arange() lacks the argument 'stop'");
  const Type* element = dtype_argument(dtype, types::f32());
  if (!element || !check_storage(storage)) return Entity::failed();
  if (!element->is_int() && !element->is_float())
    return fail(DiagCode::bad_call, at_, "tile_arange() makes numbers, not " + element->user_name());
  double bounds[3] = {0, 0, 1};
  ir::Value* values[3] = {f_.function_.zero(element), nullptr, one_of(element)};
  for (std::size_t k = 0; k < 3; ++k) {
    if (!order[k]) continue;
    const Entity& e = order[k]->entity;
    const bool number = e.is_literal() || (e.is_value() && e.value->is_constant() && e.type()->is_scalar());
    if (!number)
      return e.is_error() ? Entity::failed()
                          : fail(DiagCode::not_constant, node(*order[k]),
                                 "the bounds of tile_arange() must be compile time constants");
    values[k] = e.is_literal() ? f_.literal_as(e, element, node(*order[k])) : f_.cast(e.value, element);
    if (!values[k]->is_constant()) {  // a constant of another type
      const bool real = e.type()->is_float();
      values[k] = real ? f_.function_.constant_float(element->is_float() ? element : types::f64(), e.value->as_float())
                  : element->is_float() ? f_.function_.constant_float(element, double(e.value->as_int()))
                                        : f_.function_.constant_int(element, e.value->as_int());
      if (values[k]->type != element)
        return fail(DiagCode::type_mismatch, node(*order[k]), "a bound of tile_arange() is no " + element->user_name());
    }
    bounds[k] = element->is_float() ? values[k]->as_float() : double(values[k]->as_int());
    if (e.kind == Entity::Kind::real && element->is_int() && e.symbol->constant.real != bounds[k])
      return fail(DiagCode::value_out_of_range, node(*order[k]), "the bound does not fit " + element->user_name(),
                  "a whole number, or a dtype of floats");
    if (e.kind == Entity::Kind::integer) {
      const double exact = double(e.symbol->constant.magnitude) * (e.symbol->constant.negative ? -1 : 1);
      if (exact != bounds[k])
        return fail(DiagCode::value_out_of_range, node(*order[k]), "the bound does not fit " + element->user_name());
    }
  }
  if (bounds[2] == 0)
    return fail(DiagCode::value_out_of_range, node(*order[2]), "the step of tile_arange() can't be zero");
  double count = std::ceil((bounds[1] - bounds[0]) / bounds[2]);
  if (element->is_int() && count >= 1) {  // exactly: doubles have 53 bits
    const std::uint64_t start = std::uint64_t(values[0]->as_int()), stop = std::uint64_t(values[1]->as_int()),
                        step = std::uint64_t(values[2]->as_int());
    const bool up = bounds[2] > 0;
    count = double(((up ? stop - start : start - stop) - 1) / (up ? step : 0 - step) + 1);
  } else if (element->size() <= 4) {  // a last element that rounds to the stop is none
    const auto last = [&] { return double(float(bounds[0] + double(float((count - 1) * bounds[2])))); };
    if (count > 1 && (bounds[2] > 0 ? last() >= bounds[1] : last() <= bounds[1])) --count;
  }
  if (!(count >= 1))
    return fail(DiagCode::value_out_of_range, at_, "tile_arange() with these bounds is a zero-length tile");
  const Shape shape = {count > double(kMaxTileElements) ? kMaxTileElements + 1 : std::int64_t(count)};
  if (!check_shape(shape, element, at_)) return Entity::failed();
  const Window made = make(element, shape);
  each(shape, [&](Coords at) {
    ir::Value* steps = f_.cast(at[0], element);
    put(made, at, f_.fold(OpCode::add, values[0], f_.fold(OpCode::mul, steps, values[2])));
  });
  return stored(made, storage);
}

Entity Tiles::form_tile(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"x", "preserve_type"};
  const auto bound = bind("tile", kParams, 1, args);
  if (!bound) return Entity::failed();
  const auto preserve = flag_argument((*bound)[1], "preserve_type", false);
  ir::Value* x = f_.value_of((*bound)[0]->entity, node(*(*bound)[0]));
  if (!x || !preserve) return Entity::failed();
  const Type* type = x->type;
  if (!type->is_composite() || *preserve) {
    if (!check_shape({threads_}, type, node(*(*bound)[0]))) return Entity::failed();
    const Window made = make(type, {threads_});
    fill_missing(made);
    ir::Value* at[] = {own_place()};
    put(made, at, x);
    return fresh(made);
  }
  const bool matrix = type->is_mat();
  Shape shape = {std::int64_t(type->rows())};
  if (matrix) shape.push_back(std::int64_t(type->cols()));
  shape.push_back(threads_);
  const Window made = make(type->element(), shape);
  fill_missing(made);
  for (std::uint32_t k = 0; k < type->component_count(); ++k) {
    const std::int32_t cols = std::int32_t(matrix ? type->cols() : 1), c = std::int32_t(k);
    const ir::PathStep path[] = {{ir::PathStep::index, false, false, c / cols},
                                 {ir::PathStep::index, false, false, c % cols}};
    ir::Value* at[] = {plus(i32(std::int64_t(k) * threads_), own_place())};
    put(flat(made), at, b_.extract(x, std::span(path, matrix ? 2u : 1u)));
  }
  return fresh(made);
}

Entity Tiles::form_untile(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a"};
  const auto bound = bind("untile", kParams, 1, args);
  const Window w = bound ? tile_argument("untile", "a", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  const Shape& shape = w.type->shape;
  if (shape.back() != threads_)
    return fail(DiagCode::bad_call, at_,
                "untile() takes a tile whose last extent is block_dim: " + shape_text(shape) + " ends in " +
                    std::to_string(shape.back()) + ", block_dim is " + std::to_string(threads_) +
                    (threads_ > 1 ? "" : " on the CPU"));
  if (shape.size() > 3 || (shape.size() > 1 && !w.type->element->is_scalar()))
    return fail(DiagCode::bad_call, at_, "untile() does not work on " + w.type->type->user_name());
  std::vector<ir::Value*> parts;
  const std::int64_t rows = shape.size() > 1 ? shape[0] : 1, cols = shape.size() > 2 ? shape[1] : 1;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      std::vector<ir::Value*> at = {own_place()};
      if (shape.size() > 2) at.insert(at.begin(), i32(c));
      if (shape.size() > 1) at.insert(at.begin(), i32(r));
      parts.push_back(get(w, at));
    }
  if (shape.size() == 1) return Entity::of(parts[0]);
  const Type* scalar = w.type->element;
  const Type* type = shape.size() == 2 ? types::vec(scalar, std::uint32_t(rows))
                                       : types::mat(scalar, std::uint32_t(rows), std::uint32_t(cols));
  return Entity::of(b_.construct(type, parts));
}

// ---- Arrays ------------------------------------------------------------------------------------------------------------

ir::Value* Tiles::array_argument(std::string_view form, const Argument& arg) {
  const Type* type = arg.entity.is_value() ? arg.entity.type() : nullptr;
  if (type && (type->is_array() || type->is_indexed_array())) return arg.entity.value;
  if (!arg.entity.is_error())
    fail(DiagCode::bad_call, node(arg), std::string(form) + "() takes an array first, not " + f_.describe(arg.entity));
  return nullptr;
}

Tiles::Element Tiles::element_at(ir::Value* array, Coords indices) {
  Element element{array, {indices.begin(), indices.end()}, 0};
  if (!array->type->is_indexed_array()) return element;
  f_.data_indices(array, element.indices, at_);
  element.array = f_.indexed_field(array, 0);
  element.wrap = std::uint8_t((1u << indices.size()) - 1);
  return element;
}

ir::Value* Tiles::extent(ir::Value* array, std::size_t d, const Type* type) {
  if (array->type->is_indexed_array()) return f_.cast(f_.extent_of(array, std::uint32_t(d)), type);
  return b_.dim(array, int(d), type);
}

ir::Value* Tiles::is_inside(ir::Value* index, ir::Value* extent) {
  ir::Value* low = f_.fold(OpCode::ge, index, f_.function_.zero(index->type));
  return f_.fold(OpCode::bit_and, low, f_.fold(OpCode::lt, index, extent));
}

void Tiles::guarded(ir::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  if (condition->is_constant()) {
    if (condition->bits)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  if (!f_.enter_region(at_)) return;
  ir::Region* outer = b_.region();
  ir::Op* op = b_.if_op(condition, {});
  for (std::size_t side = 0; side < 2; ++side) {
    b_.set_place(op->regions[side]);
    if (side == 0)
      then();
    else if (otherwise)
      otherwise();
    b_.yield({});
  }
  b_.set_place(outer);
  --f_.region_depth_;
}

void Tiles::each_inside(const Outer& outer, bool check, const std::function<void(Coords, Coords)>& touch,
                        const std::function<void(Coords)>& outside) {
  const std::size_t rank = outer.shape.size();
  std::vector<ir::Value*> start, extent;
  for (std::size_t d = 0; d < rank; ++d) {
    ir::Value* offset = outer.offset[d];
    const bool narrow = offset->type->size() < 4 || offset->type == types::i32();
    start.push_back(f_.cast(offset, narrow ? types::i32() : types::i64()));
    extent.push_back(this->extent(outer.array, d, start.back()->type));
  }
  const auto coordinate = [&](std::size_t d, ir::Value* i) {
    return start[d]->is_zero() ? f_.cast(i, start[d]->type)
                               : f_.fold(OpCode::add, start[d], f_.cast(i, start[d]->type));
  };
  const auto plain = [&] {
    each(outer.shape, [&](Coords at) {
      std::vector<ir::Value*> indices;
      for (std::size_t d = 0; d < rank; ++d) indices.push_back(coordinate(d, at[d]));
      touch(indices, at);
    });
  };
  if (!check) {  // a promise of the program
    for (std::size_t d = 0; d < rank; ++d) {
      ir::Value* room = f_.fold(OpCode::sub, extent[d], f_.function_.constant_int(start[d]->type, outer.shape[d] - 1));
      watch(is_inside(start[d], room), start[d], room,
            "the offset along axis " + std::to_string(d) + ", with bounds_check=False");
    }
    return plain();
  }
  ir::Value* all = b_.boolean(true);
  for (std::size_t d = 0; d < rank; ++d) {
    ir::Value* last = f_.fold(OpCode::sub, extent[d], f_.function_.constant_int(start[d]->type, outer.shape[d]));
    ir::Value* low = f_.fold(OpCode::ge, start[d], f_.function_.zero(start[d]->type));
    ir::Value* fits = f_.fold(OpCode::bit_and, low, f_.fold(OpCode::le, start[d], last));
    all = d == 0 ? fits : f_.fold(OpCode::bit_and, all, fits);
  }
  guarded(all, plain, [&] {
    each(outer.shape, [&](Coords at) {
      std::vector<ir::Value*> indices;
      ir::Value* inside = nullptr;
      for (std::size_t d = 0; d < rank; ++d) {
        indices.push_back(coordinate(d, at[d]));
        ir::Value* one = is_inside(indices.back(), extent[d]);
        inside = inside ? f_.fold(OpCode::bit_and, inside, one) : one;
      }
      guarded(
          inside, [&] { touch(indices, at); },
          [&] {
            if (outside) outside(at);
          });
    });
  });
}

void Tiles::watch_aligned(std::string_view form, const Outer& outer) {
  // What an indexedarray names lies anywhere: it has no rows.
  if (!f_.module_.options().debug || outer.array->type->is_indexed_array()) return;
  const std::string before = "aligned=True does not hold for this " + std::string(form) + "(): ";
  const auto u64 = [&](ir::Value* v) { return f_.cast(f_.cast(v, types::i64()), types::u64()); };
  const auto check = [&](ir::Value* bytes, ir::Value* told, const std::string& what) {
    ir::Value* zero = b_.constant(types::u64(), 0);
    ir::Value* operands[] = {b_.binary(OpCode::eq, bytes, zero), f_.cast(told, types::i64()), b_.i64(ir::kAlignedRows)};
    ir::Op* op = b_.op(OpCode::check, operands);
    op->check = ir::CheckKind::aligned;
    op->text = f_.function_.arena.copy(std::string_view(before + what));
  };
  const auto behind = [&](ir::Value* bytes) {
    return b_.binary(OpCode::bit_and, bytes, b_.constant(types::u64(), ir::kAlignedRows - 1));
  };
  ir::Value* const start = b_.unary(OpCode::data_ptr, outer.array);
  ir::Value* first = start;
  for (std::size_t d = 0; d < outer.shape.size(); ++d) {
    ir::Value* next = b_.slice(outer.array, int(d), b_.i64(1), b_.i64(2), b_.i64(1));
    ir::Value* apart = b_.binary(OpCode::sub, b_.unary(OpCode::data_ptr, next), start);
    first = b_.binary(OpCode::add, first, b_.binary(OpCode::mul, apart, u64(outer.offset[d])));
    if (d + 1 < outer.shape.size() && outer.shape[d] > 1)
      check(behind(apart), apart,
            "rows along axis " + std::to_string(d) + " lie {} bytes apart, which is no multiple of 16");
  }
  check(behind(first), behind(first), "its first element lies {} bytes behind a multiple of 16");
}

Entity Tiles::form_load(const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a", "shape", "offset", "storage", "bounds_check", "aligned"};
  const auto bound = bind("tile_load", kParams, 2, args);
  if (!bound || !check_storage((*bound)[3])) return Entity::failed();
  const auto check = flag_argument((*bound)[4], "bounds_check", true);
  const auto aligned = flag_argument((*bound)[5], "aligned", false);
  if (!check || !aligned) return Entity::failed();
  ir::Value* array = array_argument("tile_load", *(*bound)[0]);
  if (!array) return Entity::failed();
  const Type* element = array->type->element();
  const auto shape = shape_argument(*(*bound)[1], element);
  if (!shape) return Entity::failed();
  if (shape->size() != array->type->rank())
    return fail(DiagCode::bad_call, node(*(*bound)[1]),
                "tile_load(): the shape has " + std::to_string(shape->size()) + " dimensions, the array has " +
                    std::to_string(array->type->rank()));
  const auto offset = offsets_argument((*bound)[2], shape->size(), "shape");
  if (!offset) return Entity::failed();
  for (ir::Value* from : *offset) agree(from, "an offset");
  if (*aligned) watch_aligned("tile_load", {array, *offset, *shape});
  const Window made = make(element, *shape);
  if (load_wide(made, {array, *offset, *shape}, *check)) return stored(made, (*bound)[3]);
  each_inside(
      {array, *offset, *shape}, *check,
      [&](Coords from, Coords at) {
        const Element e = element_at(array, from);
        put(made, at, b_.load(e.array, e.indices, e.wrap));
      },
      [&](Coords at) { put(made, at, f_.function_.zero(element)); });
  return stored(made, (*bound)[3]);
}

ir::Value* Tiles::atomic_add(const Element& to, ir::Value* value, std::vector<ir::PathStep> path) {
  const Type* type = value->type;
  if (can_add(type)) return b_.atomic(ir::AtomicKind::add, to.array, to.indices, to.wrap, path, {}, value);
  if (!type->is_struct()) return b_.load(to.array, to.indices, to.wrap, path);
  std::vector<ir::Value*> before;
  for (std::int32_t k = 0; k < std::int32_t(type->fields().size()); ++k) {
    path.push_back({ir::PathStep::field, false, false, k});
    before.push_back(atomic_add(to, b_.extract(value, k), path));
    path.pop_back();
  }
  return b_.construct(type, before);
}

void Tiles::add_to_element(const Place& place, ir::Value* value, bool minus) {
  if (minus) value = by_fields(OpCode::sub, f_.function_.zero(value->type), value);
  atomic_add({place.base, place.indices, place.wrap}, value, place.path);
}

bool Tiles::update_element(std::string_view name, const Place& place, ir::Value* value) {
  if (name != "add" && name != "sub") return false;
  b_.set_loc(at_.loc);
  guarded(place.inside ? place.inside : b_.boolean(true), [&] { add_to_element(place, value, name == "sub"); });
  return true;
}

Entity Tiles::form_store(std::string_view name, const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"a", "t", "offset", "bounds_check", "aligned"};
  const bool atomic = name == "tile_atomic_add";
  const auto bound = bind(name, std::span(kParams).first(atomic ? 4 : 5), 2, args);
  if (!bound) return Entity::failed();
  const auto check = flag_argument((*bound)[3], "bounds_check", true);
  const auto aligned = atomic ? std::optional(false) : flag_argument((*bound)[4], "aligned", false);
  if (!check || !aligned) return Entity::failed();
  ir::Value* array = array_argument(name, *(*bound)[0]);
  const Window t = array ? tile_argument(name, "t", *(*bound)[1]) : Window{};
  if (!t) return Entity::failed();
  const Type* element = array->type->element();
  if (t.type->element != element)
    return fail(DiagCode::type_mismatch, node(*(*bound)[1]),
                std::string(name) + "(): array and tile must have the same dtype, not " + element->user_name() +
                    " and " + t.type->element->user_name(),
                "convert the tile: wp.tile_astype(t, dtype)");
  if (t.type->rank() != array->type->rank())
    return fail(DiagCode::bad_call, node(*(*bound)[1]),
                std::string(name) + "(): the tile has " + std::to_string(t.type->rank()) +
                    " dimensions, the array has " + std::to_string(array->type->rank()));
  if (atomic && !can_add(element) && !element->is_struct())
    return fail(DiagCode::bad_call, at_, "tile_atomic_add() does not work on " + array->type->user_name());
  const auto offset = offsets_argument((*bound)[2], t.type->rank(), "tile");
  if (!offset) return Entity::failed();
  for (ir::Value* from : *offset) agree(from, "an offset");
  const Outer outer{array, *offset, t.type->shape};
  if (*aligned) watch_aligned(name, outer);
  if (!atomic) {
    each_inside(outer, *check,
                [&](Coords to, Coords at) {
                  const Element e = element_at(array, to);
                  b_.store(e.array, e.indices, e.wrap, {}, {}, get(t, at));
                },
                {});
    return Entity::nothing();
  }
  const Window old = make(element, t.type->shape);
  each_inside(
      outer, *check,
      [&](Coords to, Coords at) {
        const Element e = element_at(array, to);
        put(old, at, atomic_add(e, get(t, at)));
      },
      [&](Coords at) { put(old, at, f_.function_.zero(element)); });
  return fresh(old);
}

Entity Tiles::form_indexed(std::string_view name, const std::vector<Argument>& args) {
  static constexpr std::string_view kLoad[] = {"a", "indices", "shape", "offset", "axis", "storage"};
  static constexpr std::string_view kStore[] = {"a", "indices", "t", "offset", "axis"};
  const bool load = name == "tile_load_indexed", atomic = name == "tile_atomic_add_indexed";
  const auto bound =
      bind(name, load ? std::span<const std::string_view>(kLoad) : std::span<const std::string_view>(kStore),
           load ? 2 : 3, args);
  if (!bound || (load && !check_storage((*bound)[5]))) return Entity::failed();
  ir::Value* array = array_argument(name, *(*bound)[0]);
  const Window indices = array ? tile_argument(name, "indices", *(*bound)[1]) : Window{};
  if (!indices) return Entity::failed();
  if (indices.type->rank() != 1 || indices.type->element != types::i32())
    return fail(DiagCode::bad_call, node(*(*bound)[1]),
                std::string(name) + "() takes an integer index tile of one dimension and int32, not " +
                    indices.type->type->user_name());
  const Type* element = array->type->element();
  Window t;
  Shape shape;
  if (load) {
    if ((*bound)[2]) {
      const auto given = shape_argument(*(*bound)[2], element);
      if (!given) return Entity::failed();
      shape = *given;
    } else {
      shape = indices.type->shape;
    }
  } else {
    t = tile_argument(name, "t", *(*bound)[2]);
    if (!t) return Entity::failed();
    shape = t.type->shape;
    if (t.type->element != element)
      return fail(DiagCode::type_mismatch, node(*(*bound)[2]),
                  std::string(name) + "(): array and tile must have the same dtype, not " + element->user_name() +
                      " and " + t.type->element->user_name());
  }
  if (shape.size() != array->type->rank())
    return fail(DiagCode::bad_call, at_,
                std::string(name) + "(): the tile has " + std::to_string(shape.size()) + " dimensions, the array has " +
                    std::to_string(array->type->rank()));
  std::size_t axis = 0;
  if ((*bound)[4]) {
    const auto given = axis_argument(*(*bound)[4], shape.size());
    if (!given) return Entity::failed();
    axis = std::size_t(*given);
  }
  if (shape[axis] != indices.type->shape[0])
    return fail(DiagCode::bad_call, node(*(*bound)[1]),
                std::string(name) + "(): there are " + std::to_string(indices.type->shape[0]) +
                    " indices for an axis of " + std::to_string(shape[axis]));
  const auto offset = offsets_argument((*bound)[3], shape.size(), "tile");
  if (!offset) return Entity::failed();
  for (ir::Value* from : *offset) agree(from, "an offset");
  const Window made = load || atomic ? make(element, shape) : Window{};
  each(shape, [&](Coords at) {
    std::vector<ir::Value*> to;
    ir::Value* inside = nullptr;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::span<ir::Value* const> along(&at[axis], 1);
      ir::Value* i = d == axis ? get(indices, along) : at[d];
      const Type* given = (*offset)[d]->type;
      const Type* type = given->size() < 4 || given == types::i32() ? types::i32() : types::i64();
      to.push_back(f_.fold(OpCode::add, f_.cast((*offset)[d], type), f_.cast(i, type)));
      ir::Value* one = is_inside(to.back(), extent(array, d, type));
      inside = inside ? f_.fold(OpCode::bit_and, inside, one) : one;
    }
    guarded(
        inside,
        [&] {
          const Element e = element_at(array, to);
          if (load)
            put(made, at, b_.load(e.array, e.indices, e.wrap));
          else if (atomic)
            put(made, at, atomic_add(e, get(t, at)));
          else
            b_.store(e.array, e.indices, e.wrap, {}, {}, get(t, at));
        },
        [&] {
          if (made) put(made, at, f_.function_.zero(element));
        });
  });
  return made ? fresh(made) : Entity::nothing();
}

}  // namespace weft::sema
