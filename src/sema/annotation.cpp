// Annotations: the types that parameters, fields and variables are declared with.
#include "sema/lowering.h"
#include "syntax/parser.h"
#include "syntax/print.h"
#include "types/fabric_type.h"
#include "types/library_struct.h"

namespace weft::sema {

using namespace syntax;
using builtins::Pattern;

namespace {

std::optional<std::int64_t> as_integer(const std::optional<Symbol>& symbol) {
  if (!symbol || symbol->kind != Symbol::Kind::constant || symbol->constant.form != Constant::Form::integer)
    return std::nullopt;
  return symbol->constant.negative ? -std::int64_t(symbol->constant.magnitude)
                                   : std::int64_t(symbol->constant.magnitude);
}

/// What stands for a number in brackets: 3, a constant, Literal[3].
std::optional<std::int64_t> bracket_number(const Expr& expr, Scope& scope) {
  const auto* literal = expr.as_if<SubscriptExpr>();
  if (!literal) return as_integer(eval_constant(expr, scope));
  const std::string name = to_source(*literal->object);
  if ((name != "Literal" && !name.ends_with(".Literal")) || literal->indices.size() != 1) return std::nullopt;
  return as_integer(eval_constant(*literal->indices[0], scope));
}

/// What tuple types are written with: tuple[int, float], typing.Tuple[int, float].
bool is_tuple_word(const Expr& expr) {
  const std::string name = to_source(expr);
  return name == "tuple" || name == "Tuple" || name.ends_with(".Tuple");
}

/// What to write instead of the class of an object that kernels know by its id.
std::string cure_for_class(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  const std::string_view word = dot == std::string_view::npos ? name : name.substr(dot + 1);
  for (const HandleKind kind : {HandleKind::mesh, HandleKind::bvh, HandleKind::hash_grid, HandleKind::volume})
    if (word == handle_user_name(kind))
      return "kernels know a " + std::string(word) + " by its id: write wp.uint64, and pass its .id to the launch";
  return {};
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
      if (cure.empty())
        sink_->report(DiagCode::bad_annotation, expr.loc, std::move(text), expr.underline());
      else
        sink_->report(DiagCode::bad_annotation, expr.loc, std::move(text), std::move(cure), expr.underline());
    }
    return std::nullopt;
  }

  /// Of array, array2d, indexedarray…; 0 for other names.
  static int array_rank(std::string_view name) {
    if (name == "fabricarray" || name == "indexedfabricarray") return 1;
    if (name == "fabricarrayarray" || name == "indexedfabricarrayarray") return 2;
    if (is_indexed(name)) name.remove_prefix(7);
    if (name == "array" || name == "array1d") return 1;
    if (name.size() == 7 && name.starts_with("array") && name[6] == 'd' && name[5] >= '2' && name[5] <= '4')
      return name[5] - '0';
    return 0;
  }

  static bool is_indexed(std::string_view name) { return name.starts_with("indexedarray"); }

  static bool is_fabric(std::string_view name) {
    return name.starts_with("fabric") || name.starts_with("indexedfabric");
  }

  std::optional<Pattern> fabric_of(const Expr& expr, bool indexed, std::optional<Pattern> element, std::uint32_t rank) {
    if (rank > 2) return bad(expr, "a fabricarray has one dimension, or two as an array of arrays");
    if (element && element->kind == Pattern::Kind::exact && rank)
      return Pattern::exactly(types::fabric_array(element->type, rank, indexed).type);
    Pattern p = Pattern::of(indexed ? Pattern::Kind::indexed_fabric_array : Pattern::Kind::fabric_array);
    if (element) p.element = std::make_shared<const Pattern>(*element);
    p.rows.fixed = rank;
    return p;
  }

