// Annotations and module-level expressions: what can be known without running anything.
#include <cmath>

#include "ir/scalar_eval.h"
#include "sema/lowering.h"
#include "syntax/parser.h"
#include "syntax/print.h"

namespace weft::sema {

using namespace syntax;
using builtins::Pattern;

namespace {

/// A dotted name looked up from the outside in.
std::optional<Symbol> resolve(const Expr& expr, Scope& scope) {
  if (const auto* name = expr.as_if<NameExpr>()) {
    if (auto symbol = scope.lookup(name->name)) return symbol;
    if (auto symbol = python_builtin(name->name)) return symbol;
    return warp_scope()->lookup(name->name);
  }
  if (const auto* attribute = expr.as_if<AttributeExpr>()) {
    auto object = resolve(*attribute->object, scope);
    if (object && object->kind == Symbol::Kind::scope) return object->scope->lookup(attribute->name);
  }
  return std::nullopt;
}

std::optional<std::int64_t> as_integer(const std::optional<Symbol>& symbol) {
  if (!symbol || symbol->kind != Symbol::Kind::constant || symbol->constant.form != Constant::Form::integer) return std::nullopt;
  return symbol->constant.negative ? -std::int64_t(symbol->constant.magnitude) : std::int64_t(symbol->constant.magnitude);
}

class AnnotationReader {
 public:
  AnnotationReader(Scope& scope, DiagnosticSink* sink) : scope_(scope), sink_(sink) {}

  std::optional<Pattern> read(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::name:
      case ExprKind::attribute: return named(expr);
      case ExprKind::string_literal: return from_text(expr);
      case ExprKind::call: return from_call(expr.as<CallExpr>());
      case ExprKind::subscript: return from_subscript(expr.as<SubscriptExpr>());
      default: return bad(expr, "'" + to_source(expr) + "' is not a type");
    }
  }

 private:
  std::optional<Pattern> bad(const Expr& expr, std::string text, std::string cure = {}) {
    if (sink_) {
      if (cure.empty()) sink_->report(DiagCode::bad_annotation, expr.loc, std::move(text), expr.underline());
      else sink_->report(DiagCode::bad_annotation, expr.loc, std::move(text), std::move(cure), expr.underline());
    }
    return std::nullopt;
  }

  static int array_rank(std::string_view name) {
    if (name == "array" || name == "array1d") return 1;
    if (name.size() == 7 && name.starts_with("array") && name[6] == 'd' && name[5] >= '2' && name[5] <= '4') return name[5] - '0';
    return 0;
  }

  static Pattern array_of(std::optional<Pattern> element, std::uint32_t rank) {
    if (element && element->kind == Pattern::Kind::exact) return Pattern::exactly(types::array(element->type, rank));
    Pattern p = Pattern::of(Pattern::Kind::array);
    if (element) p.element = std::make_shared<const Pattern>(*element);
    p.rows.fixed = rank;
    return p;
  }

  std::optional<Pattern> named(const Expr& expr) {
    auto symbol = resolve(expr, scope_);
    if (!symbol) return bad(expr, "unknown type '" + to_source(expr) + "'");
    if (symbol->kind == Symbol::Kind::pattern) return symbol->pattern;
    if (symbol->kind == Symbol::Kind::builtin) {
      if (int rank = array_rank(symbol->text)) return array_of(std::nullopt, std::uint32_t(rank));
      if (symbol->text == "ref") {
        Pattern p = Pattern::of(Pattern::Kind::any);
        p.by_reference = true;
        return p;
      }
    }
    return bad(expr, "'" + to_source(expr) + "' is not a type");
  }

  std::optional<Pattern> from_text(const Expr& expr) {
    auto source = std::make_shared<SourceFile>("<annotation>", std::string(expr.as<StringLiteral>().value));
    Tree tree;
    tree.source = source;
    DiagnosticSink quiet;
    const Expr* inner = parse_expression(tree, quiet);
    if (!inner) return bad(expr, "the annotation's text is not a type");
    auto result = AnnotationReader(scope_, nullptr).read(*inner);
    if (!result) return bad(expr, "'" + std::string(expr.as<StringLiteral>().value) + "' is not a type");
    return result;
  }

  const Expr* argument(const CallExpr& call, std::size_t position, std::initializer_list<std::string_view> names) {
    for (const Keyword& k : call.keywords)
      for (std::string_view name : names)
        if (k.name == name) return k.value;
    return position < call.args.size() ? call.args[position] : nullptr;
  }

  std::optional<std::uint32_t> extent(const Expr* expr) {
    if (!expr) return std::nullopt;
    auto n = as_integer(eval_constant(*expr, scope_));
    if (!n || *n < 1 || *n > 65536) return std::nullopt;
    return std::uint32_t(*n);
  }

