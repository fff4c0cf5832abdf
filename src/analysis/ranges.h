// Bounds on integer values, from a forward walk: constants, thread indices, induction variables, conversions and arithmetic
// that can't leave its type. What the tests of branches and loops say holds inside of them: behind `if i == 0: return`,
// i - 1 is not negative. Used to see that an index is never negative. Bounds are inclusive and hold for every execution of
// the defining operation; when nothing is known they are the type's own.
#pragma once
#include <vector>

#include "ir/ir.h"

namespace weft::analysis {

/// Wide enough for the bounds of every integer type and for sums and products of two of them (products of u64 aside).
using Wide = __int128;

struct Range {
  Wide lo = 0;
  Wide hi = 0;
  bool operator==(const Range&) const = default;
};

/// The bounds of an integer type (bool: 0 and 1).
Range type_range(ScalarKind kind);

class Ranges {
 public:
  explicit Ranges(const ir::Function& function);
  /// Scalar integers and bools only.
  Range of(const ir::Value* value) const;
  bool never_negative(const ir::Value* value) const { return of(value).lo >= 0; }

 private:
  struct Slot {
    bool known = false;
    Range range;
  };
  /// What was known before a test said more.
  using Undo = std::vector<std::pair<std::uint32_t, Slot>>;

  void walk(const ir::Region& region);
  void walk_branches(const ir::Op& op);
  void walk_loop(const ir::Op& op);
  void walk_bodies(const ir::Op& op);
  Range evaluate(const ir::Op& op) const;
  void set(const ir::Value* value, Range range);
  void enter_for(const ir::Op& op);
  void enter_while(const ir::Op& op);
  void assume(const ir::Value* test, bool holds, const ir::Region* body, Undo& undo, int depth = 0);
  void narrow(const ir::Value* value, Range range, Undo& undo);
  void take_back(const Undo& undo);

  const std::int64_t block_;    // threads of a block, if they work together
  const std::int64_t row_dim_;  // the dimension of the launch along which they lie; -1: none
  std::vector<Slot> slots_;     // by value id; unknown means the type's range
  int loops_ = 0;               // around
};

}  // namespace weft::analysis