  std::optional<Pattern> array_of(const Expr& expr, std::string_view name, std::optional<Pattern> element,
                                  std::uint32_t rank) {
    bool indexed = is_indexed(name);
    if (element && element->kind == Pattern::Kind::exact && holds_private(element->type))
      return bad(expr, no_array_of(element->type), kKeepInVariables);
    if (is_fabric(name)) return fabric_of(expr, name.starts_with("indexed"), std::move(element), rank);
    if (element && element->kind == Pattern::Kind::exact && rank)
      return Pattern::exactly(indexed ? types::indexed_array(element->type, rank) : types::array(element->type, rank));
    Pattern p = Pattern::of(indexed ? Pattern::Kind::indexed_array : Pattern::Kind::array);
    if (element) p.element = std::make_shared<const Pattern>(*element);
    p.rows.fixed = rank;
    return p;
  }

  std::optional<Pattern> named(const Expr& expr) {
    auto symbol = resolve_dotted(expr, scope_);
    if (!symbol) return bad(expr, "unknown type '" + to_source(expr) + "'");
    if (symbol->kind == Symbol::Kind::pattern) return symbol->pattern;
    if (symbol->reported) return std::nullopt;
    if (symbol->kind == Symbol::Kind::builtin) {
      if (int rank = array_rank(symbol->text)) return array_of(expr, symbol->text, std::nullopt, std::uint32_t(rank));
      if (symbol->text == "tile") return Pattern::of(Pattern::Kind::tile);
      if (symbol->text == "ref") {
        Pattern p = Pattern::of(Pattern::Kind::any);
        p.by_reference = true;
        return p;
      }
    }
    return bad(expr, "'" + to_source(expr) + "' is not a type", cure_for_class(to_source(expr)));
  }

