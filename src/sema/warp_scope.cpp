// The names behind `wp.`: named types, generic types, constants, builtins and special forms; and what Python offers
// without import.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "builtins/row.h"
#include "sema/symbol.h"

namespace weft::sema {
namespace {

using builtins::Pattern;

struct Suffix {
  std::string_view text;
  ScalarKind kind;
};
constexpr std::array kSuffixes = {
    Suffix{"", ScalarKind::f32},   Suffix{"f", ScalarKind::f32},   Suffix{"d", ScalarKind::f64},
    Suffix{"h", ScalarKind::f16},  Suffix{"bf", ScalarKind::bf16}, Suffix{"b", ScalarKind::i8},
    Suffix{"ub", ScalarKind::u8},  Suffix{"s", ScalarKind::i16},   Suffix{"us", ScalarKind::u16},
    Suffix{"i", ScalarKind::i32},  Suffix{"ui", ScalarKind::u32},  Suffix{"l", ScalarKind::i64},
    Suffix{"ul", ScalarKind::u64},
};

const Type* scalar_of_suffix(std::string_view suffix, bool floats_only) {
  for (const Suffix& s : kSuffixes)
    if (s.text == suffix && (!floats_only || s.kind >= ScalarKind::f16)) return types::scalar(s.kind);
  return nullptr;
}

/// vec3f, mat44, quatd, transform, spatial_vectorh…; null if it is no such name.
const Type* named_type(std::string_view name) {
  if (const Type* scalar = scalar_from_user_name(name)) return scalar;
  auto after = [&](std::string_view prefix) -> std::optional<std::string_view> {
    if (!name.starts_with(prefix)) return std::nullopt;
    return name.substr(prefix.size());
  };
  auto digit = [](char c) { return c >= '2' && c <= '4' ? std::uint32_t(c - '0') : 0u; };
  if (auto rest = after("vec"); rest && !rest->empty() && digit((*rest)[0]))
    if (const Type* s = scalar_of_suffix(rest->substr(1), false)) return types::vec(s, digit((*rest)[0]));
  if (auto rest = after("mat"); rest && rest->size() >= 2 && digit((*rest)[0]) && digit((*rest)[1]))
    if (const Type* s = scalar_of_suffix(rest->substr(2), true))
      return types::mat(s, digit((*rest)[0]), digit((*rest)[1]));
  if (auto rest = after("spatial_vector"))
    if (const Type* s = scalar_of_suffix(*rest, true)) return types::vec(s, 6);
  if (auto rest = after("spatial_matrix"))
    if (const Type* s = scalar_of_suffix(*rest, true)) return types::mat(s, 6, 6);
  if (auto rest = after("spatial_transform"))
    if (const Type* s = scalar_of_suffix(*rest, true)) return types::transform(s);
  if (auto rest = after("quat"))
    if (const Type* s = scalar_of_suffix(*rest, true)) return types::quat(s);
  if (auto rest = after("transform"))
    if (const Type* s = scalar_of_suffix(*rest, true)) return types::transform(s);
  return nullptr;
}

std::optional<Pattern> generic_type(std::string_view name) {
  if (name == "Any") return Pattern::of(Pattern::Kind::any);
  if (name == "Scalar") return Pattern::of(Pattern::Kind::scalar);
  if (name == "Float") return Pattern::of(Pattern::Kind::floating);
  if (name == "Int") return Pattern::of(Pattern::Kind::integer);
  if (name == "Callable" || name == "Function") return Pattern::of(Pattern::Kind::callable);
  return std::nullopt;
}

std::optional<double> named_constant(std::string_view name) {
  struct Row {
    std::string_view lower, upper;
    double value;
  };
  using namespace std::numbers;
  static const Row rows[] = {
      {"e", "E", e},
      {"log2e", "LOG2E", log2e},
      {"log10e", "LOG10E", log10e},
      {"ln2", "LN2", ln2},
      {"ln10", "LN10", ln10},
      {"phi", "PHI", phi},
      {"pi", "PI", pi},
      {"half_pi", "HALF_PI", pi / 2},
      {"tau", "TAU", 2 * pi},
      {"inf", "INF", std::numeric_limits<double>::infinity()},
      {"nan", "NAN", std::numeric_limits<double>::quiet_NaN()},
  };
  for (const Row& row : rows)
    if (name == row.lower || name == row.upper) return row.value;
  return std::nullopt;
}

/// Special forms that have no row: they take types or are handled by the statement lowering.
constexpr std::string_view kForms[] = {"array",
                                       "array1d",
                                       "array2d",
                                       "array3d",
                                       "array4d",
                                       "indexedarray",
                                       "fabricarray",
                                       "indexedfabricarray",
                                       "fabricarrayarray",
                                       "indexedfabricarrayarray",
                                       "static",
                                       "constant",
                                       "ref",
                                       "vector",
                                       "matrix",
                                       "quaternion",
                                       "transformation",
                                       "vec",
                                       "mat",
                                       "adjoint",
                                       "range",
                                       "reversed",
                                       "type",
                                       "indexedarray1d",
                                       "indexedarray2d",
                                       "indexedarray3d",
                                       "indexedarray4d",
                                       "grad",
                                       "fixedarray",
                                       "address_of",
                                       "tile"};

/// wp.Volume: its sampling modes.
class VolumeScope final : public Scope {
 public:
  std::optional<Symbol> lookup(std::string_view name) override {
    if (name == "CLOSEST") return Symbol::of(Constant::of_int(0));
    if (name == "LINEAR") return Symbol::of(Constant::of_int(1));
    return std::nullopt;
  }
};

class WarpScope final : public Scope {
 public:
  std::optional<Symbol> lookup(std::string_view name) override {
    if (const Type* type = named_type(name)) return Symbol::of_type(type);
    if (auto pattern = generic_type(name)) return Symbol::of_pattern(*pattern);
    for (std::string_view form : kForms)
      if (form == name) return Symbol::of_builtin(std::string(name));
    if (builtins::is_builtin(name)) return Symbol::of_builtin(std::string(name));
    if (auto value = named_constant(name)) return Symbol::of(Constant::of_real(*value));
    if (!name.starts_with('_'))
      if (const LibraryStruct* known = library_struct(name)) return Symbol::of_type(known->type);
    if (name == "Volume") return Symbol::of_scope(volume_scope_);
    if (name == "types" || name == "context") return Symbol::of_scope(warp_scope());
    if (name == "math") return Symbol::of_scope(math_scope());
    return std::nullopt;
  }

