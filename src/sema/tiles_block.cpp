// How the threads of a block share the work on tiles (GPUs). Each element belongs to one thread, the same one in every loop over
// as many or more elements; scalars are each thread's own. Barriers are not set here: passes/block_barriers.cpp finds where
// threads need what others wrote.
#include <algorithm>

#include "ir/tile_memory.h"
#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

ir::Op* Tiles::meet() {
  b_.set_loc(at_.loc);
  return cooperates() ? b_.op_typed(OpCode::meet, {}, {}) : nullptr;
}

void Tiles::agree(ir::Value* number, std::string_view what) {
  if (!cooperates() || number->is_constant()) return;
  b_.set_loc(at_.loc);
  ir::Value* operands[] = {number};
  b_.op_typed(OpCode::meet, operands, {})->text = what;
}

ir::Value* Tiles::thread() { return b_.op(OpCode::block_thread, {})->result(); }

ir::Value* Tiles::thread_count() {
  return f_.module_.options().block_rows ? i32(threads_) : b_.op(OpCode::block_dim, {})->result();
}

void Tiles::share(std::int64_t n, const std::function<void(ir::Value*)>& body) {
  if (n < 1 || !f_.enter_region(at_)) return;
  b_.set_loc(at_.loc);
  ir::Region* const outer = b_.region();
  ir::Op* const meeting = meet();
  const std::uint32_t made_before = f_.function_.value_count;
  ir::Value* const own = thread();
  sharing_ = true;
  window_starts_.clear();
  const auto open = [&](ir::Op* op) {  // what is made for the loop goes in front of it
    if (!outermost_) outermost_ = op;
    b_.set_place(op->regions[0]);
  };
  const auto guarded_turn = [&](ir::Value* i) {  // where the last turn is not for all threads
    ir::Region* const here = b_.region();
    ir::Op* op = b_.if_op(b_.binary(OpCode::lt, i, i32(n)), {});
    open(op);
    body(i);
    b_.yield({});
    b_.set_place(op->regions[1]);
    b_.yield({});
    b_.set_place(here);
  };
  // As many turns for every thread, where the number of threads is known: such loops are unrolled, and gradients need no log.
  const bool known = f_.module_.options().block_rows;
  const std::int64_t turns = (n + threads_ - 1) / threads_;
  if (known && turns == 1) {
    if (n == threads_)
      body(own);
    else
      guarded_turn(own);
  } else {
    ir::Op* op = known ? b_.for_op(i32(0), i32(turns), i32(1), {}) : b_.for_op(own, i32(n), thread_count(), {});
    op->text = ir::kSharedLoop;
    open(op);
    ir::Value* i = op->regions[0]->args[0];
    if (known) i = b_.binary(OpCode::add, own, b_.binary(OpCode::mul, i, i32(threads_)));
    if (known && n % threads_)
      guarded_turn(i);
    else
      body(i);
    b_.yield({});
    b_.set_place(outer);
  }
  outermost_ = nullptr;
  sharing_ = false;
  --f_.region_depth_;
  // What windows' elements are counted from is known when all are touched; windows that a turn makes are its own matter.
  std::erase_if(window_starts_, [&](const ir::Value* start) { return start->id >= made_before; });
  if (!meeting || window_starts_.empty()) return;
  meeting->operands = f_.function_.arena.copy(std::span<ir::Value* const>(window_starts_));
  meeting->text = kWindowStart;
}

void Tiles::once(const std::function<void()>& body) {
  if (!cooperates()) return body();
  share(1, [&](ir::Value*) { body(); });
}

bool Tiles::may_lack_threads() const { return threads_ > 1 && !f_.module_.options().block_rows; }

void Tiles::note_by_thread(const Window& made) {
  if (may_lack_threads()) f_.tiles_by_thread_.insert(made.data);
}

void Tiles::fill_missing(const Window& made) {
  if (!may_lack_threads()) return;
  fill(made, f_.function_.zero(made.type->element));
  note_by_thread(made);
}

Entity Tiles::known_by_thread(ir::Value* tile) {
  Window w = window(tile);
  w.offset = i32(0);  // all of its memory
  note_by_thread(w);
  return Entity::of(value(w));
}

ir::Value* Tiles::is_there(ir::Value* place) {
  return b_.binary(OpCode::lt, f_.fold(OpCode::rem, place, i32(threads_)), thread_count());
}

