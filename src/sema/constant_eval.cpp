// Compile-time expressions by Python's rules: the module level of a kernel file, default values, wp.static.
#include "ir/scalar_eval.h"
#include "sema/lowering.h"
#include "sema/plain_number.h"

namespace weft::sema {

using namespace syntax;
using builtins::Pattern;

namespace {

/// The bits of a plain number as a scalar type, converted as in C.
std::uint64_t bits_as(const Constant& c, const Type* type) {
  ScalarKind kind = type->scalar_kind();
  if (type->is_float()) return ir::float_to_bits(kind, real_value(c));
  if (type->is_bool()) return real_value(c) != 0;
  if (c.form == Constant::Form::real)
    return ir::eval_cast(ScalarKind::f64, kind, ir::float_to_bits(ScalarKind::f64, c.real));
  return ir::int_to_bits(kind, std::int64_t(c.negative ? 0 - c.magnitude : c.magnitude));
}

std::optional<Symbol> number(std::optional<Constant> constant) {
  return constant ? std::optional(Symbol::of(*std::move(constant))) : std::nullopt;
}

Symbol typed_scalar(const Type* type, std::uint64_t bits) {
  Constant c;
  c.form = Constant::Form::typed;
  c.type = type;
  c.bits = {bits};
  return Symbol::of(std::move(c));
}

/// The type that arithmetic with this scalar keeps: int32, float32 and bool objects count as plain numbers, the others
/// (wp.float64(2.0)) hand their type on.
const Type* lasting_type(const Constant& c) {
  if (c.form != Constant::Form::typed || !c.type->is_scalar()) return nullptr;
  return c.type == types::i32() || c.type == types::f32() || c.type->is_bool() ? nullptr : c.type;
}

/// A number of any form as a plain one.
std::optional<Constant> plain(const Constant& c) {
  if (is_plain_number(c)) return c;
  if (c.form != Constant::Form::typed || !c.type->is_scalar()) return std::nullopt;
  ScalarKind kind = c.type->scalar_kind();
  if (c.type->is_float()) return Constant::of_real(ir::bits_to_float(kind, c.bits[0]));
  if (c.type->is_signed_int()) return Constant::of_int(ir::bits_to_int(kind, c.bits[0]));
  return Constant::of_uint(c.bits[0]);
}

std::optional<Symbol> unary(UnaryOp op, const Constant& operand) {
  auto c = plain(operand);
  if (!c) return std::nullopt;
  switch (op) {
    case UnaryOp::pos: break;
    case UnaryOp::neg:
      if (c->form == Constant::Form::real)
        c->real = -c->real;
      else
        c->negative = c->magnitude != 0 && !c->negative;
      break;
    case UnaryOp::invert: {
      auto value = wide_value(*c);
      c = value ? narrow(~*value) : std::nullopt;
      break;
    }
    case UnaryOp::logical_not: return Symbol::of(Constant::of_bool(real_value(*c) == 0));
  }
  if (!c) return std::nullopt;
  const Type* type = lasting_type(operand);
  return type ? typed_scalar(type, bits_as(*c, type)) : Symbol::of(*std::move(c));
}

/// Left-deep chains are folded without narrowing in between.
std::optional<Symbol> binary(const BinaryExpr& expr, Scope& scope) {
  std::vector<const BinaryExpr*> chain;
  const Expr* leftmost = &expr;
  while (const auto* b = leftmost->as_if<BinaryExpr>()) {
    chain.push_back(b);
    leftmost = b->left;
  }
  auto constant_of = [&](const Expr& e) -> std::optional<Constant> {
    auto symbol = eval_constant(e, scope);
    if (!symbol || symbol->kind != Symbol::Kind::constant) return std::nullopt;
    return symbol->constant;
  };
  auto first = constant_of(*leftmost);
  if (!first) return std::nullopt;
  if (first->form == Constant::Form::text) {
    std::string text = first->text;
    for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
      auto right = constant_of(*(*it)->right);
      if (!right || right->form != Constant::Form::text || (*it)->op != BinaryOp::add) return std::nullopt;
      text += right->text;
    }
    return Symbol::of(Constant::of_text(std::move(text)));
  }
  const Type* type = lasting_type(*first);
  first = plain(*first);
  if (!first) return std::nullopt;
  std::optional<WideInt> integer = wide_value(*first);
  double real = real_value(*first);
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    auto right = constant_of(*(*it)->right);
    if (!right) return std::nullopt;
    if (const Type* right_type = lasting_type(*right)) {
      if (type && type != right_type) return std::nullopt;
      type = right_type;
    }
    right = plain(*right);
    if (!right) return std::nullopt;
    auto right_integer = wide_value(*right);
    if (integer && right_integer) {
      auto folded = fold_integers((*it)->op, integer, right_integer, NumberRules::python);
      bool true_division = (*it)->op == BinaryOp::div || ((*it)->op == BinaryOp::pow && *right_integer < 0);
      if (!folded && !true_division) return std::nullopt;
      if (folded) {
        integer = folded;
        real = double(*folded);
        continue;
      }
    }
    auto folded = fold_reals((*it)->op, real, real_value(*right));
    if (!folded) return std::nullopt;
    integer.reset();
    real = *folded;
  }
  auto result = integer ? narrow(*integer) : std::optional(Constant::of_real(real));
  if (!result || !type) return number(result);
  return typed_scalar(type, bits_as(*result, type));
}

