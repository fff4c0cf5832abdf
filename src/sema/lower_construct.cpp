// Constructors: scalars (conversion), vectors, matrices, quaternions, transforms and structs; and the forms whose type
// follows from the arguments (wp.vector(…), wp.identity(n, dtype)).
#include <algorithm>
#include <initializer_list>

#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;
using builtins::Pattern;

namespace {

const Node& node_of(const Argument& arg, const Node& otherwise) {
  return arg.expr ? static_cast<const Node&>(*arg.expr) : otherwise;
}

/// Puts arguments given by these names into their order; false and unchanged if the names don't fit.
bool order_by_names(std::vector<Argument>& args, std::initializer_list<std::string_view> names) {
  if (args.size() != names.size()) return false;
  std::vector<Argument> ordered(args.size());
  std::vector<bool> given(args.size(), false);
  for (std::size_t a = 0; a < args.size(); ++a) {
    std::size_t at = a;
    if (!args[a].keyword.empty())
      at = std::size_t(std::find(names.begin(), names.end(), args[a].keyword) - names.begin());
    if (at >= args.size() || given[at]) return false;
    given[at] = true;
    ordered[at] = args[a];
    ordered[at].keyword = {};
  }
  args = std::move(ordered);
  return true;
}

/// The names that parts of a composite may be given by.
void order_parts(const Type* type, std::vector<Argument>& args) {
  if (std::all_of(args.begin(), args.end(), [](const Argument& a) { return a.keyword.empty(); })) return;
  if (type->is_quat())
    order_by_names(args, {"x", "y", "z", "w"}) || order_by_names(args, {"ijk", "real"}) ||
        order_by_names(args, {"i", "r"});
  else if (type->is_vec() && type->rows() == 6)
    order_by_names(args, {"w", "v"}) || order_by_names(args, {"wx", "wy", "wz", "vx", "vy", "vz"});
  else if (type->is_mat() && type->rows() == 4 && type->cols() == 4)
    order_by_names(args, {"pos", "rot", "scale"});
}

/// A position, a rotation and scales: the old form of transform_compose.
bool is_pose(const Type* type, const std::vector<Argument>& args) {
  return type->is_mat() && type->rows() == 4 && type->cols() == 4 && args.size() == 3 && args[1].entity.is_value() &&
         args[1].entity.type()->is_quat();
}

}  // namespace

Entity FunctionLowering::construct(const Pattern& pattern, std::vector<Argument> args, const Node& at_node) {
  if (pattern.kind != Pattern::Kind::exact)
    return fail(DiagCode::bad_call, at_node,
                "the generic type " + builtins::to_string(pattern) + " can't be constructed");
  const Type* type = pattern.type;
  if (type->is_scalar()) return construct_scalar(type, args, at_node);
  if (type->is_composite()) {
    if (type->is_vec() && type->rows() == 6) {  // wp.spatial_vector(…, dtype=)
      auto dtype = take_dtype(args, at_node);
      if (!dtype) return Entity::failed();
      if (*dtype) type = types::vec(*dtype, 6);
    }
    order_parts(type, args);
    Entity made = construct_composite(type, args, at_node);
    bool from_vectors = !args.empty() && args[0].entity.is_value() && args[0].entity.type()->is_vec();
    if (type->is_mat() && from_vectors && !is_pose(type, args) && !made.is_error() && !decl_.library)
      sink_.report(DiagCode::vectors_as_columns, at_node.loc,
                   "vectors are the columns of the matrix here, but its rows when Python makes one",
                   "write wp.matrix_from_cols(…) or wp.matrix_from_rows(…), which mean the same everywhere",
                   at_node.underline());
    return made;
  }
  if (type->is_struct()) return construct_struct(type, args, at_node);
  return fail(DiagCode::bad_call, at_node, type->user_name() + " can't be constructed in a kernel");
}