ir::Value* Tiles::reduced_of_threads(const Window& given, const Combine& combine) {
  // As Tiles::reduced, with a second tile that says whether an element, or what was joined there, is anybody's.
  Window w = given, any = make(types::boolean(), {given.type->count});
  loop(w.type->count, [&](ir::Value* i) {
    ir::Value* at[] = {i};
    put(any, at, is_there(i));
  });
  bool failed = false;
  for (std::int64_t n = w.type->count, half = 1; n > 1 && !failed; n = half) {
    for (half = 1; half * 2 < n;) half *= 2;
    const Window next = make(w.type->element, {half}), next_any = make(types::boolean(), {half});
    loop(half, [&](ir::Value* i) {
      ir::Value *low[] = {i}, *high[] = {plus(i, i32(half))};
      const auto alone = [&](Coords at) {
        put(next, low, get(w, at));
        put(next_any, low, get(any, at));
      };
      const auto joined = [&] {
        ir::Value* sum = combine(get(w, low), get(w, high));
        failed = failed || !sum;
        if (!sum) return;
        put(next, low, sum);
        put(next_any, low, b_.boolean(true));
      };
      const auto both = [&] {
        guarded(get(any, high), [&] { guarded(get(any, low), joined, [&] { alone(high); }); }, [&] { alone(low); });
      };
      guarded(n == 2 * half ? b_.boolean(true) : b_.binary(OpCode::lt, high[0], i32(n)), both, [&] { alone(low); });
    });
    w = next;
    any = next_any;
  }
  ir::Value* first[] = {i32(0)};
  return failed ? nullptr : get(w, first);
}

ir::Value* Tiles::from_thread(ir::Value* value, const Argument& which) {
  ir::Value* index = f_.value_of(which.entity, node(which));
  if (!index) return nullptr;
  if (!index->type->is_int()) {
    fail(DiagCode::bad_index, node(which), "thread_idx is an integer, not " + index->type->user_name());
    return nullptr;
  }
  const Window slot = make(value->type, {1});
  ir::Value* first[] = {i32(0)};
  // A thread that is not there stands for the nearest: somebody has to write what all read.
  ir::Value* last = b_.binary(OpCode::sub, thread_count(), i32(1));
  ir::Value* who = b_.binary(OpCode::max, b_.binary(OpCode::min, narrowed(index), last), i32(0));
  guarded(b_.binary(OpCode::eq, thread(), who), [&] { put(slot, first, value); });
  return get(slot, first);
}

std::vector<ir::Value*> Tiles::coordinates(const Shape& shape, ir::Value* i) {
  std::vector<ir::Value*> at(shape.size(), nullptr);
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::int64_t n = shape[d];
    bool first = true;  // everything in front is one place
    for (std::size_t k = 0; k < d; ++k) first = first && shape[k] == 1;
    if (n == 1 || first) {
      at[d] = n == 1 ? i32(0) : i;
      if (first) i = i32(0);
      continue;
    }
    if ((n & (n - 1)) == 0) {
      at[d] = b_.binary(OpCode::bit_and, i, i32(n - 1));
      i = b_.binary(OpCode::shr, i, i32(__builtin_ctzll(std::uint64_t(n))));
    } else {
      at[d] = b_.binary(OpCode::rem, i, i32(n));
      i = b_.binary(OpCode::div, i, i32(n));
    }
  }
  return at;
}

Tiles::Window Tiles::with_long_rows(const Window& w) {
  const std::int64_t n = w.type->shape[0];
  const Window room = make(w.type->element, {n * (n + 1)});
  const Window made = view(room, {n, n}, {n + 1, 1}, room.offset);
  each({n, n}, [&](Coords at) { put(made, at, get(w, at)); });
  return made;
}

Tiles::Window Tiles::scan_shared(Window from, OpCode code) {
  const std::int64_t n = from.type->count, groups = (n + kScanGroup - 1) / kScanGroup;
  const auto choose = [&](ir::Value* condition, const std::function<ir::Value*()>& yes, ir::Value* no, Window to,
                          ir::Value* at) {
    ir::Value* place[] = {at};
    guarded(condition, [&] { put(to, place, yes()); }, [&] { put(to, place, no); });
  };
  for (std::int64_t d = 1; d < std::min(n, kScanGroup); d *= 2) {
    const Window to = make(from.type->element, {n});
    share(n, [&](ir::Value* i) {
      ir::Value* own[] = {i};
      ir::Value* x = get(from, own);
      ir::Value* far = b_.binary(OpCode::ge, b_.binary(OpCode::bit_and, i, i32(kScanGroup - 1)), i32(d));
      const auto joined = [&] {
        ir::Value* before[] = {b_.binary(OpCode::sub, i, i32(d))};
        return b_.binary(code, get(from, before), x);
      };
      choose(far, joined, x, to, i);
    });
    from = to;
  }
  if (groups == 1) return from;
  Window totals = make(from.type->element, {groups - 1});
  share(groups - 1, [&](ir::Value* g) {
    ir::Value *to[] = {g}, *at[] = {plus(times(g, kScanGroup), i32(kScanGroup - 1))};
    put(totals, to, get(from, at));
  });
  totals = scan_shared(totals, code);
  const Window to = make(from.type->element, {n});
  share(n, [&](ir::Value* i) {
    ir::Value* own[] = {i};
    ir::Value* x = get(from, own);
    const auto joined = [&] {
      ir::Value* group[] = {b_.binary(OpCode::sub, b_.binary(OpCode::shr, i, i32(5)), i32(1))};
      return b_.binary(code, get(totals, group), x);
    };
    choose(b_.binary(OpCode::ge, i, i32(kScanGroup)), joined, x, to, i);
  });
  return to;
}