bool holds(CompareOp op, const Constant& a, const Constant& b) {
  auto x = wide_value(a), y = wide_value(b);
  auto compare = [&](auto p, auto q) {
    switch (op) {
      case CompareOp::eq: return p == q;
      case CompareOp::ne: return p != q;
      case CompareOp::lt: return p < q;
      case CompareOp::le: return p <= q;
      case CompareOp::gt: return p > q;
      default: return p >= q;
    }
  };
  return x && y ? compare(*x, *y) : compare(real_value(a), real_value(b));
}

std::optional<Symbol> compare(const CompareExpr& expr, Scope& scope) {
  bool result = true;
  std::optional<Constant> left;
  for (std::size_t k = 0; k < expr.operands.size(); ++k) {
    auto symbol = eval_constant(*expr.operands[k], scope);
    if (!symbol || symbol->kind != Symbol::Kind::constant) return std::nullopt;
    const Constant& right = symbol->constant;
    if (k > 0) {
      CompareOp op = expr.ops[k - 1];
      bool equality = op == CompareOp::eq || op == CompareOp::ne;
      if (!equality && (op < CompareOp::lt || op > CompareOp::ge)) return std::nullopt;
      auto a = plain(*left), b = plain(right);
      if (a && b)
        result = result && holds(op, *a, *b);
      else if (equality)
        result = result && ((*left == right) == (op == CompareOp::eq));
      else
        return std::nullopt;
    }
    left = right;
  }
  return Symbol::of(Constant::of_bool(result));
}

/// wp.vec3(1.0, 2.0, 3.0), wp.float64(2.0), wp.constant(x)… of constants.
std::optional<Symbol> call(const CallExpr& expr, Scope& scope) {
  auto callee = resolve_dotted(*expr.callee, scope);
  if (!callee) return std::nullopt;
  bool passes_through =
      callee->kind == Symbol::Kind::builtin && (callee->text == "constant" || callee->text == "static");
  if (passes_through && expr.args.size() == 1 && expr.keywords.empty()) return eval_constant(*expr.args[0], scope);
  if (callee->kind != Symbol::Kind::pattern || callee->pattern.kind != Pattern::Kind::exact) {
    auto pattern = try_annotation(expr, scope);
    return pattern ? std::optional(Symbol::of_pattern(*pattern)) : std::nullopt;
  }
  const Type* type = callee->pattern.type;
  if (!expr.keywords.empty() || (!type->is_scalar() && !type->is_composite())) return std::nullopt;
  const Type* scalar = type->is_scalar() ? type : type->element();
  std::vector<std::uint64_t> bits;
  for (const Expr* arg : expr.args) {
    auto value = eval_constant(*arg, scope);
    if (!value || value->kind != Symbol::Kind::constant) return std::nullopt;
    const Constant& c = value->constant;
    if (c.form == Constant::Form::typed && c.type == scalar) {
      bits.push_back(c.bits[0]);
    } else if (auto p = plain(c)) {
      bits.push_back(bits_as(*p, scalar));
    } else if (c.form == Constant::Form::typed && c.type == type && expr.args.size() == 1) {
      bits = c.bits;
    } else {
      return std::nullopt;
    }
  }
  std::uint32_t n = type->component_count();
  if (bits.size() == 1 && n > 1 && (type->is_vec() || type->is_mat())) bits.assign(n, bits[0]);
  if (bits.empty()) bits.assign(n, 0);
  if (bits.size() != n) return std::nullopt;
  Constant c;
  c.form = Constant::Form::typed;
  c.type = type;
  c.bits = std::move(bits);
  return Symbol::of(std::move(c));
}