Entity FunctionLowering::construct_scalar(const Type* type, const std::vector<Argument>& args, const Node& at_node) {
  if (args.empty()) return Entity::of(function_.zero(type));
  if (args.size() != 1) return fail(DiagCode::bad_call, at_node, type->user_name() + "() takes one argument");
  const Entity& e = args[0].entity;
  if (e.is_literal()) {
    const Constant& c = e.symbol->constant;
    // An integer that the type can't hold at all is a mistake; negative numbers wrap as in C.
    if (e.kind == Entity::Kind::integer && type->is_int() && type->size() == 8 && type->is_signed_int() &&
        !c.negative && c.magnitude > INT64_MAX)
      return fail(DiagCode::value_out_of_range, at_node, "the integer does not fit int64", "use wp.uint64(…)");
    return Entity::of(literal_as(e, type, at_node));
  }
  ir::Value* value = value_of(e, at_node);
  if (!value) return Entity::failed();
  if (!value->type->is_scalar())
    return fail(DiagCode::bad_call, at_node, "can't convert " + value->type->user_name() + " to " + type->user_name());
  builder_.set_loc(at_node.loc);
  return Entity::of(cast(value, type));
}

Entity FunctionLowering::construct_composite(const Type* type, std::vector<Argument> args, const Node& at_node) {
  order_parts(type, args);
  if (is_pose(type, args)) return call_builtin("transform_compose", std::move(args), at_node);
  const Type* scalar = type->element();
  std::uint32_t n = type->component_count();
  builder_.set_loc(at_node.loc);
  if (args.empty()) return Entity::of(function_.zero(type));

  // The scalar components of an argument, converted where that is allowed: plain numbers always, values never.
  std::vector<ir::Value*> parts;
  auto add_scalar = [&](const Entity& e, const Node& node) {
    if (e.is_literal()) {
      parts.push_back(literal_as(e, scalar, node));
      return true;
    }
    ir::Value* v = value_of(e, node);
    if (!v) return false;
    if (v->type == scalar) {
      parts.push_back(v);
      return true;
    }
    fail(DiagCode::type_mismatch, node,
         type->user_name() + " takes " + scalar->user_name() + " components, not " + v->type->user_name(),
         "convert it: " +
             std::string(scalar == types::f32()   ? "float"
                         : scalar == types::i32() ? "int"
                                                  : "wp." + scalar->user_name()) +
             "(…)");
    return false;
  };
  auto add_components = [&](ir::Value* v) {
    const Type* t = v->type;
    for (std::uint32_t r = 0; r < t->rows(); ++r)
      for (std::uint32_t c = 0; c < t->cols(); ++c) {
        ir::PathStep path[] = {{ir::PathStep::index, false, false, std::int32_t(r)},
                               {ir::PathStep::index, false, false, std::int32_t(c)}};
        parts.push_back(builder_.extract(v, std::span(path, t->is_mat() ? 2 : 1)));
      }
  };
  auto finish = [&] { return Entity::of(at(at_node).construct(type, parts)); };

  const Entity& first = args[0].entity;
  bool first_composite = first.is_value() && first.type()->is_composite();
  if (args.size() == 1 && args[0].keyword.empty()) {
    if (first_composite) {
      if (first.type() == type) return first;
      if (first.type()->component_count() == n && (first.type()->is_mat() == type->is_mat()) &&
          first.type()->rows() == type->rows()) {
        add_components(first.value);
        for (ir::Value*& p : parts) p = cast(p, scalar);
        return finish();
      }
      if (!type->is_transform())
        return fail(DiagCode::bad_call, at_node,
                    "can't make " + type->user_name() + " from " + first.type()->user_name());
    } else if (type->is_vec() || type->is_mat() || n == 1) {  // one number fills all
      if (!add_scalar(first, node_of(args[0], at_node))) return Entity::failed();
      return parts[0]->is_zero() ? Entity::of(function_.zero(type)) : Entity::of(at(at_node).splat(type, parts[0]));
    }
  }
  if (type->is_mat() && first_composite && first.type()->is_vec()) {  // vectors are columns
    if (args.size() != type->cols())
      return fail(DiagCode::bad_call, at_node,
                  type->user_name() + " takes " + std::to_string(type->cols()) + " column vectors");
    for (std::uint32_t r = 0; r < type->rows(); ++r)
      for (const Argument& arg : args) {
        const Entity& e = arg.entity;
        if (!e.is_value() || e.type() != types::vec(scalar, type->rows()))
          return fail(DiagCode::type_mismatch, node_of(arg, at_node),
                      type->user_name() + " takes columns of type " + types::vec(scalar, type->rows())->user_name() +
                          ", not " + describe(e));
        parts.push_back(builder_.extract(e.value, std::int32_t(r)));
      }
    return finish();
  }
  if (type->is_transform()) {
    const Type* p_type = types::vec(scalar, 3);
    const Type* q_type = types::quat(scalar);
    const Argument *p = nullptr, *q = nullptr;
    for (const Argument& arg : args) {
      if (arg.keyword == "p" || arg.keyword == "pos")
        p = &arg;
      else if (arg.keyword == "q" || arg.keyword == "rot")
        q = &arg;
      else if (!arg.keyword.empty())
        return fail(DiagCode::bad_call, node_of(arg, at_node), "a transform has p and q");
      else if (args.size() <= 2 && !p)
        p = &arg;
      else if (args.size() <= 2)
        q = &arg;
    }
    if (p || q) {
      auto wants = [&](const Argument* a, const Type* t) {
        if (!a) return add_components(function_.zero(t)), true;
        if (a->entity.is_value() && a->entity.type() == t) return add_components(a->entity.value), true;
        fail(DiagCode::type_mismatch, node_of(*a, at_node),
             type->user_name() + " takes " + t->user_name() + " here, not " + describe(a->entity));
        return false;
      };
      if (!wants(p, p_type) || !wants(q, q_type)) return Entity::failed();
      return finish();
    }
  }
  if (type->is_quat() && args.size() == 2 && first_composite && first.type() == types::vec(scalar, 3)) {
    add_components(first.value);
    if (!add_scalar(args[1].entity, node_of(args[1], at_node))) return Entity::failed();
    return finish();
  }
  if (type->is_vec() && n == 6 && args.size() == 2 && first_composite) {  // a spatial vector from two halves
    for (const Argument& arg : args) {
      if (!arg.entity.is_value() || arg.entity.type() != types::vec(scalar, 3))
        return fail(DiagCode::type_mismatch, node_of(arg, at_node),
                    "a spatial vector takes two " + types::vec(scalar, 3)->user_name());
      add_components(arg.entity.value);
    }
    return finish();
  }
  for (const Argument& arg : args) {
    if (!arg.keyword.empty())
      return fail(DiagCode::bad_call, node_of(arg, at_node),
                  type->user_name() + "() has no parameter '" + std::string(arg.keyword) + "'");
    if (!add_scalar(arg.entity, node_of(arg, at_node))) return Entity::failed();
  }
  if (parts.size() != n)
    return fail(
        DiagCode::bad_call, at_node,
        type->user_name() + "() takes " + std::to_string(n) + " components, got " + std::to_string(parts.size()));
  return finish();
}

