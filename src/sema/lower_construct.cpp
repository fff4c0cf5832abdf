// Constructors: scalars (conversion), vectors, matrices, quaternions, transforms and structs; and the forms whose type
// follows from the arguments (wp.vector(…), wp.identity(n, dtype)).
#include <algorithm>
#include <initializer_list>

#include "sema/lowering.h"
#include "sema/tile_hints.h"
#include "sema/written.h"

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
    if (!take_own_size(type, args, at_node)) return Entity::failed();
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

bool FunctionLowering::take_own_size(const Type* type, std::vector<Argument>& args, const Node& at_node) {
  if (!type->is_vec() && !type->is_mat()) return true;
  const std::string_view word = type->is_vec() ? "length" : "shape";
  auto given = std::find_if(args.begin(), args.end(), [&](const Argument& a) { return a.keyword == word; });
  if (given == args.end()) return true;
  const Entity size = given->entity;
  const Node& node = node_of(*given, at_node);
  args.erase(given);
  auto n = constant_int(size);
  auto shape = constant_shape(size);
  const std::int64_t rows = type->rows(), cols = type->cols();
  if (type->is_vec() ? n == rows : shape == std::vector<std::int64_t>{rows, cols} || (rows == cols && n == rows))
    return true;
  fail(DiagCode::bad_call, node, type->user_name() + " has another " + std::string(word),
       "leave " + std::string(word) + "= out, or give it to wp." + (type->is_vec() ? "vector" : "matrix") + "(…)");
  return false;
}

Entity FunctionLowering::construct_scalar(const Type* type, const std::vector<Argument>& args, const Node& at_node) {
  if (args.empty()) return Entity::of(function_.zero(type));
  if (args.size() != 1) return fail(DiagCode::bad_call, at_node, type->user_name() + "() takes one argument");
  const Entity e = as_written(args[0].entity);
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
    return fail(DiagCode::bad_call, at_node, "can't convert " + value->type->user_name() + " to " + type->user_name(),
                is_tile_of_one(value->type) ? std::string(kTakeElement) : std::string());
  builder_.set_loc(at_node.loc);
  return Entity::of(cast(value, type));
}

/// A composite being made from its constructor's arguments: each way that these may be meant is a function.
class FunctionLowering::CompositeMaker {
 public:
  CompositeMaker(FunctionLowering& lowering, const Type* type, const std::vector<Argument>& args, const Node& at_node)
      : lower_(lowering),
        type_(type),
        scalar_(type->element()),
        args_(args),
        at_node_(at_node),
        first_(args[0].entity),
        first_composite_(first_.is_value() && first_.type()->is_composite()) {}

  Entity make() {
    if (args_.size() == 1 && args_[0].keyword.empty())
      if (std::optional<Entity> made = from_one()) return *made;
    if (type_->is_mat() && first_composite_ && first_.type()->is_vec()) return from_columns();
    if (type_->is_transform())
      if (std::optional<Entity> made = from_position_and_rotation()) return *made;
    if (type_->is_quat() && args_.size() == 2 && first_composite_ && first_.type() == types::vec(scalar_, 3))
      return from_imaginary_and_real();
    if (type_->is_vec() && count() == 6 && args_.size() == 2 && first_composite_) return from_halves();
    return from_components();
  }

 private:
  std::uint32_t count() const { return type_->component_count(); }
  const Node& node(const Argument& arg) const { return node_of(arg, at_node_); }
  Entity finish() { return Entity::of(lower_.at(at_node_).construct(type_, parts_)); }

