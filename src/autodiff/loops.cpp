// Loops in reverse. What an iteration's reverse reads of the carried state is found by a trial run; if that is nothing,
// the loop just runs backwards. Otherwise the replay leaves snapshots of the state in a fixed number of private slots,
// at every iteration first, then, each time they are full, at every second of the iterations kept so far. The reverse
// treats them as a stack: it runs on from the top one to the iteration it needs and leaves further snapshots in the free
// slots on the way. Each level of this costs one more forward run, and the number of levels is the logarithm of the trip
// count to the base of the slots: never quadratic, and no run just to count.
#include <algorithm>

#include "autodiff/loop_shape.h"
#include "autodiff/reverse.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

// Fewer slots mean more levels of running on: with 16, a million iterations take five. More than 1024 would crowd out
// the caches they are meant to stay in.
constexpr std::int64_t kFewestSlots = 16, kMostSlots = 1024;

/// Whether a turn is arithmetic and nothing else.
bool is_cheap(const Region& body) {
  bool cheap = true;
  ir::walk(body, [&](const Op& op) {
    // Loops and calls inside count as dear without a look: how often they run is not known here.
    cheap &= ir::class_of(op.code) != ir::OpClass::math && ir::class_of(op.code) != ir::OpClass::memory &&
             op.code != OpCode::for_ && op.code != OpCode::while_ && op.code != OpCode::call;
  });
  return cheap;
}

std::vector<std::size_t> active_carried(const Op& loop, const Activity& activity) {
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < loop.results.size(); ++k)
    if (activity.active(loop.regions.back()->args[first_carried(loop) + k]) || activity.active(loop.result(k)))
      out.push_back(k);
  return out;
}

/// Which of `asked` some operation of the region that matters reads: everything that ends in a yield, a write or the
/// condition around one.
class Uses {
 public:
  explicit Uses(const Region& region) : root_(&region) {
    mark_region(region);
    while (!work_.empty()) {
      const Value* value = work_.back();
      work_.pop_back();
      follow(*value);
    }
  }
  bool reads(const Value* value) const { return needed_.contains(value); }

 private:
  void need(const Value* value) {
    if (!value->is_constant() && needed_.insert(value).second) work_.push_back(value);
  }
  bool mark_region(const Region& region) {
    bool any = false;
    for (const Op& op : region) {
      // What others see, or what the adjoint adds to a gradient: the roots from
      // which everything that counts is reached.
      bool writes = ir::effect_of(op.code) == ir::Effect::write && op.code != OpCode::local;
      if (op.code == OpCode::call) writes = true;
      // Yields of nested regions are no roots: which of their operands count is asked result by result, in follow().
      bool end = ir::effect_of(op.code) == ir::Effect::end && &region == root_;
      bool inside = false;
      for (const Region* nested : op.regions) inside |= mark_region(*nested);
      if (writes || end || inside) keep(op), any = true;
    }
    return any;
  }
  void keep(const Op& op) {
    if (!kept_.insert(&op).second) return;
    switch (op.code) {
      // Only what decides whether and how often the regions run. What they compute
      // is kept for its own sake, or not at all.
      case OpCode::if_: return need(op.operand(0));
      case OpCode::for_:
        for (std::size_t k = 0; k < 3; ++k) need(op.operand(k));
        return;
      case OpCode::while_: return need(op.regions[0]->last->operand(0));
      default:  // safe: all that it is made of
        for (const Value* value : op.operands) need(value);
    }
  }
  /// A carried value is one chain: its start, what each turn makes of it, and what comes out.
  void need_carried(const Op& op, std::size_t k) {
    need(op.operand(first_init(op) + k));
    need(op.regions.back()->last->operand(k));
    need(op.result(k));
  }
  void follow(const Value& value) {
    if (value.kind == ir::ValueKind::argument) {
      const Op* loop = value.region->parent_op;
      // Arguments of the root are what was asked about; they come from nowhere.
      if (!loop || value.region == root_) return;
      keep(*loop);
      if (value.index >= first_carried(*loop)) need_carried(*loop, value.index - first_carried(*loop));
      return;
    }
    const Op& op = *value.op;
    keep(op);
    if (op.code == OpCode::if_)
      for (const Region* side : op.regions) need(side->last->operand(value.index));
    else if (op.code == OpCode::for_ || op.code == OpCode::while_)
      need_carried(op, value.index);
  }