Entity FunctionLowering::construct_struct(const Type* type, const std::vector<Argument>& args, const Node& at_node) {
  if (args.empty()) return Entity::of(function_.zero(type));
  std::vector<ir::Value*> parts(type->fields().size(), nullptr);
  std::size_t position = 0;
  for (const Argument& arg : args) {
    int field = arg.keyword.empty() ? int(position++) : type->field_index(arg.keyword);
    if (field < 0 || std::size_t(field) >= parts.size())
      return fail(DiagCode::bad_call, node_of(arg, at_node),
                  arg.keyword.empty() ? type->user_name() + " has only " + std::to_string(parts.size()) + " fields"
                                      : type->user_name() + " has no field '" + std::string(arg.keyword) + "'");
    if (hidden_field(type, field))
      return fail(DiagCode::bad_call, node_of(arg, at_node),
                  "the field '" + std::string(type->fields()[std::size_t(field)].name) + "' of " + type->user_name() +
                      " is the library's own");
    Entity value = storable(arg.entity, type->fields()[std::size_t(field)].type, node_of(arg, at_node), "a field");
    if (!value.is_value()) return Entity::failed();
    parts[std::size_t(field)] = value.value;
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i]) parts[i] = function_.zero(type->fields()[i].type);
  return Entity::of(at(at_node).construct(type, parts));
}

