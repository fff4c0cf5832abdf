// Copies of the body, one per trip, each with its own constant for the induction variable.
#include "passes/unroll.h"

#include <limits>

#include "analysis/uses.h"
#include "ir/block_functions.h"
#include "ir/clone.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr std::uint64_t kShort = 4;  // trips: fewer than a vector has numbers

class Unroller {
 public:
  Unroller(ir::Function& function, const UnrollLimits& limits)
      : function_(function), limits_(limits), rewriter_(function) {}

  bool run() {
    region(*function_.body);
    return changed_;
  }

 private:
  /// Returns the number of operations afterwards, nested ones included.
  std::size_t region(Region& region) {
    std::size_t size = 0;
    for (Op& op : region) {
      rewriter_.apply(op);
      std::size_t nested_size = 0;
      // Inner loops first: how large this loop's copies get is known only when they are settled.
      for (Region* nested : op.regions) nested_size += this->region(*nested);
      if (op.code == OpCode::for_ && wanted(op, nested_size)) {
        std::size_t trips = std::size_t(trip_count(op).count);
        // One body was there before.
        grown_ += (trips - 1) * nested_size;
        size += trips * nested_size;
        expand(op, trips);
        changed_ = true;
      } else {
        size += nested_size + (ir::effect_of(op.code) != ir::Effect::end);
      }
    }
    return size;
  }

  bool wanted(const Op& op, std::size_t body_size) const {
    TripCount trips = trip_count(op);
    if (!trips.known || trips.count == 0) return false;
    // Whatever the limits: nothing grows, and a loop less is a loop less.
    if (trips.count == 1) return true;
    if (op.text == ir::kSharedLoop || op.text == ir::kOwnLoop)
      return false;  // barriers are set around it, not between its turns
    if (op.text == ir::kRolledLoop) return false;
    constexpr std::uint64_t kFew = 4;
    const std::size_t most = trips.count <= kFew ? limits_.max_ops_of_few : limits_.max_ops;
    if (trips.count > limits_.max_trips || trips.count * body_size > most) return false;
    if (trips.count > kShort && walks_large_local(*op.regions[0])) return false;
    if (has_block_function(*op.regions[0])) return false;
    return grown_ + (trips.count - 1) * body_size <= limits_.growth && !makes_large_local(*op.regions[0]);
  }

  /// A call that the code generator writes out, hundreds of instructions each time; and passes/load_ahead wants the loop.
  static bool has_block_function(const Region& body) {
    bool any = false;
    ir::walk(body, [&](const Op& op) { any = any || (op.code == OpCode::call && ir::is_block_function(*op.callee)); });
    return any;
  }

  /// Private memory that stays memory: the code generator makes vectors of loops along it, and finds fewer of them in copies.
  bool walks_large_local(const Region& body) const {
    bool any = false;
    ir::walk(body, [&](const Op& op) {
      if (any || (op.code != OpCode::load && op.code != OpCode::store)) return;
      const ir::Origin from = ir::origin_of(op.operand(0));
      any = from.kind == ir::Origin::Kind::local && from.local && elements_of(*from.local) > limits_.max_local;
    });
    return any;
  }

  static std::int64_t elements_of(const Op& local) {
    std::int64_t elements = 1;
    for (std::int64_t extent : local.ints)
      if (__builtin_mul_overflow(elements, extent, &elements)) return std::numeric_limits<std::int64_t>::max();
    return elements;
  }

  bool makes_large_local(const Region& body) const {
    bool large = false;
    // Each copy would have its memory: on a GPU that is stack of every thread.
    ir::walk(body, [&](const Op& op) { large |= op.code == OpCode::local && elements_of(op) > limits_.max_local; });
    return large;
  }

  void expand(Op& op, std::size_t trips) {
    Region& body = *op.regions[0];
    // Unsigned, since the product may wrap on its way to a number of the type: the bits are those that the loop's own
    // additions give.
    std::uint64_t lo = std::uint64_t(op.operand(0)->as_int()), step = std::uint64_t(op.operand(2)->as_int());
    std::vector<Value*> carried(op.operands.begin() + 3, op.operands.end());
    for (std::size_t trip = 0; trip < trips; ++trip) {
      ir::ValueMap map;
      map[body.args[0]] = function_.constant_int(op.operand(0)->type, std::int64_t(lo + trip * step));
      for (std::size_t i = 0; i < carried.size(); ++i) map[body.args[i + 1]] = carried[i];
      // Copies go before the loop, not behind: the walk, which stands at the loop, does not come to them again. What
      // they hold is unrolled already.
      ir::clone_ops(body, function_, op.parent, map, /*skip_terminator=*/true, nullptr, &op);
      for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = ir::mapped(function_, map, body.last->operand(i));
    }
    for (std::size_t i = 0; i < carried.size(); ++i) rewriter_.replace(op.result(i), carried[i]);
    ir::remove_op(&op);
  }

  ir::Function& function_;
  const UnrollLimits limits_;
  ir::Rewriter rewriter_;
  std::size_t grown_ = 0;
  bool changed_ = false;
};

}  // namespace

bool unroll(ir::Function& function, const UnrollLimits& limits) { return Unroller(function, limits).run(); }

}  // namespace weft::passes