  const Region* root_;
  std::unordered_set<const Value*> needed_;
  std::unordered_set<const Op*> kept_;
  std::vector<const Value*> work_;
};

/// A loop over the elements of a tile, shared by the threads of a block: from 0 on by 1, with nothing that turns hand on.
bool is_plain_shared(const Op& loop) {
  return loop.code == OpCode::for_ && loop.text == ir::kSharedLoop && loop.operands.size() == 3 &&
         loop.operand(0)->is_zero() && loop.operand(1)->is_constant() && loop.operand(2)->is_constant() &&
         loop.operand(2)->as_int() == 1;
}

std::int64_t constant_trips(const Op& loop) {
  if (loop.code != OpCode::for_) return -1;
  for (std::size_t k = 0; k < 3; ++k)
    if (!loop.operand(k)->is_constant()) return -1;
  // In 128 bits: the distance of two i64 does not fit in one.
  __int128 lo = loop.operand(0)->as_int(), hi = loop.operand(1)->as_int(), step = loop.operand(2)->as_int();
  if (step == 0) return 0;
  __int128 count = step > 0 ? (hi - lo + step - 1) / step : (lo - hi - step - 1) / -step;
  return count < 0 ? 0 : std::int64_t(count);
}

/// Each number gets an array of its own: lanes and threads of a warp then write side by side.
void add_leaves(const Type* type, std::size_t state, std::vector<ir::PathStep> path, std::vector<LoopPlan::Leaf>& out) {
  constexpr std::uint32_t kMostComponents = 16;
  auto inside = [&](ir::PathStep::Kind kind, std::uint32_t k) {
    std::vector<ir::PathStep> longer = path;
    longer.push_back({kind, false, false, std::int32_t(k)});
    return longer;
  };
  // Larger ones stay whole: an array for each of a hundred components would cost more code than the accesses save.
  const bool apart = type->is_struct() || type->is_tuple()
                         ? !ir::has_array(type) && type->fields().size() <= kMostComponents
                         : type->is_composite() && type->component_count() <= kMostComponents;
  if (!apart) return out.push_back({state, std::move(path), type});
  if (type->is_mat()) {
    for (std::uint32_t k = 0; k < type->rows(); ++k)
      add_leaves(types::vec(type->element(), type->cols()), state, inside(ir::PathStep::index, k), out);
  } else if (type->is_composite()) {
    for (std::uint32_t k = 0; k < type->component_count(); ++k)
      add_leaves(type->element(), state, inside(ir::PathStep::index, k), out);
  } else {
    for (std::size_t k = 0; k < type->fields().size(); ++k)
      add_leaves(type->fields()[k].type, state, inside(ir::PathStep::field, std::uint32_t(k)), out);
  }
}

}  // namespace

const LoopPlan& Reverser::plan(const Op& loop) {
  // Made once: a nested loop is planned by every trial of the loops around it, and again by the real reverse. Trials
  // of trials would otherwise take time exponential in the depth of the nest.
  if (auto it = plans_.find(&loop); it != plans_.end()) return it->second;
  LoopPlan made = make_plan(loop);
  return plans_[&loop] = std::move(made);
}

