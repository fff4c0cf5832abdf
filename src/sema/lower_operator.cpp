// Operators. Strict typing: both operands of an arithmetic operator have one type; a comparison may mix numbers, with
// C's promotions. Plain integers fold exactly before they get a type.
#include "sema/lowering.h"
#include "sema/plain_number.h"
#include "sema/tiles.h"
#include "sema/written.h"
#include "types/fabric_type.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

std::string_view operator_name(BinaryOp op) {
  switch (op) {
    case BinaryOp::add: return "add";
    case BinaryOp::sub: return "sub";
    case BinaryOp::mul:
    case BinaryOp::matmul: return "mul";
    case BinaryOp::div: return "div";
    case BinaryOp::floordiv: return "floordiv";
    case BinaryOp::mod: return "mod";
    case BinaryOp::pow: return "pow";
    case BinaryOp::bit_and: return "bit_and";
    case BinaryOp::bit_or: return "bit_or";
    case BinaryOp::bit_xor: return "bit_xor";
    case BinaryOp::lshift: return "lshift";
    case BinaryOp::rshift: return "rshift";
  }
  return "";
}

namespace {

std::string conversion_cure(const Type* a, const Type* b) {
  auto call = [](const Type* t) {
    return t == types::f32() ? std::string("float") : t == types::i32() ? std::string("int") : "wp." + t->user_name();
  };
  return "there is no implicit conversion: write " + call(a) + "(…) around the right or " + call(b) +
         "(…) around the left operand";
}

OpCode opcode_of(CompareOp op) {
  switch (op) {
    case CompareOp::eq: return OpCode::eq;
    case CompareOp::ne: return OpCode::ne;
    case CompareOp::lt: return OpCode::lt;
    case CompareOp::le: return OpCode::le;
    case CompareOp::gt: return OpCode::gt;
    default: return OpCode::ge;
  }
}

/// C's usual arithmetic conversions for a comparison of two numbers.
const Type* common_type(const Type* a, const Type* b) {
  if (a == b) return a;
  auto rank = [](const Type* t) { return int(t->scalar_kind()); };
  if (a->is_float() || b->is_float()) {
    if (!a->is_float()) return b->scalar_kind() < ScalarKind::f32 ? types::f32() : b;
    if (!b->is_float()) return a->scalar_kind() < ScalarKind::f32 ? types::f32() : a;
    if (a->size() == 2 && b->size() == 2) return types::f32();
    return rank(a) > rank(b) ? a : b;
  }
  auto promoted = [](const Type* t) { return t->size() < 4 ? types::i32() : t; };
  a = promoted(a), b = promoted(b);
  if (a == b) return a;
  if (a->size() != b->size()) return a->size() > b->size() ? a : b;
  return a->is_signed_int() ? b : a;
}

std::optional<WideInt> integer_of(const Entity& e) {
  return e.kind == Entity::Kind::integer ? wide_value(e.symbol->constant) : std::nullopt;
}

bool has_equality(const Type* type) {
  if (!type->is_struct()) return type->is_numeric();
  for (const Field& field : type->fields())
    if (!has_equality(field.type)) return false;
  return true;
}

/// Operations on integers that have a result unless it is too large.
bool only_overflows(BinaryOp op, WideInt right) {
  if (op == BinaryOp::pow || op == BinaryOp::lshift) return right >= 0;
  return op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul;
}

Constant negated(Constant number) {
  if (number.form == Constant::Form::real)
    number.real = -number.real;
  else
    number.negative = number.magnitude != 0 && !number.negative;
  return number;
}

}  // namespace

Entity FunctionLowering::lower_unary(const UnaryExpr& expr) {
  if (expr.op == UnaryOp::logical_not) {
    ir::Value* value = lower_condition(*expr.operand);
    if (!value) return Entity::failed();
    builder_.set_loc(expr.loc);
    return Entity::of(fold(OpCode::bit_not, value));
  }
  Entity operand = lower_expr(*expr.operand);
  builder_.set_loc(expr.loc);
  if (operand.is_error()) return operand;
  if (operand.is_literal()) {
    if (expr.op == UnaryOp::pos) return operand;
    if (expr.op == UnaryOp::neg) return Entity::of_symbol(operand.kind, Symbol::of(negated(operand.symbol->constant)));
  }
  const char* name = expr.op == UnaryOp::neg ? "neg" : expr.op == UnaryOp::pos ? "pos" : "invert";
  if (operand.is_value() && tile_type(operand.type())) return Tiles(*this, expr).unary(name, operand);
  if (auto user = call_user_operator(name, operand, nullptr, expr)) return *user;
  ir::Value* value = value_of(operand, *expr.operand);
  if (!value) return Entity::failed();
  std::vector<Argument> args = {{{}, Entity::of(value), expr.operand, nullptr}};
  Entity result = call_builtin(name, std::move(args), expr);
  if (Entity number = as_written(operand); number.is_literal() && expr.op == UnaryOp::neg && result.is_value()) {
    Entity less = Entity::of_symbol(number.kind, Symbol::of(negated(number.symbol->constant)));
    if (number.kind == Entity::Kind::real || constant_int(less) == constant_int(result)) result.symbol = less.symbol;
  }
  return result;
}

