// Small tools of lowering: literals to values, conversions, folding of constants, descriptions for messages.
#include <cmath>
#include <limits>

#include "ir/scalar_eval.h"
#include "sema/lowering.h"
#include "sema/plain_number.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

Entity FunctionLowering::fail(DiagCode code, const Node& at_node, std::string text, std::string cure) {
  if (cure.empty())
    sink_.report(code, at_node.loc, std::move(text), at_node.underline());
  else
    sink_.report(code, at_node.loc, std::move(text), std::move(cure), at_node.underline());
  return Entity::failed();
}

const Type* FunctionLowering::type_of_literal(const Entity& literal) const {
  return literal.kind == Entity::Kind::integer ? types::i32() : types::f32();
}

ir::Value* FunctionLowering::literal_as(const Entity& literal, const Type* type, const Node& at_node) {
  const Constant& c = literal.symbol->constant;
  if (literal.kind == Entity::Kind::real) {
    if (type->is_float()) return function_.constant_float(type, c.real);
    // A float literal where an integer is constructed: C conversion (saturating).
    std::uint64_t bits = ir::float_to_bits(ScalarKind::f64, c.real);
    return function_.constant(type, ir::eval_cast(ScalarKind::f64, type->scalar_kind(), bits));
  }
  if (type->is_bool()) return function_.constant_bool(c.magnitude != 0);
  std::uint64_t wrapped = c.negative ? 0 - c.magnitude : c.magnitude;
  if (type->is_float()) {
    double exact = c.negative ? -double(c.magnitude) : double(c.magnitude);
    if (type->scalar_kind() == ScalarKind::f64) return function_.constant_float(type, exact);
    ScalarKind wide = c.negative ? ScalarKind::i64 : ScalarKind::u64;
    return function_.constant(type, ir::eval_cast(wide, type->scalar_kind(), wrapped));
  }
  return function_.constant(type, ir::int_to_bits(type->scalar_kind(), std::int64_t(wrapped)));
}

ir::Value* FunctionLowering::value_of(const Entity& entity, const Node& at_node) {
  switch (entity.kind) {
    case Entity::Kind::error: return nullptr;
    case Entity::Kind::value: return entity.value;
    case Entity::Kind::real: return literal_as(entity, types::f32(), at_node);
    case Entity::Kind::integer: {
      const Constant& c = entity.symbol->constant;
      bool fits = c.negative ? c.magnitude <= 0x80000000ULL : c.magnitude <= 0x7fffffffULL;
      if (!fits) {
        bool in64 = c.negative ? c.magnitude <= (1ULL << 63) : c.magnitude < (1ULL << 63);
        fail(DiagCode::value_out_of_range, at_node, "the integer does not fit int32",
             in64 ? "write wp.int64(…) around it" : "write wp.uint64(…) around it");
        return nullptr;
      }
      return literal_as(entity, types::i32(), at_node);
    }
    case Entity::Kind::tuple: {
      std::vector<ir::Value*> parts;
      for (const Entity& e : *entity.elements) {
        ir::Value* v = value_of(e, at_node);
        if (!v) return nullptr;
        parts.push_back(v);
      }
      return make_tuple(parts, at_node);
    }
    case Entity::Kind::none_literal:
      fail(DiagCode::none_value, at_node, "None is not a value in kernels", "use a flag variable instead");
      return nullptr;
    case Entity::Kind::none:
      fail(DiagCode::bad_call, at_node, "this has no value", "the function called here returns nothing");
      return nullptr;
    default: {
      const bool tile =
          entity.kind == Entity::Kind::type && entity.symbol->pattern.kind == builtins::Pattern::Kind::tile;
      fail(DiagCode::bad_call, at_node, describe(entity) + " can't be used as a value in kernels",
           tile ? "it annotates parameters of functions; kernels make their tiles: wp.tile_zeros(…), wp.tile_load(…)"
                : "");
      return nullptr;
    }
  }
}

namespace {

/// Takes one from the budget for every element at every level; false when it is used up or the tuple is too deep.
bool within(const Type* type, int depth, int& budget) {
  if (--budget < 0 || depth > ir::kMaxTypeDepth / 2) return false;
  if (type->is_tuple())
    for (const Field& field : type->fields())
      if (!within(field.type, depth + 1, budget)) return false;
  return true;
}

}  // namespace

ir::Value* FunctionLowering::make_tuple(std::span<ir::Value* const> parts, const Node& at_node) {
  int budget = 4096;
  std::vector<const Type*> part_types;
  for (ir::Value* part : parts) {
    if (!within(part->type, 1, budget)) {
      fail(DiagCode::nesting_too_deep, at_node, "the tuple is too large or too deeply nested",
           "use a struct or a local array");
      return nullptr;
    }
    part_types.push_back(part->type);
  }
  return at(at_node).construct(types::tuple(part_types), parts);
}

ir::Value* FunctionLowering::cast(ir::Value* value, const Type* to) {
  if (value->type == to) return value;
  if (value->is_constant())
    return function_.constant(to, ir::eval_cast(value->type->scalar_kind(), to->scalar_kind(), value->bits));
  return builder_.cast(value, to);
}

void FunctionLowering::adapt_literals(Entity& a, Entity& b, const Node& at_node) {
  if (!library()) return;
  auto adapt = [&](Entity& literal, const Entity& other) {
    if (!literal.is_literal() || !other.is_value()) return;
    const Type* type = other.type();
    const Type* scalar = type->is_scalar() ? type : type->is_composite() ? type->element() : nullptr;
    if (scalar && !scalar->is_bool()) literal = Entity::of(literal_as(literal, scalar, at_node));
  };
  adapt(a, b);
  adapt(b, a);
}