/// One component of a constant vector or quaternion: V[1], V.y.
std::optional<Symbol> component(const Symbol& object, std::int64_t index) {
  if (object.kind != Symbol::Kind::constant || object.constant.form != Constant::Form::typed) return std::nullopt;
  const Type* type = object.constant.type;
  if (!type->is_composite() || type->is_mat()) return std::nullopt;
  std::int64_t n = std::int64_t(object.constant.bits.size());
  if (index < 0) index += n;
  if (index < 0 || index >= n) return std::nullopt;
  return typed_scalar(type->element(), object.constant.bits[std::size_t(index)]);
}

std::optional<Symbol> subscript(const SubscriptExpr& expr, Scope& scope) {
  if (auto object = eval_constant(*expr.object, scope); object && expr.indices.size() == 1) {
    auto index = eval_constant(*expr.indices[0], scope);
    auto wide = index && index->kind == Symbol::Kind::constant ? wide_value(index->constant) : std::nullopt;
    if (wide && *wide >= INT32_MIN && *wide <= INT32_MAX)
      if (auto part = component(*object, std::int64_t(*wide))) return part;
  }
  auto pattern = try_annotation(expr, scope);
  return pattern ? std::optional(Symbol::of_pattern(*pattern)) : std::nullopt;
}

std::optional<bool> truth(const std::optional<Symbol>& symbol) {
  if (!symbol || symbol->kind != Symbol::Kind::constant) return std::nullopt;
  auto c = plain(symbol->constant);
  return c ? std::optional(real_value(*c) != 0) : std::nullopt;
}

}  // namespace

std::optional<Symbol> resolve_dotted(const Expr& expr, Scope& scope) {
  if (const auto* name = expr.as_if<NameExpr>()) {
    if (auto symbol = scope.lookup(name->name)) return symbol;
    if (auto symbol = python_builtin(name->name)) return symbol;
    return warp_scope()->lookup(name->name);
  }
  if (const auto* attribute = expr.as_if<AttributeExpr>()) {
    auto object = resolve_dotted(*attribute->object, scope);
    if (!object) return std::nullopt;
    if (object->scope)
      if (auto member = object->scope->lookup(attribute->name)) return member;
    std::size_t k = std::string_view("xyzw").find(attribute->name);
    if (attribute->name.size() == 1 && k != std::string_view::npos) return component(*object, std::int64_t(k));
  }
  return std::nullopt;
}

std::optional<Symbol> eval_constant(const Expr& expr, Scope& scope) {
  switch (expr.kind) {
    case ExprKind::int_literal: {
      const auto& literal = expr.as<IntLiteral>();
      if (literal.too_large) return std::nullopt;
      return Symbol::of(Constant::of_uint(literal.value));
    }
    case ExprKind::float_literal: return Symbol::of(Constant::of_real(expr.as<FloatLiteral>().value));
    case ExprKind::bool_literal: return Symbol::of(Constant::of_bool(expr.as<BoolLiteral>().value));
    case ExprKind::string_literal: return Symbol::of(Constant::of_text(std::string(expr.as<StringLiteral>().value)));
    case ExprKind::name:
    case ExprKind::attribute: return resolve_dotted(expr, scope);
    case ExprKind::unary: {
      auto operand = eval_constant(*expr.as<UnaryExpr>().operand, scope);
      if (!operand || operand->kind != Symbol::Kind::constant) return std::nullopt;
      return unary(expr.as<UnaryExpr>().op, operand->constant);
    }
    case ExprKind::binary: return binary(expr.as<BinaryExpr>(), scope);
    case ExprKind::compare: return compare(expr.as<CompareExpr>(), scope);
    case ExprKind::ternary: {
      const auto& ternary = expr.as<TernaryExpr>();
      auto condition = truth(eval_constant(*ternary.condition, scope));
      if (!condition) return std::nullopt;
      return eval_constant(*condition ? *ternary.then_value : *ternary.else_value, scope);
    }
    case ExprKind::call: return call(expr.as<CallExpr>(), scope);
    case ExprKind::subscript: return subscript(expr.as<SubscriptExpr>(), scope);
    default: return std::nullopt;
  }
}

}  // namespace weft::sema