std::optional<const Type*> FunctionLowering::take_dtype(std::vector<Argument>& args, const Node& at_node) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].keyword != "dtype") continue;
    Entity e = args[i].entity;
    const Node& node = node_of(args[i], at_node);
    args.erase(args.begin() + std::ptrdiff_t(i));
    if (e.kind == Entity::Kind::type && e.symbol->pattern.kind == Pattern::Kind::exact &&
        e.symbol->pattern.type->is_scalar())
      return e.symbol->pattern.type;
    fail(DiagCode::bad_call, node, "dtype must be a scalar type");
    return std::nullopt;
  }
  return static_cast<const Type*>(nullptr);
}

Entity FunctionLowering::construct_untyped(std::string_view name, std::vector<Argument> args, const Node& at_node) {
  auto dtype = take_dtype(args, at_node);
  if (!dtype) return Entity::failed();
  // Without dtype= the first argument decides.
  const Type* scalar = *dtype;
  for (const Argument& arg : args) {
    if (scalar || !arg.keyword.empty()) break;
    const Entity& e = arg.entity;
    if (e.is_value() && e.type()->is_scalar())
      scalar = e.type();
    else if (e.is_value() && e.type()->is_composite())
      scalar = e.type()->element();
  }
  auto take_int = [&](std::string_view keyword) -> std::optional<std::int64_t> {
    for (std::size_t i = 0; i < args.size(); ++i)
      if (args[i].keyword == keyword) {
        auto n = constant_int(args[i].entity);
        args.erase(args.begin() + std::ptrdiff_t(i));
        return n;
      }
    return std::nullopt;
  };
  constexpr std::int64_t kLargest = 65536;
  auto first_scalar = [&] {
    return scalar                                         ? scalar
           : args.empty() || !args[0].entity.is_literal() ? types::f32()
                                                          : type_of_literal(args[0].entity);
  };

  if (name == "vector" || name == "vec") {
    auto length = take_int("length");
    std::int64_t n = length ? *length : 0;
    if (!length)
      for (const Argument& a : args)
        n += a.entity.is_value() && a.entity.type()->is_composite() ? a.entity.type()->component_count() : 1;
    if (n < 1 || n > kLargest)
      return fail(DiagCode::value_out_of_range, at_node, "a vector needs a length from 1 to 65536", "give length=");
    return construct_composite(types::vec(first_scalar(), std::uint32_t(n)), args, at_node);
  }
  if (name == "matrix" || name == "mat") {
    std::optional<std::vector<std::int64_t>> shape;
    for (std::size_t i = 0; i < args.size(); ++i)
      if (args[i].keyword == "shape") {
        Entity e = args[i].entity;
        if (auto n = constant_int(e))
          shape = std::vector<std::int64_t>{*n, *n};
        else
          shape = constant_shape(e);
        args.erase(args.begin() + std::ptrdiff_t(i));
        break;
      }
    order_parts(types::mat(types::f32(), 4, 4), args);
    bool from_vectors = !args.empty() && args[0].entity.is_value() && args[0].entity.type()->is_vec();
    if (!shape && from_vectors && is_pose(types::mat(types::f32(), 4, 4), args))
      shape = std::vector<std::int64_t>{4, 4};
    if (!shape && from_vectors)
      shape = std::vector<std::int64_t>{std::int64_t(args[0].entity.type()->rows()), std::int64_t(args.size())};
    if (!shape || shape->size() != 2 || (*shape)[0] < 1 || (*shape)[1] < 1 || (*shape)[0] > kLargest ||
        (*shape)[0] * (*shape)[1] > kLargest)
      return fail(DiagCode::bad_call, at_node, "a matrix needs shape=(rows, columns) with compile-time numbers");
    return construct_composite(types::mat(first_scalar(), std::uint32_t((*shape)[0]), std::uint32_t((*shape)[1])), args,
                               at_node);
  }
  if (name == "matrix_from_rows" || name == "matrix_from_cols") {
    if (args.empty()) return fail(DiagCode::bad_call, at_node, std::string(name) + "() takes vectors");
    std::vector<ir::Value*> vectors;
    for (const Argument& a : args) {
      if (!a.entity.is_value() || !a.entity.type()->is_vec() || a.entity.type() != args[0].entity.type())
        return fail(DiagCode::type_mismatch, node_of(a, at_node),
                    std::string(name) + "() takes vectors of one type, not " + describe(a.entity));
      vectors.push_back(a.entity.value);
    }
    std::uint32_t n = std::uint32_t(vectors.size()), m = vectors[0]->type->rows();
    bool rows = name == "matrix_from_rows";
    std::vector<ir::Value*> parts;
    for (std::uint32_t r = 0; r < (rows ? n : m); ++r)
      for (std::uint32_t c = 0; c < (rows ? m : n); ++c)
        parts.push_back(at(at_node).extract(vectors[rows ? r : c], std::int32_t(rows ? c : r)));
    return Entity::of(at(at_node).construct(types::mat(scalar, rows ? n : m, rows ? m : n), parts));
  }
  // dtype may also be given by position.
  const Type* positional = nullptr;
  for (const Argument& a : args) {
    if (a.entity.kind != Entity::Kind::type) continue;
    positional = a.entity.symbol->pattern.type;
    if (!positional || !positional->is_scalar())
      return fail(DiagCode::bad_call, node_of(a, at_node), "dtype must be a scalar type");
  }
  const Type* component = *dtype ? *dtype : positional ? positional : types::f32();
  if (name == "identity") {
    auto n = take_int("n");
    if (!n && !args.empty()) n = constant_int(args[0].entity);
    if (!n || *n < 1 || *n > 256)
      return fail(DiagCode::bad_call, at_node, "identity() takes a compile-time n from 1 to 256 and dtype");
    ir::Value* zero = function_.zero(component);
    ir::Value* one =
        component->is_float() ? function_.constant_float(component, 1.0) : function_.constant_int(component, 1);
    std::vector<ir::Value*> parts;
    for (std::int64_t i = 0; i < *n * *n; ++i) parts.push_back(i % (*n + 1) == 0 ? one : zero);
    return Entity::of(at(at_node).construct(types::mat(component, std::uint32_t(*n), std::uint32_t(*n)), parts));
  }
  if (name == "quat_identity" || name == "transform_identity") {
    if (!component->is_float()) return fail(DiagCode::bad_call, at_node, "dtype must be a float type");
    const Type* type = name == "quat_identity" ? types::quat(component) : types::transform(component);
    std::vector<ir::Value*> parts(type->component_count(), function_.zero(component));
    parts.back() = function_.constant_float(component, 1.0);
    return Entity::of(at(at_node).construct(type, parts));
  }
  const Type* base = first_scalar();
  if (!base->is_float()) base = types::f32();
  return construct_composite(name == "quaternion" ? types::quat(base) : types::transform(base), args, at_node);
}

}  // namespace weft::sema
