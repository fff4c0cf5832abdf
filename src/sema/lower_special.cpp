// Special forms: builtins that the front end builds itself because they take types, strings, constants or a variable
// number of arguments.
#include <algorithm>

#include "ir/tame.h"
#include "sema/lowering.h"
#include "sema/printf_text.h"
#include "sema/tiles.h"
#include "types/fabric_type.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

bool FunctionLowering::order_arguments(std::string_view form, std::span<const std::string_view> params,
                                       std::vector<Argument>& args, const Node& at_node) {
  std::vector<Argument> ordered(params.size());
  std::vector<bool> have(params.size(), false);
  std::size_t position = 0;
  for (Argument& arg : args) {
    std::size_t p = params.size();
    if (arg.keyword.empty())
      p = position++;
    else
      p = std::size_t(std::find(params.begin(), params.end(), arg.keyword) - params.begin());
    const Node& node = arg.expr ? static_cast<const Node&>(*arg.expr) : at_node;
    if (p >= params.size()) {
      fail(DiagCode::bad_call, node,
           arg.keyword.empty() ? std::string(form) + "() takes at most " + std::to_string(params.size()) + " arguments"
                               : std::string(form) + "() has no parameter '" + std::string(arg.keyword) + "'");
      return false;
    }
    if (have[p]) {
      fail(DiagCode::bad_call, node, "the argument '" + std::string(params[p]) + "' is given twice");
      return false;
    }
    have[p] = true;
    ordered[p] = std::move(arg);
    ordered[p].keyword = {};
  }
  std::size_t count = params.size();
  while (count > 0 && !have[count - 1]) --count;
  for (std::size_t p = 0; p < count; ++p)
    if (!have[p]) {
      fail(DiagCode::bad_call, at_node, std::string(form) + "() lacks the argument '" + std::string(params[p]) + "'");
      return false;
    }
  ordered.resize(count);
  args = std::move(ordered);
  return true;
}

Entity FunctionLowering::call_special(std::string_view name, std::vector<Argument> args, const Node& at_node,
                                      bool& handled) {
  handled = true;
  if (name == "tid") return special_tid(args, at_node);
  if (name == "print") return special_print(args, at_node);
  if (name == "printf") return special_printf(args, at_node);
  if (name.starts_with("atomic_")) return special_atomic(name, std::move(args), at_node);
  if (name == "len") return special_len(args, at_node);
  if (name == "_prefetch") return special_prefetch(args, at_node);
  if (name == "_tame_quotient") return special_tame_quotient(args, at_node);
  if (name == "_handle") return special_handle(args, at_node);
  if (name == "_fixed") return special_fixed(args, at_node);
  if (name == "_voxels") return special_voxels(args, at_node);
  if (name == "_grid_layout") return special_grid_layout(args, at_node);
  if (is_volume_form(name)) return special_volume(name, std::move(args), at_node);
  if (Tiles::is_form(name)) return Tiles(*this, at_node).call(name, std::move(args));
  if (is_texture_form(name)) return special_texture(name, std::move(args), at_node);
  if (name == "grad") return special_grad(args, at_node);
  if (name.ends_with("_batched") && name.front() != '_') return special_batched(name, std::move(args), at_node);
  if (name == "mlp") return call_functions({library_function(name)}, std::move(args), at_node);
  if (name == "where" || name == "select") return special_select(name, std::move(args), at_node);
  if (name == "zeros" || name == "empty") return special_local(name, std::move(args), at_node);
  if (name == "range" || name == "reversed") return special_range(name, args, at_node);
  if (name == "slice") return special_slice(args, at_node);
  if (name == "cast" || name == "reinterpret") return special_cast(name, std::move(args), at_node);
  if (name == "array" && !args.empty()) return special_array(std::move(args), at_node);
  if (name == "copy" && args.size() == 1) return args[0].entity;
  if (name == "unot" && args.size() == 1 && args[0].entity.is_value() && args[0].entity.type()->is_array()) {
    ir::Value* there = truth(args[0].entity, at_node);
    return there ? Entity::of(fold(OpCode::bit_not, there)) : Entity::failed();
  }
  if (name == "constant" && args.size() == 1) return args[0].entity;
  if (name == "type") {
    if (args.size() != 1) return fail(DiagCode::bad_call, at_node, "type() takes one argument");
    ir::Value* value = value_of(args[0].entity, at_node);
    return value ? Entity::of_symbol(Entity::Kind::type, Symbol::of_type(value->type)) : Entity::failed();
  }
  constexpr std::string_view constructors[] = {"vector",
                                               "matrix",
                                               "quaternion",
                                               "transformation",
                                               "vec",
                                               "mat",
                                               "identity",
                                               "quat_identity",
                                               "transform_identity",
                                               "matrix_from_rows",
                                               "matrix_from_cols"};
  for (std::string_view c : constructors)
    if (name == c) return construct_untyped(name, std::move(args), at_node);
  handled = false;
  return Entity::nothing();
}