void Tiles::transform_shared(const Window& w, std::span<const Pass> passes, int sign) {
  const Type* element = w.type->element;
  const std::int64_t n = w.type->shape.back();
  const Window roots = make(element, {n});
  if (element->element()->size() == 4 && n % 4 == 0)
    library_call(n % 8 == 0 ? "_tile_twiddles_block_8" : "_tile_twiddles_block_4",
                 {roots.data, i32(n), i32(sign), thread(), thread_count()});
  else
    library_call("_tile_twiddles_block",
                 {roots.data, i32(n), i32(sign), f_.function_.zero(element->element()), thread(), thread_count()});
  // From the row through memory of its own and back into the row: an odd number of passes goes through two such memories first.
  // A single pass is copied.
  struct Place {
    ir::Value *data, *start, *gaps;
  };
  const std::int64_t room = n + n / 16;
  const Place first{make(element, {room}).data, i32(0), i32(1)};
  const bool odd = passes.size() % 2 != 0;
  const Place second = odd && passes.size() > 1 ? Place{make(element, {room}).data, i32(0), i32(1)} : first;
  in_packed(w, [&](const Window& memory) {
    plain_loop(memory.type->count / n, [&](ir::Value* row) {
      const Place whole{memory.data, plus(memory.offset, times(row, n)), i32(0)};
      Place from = whole;
      for (std::size_t k = 0; k < passes.size(); ++k) {
        const Place to = k == 0 ? first : odd && k == 1 ? second : (k % 2 != 0) == odd ? first : whole;
        const std::int64_t r = passes[k].radix;
        std::vector<ir::Value*> values = {from.data, from.start, from.gaps,  to.data,
                                          to.start,  to.gaps,    roots.data, i32(n)};
        const bool plain = r == 2 || r == 4 || r == 8;
        values.push_back(i32(plain ? sign : r));
        values.insert(values.end(), {i32(r * passes[k].rest), i32(passes[k].stride), thread(), thread_count()});
        library_call("_tile_fft_block" + (plain ? "_" + std::to_string(r) : ""), values);
        from = to;
      }
      if (passes.size() > 1) return;
      share(n, [&](ir::Value* i) {
        ir::Value *at[] = {plus(i, b_.binary(OpCode::shr, i, i32(4)))}, *to[] = {plus(whole.start, i)};
        b_.store(whole.data, to, 0, {}, {}, b_.load(first.data, at, 0, {}, {}));
      });
    });
  });
}

ir::Value* Tiles::extreme_place(const Window& memory, bool most) {
  const Window values = flat(memory);
  Window places = make(types::i32(), {values.type->count});
  places.by_thread = memory.by_thread;
  loop(values.type->count, [&](ir::Value* i) {
    ir::Value* at[] = {i};
    put(places, at, i);
  });
  // The better value, else the lower place; NaN is worse than any number.
  return reduced(
      places,
      [&](ir::Value* i, ir::Value* j) {
        ir::Value *at[] = {i}, *other[] = {j};
        ir::Value *x = get(values, at), *y = get(values, other);
        ir::Value* better = b_.binary(most ? OpCode::gt : OpCode::lt, y, x);
        ir::Value* equal = b_.binary(OpCode::eq, y, x);
        if (x->type->is_float()) {
          ir::Value *x_none = b_.binary(OpCode::ne, x, x), *y_none = b_.binary(OpCode::ne, y, y);
          better = b_.binary(OpCode::bit_or, better, b_.binary(OpCode::bit_and, x_none, b_.binary(OpCode::eq, y, y)));
          equal = b_.binary(OpCode::bit_or, equal, b_.binary(OpCode::bit_and, x_none, y_none));
        }
        ir::Value* earlier = b_.binary(OpCode::bit_and, equal, b_.binary(OpCode::lt, j, i));
        return b_.select(b_.binary(OpCode::bit_or, better, earlier), j, i);
      },
      Joins::any_pair);
}

}  // namespace weft::sema
