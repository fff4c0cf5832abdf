// What a name that a kernel's text does not define can stand for, and the Resolver interface (Scope) through which the
// front end asks. A C++ program answers from a parsed file (file_scope.h); the Python binding answers from a
// function's globals and closure. The compiler asks nothing else of its host.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "builtins/pattern.h"
#include "syntax/ast.h"
#include "types/type.h"

namespace weft::sema {

class Scope;

/// A compile-time value. Plain numbers keep their exact value until a type is chosen: 5000000000 and 0.1 are `integer`
/// and `real`; an int32 or vec3 object is `typed` with the bits of each scalar in component order (structs: field by
/// field).
struct Constant {
  enum class Form : std::uint8_t { integer, real, typed, text };
  Form form = Form::integer;
  bool negative = false;  // integer: sign and magnitude
  std::uint64_t magnitude = 0;
  double real = 0;                  // real
  const Type* type = nullptr;       // typed
  std::vector<std::uint64_t> bits;  // typed
  std::string text;                 // text

  static Constant of_int(std::int64_t value);
  static Constant of_uint(std::uint64_t value);
  static Constant of_real(double value);
  static Constant of_bool(bool value);
  static Constant of_text(std::string value);
  bool operator==(const Constant&) const = default;
};

/// A function of the kernel language: its text, where its free names are looked up, and who it is.
struct FunctionDecl {
  const syntax::FunctionDef* def = nullptr;
  std::shared_ptr<const syntax::Tree> tree;  // owns def
  std::weak_ptr<Scope> scope;                // free names; weak, for a scope owns its functions
  std::shared_ptr<Scope> owned_scope;        // set instead when nobody else keeps the scope alive
  std::string key;                           // unique in the process for this definition; part of mangled names
  /// Types of parameters that the host knows already (evaluated annotations of a closure), by position; may be shorter.
  std::vector<std::optional<builtins::Pattern>> known_params;
  std::optional<std::vector<builtins::Pattern>> known_returns;  // the same of what it returns
  bool library = false;  // a standard library function: literals adapt, library names are visible
  std::string native;    // the C++ body of a native function; the tree's own body then means nothing
  /// What the program says about differentiating it: functions, for a native function C++ text.
  std::shared_ptr<const FunctionDecl> gradient, replay;
  std::string native_gradient, native_replay;
};

struct Symbol {
  enum class Kind : std::uint8_t {
    constant,   // Constant
    pattern,    // a type or a generic type (Any, Float…)
    tuple,      // several of these: a table of the library
    functions,  // an overload set of user functions
    scope,      // a module, class or namespace
    builtin,    // a builtin or special form of the language, by name
    other,      // something kernels can't use; `text` says what it is
  };
  Kind kind = Kind::other;
  Constant constant;
  builtins::Pattern pattern;
  std::vector<Symbol> elements;  // tuple
  std::vector<std::shared_ptr<const FunctionDecl>> functions;
  std::shared_ptr<Scope> scope;  // scope; of anything else: what its attributes mean (Mode.FAST.value), if it has some
  std::string text;              // builtin: its name; other: a description for the message
  std::string host_type;         // other: its type in the words of the host, <class 'list'>
  bool reported = false;         // other: what is wrong with it was reported; its uses make no further noise
  bool derivative = false;       // functions, builtin: not they themselves but wp.grad of them

  static Symbol of(Constant value);
  static Symbol of_type(const Type* type);
  static Symbol of_pattern(builtins::Pattern pattern);
  static Symbol of_tuple(std::vector<Symbol> elements);
  static Symbol of_functions(std::vector<std::shared_ptr<const FunctionDecl>> functions);
  static Symbol of_scope(std::shared_ptr<Scope> scope);
  static Symbol of_builtin(std::string name);
  static Symbol of_other(std::string what, std::string host_type = {});
};

/// The Resolver.
class Scope {
 public:
  virtual ~Scope() = default;
  /// The meaning of a name, or nullopt when it is not defined here.
  virtual std::optional<Symbol> lookup(std::string_view name) = 0;
  /// wp.static(expression): `text` is the expression's source, `locals` the compile-time variables in sight. Nullopt:
  /// the front end evaluates the expression itself. Errors are thrown as StaticError.
  virtual std::optional<Symbol> eval_static(std::string_view text,
                                            std::span<const std::pair<std::string, Constant>> locals) {
    (void)text;
    (void)locals;
    return std::nullopt;
  }
};

/// A wp.static expression that the host could not evaluate.
class StaticError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The members of `wp`: types (vec3, mat44d…), generic types, constants (pi…), builtins and special forms.
std::shared_ptr<Scope> warp_scope();
/// Python's module `math`, as far as kernels and wp.static can use it.
std::shared_ptr<Scope> math_scope();
/// What Python itself offers without import: int, float, bool, abs, min, max, round, pow, len, range, print, type.
std::optional<Symbol> python_builtin(std::string_view name);
/// The standard library's own namespace: builtins first, then its functions, structs and constants; never a user's name.
std::shared_ptr<Scope> library_scope();
/// A library function by name; null if there is none.
std::shared_ptr<const FunctionDecl> library_function(std::string_view name);

/// A struct of the standard library. Programs know it by its name under `wp.` unless that begins with an underscore.
struct LibraryStruct {
  const Type* type = nullptr;
  std::string doc;   // its docstring
  std::string next;  // the builtin that a `for` loop over such a value calls for each turn; empty: no loop runs over it
};
/// A library struct by name; null if there is none.
const LibraryStruct* library_struct(std::string_view name);
/// The struct that a type is; null if it is none of the library.
const LibraryStruct* library_struct(const Type* type);
/// The names of the structs that programs know, sorted.
std::vector<std::string_view> library_struct_names();
/// The value of a constant of the library; nullopt if there is none of that name.
std::optional<Symbol> library_constant(std::string_view name);

}  // namespace weft::sema