Entity FunctionLowering::special_tid(const std::vector<Argument>& args, const Node& at_node) {
  if (!args.empty()) return fail(DiagCode::bad_call, at_node, "tid() takes no arguments");
  if (function_.kind != ir::FunctionKind::kernel)
    return fail(DiagCode::tid_in_function, at_node, "tid() can only be called in a kernel, not in a function",
                "pass the index to the function as an argument");
  if (tid_arity_ > kMaxRank) return fail(DiagCode::bad_call, at_node, "tid() gives at most 4 indices");
  if (tid_arity_ <= 1) return Entity::of(at(at_node).tid(0));
  std::vector<Entity> parts;
  for (int d = 0; d < tid_arity_; ++d) parts.push_back(Entity::of(at(at_node).tid(d)));
  return Entity::of_tuple(std::move(parts));
}

Entity FunctionLowering::special_batched(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  if (function_.kind != ir::FunctionKind::kernel)
    return fail(DiagCode::tid_in_function, at_node,
                std::string(name) + "() can only be called in a kernel: the thread's number says what it works on");
  builder_.set_loc(at_node.loc);
  ir::Value* thread = cast(builder_.op(OpCode::thread, {})->result(), types::i32());
  args.insert(args.begin(), Argument{{}, Entity::of(thread), nullptr, nullptr});
  return call_functions({library_function("_" + std::string(name))}, std::move(args), at_node);
}

Entity FunctionLowering::special_print(const std::vector<Argument>& args, const Node& at_node) {
  std::vector<ir::Value*> operands;
  std::string text;
  for (const Argument& arg : args) {
    const Node& node = arg.expr ? static_cast<const Node&>(*arg.expr) : at_node;
    if (!arg.keyword.empty())
      return fail(DiagCode::bad_call, node, "print() has no parameter '" + std::string(arg.keyword) + "'");
    if (arg.entity.kind == Entity::Kind::string) {
      if (!operands.empty())
        return fail(DiagCode::bad_call, *arg.expr, "print() takes text before values",
                    "use wp.printf for mixed output");
      text += (text.empty() ? "" : " ") + arg.entity.symbol->constant.text;
      continue;
    }
    ir::Value* value = value_of(arg.entity, node);
    if (!value) return Entity::failed();
    if (tile_type(value->type)) {
      if (args.size() == 1) return Tiles(*this, at_node).print(arg.entity);
      return fail(DiagCode::bad_call, node, "print() shows a tile alone", "print the rest by a call of its own");
    }
    if (!value->type->is_tuple()) {
      operands.push_back(value);
      continue;
    }
    for (std::size_t k = 0; k < value->type->fields().size(); ++k) {
      if (value->type->fields()[k].type->is_tuple())
        return fail(DiagCode::bad_call, node, "print() can't show a tuple inside a tuple");
      ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
      operands.push_back(builder_.extract(value, std::span(&step, 1)));
    }
  }
  if (!text.empty() && !operands.empty()) text += " ";
  ir::Op* op = at(at_node).op(OpCode::print, operands);
  op->text = function_.arena.copy(text);
  return Entity::nothing();
}