  std::optional<Pattern> from_call(const CallExpr& call) {
    auto symbol = resolve(*call.callee, scope_);
    if (!symbol || symbol->kind != Symbol::Kind::builtin) return bad(call, "'" + to_source(call) + "' is not a type");
    std::string_view name = symbol->text;
    if (int rank = array_rank(name)) {
      std::optional<Pattern> element;
      if (const Expr* dtype = argument(call, 0, {"dtype"})) {
        element = read(*dtype);
        if (!element) return std::nullopt;
      }
      if (const Expr* ndim = argument(call, 1, {"ndim"})) {
        auto n = as_integer(eval_constant(*ndim, scope_));
        if (!n || *n < 1 || *n > kMaxRank) return bad(*ndim, "ndim must be a number from 1 to 4");
        rank = int(*n);
      }
      return array_of(element, std::uint32_t(rank));
    }
    const Expr* dtype_expr = argument(call, 99, {"dtype"});
    auto scalar_at = [&](std::size_t position) -> std::optional<Pattern> {
      const Expr* e = dtype_expr ? dtype_expr : argument(call, position, {});
      return e ? read(*e) : Pattern::exactly(types::f32());
    };
    auto composite = [&](const std::optional<Pattern>& scalar, auto make, Pattern::Kind kind) -> std::optional<Pattern> {
      if (!scalar) return std::nullopt;
      if (scalar->kind == Pattern::Kind::exact) {
        if (!scalar->type->is_scalar()) return bad(call, "dtype must be a scalar type");
        return Pattern::exactly(make(scalar->type));
      }
      Pattern p = Pattern::of(kind);
      p.element = std::make_shared<const Pattern>(*scalar);
      return p;
    };
    if (name == "vector" || name == "vec") {
      const Expr* length = argument(call, 0, {"length"});
      auto n = extent(length);
      if (!n) {
        auto generic = length ? AnnotationReader(scope_, nullptr).read(*length) : std::nullopt;
        if (!generic || generic->kind != Pattern::Kind::any) return bad(call, "a vector type needs length=, a number from 1 to 65536");
        Pattern p = Pattern::of(Pattern::Kind::vec);
        if (auto s = scalar_at(1)) p.element = std::make_shared<const Pattern>(*s);
        return p;
      }
      auto p = composite(scalar_at(1), [&](const Type* s) { return types::vec(s, *n); }, Pattern::Kind::vec);
      if (p && p->kind == Pattern::Kind::vec) p->rows.fixed = *n;
      return p;
    }
    if (name == "matrix" || name == "mat") {
      const Expr* shape = argument(call, 0, {"shape"});
      const auto* pair = shape ? shape->as_if<TupleExpr>() : nullptr;
      if (!pair || pair->elements.size() != 2) return bad(call, "a matrix type needs shape=(rows, columns)");
      auto r = extent(pair->elements[0]), c = extent(pair->elements[1]);
      if (!r || !c) {
        Pattern p = Pattern::of(Pattern::Kind::mat);
        if (r) p.rows.fixed = *r;
        if (c) p.cols.fixed = *c;
        if (auto s = scalar_at(1)) p.element = std::make_shared<const Pattern>(*s);
        return p;
      }
      auto p = composite(scalar_at(1), [&](const Type* s) { return types::mat(s, *r, *c); }, Pattern::Kind::mat);
      if (p && p->kind == Pattern::Kind::mat) p->rows.fixed = *r, p->cols.fixed = *c;
      return p;
    }
    if (name == "quaternion") return composite(scalar_at(0), [](const Type* s) { return types::quat(s); }, Pattern::Kind::quat);
    if (name == "transformation")
      return composite(scalar_at(0), [](const Type* s) { return types::transform(s); }, Pattern::Kind::transform);
    return bad(call, "'" + to_source(call) + "' is not a type");
  }

  std::optional<Pattern> from_subscript(const SubscriptExpr& expr) {
    auto symbol = resolve(*expr.object, scope_);
    std::string_view name = symbol && symbol->kind == Symbol::Kind::builtin ? std::string_view(symbol->text) : std::string_view();
    if (int rank = array_rank(name)) {
      auto element = read(*expr.indices[0]);
      if (!element) return std::nullopt;
      if (expr.indices.size() > 1) {
        auto n = as_integer(eval_constant(*expr.indices[1], scope_));
        if (!n || *n < 1 || *n > kMaxRank) return bad(expr, "the rank must be a number from 1 to 4");
        rank = int(*n);
      }
      return array_of(element, std::uint32_t(rank));
    }
    if (name == "ref") {
      auto inner = read(*expr.indices[0]);
      if (inner) inner->by_reference = true;
      return inner;
    }
    if (symbol && symbol->kind == Symbol::Kind::pattern && symbol->pattern.kind == Pattern::Kind::callable) return symbol->pattern;
    return bad(expr, "'" + to_source(expr) + "' is not a type");
  }