  /// Takes one component, converted where that is allowed: plain numbers, names that stand for one, and variables of loops
  /// that could be unrolled always, other values never. False after an error.
  bool add_scalar(const Argument& arg) {
    const Entity e = as_written(arg.entity);
    if (e.is_literal()) {
      parts_.push_back(lower_.literal_as(e, scalar_, node(arg)));
      return true;
    }
    ir::Value* v = lower_.value_of(e, node(arg));
    if (!v) return false;
    if (v->type == scalar_ || counts_a_short_loop(v)) {
      parts_.push_back(lower_.cast(v, scalar_));
      return true;
    }
    const std::string converter = scalar_ == types::f32()   ? "float"
                                  : scalar_ == types::i32() ? "int"
                                                            : "wp." + scalar_->user_name();
    lower_.fail(DiagCode::type_mismatch, node(arg),
                type_->user_name() + " takes " + scalar_->user_name() + " components, not " + v->type->user_name(),
                "convert it: " + converter + "(…)");
    return false;
  }

  /// Whether a value is the variable of a loop around this that a program may take for unrolled.
  bool counts_a_short_loop(const ir::Value* v) const {
    for (const Loop& loop : lower_.loops_)
      if (loop.stmt && loop.constant_trips && loop.op && loop.op->code == ir::OpCode::for_ &&
          loop.op->regions[0]->args[0] == v)
        return true;
    return false;
  }

  void add_components(ir::Value* v) {
    const Type* t = v->type;
    for (std::uint32_t r = 0; r < t->rows(); ++r)
      for (std::uint32_t c = 0; c < t->cols(); ++c) {
        ir::PathStep path[] = {{ir::PathStep::index, false, false, std::int32_t(r)},
                               {ir::PathStep::index, false, false, std::int32_t(c)}};
        parts_.push_back(lower_.builder_.extract(v, std::span(path, t->is_mat() ? 2 : 1)));
      }
  }

  /// The words of Warp, which programs look for. They name the two sizes the other way round.
  std::string mismatch(const Type* from) const {
    if (type_->is_vec() && from->is_vec())
      return ": incompatible vector of length " + std::to_string(count()) +
             " given when copy constructing a vector of length " + std::to_string(from->component_count());
    if (!type_->is_mat() || !from->is_mat()) return "";
    auto shape = [](const Type* t) { return "(" + std::to_string(t->rows()) + ", " + std::to_string(t->cols()) + ")"; };
    return ": incompatible matrix of shape " + shape(type_) + " given when copy constructing a matrix of shape " +
           shape(from);
  }

  /// Another composite of the same shape, whose components are converted, or a number that fills all; nothing if a single
  /// argument is meant otherwise.
  std::optional<Entity> from_one() {
    if (first_composite_) {
      const Type* from = first_.type();
      if (from == type_) return first_;
      if (from->component_count() == count() && from->is_mat() == type_->is_mat() && from->rows() == type_->rows()) {
        add_components(first_.value);
        for (ir::Value*& p : parts_) p = lower_.cast(p, scalar_);
        return finish();
      }
      if (type_->is_transform()) return std::nullopt;
      return lower_.fail(DiagCode::bad_call, at_node_,
                         "can't make " + type_->user_name() + " from " + from->user_name() + mismatch(from));
    }
    if (!type_->is_vec() && !type_->is_mat() && !type_->is_transform() && count() != 1) return std::nullopt;
    if (!add_scalar(args_[0])) return Entity::failed();
    if (type_->is_transform()) {
      parts_.resize(count(), parts_[0]);
      return finish();
    }
    return parts_[0]->is_zero() ? Entity::of(lower_.function_.zero(type_))
                                : Entity::of(lower_.at(at_node_).splat(type_, parts_[0]));
  }

  Entity from_columns() {
    if (args_.size() != type_->cols())
      return lower_.fail(DiagCode::bad_call, at_node_,
                         type_->user_name() + " takes " + std::to_string(type_->cols()) + " column vectors");
    const Type* column = types::vec(scalar_, type_->rows());
    for (std::uint32_t r = 0; r < type_->rows(); ++r)
      for (const Argument& arg : args_) {
        const Entity& e = arg.entity;
        if (!e.is_value() || e.type() != column)
          return lower_.fail(
              DiagCode::type_mismatch, node(arg),
              type_->user_name() + " takes columns of type " + column->user_name() + ", not " + lower_.describe(e));
        parts_.push_back(lower_.builder_.extract(e.value, std::int32_t(r)));
      }
    return finish();
  }

