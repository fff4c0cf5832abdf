// Type patterns: what a parameter accepts. Builtin rows and the annotations of generic user functions both become
// patterns; matching one against an argument's type binds type and length variables ("F", "N").
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "types/type.h"

namespace weft::builtins {

/// A length in a pattern: a number, a variable bound on first match, or anything.
struct Extent {
  std::uint32_t fixed = 0;  // 0: not fixed
  std::string variable;     // empty: anything
};

struct Pattern {
  enum class Kind : std::uint8_t {
    exact,
    any,
    scalar,
    integer,
    floating,
    number_or_bool,
    vec,
    mat,
    quat,
    transform,
    array,
    indexed_array,
    fabric_array,
    indexed_fabric_array,
    tile,
    library_struct,
    tuple,
    callable,
  };
  Kind kind = Kind::any;
  const Type* type = nullptr;              // exact
  std::string variable;                    // any … floating: name bound to the type; library_struct: its own
  std::shared_ptr<const Pattern> element;  // vec, mat, quat, transform: component; arrays: element; null: anything
  Extent rows, cols;                       // vec: rows; mat: both; arrays: rows is the rank
  std::vector<Pattern> elements;           // tuple, if one of them is generic; else the tuple is `exact`
  std::vector<std::int64_t> shape;         // tile: its extents, 0 for any; empty: any shape
  bool by_reference = false;               // ref[T]: the caller's variable is updated

  static Pattern exactly(const Type* type);
  static Pattern tuple_of(std::vector<Pattern> elements);
  static Pattern of(Kind kind) {
    Pattern p;
    p.kind = kind;
    return p;
  }
  /// True if some type variable or "anything" is inside: the function must be instantiated per call.
  bool is_generic() const;
};

/// What the variables of a row or function stand for in one call.
struct Bindings {
  std::map<std::string, const Type*, std::less<>> types;
  std::map<std::string, std::uint32_t, std::less<>> extents;
};

/// True if the type fits; binds variables on the way (on failure the bindings are left in an unspecified state).
bool match(const Pattern& pattern, const Type* type, Bindings& bindings);
/// True if all that `special` takes is taken by `general` as well; variables count as "anything" of their kind.
bool covers(const Pattern& general, const Pattern& special);
/// As the documentation shows it: "vec[N,F]", "array[float32]", "Float".
std::string to_string(const Pattern& pattern);

}  // namespace weft::builtins