/// For `for i: s = s * a[i]` the trial emits  ga += gs * s; gs = gs * a[i].  The first reads s, so s is
/// state, and running on from a snapshot takes s again. For `s = s + a[i]` it emits  ga += gs; gs = gs,
/// nothing reads s, and there are no slots.
LoopPlan Reverser::make_plan(const Op& loop) {
  LoopPlan plan;
  const Region& body = *loop.regions.back();
  // A trial emits adjoints as the real thing does; what it adds to must not outlive it.
  auto kept_adjoints = adjoints_;
  Region* place = b_.region();

  // A trial of one iteration with everything restored, in a region that goes nowhere.
  auto trial = [&](const std::function<void()>& emit) {
    // All carried values are there as arguments; which of them the reverse really reads is asked of what it emitted,
    // not of rules that would have to be kept in step with it.
    Region* scrap = target_.make_region(nullptr);
    scrap->function = &target_;
    Value* iteration = target_.add_argument(scrap, types::i64());
    std::vector<Value*> state;
    std::vector<std::size_t> all;
    for (std::size_t k = 0; k < loop.results.size(); ++k) {
      state.push_back(target_.add_argument(scrap, loop.result(k)->type));
      all.push_back(k);
    }
    b_.set_place(scrap);
    bind_state(loop, iteration, all, state);
    emit();
    b_.set_place(place);
    Uses uses(*scrap);
    std::vector<bool> read(state.size());
    for (std::size_t k = 0; k < state.size(); ++k) read[k] = uses.reads(state[k]);
    return read;
  };
  // Adjoints come in as arguments, whatever they are in the end: a trial must not depend on what
  // the code behind the loop has added so far.
  std::vector<std::size_t> carried = active_carried(loop, activity_);
  std::vector<Value*> outside = active_from_outside(loop, activity_);
  std::vector<bool> read = trial([&] {
    std::vector<Value*> adjoints;
    for (std::size_t k : carried) adjoints.push_back(target_.add_argument(b_.region(), loop.result(k)->type));
    for (const Value* value : outside) adjoints.push_back(target_.add_argument(b_.region(), value->type));
    b_.yield(reverse_iteration(loop, carried, outside, adjoints));
  });

  // What running on from a restored state takes, until nothing more is added.
  for (bool grown = std::find(read.begin(), read.end(), true) != read.end(); grown;) {
    grown = false;
    // To run on from iteration i one must restore what the body needs to compute the needed part of the state at i +
    // 1: the least fixed point of that, starting from what the reverse reads.
    std::vector<bool> needed = trial([&] {
      ReplayRoot inside(*this, &body);
      replay(body, false);
      std::vector<Value*> next;
      for (std::size_t k = 0; k < read.size(); ++k)
        if (read[k]) next.push_back(map(body.last->operand(k)));
      b_.yield(next);
    });
    for (std::size_t k = 0; k < read.size(); ++k)
      if (needed[k] && !read[k]) read[k] = grown = true;
  }
  adjoints_ = std::move(kept_adjoints);
  for (std::size_t k = 0; k < read.size(); ++k)
    if (read[k]) plan.state.push_back(k);
  if (plan.state.empty()) return plan;

  for (std::size_t k = 0; k < plan.state.size(); ++k) {
    plan.types.push_back(loop.result(plan.state[k])->type);
    add_leaves(plan.types.back(), k, {}, plan.leaves);
  }
  std::int64_t bytes = 8;  // the iteration's number
  for (const LoopPlan::Leaf& leaf : plan.leaves) bytes += std::int64_t(leaf.type->size());
  // All loops of the kernel share one budget: private memory of a thread is stack on a CPU and far away on a GPU.
  std::int64_t share = std::int64_t(options_.slot_bytes / std::max<std::size_t>(1, loops_));
  plan.slots = std::clamp(share / bytes, kFewestSlots, kMostSlots);
  std::int64_t trips = constant_trips(loop);
  if (trips >= 0 && trips <= plan.slots) {
    // With a slot for each iteration there is no stack and no running on: slot k is iteration k.
    plan.slots = std::max<std::int64_t>(1, trips);
    plan.all_fit = true;
  } else if (options_.slots_are_far && is_cheap(*loop.regions.back())) {
    plan.slots = kFewestSlots;
  }
  // Even: half of them for the way there, half for the way back.
  plan.slots += plan.slots % 2;
  return plan;
}

const std::vector<Value*>& Reverser::slots_for(const Op& loop, const LoopPlan& plan) {
  std::vector<Value*>& arrays = slot_arrays_[&loop];
  if (arrays.empty()) {
    Region* place = b_.region();
    // Made once, at the beginning of the function: a loop inside of another loop uses the same memory in each turn, as
    // what an earlier turn left there is read by nobody. Raw for the same reason.
    b_.set_place(target_.body, target_.body->first);
    std::int64_t shape[] = {plan.slots};
    auto add = [&](const Type* type) { arrays.push_back(b_.local(types::array(type, 1), shape, true)); };
    if (!plan.all_fit) add(types::i64());
    for (const LoopPlan::Leaf& leaf : plan.leaves) add(leaf.type);
    b_.set_place(place);
  }
  return arrays;
}

