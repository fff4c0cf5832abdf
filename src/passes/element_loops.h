// Loops over the elements of a tile as the front end writes them for the threads of a block: thread t takes t, t + B, …. Turns are
// independent: which thread takes which is free, as long as barriers are set afterwards and nothing in a turn is a thread's own.
#pragma once
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/ir.h"

namespace weft::passes {

struct ValueUse {
  ir::Op* op;
  std::size_t operand;
};

/// A loop over elements, and the number that names the element of a turn.
struct ElementLoop {
  ir::Op* op = nullptr;
  ir::Value* number = nullptr;
};

/// Numbers as the IR computes them; none is negative.
struct IndexMath {
  ir::Builder& b;
  static bool is_power(std::int64_t n) { return (n & (n - 1)) == 0; }
  static std::int64_t log(std::int64_t n) { return __builtin_ctzll(std::uint64_t(n)); }
  ir::Value* add(ir::Value* x, ir::Value* y) const {
    return x->is_zero() ? y : y->is_zero() ? x : b.binary(ir::OpCode::add, x, y);
  }
  ir::Value* times(ir::Value* x, std::int64_t n) const {
    if (n == 1 || x->is_zero()) return x;
    return is_power(n) ? b.binary(ir::OpCode::shl, x, b.i32(log(n))) : b.binary(ir::OpCode::mul, x, b.i32(n));
  }
  ir::Value* over(ir::Value* x, std::int64_t n) const {
    if (n == 1 || x->is_zero()) return x;
    return is_power(n) ? b.binary(ir::OpCode::shr, x, b.i32(log(n))) : b.binary(ir::OpCode::div, x, b.i32(n));
  }
  ir::Value* rest(ir::Value* x, std::int64_t n) const {
    if (n == 1) return b.i32(0);
    return is_power(n) ? b.binary(ir::OpCode::bit_and, x, b.i32(n - 1)) : b.binary(ir::OpCode::rem, x, b.i32(n));
  }
};

class ElementLoops {
 public:
  explicit ElementLoops(ir::Function& kernel);

  const std::vector<ValueUse>& uses(const ir::Value* value) const;
  /// The loop of which `index` is the element's number: thread + turn · threads, and nothing else is made of the turn.
  ElementLoop loop_of(ir::Value* index, std::int64_t turns) const;
  /// A load or store of one element as a whole.
  static bool is_access(const ValueUse& use);

 private:
  ir::Function& kernel_;
  std::unordered_map<const ir::Value*, std::vector<ValueUse>> uses_;
};

}  // namespace weft::passes