Entity FunctionLowering::lower_binary(const BinaryExpr& expr) {
  // Long sums are left-deep: walk down the left side without recursion.
  std::vector<const BinaryExpr*> chain;
  const Expr* at_expr = &expr;
  while (const auto* b = at_expr->as_if<BinaryExpr>()) {
    chain.push_back(b);
    at_expr = b->left;
  }
  Entity value = lower_expr(*at_expr);
  std::optional<WideInt> wide;  // an integer on its way that no type can hold: 2**64 in 2**64 - 1
  auto settle = [&](const Node& node) {
    if (wide) value = fail(DiagCode::value_out_of_range, node, "the integer does not fit 64 bits");
    wide.reset();
  };
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const BinaryExpr& step = **it;
    Entity right = lower_expr(*step.right);
    auto left_wide = wide ? wide : integer_of(value), right_wide = integer_of(right);
    auto folded = fold_integers(step.op, left_wide, right_wide, NumberRules::kernel);
    if (auto constant = folded ? narrow(*folded) : std::nullopt) {
      wide.reset();
      value = Entity::of_symbol(Entity::Kind::integer, Symbol::of(*constant));
    } else if (folded) {
      wide = folded;
    } else if (left_wide && right_wide && only_overflows(step.op, *right_wide)) {
      wide.reset();
      value = fail(DiagCode::value_out_of_range, step, "the integer does not fit 64 bits");
    } else {
      settle(*step.left);
      value = binary(step.op, std::move(value), std::move(right), step);
    }
  }
  settle(expr);
  return value;
}

Entity FunctionLowering::binary(BinaryOp op, Entity a, Entity b, const Node& at_node) {
  if (a.is_error() || b.is_error()) return Entity::failed();
  if (a.is_literal() && b.is_literal()) {
    Entity folded = fold_literals(op, a, b);
    if (folded.kind != Entity::Kind::none) return folded;
  }
  if (a.kind == Entity::Kind::string && b.kind == Entity::Kind::string && op == BinaryOp::add)
    return Entity::of_symbol(Entity::Kind::string,
                             Symbol::of(Constant::of_text(a.symbol->constant.text + b.symbol->constant.text)));
  adapt_literals(a, b, at_node);
  std::string_view name = operator_name(op);
  if ((a.is_value() && tile_type(a.type())) || (b.is_value() && tile_type(b.type())))
    return Tiles(*this, at_node).binary(op == BinaryOp::matmul ? "matmul" : name, a, b);
  if (auto user = call_user_operator(name, a, &b, at_node)) return *user;
  ir::Value* va = value_of(a, at_node);
  ir::Value* vb = value_of(b, at_node);
  if (!va || !vb) return Entity::failed();
  builder_.set_loc(at_node.loc);
  const Type* ta = va->type;
  const Type* tb = vb->type;
  if (ta->is_scalar() && tb->is_scalar() && ta != tb)
    return fail(DiagCode::type_mismatch, at_node, same_types_wanted(ta, tb), conversion_cure(ta, tb));
  std::vector<Argument> args = {{{}, Entity::of(va), nullptr, nullptr}, {{}, Entity::of(vb), nullptr, nullptr}};
  return call_builtin(name, std::move(args), at_node);
}

Entity FunctionLowering::lower_compare(const CompareExpr& expr) {
  std::function<Entity(std::size_t, Entity)> from = [&](std::size_t k, Entity left) -> Entity {
    Entity right = lower_expr(*expr.operands[k + 1]);
    if (expr.ops.size() > 1 && !same_in_chain(left, right, *expr.operands[k + 1])) return Entity::failed();
    Entity result = compare(expr.ops[k], left, right, expr);
    if (k + 1 == expr.ops.size() || result.is_error()) return result;
    // a < b < c: b is evaluated once; c only if a < b.
    return lower_branches(
        result.value, [&] { return from(k + 1, right); }, [&] { return Entity::of(builder_.boolean(false)); }, expr);
  };
  return from(0, lower_expr(*expr.operands[0]));
}

bool FunctionLowering::same_in_chain(const Entity& left, const Entity& right, const Node& at_node) {
  auto type = [&](const Entity& e) { return e.is_literal() ? type_of_literal(e) : e.is_value() ? e.type() : nullptr; };
  const Type *a = type(left), *b = type(right);
  if (library() || !a || !b || a == b) return true;
  fail(DiagCode::chained_types, at_node,
       "the operands of a chained comparison must have the same type, got " + a->user_name() + " and " + b->user_name(),
       "convert one of them, or write two comparisons joined by 'and'");
  return false;
}

