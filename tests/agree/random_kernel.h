// Random kernels as source text: well typed and terminating by construction, so that every executor must run them and
// agree on the result. A program is kept as a tree of lines, from which lines can be dropped to shrink a failure.
//
// What keeps results independent of the order of threads: inputs are only read, at any index; each thread stores to its
// own rows of the outputs; counters are shared, but only reached by atomics of one commutative kind each.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernel_case.h"

namespace weft::agree {

/// A line of a program and what is indented below it.
struct Line {
  std::string text;
  std::vector<Line> body;
};

/// A kernel with its functions and structs, as text to be.
struct RandomProgram {
  std::vector<Line> lines;
  std::vector<const Type*> inputs;   // arrays of kInputs elements
  std::vector<const Type*> outputs;  // arrays of (threads, kOwn)
  bool aliased = false;              // the first output is passed a second time, as `twin`
  std::int64_t threads = 1;
  std::uint64_t seed = 0;

  static constexpr std::int64_t kInputs = 16;  // a power of two: indices are masked
  static constexpr std::int64_t kOwn = 4;
  static constexpr std::int64_t kCounters = 4;

  std::string text() const;
  /// The case to run: memory of edge values and of small ones.
  Case make_case() const;
};

/// The program of a seed: always the same.
RandomProgram random_program(std::uint64_t seed);

namespace detail {

/// A small generator, the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567) {}
  std::uint64_t next();
  /// 0 … n−1
  std::size_t below(std::size_t n) { return std::size_t(next() % n); }
  bool chance(int percent) { return int(below(100)) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  std::uint64_t state_;
};

/// A name that expressions may read.
struct Variable {
  std::string name;
  const Type* type = nullptr;
  bool fixed = false;  // loop counters, parameters of the launch: never assigned
};

/// An array that expressions may read, as name[prefix index].
struct Readable {
  std::string name, prefix;
  const Type* element = nullptr;
  std::int64_t count = 0;  // a power of two
  bool writable = false;
};

struct Callable {
  std::string name;
  std::vector<const Type*> params, results;
  int defaults = 0;             // that many parameters at the end have default values
  const Type* array = nullptr;  // element type of an array parameter in front, of which elements 0 … 3 are read
};

/// The type as it is written in a program.
std::string spell(const Type* type);
/// Types that variables may have.
const std::vector<const Type*>& scalar_types();
std::vector<const Type*> composite_types();

/// Expressions over what is in sight.
class Values {
 public:
  explicit Values(Dice& dice) : dice_(dice) {}

  std::vector<Variable> variables;
  std::vector<Readable> arrays;
  std::vector<Callable> functions;
  std::vector<const Type*> structs;

  /// An expression of the type; depth bounds its size.
  std::string value(const Type* type, int depth);
  std::string condition(int depth) { return value(types::boolean(), depth); }
  /// 0 … count−1 or, now and then, −count … −1; count is a power of two.
  std::string index(std::int64_t count, int depth, bool negative = true);
  std::string literal(const Type* type);
  const Type* any_type();
  /// A call of the function; empty when its array parameter finds no argument.
  std::string call(const Callable& f, int depth);
  const Type* any_scalar() { return dice_.pick(scalar_types()); }

 private:
  std::string leaf(const Type* type);
  std::string scalar(const Type* type, int depth);
  std::string boolean(int depth);
  std::string integer(const Type* type, int depth);
  std::string floating(const Type* type, int depth);
  std::string composite(const Type* type, int depth);
  std::string structure(const Type* type, int depth);
  std::string from_composite(const Type* scalar, int depth);

  Dice& dice_;
};

}  // namespace detail
}  // namespace weft::agree
