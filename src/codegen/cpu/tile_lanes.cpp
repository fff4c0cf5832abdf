// Vectors along a tile want long rows that lie together, of whole registers; triangles, short rows and rests of rows are
// single numbers to them. Lanes don't mind shapes, but fetch each element of an array from another place.
#include "codegen/cpu/tile_lanes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analysis/uniformity.h"
#include "ir/origin.h"

namespace weft::codegen {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// Rough costs of a block: alone, its loops over elements as vectors along these; and as one of many lanes.
struct BlockCost {
  double along = 0, lanes = 0;
};

bool is_loop(const Op& op) { return op.code == OpCode::for_ || op.code == OpCode::while_; }
bool is_access(const Op& op) { return op.code == OpCode::load || op.code == OpCode::store; }

/// The turns of a loop whose bounds are constants.
std::optional<double> turns_of(const Op& loop) {
  if (loop.code != OpCode::for_) return std::nullopt;
  for (std::size_t k = 0; k < 3; ++k)
    if (!loop.operand(k)->is_constant()) return std::nullopt;
  const std::int64_t low = loop.operand(0)->as_int(), high = loop.operand(1)->as_int(),
                     step = loop.operand(2)->as_int();
  if (step == 0) return 0;
  return double(std::max<std::int64_t>(0, (high - low + step - (step > 0 ? 1 : -1)) / step));
}

/// Each lane has another block, which may lie in another row of the grid.
analysis::LaneEntry of_blocks() {
  analysis::LaneEntry entry;
  std::fill(std::begin(entry.tids), std::end(entry.tids), analysis::kVarying);
  entry.thread = 1;
  return entry;
}

class BlockCosts {
 public:
  BlockCosts(const ir::Function& kernel, int lanes) : entry_(of_blocks()), shapes_(kernel, entry_), lanes_(lanes) {}

  BlockCost of(const Region& region, double turns) {
    BlockCost sum;
    for (const Op& op : region) {
      BlockCost one;
      if (is_loop(op)) {
        one = of_loop(op, turns);
      } else if (op.code == OpCode::if_) {
        one = of_if(op, turns);
      } else {
        one.along = turns * weight(op) * kAlone;
        one.lanes = turns * in_lanes(op);
      }
      sum.along += one.along;
      sum.lanes += one.lanes;
    }
    return sum;
  }

 private:
  static constexpr double kUnknownTurns = 8, kAlone = 0.6, kAlong = 0.3, kParted = 1.3;
  /// Of a vector operation, by those of a number: more wait for memory. An element of its own place for every lane.
  static constexpr double kVector = 1.4, kGather = 1.6, kAtomic = 8, kMath = 16;

  static double weight(const Op& op) {
    if (ir::effect_of(op.code) == ir::Effect::end) return 0;
    double n = 1;
    for (const Value* result : op.results)
      if (result->type->is_numeric()) n = std::max(n, double(result->type->component_count()));
    if (op.code == OpCode::atomic) n *= kAtomic;
    return ir::class_of(op.code) == ir::OpClass::math ? n * kMath : n;
  }

  bool one_place(const Op& access) const {
    for (std::size_t k = 1; k <= access.num_indices; ++k)
      if (!shapes_.uniform(access.operand(k))) return false;
    return true;
  }
  double in_lanes(const Op& op) const {
    const double w = weight(op);
    if (op.code == OpCode::atomic) return w;
    if (!is_access(op)) return w * kVector / lanes_;
    const ir::Origin from = ir::origin_of(op.operand(0));
    const bool side_by_side =
        from.kind == ir::Origin::Kind::local && from.local && shapes_.only_accessed(from.local->result());
    const bool same = shapes_.uniform(op.operand(0)) && one_place(op);
    if (side_by_side ? one_place(op) : same && op.code == OpCode::load) return w * kVector / lanes_;
    return w * kGather;
  }

  BlockCost of_if(const Op& op, double turns) {
    BlockCost sides[2];
    for (std::size_t k = 0; k < op.regions.size() && k < 2; ++k) sides[k] = of(*op.regions[k], turns);
    // A tile that lies inside of an array, and one that does not; else a thread that has nothing to do, mostly.
    const bool both = std::min(sides[0].along, sides[1].along) > 0.1 * std::max(sides[0].along, sides[1].along);
    if (both && shapes_.uniform(op.operand(0)))
      return {std::min(sides[0].along, sides[1].along), std::min(sides[0].lanes, sides[1].lanes)};
    return {(both ? 0.5 : 1.0) * (sides[0].along + sides[1].along), sides[0].lanes + sides[1].lanes};
  }