  std::optional<Pattern> from_text(const Expr& expr) {
    auto source = std::make_shared<SourceFile>("<annotation>", std::string(expr.as<StringLiteral>().value));
    Tree tree;
    tree.source = source;
    DiagnosticSink quiet;
    const Expr* inner = parse_expression(tree, quiet);
    bool nested = inner && inner->kind == ExprKind::string_literal;
    auto result = inner && !nested ? AnnotationReader(scope_, nullptr).read(*inner) : std::nullopt;
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

  /// A length that is left open.
  bool is_any(const Expr* expr) {
    auto pattern = expr ? AnnotationReader(scope_, nullptr).read(*expr) : std::nullopt;
    return pattern && pattern->kind == Pattern::Kind::any;
  }

  /// Whether a pattern stands for scalars alone.
  static bool is_number(const Pattern& p) {
    return p.kind == Pattern::Kind::exact ? p.type->is_scalar()
                                          : p.kind == Pattern::Kind::any || p.kind == Pattern::Kind::scalar ||
                                                p.kind == Pattern::Kind::integer || p.kind == Pattern::Kind::floating;
  }

  /// Vectors or matrices whose extents the caller fixes or leaves open.
  std::optional<Pattern> generic_composite(const Expr& expr, Pattern::Kind kind, const std::optional<Pattern>& scalar) {
    if (!scalar) return std::nullopt;
    if (!is_number(*scalar)) return bad(expr, "dtype must be a scalar type");
    Pattern p = Pattern::of(kind);
    p.element = std::make_shared<const Pattern>(*scalar);
    return p;
  }

  /// tile[float, 16, N], tile(dtype=float, shape=(16, N)).
  std::optional<Pattern> tile_of(const Expr& expr, const Expr* dtype, std::span<const Expr* const> extents) {
    Pattern p = Pattern::of(Pattern::Kind::tile);
    if (dtype) {
      auto element = read(*dtype);
      if (!element) return std::nullopt;
      p.element = std::make_shared<const Pattern>(*element);
    }
    if (extents.size() > std::size_t(kMaxRank)) return bad(expr, "a tile has 1 to 4 dimensions");
    for (const Expr* one : extents) {
      auto symbol = eval_constant(*one, scope_);
      if (symbol && symbol->kind == Symbol::Kind::tuple && extents.size() == 1) {  // a name that stands for the shape
        for (const Symbol& n : symbol->elements) p.shape.push_back(as_integer(n).value_or(-1));
        continue;
      }
      auto n = bracket_number(*one, scope_);
      p.shape.push_back(n ? *n : is_any(one) ? 0 : -1);
    }
    for (std::int64_t n : p.shape)
      if (n < 0 || n > 65536) return bad(expr, "the shape of a tile type is made of numbers from 1 to 65536 and Any");
    return p;
  }

  std::optional<Pattern> from_call(const CallExpr& call) {
    auto symbol = resolve_dotted(*call.callee, scope_);
    if (!symbol || symbol->kind != Symbol::Kind::builtin) return bad(call, "'" + to_source(call) + "' is not a type");
    std::string_view name = symbol->text;
    if (name == "fixedarray") {
      const Expr* dtype = argument(call, 1, {"dtype"});
      const Expr* shape = argument(call, 0, {"shape"});
      const auto* extents = shape ? shape->as_if<TupleExpr>() : nullptr;
      const std::size_t rank = extents ? extents->elements.size() : shape ? 1 : 0;
      if (!dtype || rank < 1 || rank > kMaxRank) return bad(call, "a fixed array needs shape= and dtype=");
      auto element = read(*dtype);
      return element ? array_of(call, name, element, std::uint32_t(rank)) : std::nullopt;
    }
    // A function is compiled for each stack that it is called with.
    if (name == "tile_stack") return Pattern::of(Pattern::Kind::any);
    if (name == "tile") {
      const Expr *dtype = argument(call, 0, {"dtype"}), *shape = argument(call, 1, {"shape"});
      std::vector<const Expr*> extents;
      if (const auto* several = shape ? shape->as_if<TupleExpr>() : nullptr)
        extents.assign(several->elements.begin(), several->elements.end());
      else if (shape)
        extents = {shape};
      return tile_of(call, dtype, extents);
    }
    if (int rank = array_rank(name)) {
      std::optional<Pattern> element;
      if (const Expr* dtype = argument(call, 0, {"dtype"})) {
        element = read(*dtype);
        if (!element) return std::nullopt;
      }
      if (const Expr* ndim = argument(call, 1, {"ndim"})) {
        auto n = as_integer(eval_constant(*ndim, scope_));
        if (!n && is_any(ndim))
          n = 0;
        else if (!n || *n < 1 || *n > kMaxRank)
          return bad(*ndim, "ndim must be a number from 1 to 4 or Any");
        rank = int(*n);
      }
      return array_of(call, name, element, std::uint32_t(rank));
    }
    const Expr* dtype_expr = argument(call, 99, {"dtype"});
    auto scalar_at = [&](std::size_t position) -> std::optional<Pattern> {
      const Expr* e = dtype_expr ? dtype_expr : argument(call, position, {});
      return e ? read(*e) : Pattern::exactly(types::f32());
    };
    auto composite = [&](const std::optional<Pattern>& scalar, auto make,
                         Pattern::Kind kind) -> std::optional<Pattern> {
      if (!scalar) return std::nullopt;
      if (!is_number(*scalar)) return bad(call, "dtype must be a scalar type");
      if (scalar->kind == Pattern::Kind::exact) {
        bool rotation = kind == Pattern::Kind::quat || kind == Pattern::Kind::transform;
        if (rotation && !scalar->type->is_float()) return bad(call, "dtype must be a float type");
        return Pattern::exactly(make(scalar->type));
      }
      Pattern p = Pattern::of(kind);
      p.element = std::make_shared<const Pattern>(*scalar);
      return p;
    };
    if (name == "vector" || name == "vec") {
      const Expr* length = argument(call, 0, {"length"});
      auto n = extent(length);
      if (!n && is_any(length)) return generic_composite(call, Pattern::Kind::vec, scalar_at(1));
      if (!n && length && as_integer(eval_constant(*length, scope_)) == 0) {
        auto scalar = scalar_at(1);
        if (scalar && scalar->kind == Pattern::Kind::exact && is_number(*scalar))
          return Pattern::exactly(empty_vector(scalar->type));
      }
      if (!n) return bad(call, "a vector type needs length=, a number from 1 to 65536 or Any");
      auto p = composite(scalar_at(1), [&](const Type* s) { return types::vec(s, *n); }, Pattern::Kind::vec);
      if (p && p->kind == Pattern::Kind::vec) p->rows.fixed = *n;
      return p;
    }
    if (name == "matrix" || name == "mat") {
      const Expr* shape = argument(call, 0, {"shape"});
      const auto* pair = shape ? shape->as_if<TupleExpr>() : nullptr;
      if (!pair || pair->elements.size() != 2) return bad(call, "a matrix type needs shape=(rows, columns)");
      auto r = extent(pair->elements[0]), c = extent(pair->elements[1]);
      if (r && c && *r > 65536 / *c) return bad(*shape, "a matrix has at most 65536 components");
      if ((!r && !is_any(pair->elements[0])) || (!c && !is_any(pair->elements[1])))
        return bad(*shape, "the shape of a matrix type is made of numbers from 1 to 65536 and Any");
      if (!r || !c) {
        auto p = generic_composite(call, Pattern::Kind::mat, scalar_at(1));
        if (p) p->rows.fixed = r.value_or(0), p->cols.fixed = c.value_or(0);
        return p;
      }
      auto p = composite(scalar_at(1), [&](const Type* s) { return types::mat(s, *r, *c); }, Pattern::Kind::mat);
      if (p && p->kind == Pattern::Kind::mat) p->rows.fixed = *r, p->cols.fixed = *c;
      return p;
    }
    if (name == "quaternion")
      return composite(scalar_at(0), [](const Type* s) { return types::quat(s); }, Pattern::Kind::quat);
    if (name == "transformation")
      return composite(scalar_at(0), [](const Type* s) { return types::transform(s); }, Pattern::Kind::transform);
    return bad(call, "'" + to_source(call) + "' is not a type");
  }

  /// Vector[float, Literal[3]], Matrix[float, 2, 3], Quaternion[float], Transformation[float].
  std::optional<Pattern> composite_in_brackets(const SubscriptExpr& expr, std::string_view name) {
    const std::size_t extents = name == "vector" ? 1 : name == "matrix" ? 2 : 0;
    if (expr.indices.size() != 1 + extents)
      return bad(expr, "'" + to_source(expr) + "' needs a scalar type" +
                           (extents == 0   ? std::string()
                            : extents == 1 ? " and a length"
                                           : ", a number of rows and one of columns"));
    auto scalar = read(*expr.indices[0]);
    if (!scalar) return std::nullopt;
    if (!is_number(*scalar)) return bad(*expr.indices[0], "dtype must be a scalar type");
    std::uint32_t sizes[2] = {1, 1};  // 0 for any
    bool open = scalar->kind != Pattern::Kind::exact;
    for (std::size_t k = 0; k < extents; ++k) {
      const Expr* given = expr.indices[1 + k];
      auto n = bracket_number(*given, scope_);
      if (!n && is_any(given))
        n = 0;
      else if (!n || *n < 1 || *n > 65536)
        return bad(*given, "an extent is a number from 1 to 65536 or Any");
      sizes[k] = std::uint32_t(*n);
      open |= *n == 0;
    }
    if (std::uint64_t(sizes[0]) * sizes[1] > 65536) return bad(expr, "a matrix has at most 65536 components");
    if (!open && extents == 0) {
      if (!scalar->type->is_float()) return bad(expr, "dtype must be a float type");
      return Pattern::exactly(name == "quaternion" ? types::quat(scalar->type) : types::transform(scalar->type));
    }
    if (!open)
      return Pattern::exactly(extents == 1 ? types::vec(scalar->type, sizes[0])
                                           : types::mat(scalar->type, sizes[0], sizes[1]));
    Pattern p = Pattern::of(name == "vector"       ? Pattern::Kind::vec
                            : name == "matrix"     ? Pattern::Kind::mat
                            : name == "quaternion" ? Pattern::Kind::quat
                                                   : Pattern::Kind::transform);
    p.element = std::make_shared<const Pattern>(*scalar);
    if (extents > 0) p.rows.fixed = sizes[0];
    if (extents > 1) p.cols.fixed = sizes[1];
    return p;
  }

  std::optional<Pattern> from_subscript(const SubscriptExpr& expr) {
    auto symbol = resolve_dotted(*expr.object, scope_);
    std::string_view name =
        symbol && symbol->kind == Symbol::Kind::builtin ? std::string_view(symbol->text) : std::string_view();
    if (int rank = array_rank(name)) {
      auto element = read(*expr.indices[0]);
      if (!element) return std::nullopt;
      if (expr.indices.size() > 1) {
        auto n = bracket_number(*expr.indices[1], scope_);
        if (!n && is_any(expr.indices[1]))
          n = 0;
        else if (!n || *n < 1 || *n > kMaxRank)
          return bad(expr, "the rank must be a number from 1 to 4 or Any");
        rank = int(*n);
      }
      return array_of(expr, name, element, std::uint32_t(rank));
    }
    if (name == "tile")
      return tile_of(expr, expr.indices[0], std::vector<const Expr*>(expr.indices.begin() + 1, expr.indices.end()));
    if (name == "vector" || name == "matrix" || name == "quaternion" || name == "transformation")
      return composite_in_brackets(expr, name);
    if (name == "ref") {
      auto inner = read(*expr.indices[0]);
      if (inner) inner->by_reference = true;
      return inner;
    }
    if (symbol && symbol->kind == Symbol::Kind::pattern && symbol->pattern.kind == Pattern::Kind::callable)
      return symbol->pattern;
    // HashGridQuery[float16]: queries of grids of all kinds of numbers are of one type.
    if (symbol && symbol->kind == Symbol::Kind::pattern && symbol->pattern.kind == Pattern::Kind::exact &&
        is_library_struct(symbol->pattern.type) && symbol->pattern.type->name().ends_with("HashGridQuery"))
      return symbol->pattern;
    if (is_tuple_word(*expr.object)) {
      if (expr.indices.size() == 2 && expr.indices[1]->kind == ExprKind::ellipsis) {
        auto element = read(*expr.indices[0]);
        if (!element) return std::nullopt;
        Pattern any_length = Pattern::of(Pattern::Kind::tuple);  // no `elements`, one `element` for all
        any_length.element = std::make_shared<const Pattern>(*std::move(element));
        return any_length;
      }
      std::vector<Pattern> elements;
      for (const Expr* index : expr.indices) {
        auto element = read(*index);
        if (!element) return std::nullopt;
        elements.push_back(*std::move(element));
      }
      return Pattern::tuple_of(std::move(elements));
    }
    return bad(expr, "'" + to_source(expr) + "' is not a type");
  }

  Scope& scope_;
  DiagnosticSink* sink_;
};

}  // namespace