  /// A transform's two parts, by name or in their order; nothing if the arguments are numbers.
  std::optional<Entity> from_position_and_rotation() {
    const Argument *p = nullptr, *q = nullptr;
    for (const Argument& arg : args_) {
      if (arg.keyword == "p" || arg.keyword == "pos")
        p = &arg;
      else if (arg.keyword == "q" || arg.keyword == "rot")
        q = &arg;
      else if (!arg.keyword.empty())
        return lower_.fail(DiagCode::bad_call, node(arg), "a transform has p and q");
      else if (args_.size() <= 2 && !p)
        p = &arg;
      else if (args_.size() <= 2)
        q = &arg;
    }
    if (!p && !q) return std::nullopt;
    if (!add_part(p, types::vec(scalar_, 3)) || !add_part(q, types::quat(scalar_))) return Entity::failed();
    return finish();
  }

  /// Takes the components of a part; left out, they are those of the identity. False after an error.
  bool add_part(const Argument* part, const Type* wanted) {
    if (part && !(part->entity.is_value() && part->entity.type() == wanted)) {
      lower_.fail(DiagCode::type_mismatch, node(*part),
                  type_->user_name() + " takes " + wanted->user_name() + " here, not " + lower_.describe(part->entity));
      return false;
    }
    add_components(part ? part->entity.value : lower_.function_.zero(wanted));
    if (!part && wanted->is_quat()) parts_.back() = lower_.literal_as(one(), scalar_, at_node_);
    return true;
  }

  static Entity one() { return Entity::of_symbol(Entity::Kind::integer, Symbol::of(Constant::of_int(1))); }

  Entity from_imaginary_and_real() {
    add_components(first_.value);
    if (!add_scalar(args_[1])) return Entity::failed();
    return finish();
  }

  /// A spatial vector.
  Entity from_halves() {
    const Type* half = types::vec(scalar_, 3);
    for (const Argument& arg : args_) {
      if (!arg.entity.is_value() || arg.entity.type() != half)
        return lower_.fail(DiagCode::type_mismatch, node(arg), "a spatial vector takes two " + half->user_name());
      add_components(arg.entity.value);
    }
    return finish();
  }

  Entity from_components() {
    for (const Argument& arg : args_) {
      if (!arg.keyword.empty())
        return lower_.fail(DiagCode::bad_call, node(arg),
                           type_->user_name() + "() has no parameter '" + std::string(arg.keyword) + "'");
      if (!add_scalar(arg)) return Entity::failed();
    }
    if (parts_.size() != count())
      return lower_.fail(DiagCode::bad_call, at_node_,
                         type_->user_name() + "() takes " + std::to_string(count()) + " components, got " +
                             std::to_string(parts_.size()));
    return finish();
  }

  FunctionLowering& lower_;
  const Type *type_, *scalar_;
  const std::vector<Argument>& args_;
  const Node& at_node_;
  const Entity& first_;
  const bool first_composite_;
  std::vector<ir::Value*> parts_;
};

Entity FunctionLowering::construct_composite(const Type* type, std::vector<Argument> args, const Node& at_node) {
  order_parts(type, args);
  if (is_pose(type, args)) return call_builtin("transform_compose", std::move(args), at_node);
  builder_.set_loc(at_node.loc);
  if (args.empty()) return Entity::of(function_.zero(type));
  return CompositeMaker(*this, type, args, at_node).make();
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
    if (length && n == 0) return Entity::of(function_.zero(empty_vector(first_scalar())));
    if (n < 1 || n > kLargest)
      return fail(DiagCode::bad_call, at_node, "a vector needs a length from 0 to 65536", "give length=");
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
    const Argument* last = args.size() == 4 ? &args[3] : nullptr;
    if (last && last->keyword.empty() && last->entity.kind == Entity::Kind::type) {  // (pos, rot, scale, dtype)
      args[3].keyword = "dtype";
      dtype = take_dtype(args, at_node);
      if (!dtype) return Entity::failed();
      scalar = *dtype;
    }
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