Entity FunctionLowering::compare(CompareOp op, Entity a, Entity b, const Node& at_node) {
  if (a.is_error() || b.is_error()) return Entity::failed();
  using Kind = Entity::Kind;
  bool equality = op == CompareOp::eq || op == CompareOp::ne || op == CompareOp::is || op == CompareOp::is_not;
  bool negated = op == CompareOp::ne || op == CompareOp::is_not;
  if (op == CompareOp::in || op == CompareOp::not_in)
    return fail(DiagCode::unsupported_construct, at_node, "Construct `in` not supported in kernels.",
                "compare with each value");
  if (a.kind == Kind::none_literal || b.kind == Kind::none_literal) {  // x is None
    const Entity& other = a.kind == Kind::none_literal ? b : a;
    if (equality && other.is_value() &&
        (other.type()->is_array() || other.type()->is_indexed_array() || fabric_type(other.type()))) {
      ir::Value* there = truth(other, at_node);
      return Entity::of(negated ? there : fold(OpCode::bit_not, there));
    }
    if (equality && other.kind == Kind::none_literal) return Entity::of(builder_.boolean(!negated));
    return fail(DiagCode::none_value, at_node, "only arrays can be compared with None");
  }
  if (op == CompareOp::is || op == CompareOp::is_not)
    return fail(DiagCode::unsupported_construct, at_node, "Construct `is` not supported in kernels.", "use == or !=");
  if (a.kind == Kind::string && b.kind == Kind::string && equality)
    return Entity::of(builder_.boolean((a.symbol->constant.text == b.symbol->constant.text) != negated));
  if (a.kind == Kind::type && b.kind == Kind::type && equality) {
    bool same = builtins::to_string(a.symbol->pattern) == builtins::to_string(b.symbol->pattern);
    return Entity::of(builder_.boolean(same != negated));
  }
  // A plain number takes the other side's type where it fits exactly; so 0.1 compares with a float64 as 0.1.
  auto adapt = [&](Entity& literal, const Entity& other) {
    if (!literal.is_literal() || !other.is_value() || !other.type()->is_scalar() || other.type()->is_bool()) return;
    if (literal.kind == Kind::real ? other.type()->is_float() : true)
      literal = Entity::of(literal_as(literal, other.type(), at_node));
  };
  auto fits = [&](const Entity& literal, const Entity& other) {  // a negative number against an unsigned: compare wide
    if (literal.kind != Kind::integer || !other.is_value() || !other.type()->is_int()) return true;
    ir::Value* as = literal_as(literal, other.type(), at_node);
    const Constant& c = literal.symbol->constant;
    Constant back = other.type()->is_signed_int() ? Constant::of_int(as->as_int()) : Constant::of_uint(as->bits);
    return back.negative == c.negative && back.magnitude == c.magnitude;
  };
  if (fits(a, b)) adapt(a, b);
  if (fits(b, a)) adapt(b, a);
  ir::Value* va = value_of(a, at_node);
  ir::Value* vb = value_of(b, at_node);
  if (!va || !vb) return Entity::failed();
  builder_.set_loc(at_node.loc);
  const Type* ta = va->type;
  const Type* tb = vb->type;
  if (ta->is_scalar() && tb->is_scalar()) {
    if (ta->is_bool() != tb->is_bool()) {
      if (ta->is_bool())
        va = cast(va, tb);
      else
        vb = cast(vb, ta);
    } else if (ta->is_bool() && !equality) {
      va = cast(va, types::i32());
      vb = cast(vb, types::i32());
    } else if (ta != tb) {
      const Type* common = common_type(ta, tb);
      va = cast(va, common);
      vb = cast(vb, common);
    }
    return Entity::of(fold(opcode_of(op), va, vb));
  }
  if (tile_type(ta) || tile_type(tb))
    return fail(DiagCode::type_mismatch, at_node, "tiles can't be compared as a whole",
                "compare elements: t[0] of a tile of one, or wp.tile_map(f, …)");
  if (equality && ta == tb && ta->is_struct() && !has_equality(ta))
    return fail(DiagCode::type_mismatch, at_node, ta->user_name() + " holds arrays and can't be compared",
                "compare its fields");
  if (equality && ta == tb && (ta->is_composite() || ta->is_struct()))
    return Entity::of(builder_.binary(opcode_of(op), va, vb));
  if (ta == tb)
    return fail(DiagCode::type_mismatch, at_node,
                ta->user_name() + " values can't be " + (equality ? "compared" : "ordered"),
                "compare their components");
  return fail(DiagCode::type_mismatch, at_node, same_types_wanted(ta, tb));
}

}  // namespace weft::sema
