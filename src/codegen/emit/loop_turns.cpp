// One walk over each function, callees first.
#include "codegen/emit/loop_turns.h"

#include <optional>

namespace weft::codegen {

using ir::Op;
using ir::OpCode;
using ir::Region;

namespace {

/// Loops of fewer turns, those of loops in them included, don't count.
constexpr std::uint64_t kMaxFreeTurns = 256;

/// Bodies of more operations don't notice that turns are counted.
constexpr int kMaxSmallOps = 8;

bool is_small(const Region& body) {
  int ops = 0;
  for (const Op& op : body)
    if (!op.regions.empty() || op.code == OpCode::call || ++ops > kMaxSmallOps) return false;
  return true;
}

/// How often a `for` with constant bounds runs.
std::optional<std::uint64_t> constant_trips(const Op& loop) {
  for (std::size_t k = 0; k < 3; ++k)
    if (!loop.operand(k)->is_constant()) return std::nullopt;
  const auto lo = std::uint64_t(loop.operand(0)->as_int()), hi = std::uint64_t(loop.operand(1)->as_int());
  const std::int64_t step = loop.operand(2)->as_int();
  if (step > 0 && std::int64_t(lo) < std::int64_t(hi)) return (hi - lo - 1) / std::uint64_t(step) + 1;
  if (step < 0 && std::int64_t(lo) > std::int64_t(hi)) return (lo - hi - 1) / (0 - std::uint64_t(step)) + 1;
  return 0;
}

}  // namespace

LoopTurns::LoopTurns(const ir::Module& module) {
  // Callees stand before their callers, so that counts() of a callee is known.
  for (const auto& function : module.functions) {
    function_ = function.get();
    ranges_.reset();
    if (visit(*function->body).counts) counting_.insert(function.get());
  }
  ranges_.reset();
}

std::uint64_t LoopTurns::most_trips(const Op& loop) {
  constexpr std::uint64_t kNoBound = UINT64_MAX;
  if (const auto known = constant_trips(loop)) return *known;
  if (!loop.operand(2)->is_constant() || loop.operand(2)->as_int() < 1) return kNoBound;
  if (!ranges_) ranges_ = std::make_unique<analysis::Ranges>(*function_);
  const analysis::Wide distance = ranges_->of(loop.operand(1)).hi - ranges_->of(loop.operand(0)).lo;
  if (distance > analysis::Wide(kMaxFreeTurns)) return kNoBound;
  return distance < 1 ? 0 : std::uint64_t(distance);
}

LoopTurns::Work LoopTurns::visit(const Region& region) {
  Work sum;
  for (const Op& op : region) {
    Work inner;
    if (op.code == OpCode::for_ || op.code == OpCode::while_)
      inner = visit_loop(op);
    else if (op.code == OpCode::call)
      inner.counts = counts(*op.callee);
    else
      for (const Region* nested : op.regions) {
        // Both sides of an `if` are added: a bound, not a count.
        const Work side = visit(*nested);
        inner.turns += side.turns, inner.counts |= side.counts;
      }
    sum.turns += inner.turns, sum.counts |= inner.counts;
  }
  return sum;
}

LoopTurns::Work LoopTurns::visit_loop(const Op& loop) {
  Work inside;
  for (const Region* nested : loop.regions) {
    const Work part = visit(*nested);
    inside.turns += part.turns, inside.counts |= part.counts;
  }
  if (loop.code == OpCode::for_) {
    const std::uint64_t trips = most_trips(loop);
    // Compared by itself first, so that the product can't overflow: what is inside is
    // at most kMaxFreeTurns for each loop there.
    if (trips <= kMaxFreeTurns && (1 + inside.turns) * trips <= kMaxFreeTurns)
      return {(1 + inside.turns) * trips, inside.counts};
  }
  ways_[&loop] = loop.code == OpCode::for_ && is_small(*loop.regions[0]) ? Way::bulk : Way::each;
  // A loop that counts adds no free turns to those around it: whoever is in it asks often enough.
  return {0, true};
}

}  // namespace weft::codegen