  Scope& scope_;
  DiagnosticSink* sink_;
};

std::optional<Constant> negate(Constant c) {
  if (c.form == Constant::Form::real) c.real = -c.real;
  else if (c.form == Constant::Form::integer) c.negative = c.magnitude != 0 && !c.negative;
  else return std::nullopt;
  return c;
}

double as_double(const Constant& c) {
  return c.form == Constant::Form::real ? c.real : c.negative ? -double(c.magnitude) : double(c.magnitude);
}

/// Python's arithmetic on two plain numbers.
std::optional<Constant> combine(BinaryOp op, const Constant& a, const Constant& b) {
  bool plain = (a.form == Constant::Form::integer || a.form == Constant::Form::real) &&
               (b.form == Constant::Form::integer || b.form == Constant::Form::real);
  if (!plain) return std::nullopt;
  bool integers = a.form == Constant::Form::integer && b.form == Constant::Form::integer;
  if (integers && op != BinaryOp::div) {
    if (a.magnitude > INT64_MAX || b.magnitude > INT64_MAX) return std::nullopt;
    __int128 x = a.negative ? -__int128(a.magnitude) : __int128(a.magnitude);
    __int128 y = b.negative ? -__int128(b.magnitude) : __int128(b.magnitude);
    __int128 r = 0;
    switch (op) {
      case BinaryOp::add: r = x + y; break;
      case BinaryOp::sub: r = x - y; break;
      case BinaryOp::mul: r = x * y; break;
      case BinaryOp::floordiv:
      case BinaryOp::mod: {
        if (y == 0) return std::nullopt;
        __int128 q = x / y - ((x % y != 0) && ((x < 0) != (y < 0)));
        r = op == BinaryOp::mod ? x - q * y : q;
        break;
      }
      case BinaryOp::pow:
        if (y < 0 || y > 63) return std::nullopt;
        r = 1;
        for (__int128 k = 0; k < y; ++k) {
          r *= x;
          if (r > (__int128(1) << 64) || r < -(__int128(1) << 64)) return std::nullopt;
        }
        break;
      case BinaryOp::lshift:
        if (y < 0 || y > 62 || x > (__int128(1) << 62)) return std::nullopt;
        r = x * (__int128(1) << int(y));
        break;
      case BinaryOp::rshift:
        if (y < 0 || y > 120) return std::nullopt;
        r = x >> int(y);
        break;
      case BinaryOp::bit_and: r = x & y; break;
      case BinaryOp::bit_or: r = x | y; break;
      case BinaryOp::bit_xor: r = x ^ y; break;
      default: return std::nullopt;
    }
    __int128 m = r < 0 ? -r : r;
    if (m >> 64) return std::nullopt;
    Constant c;
    c.negative = r < 0;
    c.magnitude = std::uint64_t(m);
    return c;
  }
  double x = as_double(a), y = as_double(b);
  switch (op) {
    case BinaryOp::add: return Constant::of_real(x + y);
    case BinaryOp::sub: return Constant::of_real(x - y);
    case BinaryOp::mul: return Constant::of_real(x * y);
    case BinaryOp::div: return y == 0 ? std::nullopt : std::optional(Constant::of_real(x / y));
    case BinaryOp::floordiv: return y == 0 ? std::nullopt : std::optional(Constant::of_real(std::floor(x / y)));
    case BinaryOp::pow: return Constant::of_real(std::pow(x, y));
    default: return std::nullopt;
  }
}

/// The bits of a plain number as a scalar type.
std::uint64_t bits_as(const Constant& c, const Type* type) {
  if (type->is_float()) return ir::float_to_bits(type->scalar_kind(), as_double(c));
  if (type->is_bool()) return as_double(c) != 0;
  if (c.form == Constant::Form::real) return ir::eval_cast(ScalarKind::f64, type->scalar_kind(), ir::float_to_bits(ScalarKind::f64, c.real));
  return ir::int_to_bits(type->scalar_kind(), std::int64_t(c.negative ? 0 - c.magnitude : c.magnitude));
}

/// wp.vec3(1.0, 2.0, 3.0), wp.float64(2.0), wp.constant(x)… of constants.
std::optional<Symbol> constant_call(const CallExpr& call, Scope& scope) {
  auto callee = resolve(*call.callee, scope);
  if (!callee) return std::nullopt;
  if (callee->kind == Symbol::Kind::builtin && (callee->text == "constant" || callee->text == "static") && call.args.size() == 1)
    return eval_constant(*call.args[0], scope);
  if (callee->kind == Symbol::Kind::pattern && callee->pattern.kind == Pattern::Kind::exact && call.keywords.empty()) {
    const Type* type = callee->pattern.type;
    if (!type->is_scalar() && !type->is_composite()) return std::nullopt;
    const Type* scalar = type->is_scalar() ? type : type->element();
    std::vector<std::uint64_t> bits;
    for (const Expr* arg : call.args) {
      auto value = eval_constant(*arg, scope);
      if (!value || value->kind != Symbol::Kind::constant) return std::nullopt;
      const Constant& c = value->constant;
      if (c.form == Constant::Form::integer || c.form == Constant::Form::real) bits.push_back(bits_as(c, scalar));
      else if (c.form == Constant::Form::typed && c.type == scalar) bits.push_back(c.bits[0]);
      else return std::nullopt;
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
  if (auto pattern = AnnotationReader(scope, nullptr).read(call)) return Symbol::of_pattern(*pattern);
  return std::nullopt;
}

}  // namespace

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
    case ExprKind::attribute: return resolve(expr, scope);
    case ExprKind::unary: {
      auto operand = eval_constant(*expr.as<UnaryExpr>().operand, scope);
      if (!operand || operand->kind != Symbol::Kind::constant) return std::nullopt;
      if (expr.as<UnaryExpr>().op == UnaryOp::pos) return operand;
      if (expr.as<UnaryExpr>().op != UnaryOp::neg) return std::nullopt;
      auto c = negate(operand->constant);
      return c ? std::optional(Symbol::of(*c)) : std::nullopt;
    }
    case ExprKind::binary: {
      const auto& b = expr.as<BinaryExpr>();
      auto left = eval_constant(*b.left, scope), right = eval_constant(*b.right, scope);
      if (!left || !right || left->kind != Symbol::Kind::constant || right->kind != Symbol::Kind::constant) return std::nullopt;
      auto c = combine(b.op, left->constant, right->constant);
      return c ? std::optional(Symbol::of(*c)) : std::nullopt;
    }
    case ExprKind::call: return constant_call(expr.as<CallExpr>(), scope);
    case ExprKind::subscript:
      if (auto pattern = AnnotationReader(scope, nullptr).read(expr)) return Symbol::of_pattern(*pattern);
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Pattern> eval_annotation(const Expr& expr, Scope& scope, DiagnosticSink& sink) {
  return AnnotationReader(scope, &sink).read(expr);
}

std::shared_ptr<Scope> scope_of(const FunctionDecl& decl) {
  if (decl.owned_scope) return decl.owned_scope;
  auto scope = decl.scope.lock();
  WEFT_CHECK(scope, "the scope of a function is gone");
  return scope;
}

std::optional<std::vector<Pattern>> param_patterns(const FunctionDecl& decl, DiagnosticSink& sink) {
  std::vector<Pattern> out;
  bool ok = true;
  auto scope = scope_of(decl);
  for (const Param& param : decl.def->params) {
    if (param.kind == Param::star_args || param.kind == Param::star_kwargs) {
      sink.report(DiagCode::unsupported_construct, param.loc, "'*' parameters are not supported in kernels and functions");
      ok = false;
      continue;
    }
    if (!param.annotation) {
      if (!decl.library) {
        sink.report(DiagCode::bad_annotation, param.loc,
                    "the parameter '" + std::string(param.name) + "' has no type annotation",
                    "write e.g. " + std::string(param.name) + ": float, or Any for a generic function", std::uint32_t(param.name.size()));
        ok = false;
      }
      out.push_back(Pattern::of(Pattern::Kind::any));
      continue;
    }
    auto pattern = eval_annotation(*param.annotation, *scope, sink);
    if (!pattern) ok = false;
    out.push_back(pattern.value_or(Pattern{}));
  }
  if (!ok) return std::nullopt;
  return out;
}

std::vector<KernelParam> kernel_params(const FunctionDecl& kernel, DiagnosticSink& sink) {
  std::vector<KernelParam> out;
  auto patterns = param_patterns(kernel, sink);
  if (!patterns) return out;
  for (std::size_t i = 0; i < patterns->size(); ++i) {
    const Param& param = kernel.def->params[i];
    KernelParam p;
    p.name = std::string(param.name);
    p.pattern = (*patterns)[i];
    if (param.default_value) {
      auto value = eval_constant(*param.default_value, *scope_of(kernel));
      if (value && value->kind == Symbol::Kind::constant) {
        p.has_default = true;
        p.default_value = value->constant;
      } else {
        sink.report(DiagCode::bad_annotation, param.default_value->loc, "the default value must be a constant", param.default_value->underline());
      }
    }
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace weft::sema