Entity FunctionLowering::fold_literals(BinaryOp op, const Entity& a, const Entity& b) {
  const Constant& ca = a.symbol->constant;
  const Constant& cb = b.symbol->constant;
  auto x = wide_value(ca), y = wide_value(cb);
  if (x && y) {
    auto result = fold_integers(op, x, y, NumberRules::kernel);
    auto constant = result ? narrow(*result) : std::nullopt;
    return constant ? Entity::of_symbol(Entity::Kind::integer, Symbol::of(*constant)) : Entity::nothing();
  }
  // In library code floats stay exact until a type is chosen; user code computes in float32, as written.
  auto result = library() ? fold_reals(op, real_value(ca), real_value(cb)) : std::nullopt;
  return result ? Entity::of_symbol(Entity::Kind::real, Symbol::of(Constant::of_real(*result))) : Entity::nothing();
}

ir::Value* FunctionLowering::fold(OpCode code, ir::Value* a, ir::Value* b) {
  bool foldable = a->is_constant() && a->type->is_scalar() && (!b || (b->is_constant() && b->type == a->type));
  if (foldable) {
    ScalarKind kind = a->type->scalar_kind();
    switch (ir::class_of(code)) {
      case ir::OpClass::arith:
      case ir::OpClass::bits:
        return function_.constant(
            a->type, b ? ir::eval_binary(code, kind, a->bits, b->bits) : ir::eval_unary(code, kind, a->bits));
      case ir::OpClass::compare: return function_.constant_bool(ir::eval_compare(code, kind, a->bits, b->bits));
      default: break;  // safe: made, not folded
    }
  }
  return b ? builder_.binary(code, a, b) : builder_.unary(code, a);
}

std::optional<std::int64_t> FunctionLowering::constant_int(const Entity& entity) {
  if (entity.kind == Entity::Kind::integer) {
    const Constant& c = entity.symbol->constant;
    if (c.magnitude > std::uint64_t(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return c.negative ? -std::int64_t(c.magnitude) : std::int64_t(c.magnitude);
  }
  if (entity.is_value() && entity.value->is_constant() && entity.type()->is_int()) return entity.value->as_int();
  return std::nullopt;
}

std::optional<std::int64_t> FunctionLowering::need_constant(const Entity& entity, const Expr& expr, const char* what) {
  if (entity.is_error()) return std::nullopt;
  if (auto value = constant_int(entity)) return value;
  // A loop variable may become a constant by unrolling its loop: start over with that.
  for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
    if (!loop->stmt || !loop->constant_trips) continue;
    if (mentions(expr, loop->stmt->target->as<NameExpr>().name)) {
      must_unroll_.insert(loop->stmt);
      throw UnrollRequest{loop->stmt};
    }
  }
  fail(DiagCode::not_constant, expr, std::string(what) + " must be a compile-time integer, not " + describe(entity),
       "use a literal, a wp.constant, wp.static(…), or the variable of a loop with constant bounds");
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> FunctionLowering::constant_shape(const Entity& entity) {
  std::vector<std::int64_t> shape;
  if (auto n = constant_int(entity)) {
    shape.push_back(*n);
  } else if (entity.kind == Entity::Kind::tuple) {
    for (const Entity& e : *entity.elements) {
      auto k = constant_int(e);
      if (!k) return std::nullopt;
      shape.push_back(*k);
    }
  } else if (entity.is_value() && entity.type()->is_tuple() && entity.value->kind == ir::ValueKind::result &&
             entity.value->op->code == OpCode::construct) {  // a variable that a tuple was assigned to
    for (const ir::Value* part : entity.value->op->operands) {
      if (!part->is_constant() || !part->type->is_int()) return std::nullopt;
      shape.push_back(part->as_int());
    }
  } else {
    return std::nullopt;
  }
  return shape;
}

std::string FunctionLowering::describe(const Entity& entity) const {
  switch (entity.kind) {
    case Entity::Kind::none: return "nothing";
    case Entity::Kind::error: return "an error";
    case Entity::Kind::value: return entity.type()->user_name();
    case Entity::Kind::integer: return "int32";
    case Entity::Kind::real: return "float32";
    case Entity::Kind::string: return "str";
    case Entity::Kind::type: return "the type " + builtins::to_string(entity.symbol->pattern);
    case Entity::Kind::functions: return "the function '" + std::string(entity.symbol->functions[0]->def->name) + "'";
    case Entity::Kind::builtin: return "the builtin '" + entity.symbol->text + "'";
    case Entity::Kind::derivative: return "a derivative";
    case Entity::Kind::scope: return "a module or class";
    case Entity::Kind::tuple: {
      std::string out = "tuple(";
      for (const Entity& e : *entity.elements) out += (out.size() > 6 ? ", " : "") + describe(e);
      return out + ")";
    }
    case Entity::Kind::range: return "a range";
    case Entity::Kind::slice: return "a slice";
    case Entity::Kind::none_literal: return "None";
    case Entity::Kind::other: return entity.symbol->text;
  }
  return "?";
}

std::string FunctionLowering::describe(const std::vector<Argument>& args) const {
  std::string out;
  for (const Argument& a : args) {
    out += out.empty() ? "" : ", ";
    if (!a.keyword.empty()) out += std::string(a.keyword) + "=";
    out += describe(a.entity);
  }
  return out;
}

}  // namespace weft::sema