Entity FunctionLowering::special_printf(const std::vector<Argument>& given, const Node& at_node) {
  if (given.empty() || given[0].entity.kind != Entity::Kind::string)
    return fail(DiagCode::bad_call, at_node, "printf() takes a literal format string first");
  std::vector<Argument> args = given;
  const std::string format = with_text(args);
  std::vector<ir::Value*> operands;
  for (std::size_t i = 1; i < args.size(); ++i) {
    if (!args[i].keyword.empty())
      return fail(DiagCode::bad_call, *args[i].expr,
                  "printf() has no parameter '" + std::string(args[i].keyword) + "'");
    ir::Value* value = value_of(args[i].entity, *args[i].expr);
    if (!value) return Entity::failed();
    if (!value->type->is_scalar())
      return fail(DiagCode::bad_call, *args[i].expr, "printf() takes numbers, not " + value->type->user_name(),
                  "print components one by one, or use print()");
    operands.push_back(value);
  }
  if (!check_printf(format, operands, args, at_node)) return Entity::failed();
  ir::Op* op = at(at_node).op(OpCode::printf, operands);
  op->text = function_.arena.copy(format);
  return Entity::nothing();
}

Entity FunctionLowering::special_atomic(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  struct Kind {
    std::string_view name;
    ir::AtomicKind kind;
    bool integers_only;
  };
  static constexpr Kind kinds[] = {
      {"atomic_add", ir::AtomicKind::add, false},    {"atomic_sub", ir::AtomicKind::add, false},
      {"atomic_min", ir::AtomicKind::min, false},    {"atomic_max", ir::AtomicKind::max, false},
      {"atomic_exch", ir::AtomicKind::exch, false},  {"atomic_cas", ir::AtomicKind::cas, false},
      {"atomic_and", ir::AtomicKind::bit_and, true}, {"atomic_or", ir::AtomicKind::bit_or, true},
      {"atomic_xor", ir::AtomicKind::bit_xor, true},
  };
  const Kind* kind = nullptr;
  for (const Kind& k : kinds)
    if (k.name == name) kind = &k;
  if (!kind) return fail(DiagCode::unknown_name, at_node, "there is no builtin '" + std::string(name) + "'");
  bool is_cas = kind->kind == ir::AtomicKind::cas;
  std::size_t values = is_cas ? 2 : 1;
  auto named =
      std::find_if(args.begin(), args.end(), [](const Argument& a) { return a.keyword == "arr" || a.keyword == "a"; });
  if (named != args.end()) std::rotate(args.begin(), named, named + 1);  // the array decides what else there is
  if (args.empty() || !args[0].entity.is_value() ||
      !(args[0].entity.type()->is_array() || args[0].entity.type()->is_indexed_array() ||
        fabric_type(args[0].entity.type())))
    return fail(DiagCode::bad_call, at_node,
                std::string(name) + "() takes an array first, got (" + describe(args) + ")");
  ir::Value* array = args[0].entity.value;
  const FabricType* fabric = fabric_type(array->type);
  std::size_t rank = fabric ? fabric->rank : array->type->rank();
  // (arr, i, j…, value): one index per dimension.
  std::vector<std::string_view> params = {"arr", "i", "j", "k", "l"};
  params.resize(1 + rank);
  if (is_cas) params.push_back("compare");
  params.push_back("value");
  args[0].keyword = {};
  if (args.size() <= params.size() && !order_arguments(name, params, args, at_node)) return Entity::failed();
  if (args.size() != 1 + rank + values)
    return fail(DiagCode::bad_call, at_node,
                std::string(name) + "() on an array of " + std::to_string(rank) + " dimensions takes " +
                    std::to_string(rank) + " indices and " + std::to_string(values) + " value" +
                    (values > 1 ? "s" : "") + ", got (" + describe(args) + ")");
  std::vector<ir::Value*> indices;
  std::uint8_t wrap = 0;
  for (std::size_t k = 0; k < rank; ++k) {
    ir::Value* index = value_of(args[1 + k].entity, *args[1 + k].expr);
    if (!index) return Entity::failed();
    if (!index->type->is_int())
      return fail(DiagCode::bad_index, *args[1 + k].expr,
                  "an index must be an integer, not " + index->type->user_name(), "convert it: int(…)");
    if (index->type->is_signed_int() && !(index->is_constant() && index->as_int() >= 0))
      wrap = std::uint8_t(wrap | (1u << k));
    indices.push_back(index);
  }
  const Type* element = fabric ? fabric->element : array->type->element();
  if (!element->is_numeric() || element->scalar_kind() == ScalarKind::boolean ||
      (kind->integers_only && element->scalar_kind() >= ScalarKind::f16))
    return fail(DiagCode::bad_call, at_node, std::string(name) + "() does not work on " + array->type->user_name());
  std::vector<ir::Value*> operands;
  for (std::size_t k = 0; k < values; ++k) {
    const Argument& arg = args[1 + rank + k];
    Entity value = storable(arg.entity, element, *arg.expr, "an array element");
    if (!value.is_value()) return Entity::failed();
    operands.push_back(value.value);
  }
  builder_.set_loc(at_node.loc);
  if (array->type->is_indexed_array()) {
    if (!data_indices(array, indices, at_node)) return Entity::failed();
    array = indexed_field(array, 0);
    wrap = std::uint8_t((1u << rank) - 1);
  }
  if (fabric) {
    const auto found = bucket_place(array, indices[0], at_node);
    if (!found) return Entity::failed();
    array = found->row;
    indices = {found->index ? found->index : indices[1]};
    wrap = found->index ? 0 : std::uint8_t(wrap >> 1);
  }
  if (name == "atomic_sub") operands[0] = fold(OpCode::neg, operands[0]);
  ir::Value* value = is_cas ? operands[1] : operands[0];
  return Entity::of(builder_.atomic(kind->kind, array, indices, wrap, {}, {}, value, is_cas ? operands[0] : nullptr));
}

