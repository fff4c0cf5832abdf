// Cholesky factors and triangular systems of at most 32 rows on GPUs: the block's first warp does them, a thread for each row,
// which it keeps in registers. What a thread needs of another one's row comes by shuffles, so that threads neither wait at
// barriers nor meet in memory on the way. Every number takes its updates in the order of stdlib/tile_linear.py.
// Roots and quotients of float32 are those of tame numbers (ir/tame.h), which have no branches. Whether all numbers were tame
// is known at the end; if not, loops of the library (stdlib/tile_warp.py) do the work again, with the same bits.
#include <array>

#include "ir/tame.h"
#include "ir/tile_memory.h"
#include "sema/tiles.h"

namespace weft::sema {

using ir::OpCode;

bool Tiles::fits_warp(std::int64_t n) const {
  return cooperates() && f_.module_.options().block_rows && n > 1 && n <= threads_ && n <= kWarp && !writes_once();
}

bool Tiles::goes_by_loops(std::int64_t n) const { return n > kMostInRegisters && threads_ <= kWarp; }

bool Tiles::has_tame(const Type* type) const { return type == types::f32(); }

ir::Value* Tiles::tame(OpCode code, std::initializer_list<ir::Value*> operands) {
  ir::Op* op = b_.op(code, std::span(operands.begin(), operands.size()));
  if (has_tame(op->result()->type)) op->imm = ir::kTame;
  return op->result();
}

void Tiles::by_rows(std::int64_t n, const std::function<void(Row&)>& body) {
  const auto u32 = [&](std::uint64_t bits) { return b_.constant(types::u32(), bits); };
  meet();
  ir::Value* const own = thread();
  const auto work = [&] {
    Row row;
    row.thread = own;
    row.warp = u32(threads_ < kWarp ? (std::uint64_t(1) << threads_) - 1 : 0xffffffff);
    row.number = n < std::min<std::int64_t>(threads_, kWarp) ? b_.binary(OpCode::min, own, i32(n - 1)) : own;
    body(row);
  };
  if (threads_ <= kWarp) return work();
  guarded(b_.binary(OpCode::eq, number_of_warp(), i32(0)), work);
}

ir::Value* Tiles::number_of_warp() {
  ir::Value* const warp = b_.binary(OpCode::shr, thread(), i32(5));
  if (threads_ % kWarp != 0) return warp;
  // What one thread has told to all is a number that ptxas knows to be the same in all.
  ir::Value* operands[] = {b_.constant(types::u32(), 0xffffffff), warp, b_.constant(types::u32(), 0)};
  return b_.op(OpCode::shuffle, operands)->result();
}

std::vector<ir::Value*> Tiles::in_row(std::int64_t n, std::int64_t count, const Type* type,
                                      const std::function<ir::Value*(std::int64_t)>& read) {
  std::vector<ir::Value*> read_here, zeros(std::size_t(count), f_.function_.zero(type));
  const auto read_all = [&] {
    for (std::int64_t k = 0; k < count; ++k) read_here.push_back(read(k));
  };
  if (n >= std::min<std::int64_t>(threads_, kWarp)) return read_all(), read_here;
  const std::vector<const Type*> types(std::size_t(count), type);
  ir::Region* const outer = b_.region();
  ir::Op* const op = b_.if_op(b_.binary(OpCode::lt, thread(), i32(n)), types);
  b_.set_place(op->regions[0]);
  read_all();
  b_.yield(read_here);
  b_.set_place(op->regions[1]);
  b_.yield(zeros);
  b_.set_place(outer);
  return {op->results.begin(), op->results.end()};
}

void Tiles::end_rows(std::int64_t n, const Row& row, const std::function<void()>& then,
                     const std::function<void()>& otherwise) {
  const auto in_rows = [&] { guarded(b_.binary(OpCode::lt, thread(), i32(n)), then); };
  if (!row.wild) return in_rows();
  ir::Value* operands[] = {row.warp, row.wild};
  ir::Value* const votes = b_.op(OpCode::vote, operands)->result();
  guarded(b_.binary(OpCode::ne, votes, b_.constant(types::u32(), 0)), otherwise, in_rows);
}

ir::Value* Tiles::from_row(const Row& row, ir::Value* value, ir::Value* which) {
  ir::Value* operands[] = {row.warp, value, f_.cast(which, types::u32())};
  return b_.op(OpCode::shuffle, operands)->result();
}

void Tiles::note_wild(Row& row, ir::Value* wild) {
  row.wild = row.wild ? b_.binary(OpCode::bit_or, row.wild, wild) : wild;
}

namespace {

/// The bits of a float32 without the sign, less one: zeros come last.
ir::Value* size_bits(ir::Builder& b, ir::Value* x) {
  ir::Value* const bits = b.bitcast(x, types::u32());
  return b.binary(OpCode::sub, b.binary(OpCode::add, bits, bits), b.constant(types::u32(), 1));
}

/// size_bits of 2^-90.
constexpr std::uint64_t kLeastDividend = 2 * ((127 - 90) << 23) - 1;

}  // namespace

std::vector<ir::Value*> Tiles::rolled(ir::Value* turns, std::vector<ir::Value*> carried,
                                      const std::function<void(ir::Value*, std::vector<ir::Value*>&)>& body) {
  if (!f_.enter_region(at_)) return carried;
  ir::Region* const outer = b_.region();
  b_.set_loc(at_.loc);
  ir::Op* const op = b_.for_op(i32(0), turns, i32(1), carried);
  op->text = ir::kRolledLoop;
  const bool first = !outermost_;
  if (first) outermost_ = op;
  const auto args = op->regions[0]->args;
  b_.set_place(op->regions[0]);
  carried.assign(args.begin() + 1, args.end());
  body(args[0], carried);
  b_.yield(carried);
  b_.set_place(outer);
  if (first) outermost_ = nullptr;
  --f_.region_depth_;
  return {op->results.begin(), op->results.end()};
}

namespace {

/// How many columns of a factor a thread has in registers at a time where it does not have all: a number that divides them, or the most.
std::int64_t columns_at_once(std::int64_t n) {
  constexpr std::int64_t kMost = 8;
  for (std::int64_t width = kMost; width > kMost / 2; --width)
    if (n % width == 0) return width;
  return kMost;
}

}  // namespace

void Tiles::factor_columns(const Window& from, const Window& to, Row row, ir::Value* before, std::int64_t panel,
                           std::int64_t width) {
  const std::int64_t n = from.type->shape[0];
  const Type* const type = from.type->element;
  const std::int64_t chunk = panel % 4 == 0 ? 4 : panel;  // columns in front that are taken off at a time
  ir::Value* const first = times(before, panel);
  const auto at = [&](ir::Value* begin, std::int64_t k) { return std::array{row.number, plus(begin, i32(k))}; };
  const auto from_column = [&](ir::Value* value, std::int64_t k) { return from_row(row, value, plus(first, i32(k))); };
  // Numbers right of the diagonal are computed, too, and nobody reads them.
  std::vector<ir::Value*> own = in_row(n, width, type, [&](std::int64_t k) { return get(from, at(first, k)); });
  if (!first->is_zero())
    own = rolled(times(before, panel / chunk), own, [&](ir::Value* turn, std::vector<ir::Value*>& sums) {
      ir::Value* const begin = times(turn, chunk);
      const auto done = in_row(n, chunk, type, [&](std::int64_t k) { return get(to, at(begin, k)); });
      for (ir::Value* factor : done) {
        ir::Value* const minus = b_.unary(OpCode::neg, factor);
        for (std::int64_t j = 0; j < width; ++j)
          sums[j] = b_.ternary(OpCode::fma, minus, from_column(factor, j), sums[j]);
      }
    });
  ir::Value *const zero = f_.function_.zero(type), *least = b_.constant(types::u32(), 0xffffffff);
  for (std::int64_t k = 0; k < width; ++k) {
    if (has_tame(type)) least = b_.binary(OpCode::min, least, size_bits(b_, own[k]));
    ir::Value* const root = tame(OpCode::sqrt, {from_column(own[k], k)});
    ir::Value* const quotient = tame(OpCode::div, {own[k], root});
    own[k] = b_.select(b_.binary(OpCode::eq, row.number, plus(first, i32(k))), root, quotient);
    ir::Value* const minus = b_.unary(OpCode::neg, own[k]);
    for (std::int64_t j = k + 1; j < width; ++j)
      own[j] = b_.ternary(OpCode::fma, minus, from_column(own[k], j), own[j]);
  }
  if (has_tame(type)) {
    note_wild(row, b_.binary(OpCode::lt, least, b_.constant(types::u32(), kLeastDividend)));
    // A pivot that is no positive number has no root, and nor has anything behind it.
    note_wild(row, b_.binary(OpCode::ne, own.back(), own.back()));
  }
  const auto store = [&] {
    for (std::int64_t k = 0; k < width; ++k) {
      ir::Value* const column = plus(first, i32(k));
      put(to, std::array{row.number, column}, b_.select(b_.binary(OpCode::ge, row.number, column), own[k], zero));
    }
  };
  const auto again = [&] {
    std::vector<ir::Value*> values;
    pass(from, values);
    pass(to, values);
    values.insert(values.end(), {first, i32(width), i32(n), row.warp, row.thread});
    own_call("_tile_cholesky_warp", values);
  };
  end_rows(n, row, store, again);
}

void Tiles::factor_by_rows(const Window& from, const Window& to) {
  // So many columns at a time, of which each row first takes off what columns in front of them have: the thread reads its own
  // part of those from the factor. Written out as a whole, code for 32 rows takes the assembler a quarter of a second. Blocks of several
  // warps, of which one does this, have registers for more columns at once.
  const std::int64_t n = from.type->shape[0];
  const std::int64_t width = goes_by_loops(n) ? columns_at_once(n) : std::min<std::int64_t>(n, kMostInRegisters);
  by_rows(n, [&](Row& row) {
    if (has_tame(from.type->element)) {
      // What is taken off a number of the diagonal on the way is never less than nothing: roots are no larger than 2^30.
      const auto read = [&](std::int64_t) { return get(from, std::array{row.number, row.number}); };
      ir::Value* const given = in_row(n, 1, from.type->element, read)[0];
      ir::Value* const most = f_.function_.constant_float(from.type->element, 0x1p60);
      note_wild(row, b_.unary(OpCode::bit_not, b_.binary(OpCode::le, given, most)));
    }
    if (n / width == 1)
      factor_columns(from, to, row, i32(0), width, width);
    else
      rolled(i32(n / width), {},
             [&](ir::Value* before, std::vector<ir::Value*>&) { factor_columns(from, to, row, before, width, width); });
    if (n % width) factor_columns(from, to, row, i32(n / width), width, n % width);
  });
}

Tiles::Window Tiles::apart(const Window& w) {
  // Short rows without gaps are read and written four numbers at a time.
  if (w.type->shape[0] <= kMostInRegisters && w.type->contiguous) return w;
  const Window kept = kept_long_rows(w);
  return kept ? kept : with_long_rows(w);
}

std::int64_t Tiles::panel_of(std::int64_t n) const {
  if (!cooperates() || !f_.module_.options().block_rows || writes_once()) return 0;
  const std::int64_t most = std::min<std::int64_t>(threads_, kMostInRegisters);
  for (std::int64_t p = most; p >= 4; --p)
    if (n % p == 0 && p % 2 == 0) return p;
  return 0;
}

void Tiles::factor_by_panels(const Window& w, std::int64_t panel) {
  const std::int64_t n = w.type->shape[0];
  const Shape& strides = w.type->strides;
  rolled(i32(n / panel), {}, [&](ir::Value* k, std::vector<ir::Value*>&) {
    ir::Value* const first = plus(w.offset, times(k, panel * (strides[0] + strides[1])));
    const Window corner = view(w, {panel, panel}, strides, first);
    factor_by_rows(corner, corner);
    ir::Value* const rest = b_.binary(OpCode::sub, i32(n - panel), times(k, panel));
    library_call("_tile_cholesky_rest_block",
                 {w.data, first, i32(strides[0]), i32(strides[1]), i32(panel), rest, thread(), thread_count()});
  });
}

void Tiles::solve_by_panels(const Window& x, const System& system, std::int64_t panel) {
  // From the last row to the first an upper system is a lower one.
  const std::int64_t n = x.type->shape[0], sign = system.upper ? -1 : 1;
  const Shape &given = system.matrix.type->strides, strides = {sign * given[0], sign * given[1]};
  const std::int64_t stride = sign * x.type->strides[0];
  const auto begin = [&](const Window& w, std::int64_t step) {
    return system.upper ? plus(w.offset, i32((n - 1) * step)) : w.offset;
  };
  ir::Value *const matrix = begin(system.matrix, given[0] + given[1]), *const side = begin(x, x.type->strides[0]);
  rolled(i32(n / panel), {}, [&](ir::Value* k, std::vector<ir::Value*>&) {
    ir::Value* const first = plus(matrix, times(k, panel * (strides[0] + strides[1])));
    ir::Value* const start = plus(side, times(k, panel * stride));
    const System corner{view(system.matrix, {panel, panel}, strides, first), false};
    const Window part = view(x, {panel}, {stride}, start);
    solve_by_rows(part, part, std::span(&corner, 1));
    ir::Value* const rest = b_.binary(OpCode::sub, i32(n - panel), times(k, panel));
    library_call("_tile_solve_rest_block", {system.matrix.data, first, i32(strides[0]), i32(strides[1]), x.data, start,
                                            i32(stride), i32(panel), rest, thread(), thread_count()});
  });
}

ir::Value* Tiles::substitute_by_rows(Row& row, const System& system, ir::Value* side) {
  const Window& t = system.matrix;
  const std::int64_t n = t.type->shape[0];
  const Type* const type = side->type;
  ir::Value* const diagonal = get(t, std::array{row.number, row.number});
  const auto steps = [&](ir::Value* begin, std::int64_t count, ir::Value* sum) {
    // Columns from the first one of these steps on, or, of an upper system, from the last one of them.
    ir::Value* const low = system.upper ? f_.fold(OpCode::sub, i32(n - count), begin) : begin;
    ir::Value* const place = index(t, std::array{row.number, low});
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t behind = system.upper ? count - 1 - k : k;
      ir::Value *const j = plus(low, i32(behind)), *const at = plus(place, i32(behind * t.type->strides[1]));
      ir::Value* const solved = from_row(row, tame(OpCode::div, {sum, diagonal}), j);
      ir::Value* const factor = b_.unary(OpCode::neg, b_.load(t.data, std::span(&at, 1), 0));
      ir::Value* const open = b_.binary(system.upper ? OpCode::lt : OpCode::gt, row.number, j);
      sum = b_.select(open, b_.ternary(OpCode::fma, factor, solved, sum), sum);
    }
    return sum;
  };
  // The last row takes nothing off others, and may be left out.
  constexpr std::int64_t kAtOnce = 4;
  const std::int64_t all = n % kAtOnce == 0 ? n : n - 1;
  const std::int64_t turns = n > kMostInRegisters ? all / kAtOnce : 0;
  if (turns)
    side = rolled(i32(turns), {side}, [&](ir::Value* turn, std::vector<ir::Value*>& sums) {
      sums[0] = steps(times(turn, kAtOnce), kAtOnce, sums[0]);
    })[0];
  side = steps(i32(turns * kAtOnce), (turns ? all : n - 1) - turns * kAtOnce, side);
  ir::Value* const solved = tame(OpCode::div, {side, diagonal});
  if (has_tame(type)) {
    const auto real = [&](double x) { return f_.function_.constant_float(type, x); };
    ir::Value* const size = b_.unary(OpCode::abs, diagonal);
    ir::Value* const good = b_.binary(OpCode::bit_and, b_.binary(OpCode::ge, size, real(0x1p-60)),
                                      b_.binary(OpCode::le, size, real(0x1p30)));
    note_wild(row, b_.unary(OpCode::bit_not, b_.binary(OpCode::bit_and, good, b_.binary(OpCode::eq, solved, solved))));
    // At its own step the row's dividend was what it is now.
    note_wild(row, b_.binary(OpCode::lt, size_bits(b_, side), b_.constant(types::u32(), kLeastDividend)));
  }
  return solved;
}

