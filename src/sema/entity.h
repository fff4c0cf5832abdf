// What an expression means while a function is lowered: a value in the IR, or something that exists at compile time only
// (a plain number that has no type yet, a type, functions, a namespace, a string).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "sema/symbol.h"

namespace weft::sema {

struct Entity {
  enum class Kind : std::uint8_t {
    none,     // nothing: an unassigned variable, the result of a function without one
    error,    // reported already: propagates in silence
    value,    // an IR value
    integer,  // a plain integer without a type yet: constant.magnitude, constant.negative
    real,     // a plain float without a type yet
    string,
    type,        // a type or generic type
    functions,   // user functions
    builtin,     // a builtin by name
    derivative,  // wp.grad(f): symbol is that of f, functions or a builtin
    scope,       // a namespace
    tuple,       // several entities
    range,       // range(…): elements are lo, hi, step values; `reversed` turns it round
    slice,       // slice(…): elements are start, stop and step, none_literal where one is left out
    none_literal,
    other,  // something kernels can't use: symbol->text
  };
  Kind kind = Kind::none;
  ir::Value* value = nullptr;
  /// integer, real, string (constant), type, functions, builtin, scope; of a value the constant that it is, if that has
  /// attributes, and the number that it was written as (sema/written.h)
  std::shared_ptr<const Symbol> symbol;
  std::shared_ptr<const std::vector<Entity>> elements;  // tuple, range, slice
  bool reversed = false;                                // range
  bool maybe_unset = false;  // value of a variable that some path left unassigned (zero there)
  /// Of a tile: whose memory it is. `shared`: that of a variable, which assigning it to another one copies; `fresh`: nobody's
  /// yet, so the variable takes it; `window`: a part of another tile, which stays one.
  enum class Hold : std::uint8_t { shared, fresh, window } hold = Hold::shared;
  /// Of an argument: a tile with a place for each thread, some of which the block may lack (Tiles::by_thread).
  bool by_thread = false;

  bool is_error() const { return kind == Kind::error; }
  bool is_value() const { return kind == Kind::value; }
  bool is_literal() const { return kind == Kind::integer || kind == Kind::real; }
  const Type* type() const { return value->type; }

  static Entity nothing() { return {}; }
  static Entity failed() { return of_kind(Kind::error); }
  static Entity of(ir::Value* value) {
    Entity e = of_kind(Kind::value);
    e.value = value;
    return e;
  }
  static Entity of_symbol(Kind kind, Symbol symbol) {
    Entity e = of_kind(kind);
    e.symbol = std::make_shared<const Symbol>(std::move(symbol));
    return e;
  }
  static Entity of_tuple(std::vector<Entity> elements) {
    Entity e = of_kind(Kind::tuple);
    e.elements = std::make_shared<const std::vector<Entity>>(std::move(elements));
    return e;
  }
  static Entity of_kind(Kind kind) {
    Entity e;
    e.kind = kind;
    return e;
  }
};

/// Something that can be read and written: a variable or an array element, and a path into it.
struct Place {
  enum class Root : std::uint8_t { none, variable, memory, temporary };
  Root root = Root::none;           // none: reported already
  int variable = -1;                // variable
  ir::Value* base = nullptr;        // memory: the descriptor; temporary: the value
  std::vector<ir::Value*> indices;  // memory
  std::uint8_t wrap = 0;            // memory: indices that may be negative
  ir::Value* inside = nullptr;      // memory of a tile: false where the indices are outside; reads zero, writes nothing
  std::vector<ir::PathStep> path;
  std::vector<ir::Value*> dynamic;  // values of the path's dynamic steps
  const Type* type = nullptr;       // of what the place holds
  bool of_tile = false;             // memory of a tile
  bool repeated = false;            // memory of a tile that is there several times: can't be written to
  bool nowhere = false;             // a number of an empty vector, a temporary that may be written to
  /// Several components at once (v[1:3], t.p, m[:, 1]): each one's way down from `path`, row by row. `type` is then that
  /// of all of them together, `whole` that of the value they lie in. Empty: the place is one thing.
  struct Part {
    std::vector<ir::PathStep> path;
    std::vector<ir::Value*> dynamic;
  };
  std::vector<Part> parts;
  const Type* whole = nullptr;
  /// A temporary only because this index into several components is no constant; written to, its loop is unrolled.
  const syntax::Expr* run_index = nullptr;

  bool is_run() const { return !parts.empty(); }
};

}  // namespace weft::sema