Entity FunctionLowering::special_prefetch(const std::vector<Argument>& args, const Node& at_node) {
  std::vector<ir::Value*> values;
  for (const Argument& arg : args) {
    ir::Value* value = value_of(arg.entity, at_node);
    if (!value) return Entity::failed();
    values.push_back(value);
  }
  bool fits = !values.empty() && values[0]->type->is_array() && values.size() == 1 + values[0]->type->rank();
  for (std::size_t k = 1; k < values.size(); ++k) fits = fits && values[k]->type->is_int();
  if (!fits) return fail(DiagCode::bad_call, at_node, "_prefetch() takes an array and an index for each dimension");
  builder_.set_loc(at_node.loc);
  builder_.prefetch(values[0], std::span(values).subspan(1));
  return Entity::nothing();
}

Entity FunctionLowering::special_tame_quotient(const std::vector<Argument>& args, const Node& at_node) {
  ir::Value* operands[2] = {};
  for (std::size_t k = 0; k < 2 && k < args.size(); ++k) {
    operands[k] = value_of(args[k].entity, at_node);
    if (!operands[k]) return Entity::failed();
  }
  if (args.size() != 2 || operands[0]->type != types::f32() || operands[1]->type != types::f32())
    return fail(DiagCode::bad_call, at_node, "_tame_quotient() takes two float32");
  ir::Op* op = at(at_node).op(OpCode::div, operands);
  op->imm = ir::kTame;
  return Entity::of(op->result());
}

Entity FunctionLowering::special_len(const std::vector<Argument>& args, const Node& at_node) {
  if (args.size() != 1) return fail(DiagCode::bad_call, at_node, "len() takes one argument");
  const Entity& e = args[0].entity;
  if (e.kind == Entity::Kind::tuple) return Entity::of(builder_.i32(std::int64_t(e.elements->size())));
  if (e.is_value()) {
    const Type* type = e.type();
    builder_.set_loc(at_node.loc);
    if (type->is_array() || type->is_indexed_array()) return Entity::of(extent_of(e.value, 0));
    if (fabric_type(type)) return Entity::of(fabric_size(e.value));
    if (const TileType* tile = tile_type(type)) return Entity::of(builder_.i32(tile->shape[0]));
    if (type->is_composite()) return Entity::of(builder_.i32(type->rows()));
    if (empty_vector_scalar(type)) return Entity::of(builder_.i32(0));
    if (type->is_tuple()) return Entity::of(builder_.i32(std::int64_t(type->fields().size())));
  }
  return fail(DiagCode::bad_call, at_node, "len() does not work on " + describe(e));
}

Entity FunctionLowering::special_slice(const std::vector<Argument>& args, const Node& at_node) {
  if (args.empty() || args.size() > 3)
    return fail(DiagCode::bad_call, at_node, "slice() takes a stop, or a start, a stop and a step");
  const Entity none = Entity::of_kind(Entity::Kind::none_literal);
  std::vector<Entity> parts(3, none);
  for (std::size_t k = 0; k < args.size(); ++k) {
    if (args[k].entity.is_error()) return Entity::failed();
    if (!args[k].keyword.empty()) return fail(DiagCode::bad_call, at_node, "slice() takes no keywords");
    parts[args.size() == 1 ? 1 : k] = args[k].entity;
  }
  Entity e = Entity::of_tuple(std::move(parts));
  e.kind = Entity::Kind::slice;
  return e;
}