 private:
  std::shared_ptr<Scope> volume_scope_ = std::make_shared<VolumeScope>();
};

/// Python's math module: its constants, and the builtins that do what its functions do.
class MathScope final : public Scope {
 public:
  std::optional<Symbol> lookup(std::string_view name) override {
    constexpr std::string_view functions[] = {"sin",  "cos",   "tan",   "asin",     "acos",    "atan",   "atan2",
                                              "sinh", "cosh",  "tanh",  "exp",      "log",     "log2",   "log10",
                                              "sqrt", "pow",   "floor", "ceil",     "erf",     "erfc",   "cbrt",
                                              "fabs", "isnan", "isinf", "isfinite", "degrees", "radians"};
    constexpr std::string_view constants[] = {"pi", "e", "tau", "inf", "nan"};
    if (std::find(std::begin(constants), std::end(constants), name) != std::end(constants))
      return Symbol::of(Constant::of_real(*named_constant(name)));
    if (std::find(std::begin(functions), std::end(functions), name) == std::end(functions)) return std::nullopt;
    return Symbol::of_builtin(name == "fabs" ? "abs" : std::string(name));
  }
};

}  // namespace

std::shared_ptr<Scope> math_scope() {
  static auto scope = std::make_shared<MathScope>();
  return scope;
}

std::shared_ptr<Scope> warp_scope() {
  static auto scope = std::make_shared<WarpScope>();
  return scope;
}

std::optional<Symbol> python_builtin(std::string_view name) {
  constexpr std::string_view names[] = {"abs",   "min",   "max",      "round", "pow", "len",
                                        "print", "range", "reversed", "slice", "type"};
  if (name == "int") return Symbol::of_type(types::i32());
  if (name == "float") return Symbol::of_type(types::f32());
  if (name == "bool") return Symbol::of_type(types::boolean());
  for (std::string_view n : names)
    if (n == name) return Symbol::of_builtin(std::string(name));
  return std::nullopt;
}

}  // namespace weft::sema