  BlockCost of_loop(const Op& op, double turns) {
    const std::optional<double> known = turns_of(op);
    const double times = turns * known.value_or(kUnknownTurns);
    if (known && is_along(op)) {
      BlockCost cost;
      for (const Op& inner : *op.regions[0]) {
        cost.along += turns * weight(inner) * row(*known);
        cost.lanes += times * in_lanes(inner);
      }
      return cost;
    }
    BlockCost cost;
    for (const Region* region : op.regions) {
      const BlockCost one = of(*region, times);
      cost.along += one.along;
      cost.lanes += one.lanes;
    }
    if (shapes_.divergent(op)) cost.lanes *= kParted;
    return cost;
  }

  /// What an operation on a row of so many numbers costs: on whole vectors, one of half of them, and single numbers.
  double row(double numbers) const {
    const int n = int(std::min(numbers, 1e6)), rest = n % lanes_, half = lanes_ / 2;
    const int whole = n / lanes_ + rest / half, single = rest % half;
    return kAlong * whole + single;
  }

  /// Whether its turns can be those of a vector: straight, nothing handed on, and elements side by side.
  bool is_along(const Op& loop) {
    if (!loop.results.empty()) return false;
    const Region& body = *loop.regions[0];
    steps_.clear();
    steps_[body.args[0]] = 1;
    for (const Op& op : body) {
      if (!op.regions.empty() || op.code == OpCode::call || op.code == OpCode::atomic) return false;
      if (is_access(op)) {
        for (std::size_t k = 1; k <= op.num_indices; ++k) {
          const std::optional<std::int64_t> step = step_of(op.operand(k));
          if (!step || (*step != 0 && (*step != 1 || k != op.num_indices))) return false;
        }
      }
      for (const Value* result : op.results) note_step(op, result);
    }
    return true;
  }
  /// By how much a value grows from turn to turn; nothing if unevenly.
  std::optional<std::int64_t> step_of(const Value* value) const {
    const auto known = steps_.find(value);
    return known == steps_.end() ? std::optional<std::int64_t>(0) : known->second;
  }
  void note_step(const Op& op, const Value* result) {
    bool moves = false;
    for (const Value* operand : op.operands) moves |= step_of(operand) != std::optional<std::int64_t>(0);
    if (!moves) return;
    std::optional<std::int64_t>& step = steps_[result];
    step.reset();
    if (op.code != OpCode::add && op.code != OpCode::sub && op.code != OpCode::mul && op.code != OpCode::cast) return;
    const std::optional<std::int64_t> a = step_of(op.operand(0));
    if (op.code == OpCode::cast) return void(step = a);
    const std::optional<std::int64_t> b = step_of(op.operand(1));
    if (!a || !b) return;
    if (op.code == OpCode::add) step = *a + *b;
    if (op.code == OpCode::sub) step = *a - *b;
    if (op.code == OpCode::mul && op.operand(1)->is_constant()) step = *a * op.operand(1)->as_int();
  }

  const analysis::LaneEntry entry_;
  const analysis::Uniformity shapes_;
  const int lanes_;
  std::unordered_map<const Value*, std::optional<std::int64_t>> steps_;
};

}  // namespace

bool runs_side_by_side(const ir::Function& kernel, int natural) {
  // With NEON vectors along the tiles were twice as fast as any number of lanes, for products and factors alike.
  constexpr int kFewest = 16;
  // Costs are rough: vectors along a tile have more of the first cache, and LLVM finds some among single operations. Measured on a Cascade
  // Lake: factors and systems of 16 to 32 rows have 5.5 to 6.3 by this and are 1.16 to 1.5 times as fast with lanes;
  // products and transforms have up to 1.6 and are 0.3 to 0.9 times as fast.
  constexpr double kClear = 3.0;
  if (natural < kFewest) return false;
  const BlockCost cost = BlockCosts(kernel, natural).of(*kernel.body, 1);
  return cost.along > kClear * cost.lanes;
}

}  // namespace weft::codegen