Entity FunctionLowering::special_select(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  bool where = name == "where";
  const std::string_view params[] = {"cond", where ? "value_if_true" : "value_if_false",
                                     where ? "value_if_false" : "value_if_true"};
  if (!order_arguments(name, params, args, at_node)) return Entity::failed();
  if (args.size() != 3)
    return fail(DiagCode::bad_call, at_node, std::string(name) + "() takes a condition and two values");
  Entity a = args[1].entity, b = args[2].entity;
  if (!where) std::swap(a, b);
  for (const Entity* e : {&args[0].entity, &a, &b}) {
    if (e->is_error()) return Entity::failed();
    if (e->is_value() && tile_type(e->type())) return Tiles(*this, at_node).choose(args[0].entity, a, b);
  }
  ir::Value* condition = truth(args[0].entity, at_node);
  adapt_literals(a, b, at_node);
  ir::Value* va = value_of(a, at_node);
  ir::Value* vb = value_of(b, at_node);
  if (!condition || !va || !vb) return Entity::failed();
  if (va->type != vb->type)
    return fail(DiagCode::type_mismatch, at_node, std::string(name) + "(): " + same_types_wanted(va->type, vb->type));
  if (condition->is_constant()) return Entity::of(condition->bits ? va : vb);
  return Entity::of(at(at_node).select(condition, va, vb));
}

Entity FunctionLowering::special_local(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  constexpr std::string_view params[] = {"shape", "dtype"};
  if (!order_arguments(name, params, args, at_node)) return Entity::failed();
  const Argument* shape_arg = args.empty() ? nullptr : &args[0];
  const Argument* dtype_arg = args.size() < 2 ? nullptr : &args[1];
  if (!shape_arg)
    return fail(DiagCode::bad_call, at_node, "a local array needs a shape", "wp.zeros(shape=8, dtype=float)");
  const Type* element = types::f32();
  if (dtype_arg) {
    if (dtype_arg->entity.kind != Entity::Kind::type ||
        dtype_arg->entity.symbol->pattern.kind != builtins::Pattern::Kind::exact)
      return fail(DiagCode::bad_call, *dtype_arg->expr, "dtype must be a type");
    element = dtype_arg->entity.symbol->pattern.type;
    if (holds_private(element))
      return fail(DiagCode::bad_call, *dtype_arg->expr, no_array_of(element), kKeepInVariables);
  }
  auto shape = constant_shape(shape_arg->entity);
  if (!shape) {
    if (need_constant(shape_arg->entity, *shape_arg->expr, "the shape of a local array")) return Entity::failed();
    return Entity::failed();
  }
  std::int64_t total = 1;
  for (std::int64_t n : *shape) {
    if (n < 0 || n > (1 << 24) || total > (1 << 24) / std::max<std::int64_t>(n, 1))
      return fail(DiagCode::value_out_of_range, *shape_arg->expr,
                  "the shape of a local array must be small and not negative",
                  "allocate large arrays outside and pass them in");
    total *= n;
  }
  if (std::uint64_t(total) * element->size() > ir::kMaxLocalBytes || !element->size())
    return fail(DiagCode::value_out_of_range, *shape_arg->expr, "a local array of this type and shape is too large",
                "allocate large arrays outside and pass them in");
  if (shape->empty() || shape->size() > std::size_t(kMaxRank))
    return fail(DiagCode::value_out_of_range, *shape_arg->expr, "an array has 1 to 4 dimensions");
  // Stacks of walks are long and little used: whoever writes such code promises to read nothing before it is written.
  const bool raw = name == "empty" && (decl_.library || function_.lanewise);
  return Entity::of(at(at_node).local(types::array(element, std::uint32_t(shape->size())), *shape, raw));
}