std::optional<std::vector<Pattern>> return_patterns(const FunctionDecl& decl, DiagnosticSink& sink) {
  return decl.known_returns ? decl.known_returns : return_patterns(*decl.def->returns, *scope_of(decl), sink);
}

std::optional<std::vector<Pattern>> return_patterns(const Expr& expr, Scope& scope, DiagnosticSink& sink) {
  std::vector<Pattern> out;
  if (expr.kind == ExprKind::none_literal) return out;
  std::span<Expr* const> several;
  if (const auto* tuple = expr.as_if<TupleExpr>()) several = tuple->elements;
  if (const auto* subscript = expr.as_if<SubscriptExpr>(); subscript && is_tuple_word(*subscript->object))
    several = subscript->indices;
  if (const auto* text = expr.as_if<StringLiteral>()) {  // the text is read as if it stood there
    Tree tree;
    tree.source = std::make_shared<SourceFile>("<annotation>", std::string(text->value));
    DiagnosticSink quiet;
    const Expr* inner = parse_expression(tree, quiet);
    auto result =
        inner && inner->kind != ExprKind::string_literal ? return_patterns(*inner, scope, quiet) : std::nullopt;
    if (!result)
      sink.report(DiagCode::bad_annotation, expr.loc, "'" + std::string(text->value) + "' is not a type",
                  expr.underline());
    return result;
  }
  if (several.empty()) {
    auto pattern = eval_annotation(expr, scope, sink);
    if (!pattern) return std::nullopt;
    if (pattern->kind == Pattern::Kind::tuple && !pattern->element)
      return pattern->elements;  // by a name: Pair = tuple[int, Any]
    if (pattern->kind == Pattern::Kind::exact && pattern->type->is_tuple()) {
      for (const Field& field : pattern->type->fields()) out.push_back(Pattern::exactly(field.type));
      return out;
    }
    out.push_back(*std::move(pattern));
    return out;
  }
  for (const Expr* element : several) {
    auto pattern = eval_annotation(*element, scope, sink);
    if (!pattern) return std::nullopt;
    out.push_back(*std::move(pattern));
  }
  return out;
}

