// Loops that threads leave at different times. If each thread counted its own iterations and snapshots, lanes would keep
// theirs in different places and run on from them at different times. So those that run together count together: the
// replay goes on until the last one is done (`any`), the reverse begins there, and each thread takes part in its own
// iterations only. Snapshots are then whole vectors, and what finds them is the same for all lanes. A thread by itself, as on
// a GPU, runs as many iterations as it would otherwise.
#include <algorithm>

#include "autodiff/loop_shape.h"
#include "autodiff/reverse.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool Reverser::parts(const Op& loop) {
  if (!lanes_) {
    // The adjoint is made before anyone knows of lanes. What may differ between two threads of a launch is taken to
    // differ: coordinates, and, in a function, all parameters. A kernel's parameters are the same for all.
    std::fill(std::begin(lane_entry_.tids), std::end(lane_entry_.tids), analysis::kVarying);
    lane_entry_.thread = analysis::kVarying;
    if (source_.kind != ir::FunctionKind::kernel)
      for (const Value* param : source_.params())
        lane_entry_.params.insert(lane_entry_.params.end(), analysis::lane_units(param->type), analysis::kVarying);
    lanes_ = std::make_unique<analysis::Uniformity>(source_, lane_entry_);
  }
  return lanes_->divergent(loop);
}

std::vector<Value*> Reverser::guarded(Value* condition, std::span<Value* const> otherwise,
                                      const std::function<std::vector<Value*>()>& make) {
  std::vector<const Type*> types;
  for (const Value* value : otherwise) types.push_back(value->type);
  Op* guard = b_.if_op(condition, types);
  Region* outer = b_.region();
  b_.set_place(guard->regions[0]);
  // Written by the caller in the place of the first side; whatever it maps is then visible there and nowhere else.
  const std::vector<Value*> made = make();
  b_.yield(made);
  b_.set_place(guard->regions[1]);
  b_.yield(otherwise);
  b_.set_place(outer);
  return {guard->results.begin(), guard->results.end()};
}

/// Whether a `while` goes on from these carried values.
Value* Reverser::test_of(const Op& loop, std::span<Value* const> carried) {
  const Region& test = *loop.regions[0];
  for (std::size_t k = 0; k < carried.size(); ++k) forward_[test.args[k]] = carried[k];
  replay(test, false);
  return map(test.last->operand(0));
}

/// Writes this for a loop that carries `s`, a `for` of `all` turns or a `while`:
///
///   while (s, going = 0 < all or test(s), trips = 0, count = 0, stride = 1, used = 0) {
///     test any(going)
///   } do {
///     remember(s)                                     // by all: slots and counters stay in step
///     if going { s = body(s); going = …; trips = count + 1 }
///     yield s, going, trips, count + 1, stride, used
///   }
///
/// `trips` is what the thread itself has run; `count`, stride and slots belong to all that run together.
void Reverser::replay_parted(const Op& loop, const LoopPlan& how, LoopRecord record) {
  const Region& body = *loop.regions.back();
  const std::size_t carried = loop.results.size();
  Value* all = loop.code == OpCode::for_ ? trip_count(loop) : nullptr;
  std::vector<Value*> init;
  for (std::size_t k = 0; k < carried; ++k) init.push_back(map(loop.operand(first_init(loop) + k)));
  init.push_back(all ? b_.binary(OpCode::lt, b_.i64(0), all) : test_of(loop, init));
  for (std::int64_t start : {0, 0, 1, 0}) init.push_back(b_.i64(start));  // own iterations; count, stride, used of all
  Op* copy = b_.while_op(init);
  Region* outer = b_.region();
  b_.set_place(copy->regions[0]);
  b_.test(b_.unary(OpCode::any, copy->regions[0]->args[carried]));

  Region* inside = copy->regions[1];
  b_.set_place(inside);
  const std::span<Value* const> now(inside->args.begin(), inside->args.end());
  Value *going = now[carried], *trips = now[carried + 1], *count = now[carried + 2];
  std::vector<Value*> state;
  for (std::size_t k : how.state) state.push_back(now[k]);
  // Outside of the guard: a thread that has left stores its final state once more, which the reverse never looks at,
  // since it only takes part in iterations below its `trips`.
  const std::vector<Value*> kept = remember(how, record, state, count, now[carried + 3], now[carried + 4]);
  Value* reached = plus(count, b_.i64(1));
  // Who has left keeps the state with which it left: these are the loop's results for it.
  std::vector<Value*> stays(now.begin(), now.begin() + std::ptrdiff_t(carried));
  stays.insert(stays.end(), {going, trips});
  std::vector<Value*> next = guarded(going, stays, [&] {
    std::vector<std::size_t> which(carried);
    for (std::size_t k = 0; k < carried; ++k) which[k] = k;
    // While a thread is going its own iterations are those of all, so `count` gives the loop variable, too.
    bind_state(loop, count, which, now.first(carried));
    replay(body, false);
    std::vector<Value*> out = mapped_all(body.last->operands);
    // The test is asked behind the body and not in the loop's own test, which only combines what the threads say. A
    // copy of the list, because `out` grows while the test is being written.
    out.push_back(all ? b_.binary(OpCode::lt, reached, all) : test_of(loop, std::vector<Value*>(out)));
    out.push_back(reached);
    return out;
  });
  next.push_back(reached);
  next.insert(next.end(), kept.begin(), kept.end());
  b_.yield(next);
  b_.set_place(outer);
  for (std::size_t k = 0; k < carried; ++k) forward_[loop.results[k]] = copy->result(k);
  record.trips = copy->result(carried + 1);
  record.most = copy->result(carried + 2);
  record.used = copy->result(carried + 4);
  records_[&loop] = std::move(record);
}

}  // namespace weft::autodiff
