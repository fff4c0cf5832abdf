// What rewriting passes share beyond ir::Rewriter: moving operations between regions, dropping results of control
// operations, and small questions about loops and paths.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/ir.h"

namespace weft::passes {

/// Moves the operations of `from`, terminator excepted, before `before`.
void splice_before(ir::Region& from, ir::Op* before);

/// The position of the first initial value among a loop's operands, and of the first carried value among the arguments
/// of its regions. 0 and 0 for `while` and `if`.
std::size_t first_init(const ir::Op& op);
std::size_t first_carried(const ir::Op& op);

/// Drops the results of an `if`, or the carried values of a loop, whose `keep` is false; they must be unused.
void drop_results(ir::Op& op, const std::vector<bool>& keep);

/// How often a `for` runs when its bounds and step are constants.
struct TripCount {
  bool known = false;
  std::uint64_t count = 0;
};
TripCount trip_count(const ir::Op& op);

/// True if a path takes an index from an operand.
bool has_dynamic_step(std::span<const ir::PathStep> path);

}  // namespace weft::passes