std::vector<Value*> Reverser::load_slot(const LoopPlan& plan, const LoopRecord& record, Value* at) {
  std::vector<Value*> out(plan.state.size());
  Value* index[] = {at};
  for (std::size_t k = 0; k < plan.leaves.size(); ++k) {
    const LoopPlan::Leaf& leaf = plan.leaves[k];
    // Behind the iterations' array, where there is one.
    Value* number = b_.load(record.slots[k + !plan.all_fit], index, 0, {});
    Value*& whole = out[leaf.state];
    if (leaf.path.empty()) {
      whole = number;
    } else {
      if (!whole) whole = b_.zero(plan.types[leaf.state]);
      whole = b_.insert(whole, number, leaf.path);
    }
  }
  return out;
}

void Reverser::store_slot(const LoopPlan& plan, const LoopRecord& record, Value* at, Value* iteration,
                          std::span<Value* const> state) {
  Value* index[] = {at};
  if (!plan.all_fit) b_.store(record.slots[0], index, 0, {}, {}, iteration);
  for (std::size_t k = 0; k < plan.leaves.size(); ++k) {
    const LoopPlan::Leaf& leaf = plan.leaves[k];
    Value* number = leaf.path.empty() ? state[leaf.state] : b_.extract(state[leaf.state], leaf.path);
    b_.store(record.slots[k + !plan.all_fit], index, 0, {}, {}, number);
  }
}

Value* Reverser::induction(const Op& loop, Value* iteration) {
  const Type* type = loop.regions[0]->args[0]->type;
  auto wide = [&](std::size_t k) {
    Value* v = map(loop.operand(k));
    return v->type == types::i64() ? v : b_.cast(v, types::i64());
  };
  // By multiplication, since iterations are visited backwards and from the middle; wrapping arithmetic makes it the
  // number that repeated addition gives.
  Value* at = plus(wide(0), times(iteration, wide(2)));
  return type == types::i64() ? at : b_.cast(at, type);
}

void Reverser::bind_state(const Op& loop, Value* iteration, std::span<const std::size_t> which,
                          std::span<Value* const> values) {
  // Carried values that are not restored are not needed: whatever reads them is dead.
  for (const Region* region : loop.regions) {
    if (loop.code == OpCode::for_)
      forward_[region->args[0]] =
          iteration->type == region->args[0]->type && is_plain_shared(loop) ? iteration : induction(loop, iteration);
    for (std::size_t k = first_carried(loop); k < region->args.size(); ++k)
      forward_[region->args[k]] = b_.zero(region->args[k]->type);
    for (std::size_t k = 0; k < which.size(); ++k) forward_[region->args[first_carried(loop) + which[k]]] = values[k];
  }
}

Value* Reverser::trip_count(const Op& loop) {
  // In 64 bits as the loop itself counts: ⌈(hi − lo)/step⌉ upwards, likewise downwards, none for a step of 0.
  const bool narrow = loop.operand(0)->type != types::i64();
  auto wide = [&](std::size_t k) {
    Value* v = map(loop.operand(k));
    return narrow ? b_.cast(v, types::i64()) : v;
  };
  Value *lo = wide(0), *hi = wide(1), *step = wide(2);
  Value* zero = b_.i64(0);
  Value* up = b_.binary(OpCode::gt, step, zero);
  Value* distance = b_.select(up, minus(hi, lo), minus(lo, hi));
  Value* size = b_.unary(OpCode::abs, step);
  // The quotient is computed in any case; x/0 is 0 in the IR, so that a step
  // of 0 does no harm until it is deselected.
  Value* no_step = b_.binary(OpCode::eq, step, zero);
  if (narrow) {
    Value* count = over(plus(distance, minus(size, b_.i64(1))), size);
    return b_.select(b_.binary(OpCode::bit_or, b_.binary(OpCode::le, distance, zero), no_step), zero, count);
  }
  // The distance of two i64 may need all 64 bits: it is a number without a sign then, and which of the bounds is ahead
  // must be asked of themselves.
  Value* ahead = b_.select(up, b_.binary(OpCode::lt, lo, hi), b_.binary(OpCode::lt, hi, lo));
  Value* one = b_.constant(types::u64(), 1);
  Value* last = over(minus(b_.cast(distance, types::u64()), one), b_.cast(size, types::u64()));
  Value* runs = b_.binary(OpCode::bit_and, ahead, b_.unary(OpCode::bit_not, no_step));
  return b_.select(runs, b_.cast(plus(last, one), types::i64()), zero);
}