Entity FunctionLowering::special_range(std::string_view name, const std::vector<Argument>& args, const Node& at_node) {
  if (name == "reversed") {
    if (args.size() != 1 || args[0].entity.kind != Entity::Kind::range)
      return fail(DiagCode::bad_call, at_node,
                  "reversed() takes a range" + (args.size() == 1 ? ", not " + describe(args[0].entity) : ""));
    Entity e = args[0].entity;
    e.reversed = !e.reversed;
    return e;
  }
  if (args.empty() || args.size() > 3) return fail(DiagCode::bad_call, at_node, "range() takes one to three integers");
  // All bounds get one type: that of the first one that is a variable; int32 if all are plain numbers that fit.
  const Type* type = nullptr;
  for (const Argument& arg : args) {
    const Entity& e = arg.entity;
    if (e.kind == Entity::Kind::integer) continue;
    ir::Value* value = value_of(e, *arg.expr);
    if (!value) return Entity::failed();
    if (!value->type->is_int() && !value->type->is_bool())  // as in Python, where True is 1
      return fail(DiagCode::bad_call, *arg.expr, "range() takes integers, not " + value->type->user_name(),
                  "convert it: int(…)");
    const Type* wide = value->type->size() > 4 || value->type == types::u32() ? types::i64() : types::i32();
    if (!type || wide == types::i64()) type = wide;
  }
  if (!type) type = types::i32();
  std::vector<ir::Value*> bounds;
  for (const Argument& arg : args) {
    ir::Value* value = nullptr;
    if (arg.entity.kind == Entity::Kind::integer && type == types::i64())
      value = literal_as(arg.entity, type, *arg.expr);
    else
      value = value_of(arg.entity, *arg.expr);
    if (!value) return Entity::failed();
    bounds.push_back(cast(value, type));
  }
  ir::Value* lo = bounds.size() > 1 ? bounds[0] : function_.zero(type);
  ir::Value* hi = bounds.size() > 1 ? bounds[1] : bounds[0];
  ir::Value* step = bounds.size() > 2 ? bounds[2] : function_.constant_int(type, 1);
  Entity e = Entity::of_tuple({Entity::of(lo), Entity::of(hi), Entity::of(step)});
  e.kind = Entity::Kind::range;
  return e;
}

Entity FunctionLowering::special_array(std::vector<Argument> args, const Node& at_node) {
  constexpr std::string_view params[] = {"ptr", "shape", "dtype"};
  if (!order_arguments("array", params, args, at_node)) return Entity::failed();
  const Argument *ptr = nullptr, *shape = nullptr, *dtype = nullptr;
  if (args.size() == 3) ptr = &args[0], shape = &args[1], dtype = &args[2];
  if (!ptr || !shape || !dtype || dtype->entity.kind != Entity::Kind::type ||
      dtype->entity.symbol->pattern.kind != builtins::Pattern::Kind::exact)
    return fail(DiagCode::bad_call, at_node, "in a kernel, array() takes ptr=, shape= and dtype=");
  if (const Type* element = dtype->entity.symbol->pattern.type; holds_private(element))
    return fail(DiagCode::bad_call, *dtype->expr, no_array_of(element), kKeepInVariables);
  ir::Value* address = value_of(ptr->entity, *ptr->expr);
  if (!address) return Entity::failed();
  if (address->type != types::u64())
    return fail(DiagCode::type_mismatch, *ptr->expr, "ptr must be uint64, not " + address->type->user_name());
  std::vector<Entity> extents;
  if (shape->entity.kind == Entity::Kind::tuple)
    extents = *shape->entity.elements;
  else if (shape->entity.is_value() && shape->entity.type()->is_tuple()) {
    for (std::size_t k = 0; k < shape->entity.type()->fields().size(); ++k) {
      ir::PathStep step{ir::PathStep::field, false, false, std::int32_t(k)};
      extents.push_back(Entity::of(builder_.extract(shape->entity.value, std::span(&step, 1))));
    }
  } else
    extents.push_back(shape->entity);
  if (extents.empty() || extents.size() > std::size_t(kMaxRank))
    return fail(DiagCode::bad_call, *shape->expr, "an array has 1 to 4 dimensions");
  std::vector<ir::Value*> operands = {address};
  for (const Entity& e : extents) {
    ir::Value* n = value_of(e, *shape->expr);
    if (!n) return Entity::failed();
    if (!n->type->is_int()) return fail(DiagCode::bad_call, *shape->expr, "extents must be integers");
    operands.push_back(cast(n, types::i64()));
  }
  const Type* type = types::array(dtype->entity.symbol->pattern.type, std::uint32_t(extents.size()));
  return Entity::of(at(at_node).op_typed(OpCode::from_ptr, operands, std::span(&type, 1))->result());
}

}  // namespace weft::sema
