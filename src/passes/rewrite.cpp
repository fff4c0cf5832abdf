// Moving operations and dropping results.
#include "passes/rewrite.h"

#include <algorithm>

namespace weft::passes {
namespace {

/// Removes list[offset + i] for every dropped i, renumbering what stays.
void compact(std::span<ir::Value*>& list, std::size_t offset, const std::vector<bool>& keep, bool renumber) {
  std::size_t to = offset;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    list[to] = list[offset + i];
    if (renumber) list[to]->index = std::uint32_t(to);
    ++to;
  }
  // The tail stays allocated: operand lists live in the function's arena and go with it.
  list = list.first(to);
}

}  // namespace

void splice_before(ir::Region& from, ir::Op* before) {
  // What ends `from` (a yield) has no meaning where its operations go; whoever calls reads its operands before or
  // after, so it must stay.
  ir::Op* end = from.terminator();
  for (ir::Op& op : from) {
    if (&op == end) break;
    ir::remove_op(&op);
    ir::insert_op(before->parent, &op, before);
  }
}

std::size_t first_init(const ir::Op& op) { return op.code == ir::OpCode::for_ ? 3 : 0; }
std::size_t first_carried(const ir::Op& op) { return op.code == ir::OpCode::for_ ? 1 : 0; }

void drop_results(ir::Op& op, const std::vector<bool>& keep) {
  if (op.code == ir::OpCode::if_) {
    for (ir::Region* side : op.regions) compact(side->last->operands, 0, keep, false);
  } else {
    // A carried value stands in five places, and all lists must lose it together: initial values, arguments of each
    // region (a `while` has two), what the body yields, results. `test` yields nothing.
    compact(op.operands, first_init(op), keep, false);
    for (ir::Region* region : op.regions) compact(region->args, first_carried(op), keep, true);
    compact(op.regions.back()->last->operands, 0, keep, false);
  }
  compact(op.results, 0, keep, true);
}

TripCount trip_count(const ir::Op& op) {
  for (std::size_t i = 0; i < 3; ++i)
    if (!op.operand(i)->is_constant()) {
      // A step of zero, or a range that starts where it ends, never runs, whatever the rest.
      bool none = op.operand(2)->is_zero() || op.operand(0) == op.operand(1);
      return {none, 0};
    }
  std::int64_t lo = op.operand(0)->as_int(), hi = op.operand(1)->as_int(), step = op.operand(2)->as_int();
  // Differences in unsigned arithmetic: from the smallest number to the largest of int64 there are more steps than
  // int64 can count.
  auto u = [](std::int64_t v) { return std::uint64_t(v); };
  if (step > 0 && hi > lo) return {true, (u(hi) - u(lo) - 1) / u(step) + 1};
  if (step < 0 && hi < lo) return {true, (u(lo) - u(hi) - 1) / (0 - u(step)) + 1};
  return {true, 0};
}

bool has_dynamic_step(std::span<const ir::PathStep> path) {
  return std::any_of(path.begin(), path.end(), [](const ir::PathStep& step) { return step.dynamic; });
}

}  // namespace weft::passes