/// In the replayed loop: leaves a snapshot when it is due. Gives stride and used slots from then on.
std::vector<Value*> Reverser::remember(const LoopPlan& plan, const LoopRecord& record, std::span<Value* const> state,
                                       Value* count, Value* stride, Value* used) {
  if (plan.all_fit) {
    store_slot(plan, record, count, count, state);
    return {stride, used};
  }
  const Type* both[] = {types::i64(), types::i64()};
  Value* half = b_.i64(plan.slots / 2);
  // Strides are powers of two: due is every iteration whose number is a multiple.
  Value* rest = b_.binary(OpCode::bit_and, count, minus(stride, b_.i64(1)));
  Op* due = b_.if_op(b_.binary(OpCode::eq, rest, b_.i64(0)), both);
  Region* outer = b_.region();
  b_.set_place(due->regions[0]);

  // Only the lower half is used on the way there. The upper half is for snapshots that the reverse makes on its way
  // back, when it runs on from one of these.
  Op* full = b_.if_op(b_.binary(OpCode::eq, used, half), both);
  b_.set_place(full->regions[0]);
  // Every second one moves down: 2k to k, ascending, so that none is overwritten before it has moved. Slot 0, the
  // loop's start, stays.
  Op* thin = b_.for_op(b_.i64(1), b_.i64(plan.slots / 4), b_.i64(1), {});
  b_.set_place(thin->regions[0]);
  Value* to = thin->regions[0]->args[0];
  Value* from = times(to, b_.i64(2));
  Value* from_index[] = {from};
  Value* iteration = b_.load(record.slots[0], from_index, 0, {});
  store_slot(plan, record, to, iteration, load_slot(plan, record, from));
  b_.yield({});
  b_.set_place(full->regions[0]);
  Value* thinned[] = {times(stride, b_.i64(2)), b_.i64(plan.slots / 4)};
  b_.yield(thinned);
  b_.set_place(full->regions[1]);
  Value* as_before[] = {stride, used};
  b_.yield(as_before);

  b_.set_place(due->regions[0]);
  store_slot(plan, record, full->result(1), count, state);
  Value* after[] = {full->result(0), plus(full->result(1), b_.i64(1))};
  b_.yield(after);
  b_.set_place(due->regions[1]);
  b_.yield(as_before);
  b_.set_place(outer);
  return {due->result(0), due->result(1)};
}

void Reverser::replay_recorded(const Op& loop) {
  const LoopPlan& how = plan(loop);
  LoopRecord record;
  // Nothing to restore: the number of trips, which follows from the bounds, is all that the way back needs.
  if (how.state.empty() && loop.code == OpCode::for_) {
    replay_control(loop);
    record.trips = trip_count(loop);
    records_[&loop] = record;
    return;
  }
  if (!how.state.empty()) record.slots = slots_for(loop, how);
  if (!how.state.empty() && parts(loop)) return replay_parted(loop, how, std::move(record));
  std::vector<Value*> operands = mapped_all(loop.operands);
  std::vector<const Type*> types;
  for (const Value* result : loop.results) types.push_back(result->type);
  const std::size_t extra = types.size();  // count, stride, used
  // Three more carried values ride along: iterations so far, the stride of snapshots, slots in use. With nothing to
  // restore (a `while`) only the first will be read, and dce takes the others.
  for (std::int64_t start : {0, 1, 0}) operands.push_back(b_.i64(start)), types.push_back(types::i64());
  // The source's own loop with its own bounds, whatever its kind: the replay runs as often as the launch did.
  Op* copy = b_.op_typed(loop.code, operands, types, loop.regions.size());
  ir::copy_attributes(loop, target_, *copy);
  Region* outer = b_.region();
  const std::size_t first = first_carried(loop);
  for (std::size_t r = 0; r < loop.regions.size(); ++r) {
    const Region& from = *loop.regions[r];
    for (const Value* arg : from.args)
      forward_[arg] = target_.add_argument(copy->regions[r], arg->type, target_.arena.copy(arg->name));
    Value* own[3];
    for (Value*& value : own) value = target_.add_argument(copy->regions[r], types::i64());
    b_.set_place(copy->regions[r]);
    bool body = r + 1 == loop.regions.size();
    std::vector<Value*> kept = {own[1], own[2]};
    if (body && !how.state.empty()) {
      std::vector<Value*> state;
      for (std::size_t k : how.state) state.push_back(forward_[from.args[first + k]]);
      // Before the body: a snapshot is the state with which an iteration begins.
      kept = remember(how, record, state, own[0], own[1], own[2]);
    }
    replay(from, false);
    std::vector<Value*> ends = mapped_all(from.last->operands);
    if (body) {
      ends.push_back(plus(own[0], b_.i64(1)));
      ends.insert(ends.end(), kept.begin(), kept.end());
    }
    b_.op(from.last->code, ends);
  }
  b_.set_place(outer);
  for (std::size_t k = 0; k < loop.results.size(); ++k) forward_[loop.results[k]] = copy->result(k);
  record.trips = copy->result(extra);
  record.used = copy->result(extra + 2);
  records_[&loop] = record;
}

