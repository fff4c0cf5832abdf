// One array at a time, a forward walk from where it is made. Known is how far its front is written: [0, n) for a constant n,
// and [0, v + t) for values v and constants t. What is written stays so; knowledge is lost only where branches meet. For what
// loops carry the bound of the initial value is supposed, and the loop is looked at again where the body doesn't keep it.
// Sums are those of unbounded integers: an index in range that wrapped around upwards lies below its bound all the more,
// and one that may wrap downwards is not followed.
#include "passes/raw_locals.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "analysis/ranges.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr std::size_t kMaxLocals = 64;     // of a function
constexpr std::size_t kMaxVisits = 50000;  // of operations, for one array
constexpr int kMaxSupposingLoops = 3;      // in each other: their bodies are looked at several times
constexpr int kMaxSteps = 64;              // of a sum
constexpr std::int64_t kMaxOffset = 1 << 20;

/// A value as another one plus a constant; no base: the constant alone.
struct Sum {
  const Value* base = nullptr;
  std::int64_t offset = 0;
};

class FrontWalk {
 public:
  FrontWalk(const Op& local, const analysis::Ranges& ranges)
      : array_(local.result()), length_(local.ints[0]), ranges_(ranges) {}

  /// Whether all reads follow writes.
  bool run(const Op& local) {
    State state;
    for (const Op* op = local.next; op; op = op->next)
      if (!visit(*op, state)) return false;
    return true;
  }

 private:
  struct Front {
    const Value* base;
    std::int64_t offset;
  };
  struct State {
    std::vector<Front> fronts;   // [0, base + offset) is written
    std::uint64_t elements = 0;  // of the first 64, by bit: written at a constant index
    std::int64_t constant = 0;   // [0, constant) is written
  };

  Sum sum_of(const Value* value) const {
    Sum sum;
    for (int step = 0; step < kMaxSteps; ++step) {
      if (value->is_constant()) return {nullptr, sum.offset + value->as_int()};
      if (value->kind != ir::ValueKind::result) break;
      const Op& op = *value->op;
      if (op.code != OpCode::add && op.code != OpCode::sub) break;
      const Value *a = op.operand(0), *b = op.operand(1);
      if (op.code == OpCode::add && a->is_constant()) std::swap(a, b);
      if (!b->is_constant()) break;
      const std::int64_t by = op.code == OpCode::add ? b->as_int() : -b->as_int();
      if (by > kMaxOffset || by < -kMaxOffset) break;
      const analysis::Range all = analysis::type_range(value->type->scalar_kind());
      // A difference that wrapped downwards would be a huge index, far above the bound it is compared with here.
      if (by < 0 && ranges_.of(value).lo <= all.lo) break;
      sum.offset += by;
      value = a;
    }
    sum.base = value;
    return sum;
  }

  static bool is_followed(const Value* value) { return value->type->is_signed_int(); }

  /// The largest t for which [0, value + t) is known to be written.
  std::optional<std::int64_t> reach(const Value* value, const State& state) const {
    if (!is_followed(value)) return std::nullopt;
    const Sum sum = sum_of(value);
    if (!sum.base) return state.constant - sum.offset;
    for (const Front& front : state.fronts)
      if (front.base == sum.base) return front.offset - sum.offset;
    return std::nullopt;
  }

  static void learn(State& state, const Value* value, std::optional<std::int64_t> offset) {
    if (!offset || value->is_constant()) return;
    for (Front& front : state.fronts)
      if (front.base == value) {
        front.offset = std::max(front.offset, *offset);
        return;
      }
    state.fronts.push_back({value, *offset});
  }

  /// [0, value + t) is written from now on.
  void learn_sum(State& state, const Value* value, std::int64_t t) const {
    const Sum sum = sum_of(value);
    if (sum.base)
      learn(state, sum.base, sum.offset + t);
    else
      state.constant = std::max(state.constant, sum.offset + t);
  }

  bool visit(const Op& op, State& state) {
    if (++visits_ > kMaxVisits) return false;
    switch (op.code) {
      case OpCode::load: return op.operand(0) != array_ || reads_written(op, state);
      case OpCode::store:
        if (op.operand(0) == array_) write(op, state);
        return true;
      case OpCode::if_: return branches(op, state);
      case OpCode::for_:
      case OpCode::while_: return loop(op, state);
      case OpCode::select:
        if (is_followed(op.result()))
          // Whichever is chosen: the smaller promise holds for both.
          learn(state, op.result(), nearer(reach(op.operand(1), state), reach(op.operand(2), state)));
        return true;
      case OpCode::min:
        if (is_followed(op.result()))  // below both
          learn(state, op.result(), std::max(reach(op.operand(0), state), reach(op.operand(1), state)));
        return true;
      default: return true;  // safe: the array has no other uses than loads and stores
    }
  }

  bool walk(const Region& region, State& state) {
    for (const Op& op : region)
      if (!visit(op, state)) return false;
    return true;
  }

  static std::optional<std::int64_t> nearer(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
    return a && b ? std::optional(std::min(*a, *b)) : std::nullopt;
  }