void Tiles::solve_by_rows(const Window& from, const Window& to, std::span<const System> systems) {
  const std::int64_t n = from.type->shape[0];
  by_rows(n, [&](Row& row) {
    std::vector<ir::Value*> place = {row.number};
    if (from.type->rank() > 1) place.push_back(i32(0));  // the only column
    ir::Value* const given = in_row(n, 1, from.type->element, [&](std::int64_t) { return get(from, place); })[0];
    ir::Value* side = given;
    for (const System& system : systems) side = substitute_by_rows(row, system, side);
    const auto again = [&] {
      // Two systems are a lower one and the upper one of the same memory.
      std::vector<ir::Value*> values;
      pass(systems[0].matrix, values);
      values.insert(values.end(),
                    {given, i32(n), i32(systems[0].upper), i32(std::int64_t(systems.size())), row.warp, row.thread});
      ir::Value* const slow = own_call("_tile_solve_warp", values);
      if (slow) guarded(b_.binary(OpCode::lt, thread(), i32(n)), [&] { put(to, place, slow); });
    };
    end_rows(n, row, [&] { put(to, place, side); }, again);
  });
}

void Tiles::solve_by_columns(const Window& from, const Window& to, const System& system) {
  const std::int64_t n = from.type->shape[0];
  const auto place = [&](std::int64_t step) { return system.upper ? n - 1 - step : step; };
  share(from.type->shape[1], [&](ir::Value* column) {
    const auto at = [&](std::int64_t row) { return std::array{i32(row), column}; };
    std::vector<ir::Value*> side;
    for (std::int64_t i = 0; i < n; ++i) side.push_back(get(from, at(i)));
    for (std::int64_t step = 0; step < n; ++step) {
      const std::int64_t i = place(step);
      for (std::int64_t before = 0; before < step; ++before) {
        const std::int64_t j = place(before);
        ir::Value* const factor = b_.unary(OpCode::neg, get(system.matrix, std::array{i32(i), i32(j)}));
        side[i] = b_.ternary(OpCode::fma, factor, side[j], side[i]);
      }
      side[i] = b_.binary(OpCode::div, side[i], get(system.matrix, std::array{i32(i), i32(i)}));
    }
    for (std::int64_t i = 0; i < n; ++i) put(to, at(i), side[i]);
  });
}

}  // namespace weft::sema
