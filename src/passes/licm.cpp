// Inner loops first, so that what leaves one loop can leave the next in the same run. Each value knows how many regions
// its definition lies in; an operand is invariant when that is less than the loop region's own depth.
#include "passes/licm.h"

#include <algorithm>

#include "analysis/alias.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

class Hoister {
 public:
  Hoister(ir::Function& function, analysis::Effects& effects)
      : effects_(effects), alias_(function, effects), depth_of_(function.value_count, 0) {}

  bool run(Region& body) {
    region(body, 0);
    return changed_;
  }

 private:
  void region(Region& region, int depth) {
    for (const Value* arg : region.args) depth_of_[arg->id] = depth;
    for (Op& op : region) {
      // What an inner loop gives up lands in this region, before the inner loop, with this depth: if it is invariant
      // here as well, the walk over this region's own loop finds it there.
      for (Region* nested : op.regions) this->region(*nested, depth + 1);
      for (const Value* result : op.results) depth_of_[result->id] = depth;
      if (op.code == OpCode::for_) {
        TripCount trips = trip_count(op);
        // Pure operations may be computed for nothing: none has undefined behaviour, so that costs time only. A load
        // may not: an index that the loop's bounds keep in range need not be in range before a loop that never runs.
        hoist(op, *op.regions[0], depth, trips.known && trips.count > 0);
      } else if (op.code == OpCode::while_) {
        hoist(op, *op.regions[0], depth, true);
        hoist(op, *op.regions[1], depth, false);
      }
    }
  }

  void hoist(Op& loop, Region& from, int depth, bool certain) {
    for (Op& op : from) {
      // The whole loop's writes, those behind the load included: in the second turn they were before it.
      bool load = op.code == OpCode::load && certain && !(alias_.bases(op.operand(0)) & alias_.writes(loop));
      if (!load && (op.results.empty() || !analysis::is_movable(op, effects_))) continue;
      bool invariant = std::all_of(op.operands.begin(), op.operands.end(), [&](const Value* value) {
        return value->is_constant() || depth_of_[value->id] <= depth;
      });
      // In order of the text, so that operands which have just left count as outside.
      if (!invariant) continue;
      ir::remove_op(&op);
      ir::insert_op(loop.parent, &op, &loop);
      for (const Value* result : op.results) depth_of_[result->id] = depth;
      changed_ = true;
    }
  }

  analysis::Effects& effects_;
  analysis::Alias alias_;
  std::vector<int> depth_of_;  // by value id
  bool changed_ = false;
};

}  // namespace

bool licm(ir::Function& function, analysis::Effects* effects) {
  analysis::Effects own;
  return Hoister(function, effects ? *effects : own).run(*function.body);
}

}  // namespace weft::passes