/// The state before an iteration; `depth` is the height of the stack of snapshots, before and after.
std::vector<Value*> Reverser::restore(const Op& loop, const LoopPlan& plan, const LoopRecord& record, Value* iteration,
                                      Value*& depth) {
  if (plan.all_fit) return load_slot(plan, record, iteration);
  // The number of the iteration on top of a stack of that height. Slot 0, the state before the loop, is never taken
  // off before iteration 0 is wanted, so that there always is one.
  auto mark_of = [&](Value* height) {
    Value* index[] = {minus(height, b_.i64(1))};
    return b_.load(record.slots[0], index, 0, {});
  };
  const Region& body = *loop.regions.back();
  Value* from = mark_of(depth);
  // The top of the stack is the latest snapshot at or before the iteration: all later ones have served and were taken
  // off.
  std::vector<Value*> state = load_slot(plan, record, minus(depth, b_.i64(1)));
  // Snapshots on the way: at every iteration if there is room, else so that half of the free slots are used.
  Value* distance = minus(iteration, from);
  Value* room = minus(b_.i64(plan.slots), depth);
  // A quotient of floats will do: what it is off by costs a slot or some iterations, and 64-bit integers divide slowly.
  auto real = [&](Value* v) { return b_.cast(v, types::f32()); };
  Value* half = b_.binary(OpCode::max, b_.binary(OpCode::shr, room, b_.i64(1)), b_.i64(1));
  Value *way = real(distance), *steps = real(half);
  Value* apart = plus(b_.cast(over(way, steps), types::i64()), b_.i64(1));
  Value* spacing = b_.select(b_.binary(OpCode::le, distance, room), b_.i64(1), apart);
  std::vector<Value*> init = state;
  init.push_back(spacing);  // iterations to the next snapshot
  init.push_back(depth);
  Op* run = b_.for_op(from, iteration, b_.i64(1), init);
  Region* outer = b_.region();
  Region* inside = run->regions[0];
  b_.set_place(inside);
  Value* at = inside->args[0];
  // The same body with other values for its arguments: `forward_` is rebound, and what was mapped for another place is
  // emitted anew here.
  bind_state(loop, at, plan.state, std::span<Value* const>(inside->args).subspan(1, plan.state.size()));
  auto run_on = [&] {
    ReplayRoot root(*this, &body);
    replay(body, false);
    std::vector<Value*> reached;
    for (std::size_t k : plan.state) reached.push_back(map(body.last->operand(k)));
    return reached;
  };
  const std::span<Value* const> as_before(inside->args.begin() + 1, plan.state.size());
  std::vector<Value*> next =
      record.most ? guarded(b_.binary(OpCode::lt, at, record.trips), as_before, run_on) : run_on();
  Value* height = inside->args.back();
  Value* reached = plus(at, b_.i64(1));
  Value* left = minus(inside->args[inside->args.size() - 2], b_.i64(1));
  Value* passed = b_.binary(OpCode::eq, left, b_.i64(0));
  next.push_back(b_.select(passed, spacing, left));
  Value* due = b_.binary(OpCode::bit_and, passed, b_.binary(OpCode::lt, height, b_.i64(plan.slots)));
  // Not of the wanted iteration itself, which is used at once.
  due = b_.binary(OpCode::bit_and, due, b_.binary(OpCode::lt, reached, iteration));
  const Type* one[] = {types::i64()};
  Op* leave = b_.if_op(due, one);
  b_.set_place(leave->regions[0]);
  store_slot(plan, record, height, reached, next);
  Value* higher[] = {plus(height, b_.i64(1))};
  b_.yield(higher);
  b_.set_place(leave->regions[1]);
  b_.yield({&height, 1});
  b_.set_place(inside);
  next.push_back(leave->result());
  b_.yield(next);
  b_.set_place(outer);
  Value* stacked = run->results.back();
  // A snapshot of this very iteration has served.
  Value* served = b_.binary(OpCode::eq, mark_of(stacked), iteration);
  // The next iteration wanted is one less, so everything left on the stack is at or before it again.
  depth = b_.select(served, minus(stacked, b_.i64(1)), stacked);
  return {run->results.begin(), run->results.end() - 2};
}