  bool reads_written(const Op& op, const State& state) const {
    // All of it is written: any index in range is fine, from either end, and one out of range has no meaning anyway.
    if (state.constant >= length_) return true;
    const std::optional<std::int64_t> t = reach(op.indices()[0], state);
    // [0, i + 1) holds i, if i is not negative; where it could be, the access would wrap (and is refused) or have no
    // meaning.
    if (t && *t >= 1 && !op.wrap) return true;
    const Value* index = op.indices()[0];
    return index->is_constant() && index->as_int() >= 0 && index->as_int() < 64 &&
           (state.elements >> index->as_int() & 1) != 0;
  }

  void write(const Op& op, State& state) const {
    const Value* index = op.indices()[0];
    // A part of an element leaves the rest unwritten; a store that counts from the end does not extend the front.
    if (!op.path.empty() || op.wrap || !is_followed(index)) return;
    if (index->is_constant() && index->as_int() >= 0 && index->as_int() < 64) {
      state.elements |= std::uint64_t(1) << index->as_int();
      state.constant = std::max<std::int64_t>(state.constant, std::countr_one(state.elements));
    }
    // Exactly at the front: the front grows by one. Farther up it would leave a hole; below, nothing is new.
    if (const auto t = reach(index, state); t && *t == 0) learn_sum(state, index, 1);
  }

  bool branches(const Op& op, State& state) {
    State sides[2] = {state, state};
    for (std::size_t k = 0; k < 2; ++k)
      if (!walk(*op.regions[k], sides[k])) return false;
    state.elements = sides[0].elements & sides[1].elements;
    state.constant = std::min(sides[0].constant, sides[1].constant);
    for (const Front& front : sides[0].fronts)
      learn(state, front.base, nearer(front.offset, reach(front.base, sides[1])));
    // A stack's depth comes out of branches that push or don't: what each side can promise for its own value is what
    // holds for the result.
    for (std::size_t i = 0; i < op.results.size(); ++i)
      learn(state, op.result(i),
            nearer(reach(op.regions[0]->last->operand(i), sides[0]), reach(op.regions[1]->last->operand(i), sides[1])));
    return true;
  }

  bool loop(const Op& op, State& state) {
    const bool counts = op.code == OpCode::for_;
    const Region& body = *op.regions.back();
    const std::size_t inits = first_init(op), carried = first_carried(op);
    const bool supposes = loops_ < kMaxSupposingLoops;
    std::vector<std::optional<std::int64_t>> supposed(op.results.size());
    for (std::size_t i = 0; i < supposed.size() && supposes; ++i) supposed[i] = reach(op.operand(inits + i), state);
    const Value* one = counts ? op.operand(2) : nullptr;
    // for k in range(lo, hi) with [0, lo) written, whose body writes element k each time, writes [0, hi): by induction
    // over k, with [0, k) written as the supposition in the body.
    bool fills = counts && supposes && one->is_constant() && one->as_int() == 1 && is_followed(body.args[0]) &&
                 reach(op.operand(0), state).value_or(-1) >= 0;
    ++loops_;
    bool kept = false;
    for (int times = 0; !kept; ++times) {
      State inside = state;
      for (const Region* region : op.regions)
        for (std::size_t i = 0; i < supposed.size(); ++i) learn(inside, region->args[carried + i], supposed[i]);
      if (fills) learn(inside, body.args[0], 0);
      // A read that is not covered now is not covered by weaker suppositions either.
      for (const Region* region : op.regions)
        if (!walk(*region, inside)) return false;
      kept = true;
      if (fills && reach(body.args[0], inside).value_or(0) < 1) fills = kept = false;
      for (std::size_t i = 0; i < supposed.size(); ++i) {
        if (!supposed[i]) continue;
        const auto next = reach(body.last->operand(i), inside);
        if (next && *next >= *supposed[i]) continue;
        // Descending towards a fixed point, at most a few times: a depth that sinks by one each turn would sink for
        // ever.
        supposed[i] = times < 2 ? next : std::nullopt;
        kept = false;
      }
    }
    --loops_;
    for (std::size_t i = 0; i < supposed.size(); ++i) learn(state, op.result(i), supposed[i]);
    // Also where the loop never ran: then hi <= lo, below which all was written before.
    if (fills) learn_sum(state, op.operand(1), 0);
    return true;
  }

  const Value* array_;
  const std::int64_t length_;
  const analysis::Ranges& ranges_;
  std::size_t visits_ = 0;
  int loops_ = 0;
};

}  // namespace

bool raw_locals(ir::Function& function) {
  std::vector<Op*> locals;
  ir::walk(*function.body, [&](Op& op) {
    if (op.code == OpCode::local && !op.imm && op.ints.size() == 1 && locals.size() < kMaxLocals) locals.push_back(&op);
  });
  // Whatever hands the array on may read it, or write to it out of sight.
  std::erase_if(locals, [&](const Op* local) {
    bool seen = false;
    ir::walk(*function.body, [&](const Op& op) {
      for (std::size_t k = 0; k < op.operands.size(); ++k)
        seen |= op.operand(k) == local->result() &&
                (k != 0 || (op.code != OpCode::load && op.code != OpCode::store) || op.num_indices != 1);
    });
    return seen;
  });
  if (locals.empty()) return false;
  const analysis::Ranges ranges(function);
  bool changed = false;
  for (Op* local : locals)
    if (FrontWalk(*local, ranges).run(*local)) {
      // The order of arrays doesn't matter: being raw is a property of each alone.
      local->imm = 1;
      changed = true;
    }
  return changed;
}

}  // namespace weft::passes