std::optional<Pattern> try_annotation(const Expr& expr, Scope& scope) {
  return AnnotationReader(scope, nullptr).read(expr);
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
      sink.report(DiagCode::unsupported_construct, param.loc,
                  "'*' parameters are not supported in kernels and functions");
      ok = false;
      continue;
    }
    if (out.size() < decl.known_params.size() && decl.known_params[out.size()]) {
      out.push_back(*decl.known_params[out.size()]);
      continue;
    }
    if (!param.annotation) {
      if (!decl.library) {
        sink.report(DiagCode::bad_annotation, param.loc,
                    "the parameter '" + std::string(param.name) + "' has no type annotation",
                    "write e.g. " + std::string(param.name) + ": float, or Any for a generic function",
                    std::uint32_t(param.name.size()));
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

std::optional<Constant> default_value(const Param& param, const Pattern& pattern, Scope& scope, DiagnosticSink& sink) {
  const Expr& expr = *param.default_value;
  auto value = eval_constant(expr, scope);
  if (!value || value->kind != Symbol::Kind::constant) {
    sink.report(DiagCode::bad_annotation, expr.loc, "the default value must be a constant", expr.underline());
    return std::nullopt;
  }
  Constant c = value->constant;
  // Plain numbers and truth values take the parameter's type, as at a launch; but a float never becomes an integer.
  const Type* given = pattern.kind == Pattern::Kind::exact ? pattern.type : nullptr;
  if (given && c.form == Constant::Form::typed && c.type->is_bool() && (given->is_int() || given->is_float()))
    c = Constant::of_int(c.bits[0] != 0);
  else if (given && given->is_bool() && c.form == Constant::Form::integer)
    c = Constant::of_bool(c.magnitude != 0);
  bool fits = false;
  builtins::Bindings bindings;
  switch (c.form) {
    case Constant::Form::integer:
    case Constant::Form::real: {
      const Type* own = c.form == Constant::Form::integer ? types::i32() : types::f32();
      const Type* wanted = pattern.kind == Pattern::Kind::exact ? pattern.type : nullptr;
      bool takes = wanted && (wanted->is_float() || (wanted->is_int() && c.form == Constant::Form::integer));
      fits = takes || builtins::match(pattern, own, bindings);
      break;
    }
    case Constant::Form::typed: fits = builtins::match(pattern, c.type, bindings); break;
    case Constant::Form::text: break;
  }
  if (!fits) {
    sink.report(DiagCode::bad_annotation, expr.loc,
                "the default value of '" + std::string(param.name) + "' is no " + builtins::to_string(pattern),
                "change the value or the annotation", expr.underline());
    return std::nullopt;
  }
  return c;
}

std::optional<Symbol> default_symbol(const Param& param, const Pattern& pattern, Scope& scope, DiagnosticSink& sink) {
  if (pattern.kind == Pattern::Kind::callable || pattern.kind == Pattern::Kind::any) {
    auto value = eval_constant(*param.default_value, scope);
    if (value && (value->kind == Symbol::Kind::functions || value->kind == Symbol::Kind::builtin)) return value;
  }
  auto value = default_value(param, pattern, scope, sink);
  if (!value) return std::nullopt;
  return Symbol::of(*std::move(value));
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
      auto value = default_value(param, p.pattern, *scope_of(kernel), sink);
      p.has_default = value.has_value();
      if (value) p.default_value = *std::move(value);
    }
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace weft::sema