std::vector<Value*> Reverser::reverse_iteration(const Op& loop, std::span<const std::size_t> carried,
                                                std::span<Value* const> outside, std::span<Value* const> adjoints) {
  const Region& body = *loop.regions.back();
  {
    ReplayRoot root(*this, &body);
    replay(body, true);
    forget_adjoints(body);
    // Adjoints of values from outside are carried by the reversed loop, as every iteration adds to them. Those of the
    // body's own values start from nothing in each.
    for (std::size_t k = 0; k < outside.size(); ++k) set(outside[k], adjoints[carried.size() + k]);
    for (std::size_t k = 0; k < carried.size(); ++k) add(body.last->operand(carried[k]), adjoints[k]);
    reverse(body);
  }
  std::vector<Value*> next;
  for (std::size_t k : carried) next.push_back(adjoint_or_zero(body.args[first_carried(loop) + k]));
  for (const Value* value : outside) next.push_back(adjoint_or_zero(value));
  return next;
}

void Reverser::reverse_loop(const Op& loop) {
  if (!activity_.matters(loop)) return;
  const LoopPlan& how = plan(loop);
  const LoopRecord record = records_.at(&loop);
  std::vector<std::size_t> carried = active_carried(loop, activity_);
  std::vector<Value*> outside = active_from_outside(loop, activity_);
  std::vector<Value*> init;
  bool stack = !how.state.empty() && !how.all_fit;
  if (stack) init.push_back(record.used);
  // A carried value's adjoint behind the last iteration is that of the loop's result.
  for (std::size_t k : carried) init.push_back(adjoint_or_zero(loop.result(k)));
  for (const Value* value : outside) init.push_back(adjoint_or_zero(value));
  // With lanes that leave apart (`most`) the way back takes as many turns as the longest lane did, and each lane joins
  // in when it is its turn: all then restore and reverse the same iterations together.
  // Turns that threads share are independent: they may go the same way again, and those who look for such loops know them.
  Op* back = is_plain_shared(loop)
                 ? b_.for_op(map(loop.operand(0)), map(loop.operand(1)), map(loop.operand(2)), init)
                 : b_.for_op(minus(record.most ? record.most : record.trips, b_.i64(1)), b_.i64(-1), b_.i64(-1), init);
  if (loop.text == ir::kSharedLoop) back->text = ir::kSharedLoop;
  Region* outer = b_.region();
  Region* inside = back->regions[0];
  b_.set_place(inside);
  Value* iteration = inside->args[0];
  Value* depth = stack ? inside->args[1] : nullptr;
  std::vector<Value*> state;
  if (!how.state.empty()) state = restore(loop, how, record, iteration, depth);
  std::vector<Value*> adjoints(inside->args.begin() + 1 + stack, inside->args.end());
  auto go_back = [&] {
    bind_state(loop, iteration, how.state, state);
    return reverse_iteration(loop, carried, outside, adjoints);
  };
  std::vector<Value*> next =
      record.most ? guarded(b_.binary(OpCode::lt, iteration, record.trips), adjoints, go_back) : go_back();
  if (stack) next.insert(next.begin(), depth);
  b_.yield(next);
  b_.set_place(outer);
  for (std::size_t k = 0; k < outside.size(); ++k)
    // Set, not added: the loop began with what was there.
    set(outside[k], back->result(std::size_t(stack) + carried.size() + k));
  for (std::size_t k = 0; k < carried.size(); ++k)
    // What is left in front of the first iteration belongs to the initial values.
    add(loop.operand(first_init(loop) + carried[k]), back->result(std::size_t(stack) + k));
}

}  // namespace weft::autodiff
