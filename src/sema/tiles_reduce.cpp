// Reductions: the tree of docs/design/tiles.md over the elements of a tile, whoever does the work. One thread goes through its
// halves in memory. Of a block's threads each first joins what it can in registers, then a warp finishes by shuffles: one barrier
// in front and one behind, whatever the size. Derivatives are made of the halves in memory.
#include <array>

#include "sema/tiles.h"

namespace weft::sema {

using ir::OpCode;

namespace {

/// Numbers of 32 and 64 bits, and a few of them together: what threads of a warp tell each other.
bool goes_by_shuffles(const Type* type) {
  constexpr std::size_t kMost = 9;
  const Type* scalar = type->is_composite() ? type->element() : type;
  return scalar->is_scalar() && scalar_bits(scalar->scalar_kind()) >= 32 &&
         (type->is_scalar() || type->component_count() <= kMost);
}

/// The first power of two that is no less.
std::int64_t power_above(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

}  // namespace

bool Tiles::reduces_by_warps(std::int64_t n, const Type* element) const {
  const auto& options = f_.module_.options();
  return cooperates() && options.block_rows && !options.debug && threads_ % kWarp == 0 && n > 1 && !writes_once() &&
         goes_by_shuffles(element);
}

ir::Value* Tiles::from_lane(ir::Value* value, ir::Value* lane) {
  const auto one = [&](ir::Value* part) {
    ir::Value* operands[] = {b_.constant(types::u32(), 0xffffffff), part, lane};
    return b_.op(OpCode::shuffle, operands)->result();
  };
  const Type* type = value->type;
  if (type->is_scalar()) return one(value);
  const auto cols = std::int32_t(type->is_mat() ? type->cols() : 1);
  std::vector<ir::Value*> parts;
  for (std::int32_t k = 0; k < std::int32_t(type->component_count()); ++k) {
    const ir::PathStep path[] = {{ir::PathStep::index, false, false, k / cols},
                                 {ir::PathStep::index, false, false, k % cols}};
    parts.push_back(one(b_.extract(value, std::span(path, type->is_mat() ? 2u : 1u))));
  }
  return b_.construct(type, parts);
}

Tiles::Elements Tiles::elements_of(const Window& w) {
  return {w.type->count, [this, w](ir::Value* i) {
            ir::Value* at[] = {i};
            return get(w, at);
          }};
}

ir::Value* Tiles::joined_by_thread(const Elements& all, ir::Value* i, std::int64_t stride, const Combine& combine) {
  const std::int64_t n = all.count;
  std::vector<ir::Value*> own;
  for (std::int64_t k = 0; k * stride < n; ++k) {
    ir::Value* at = plus(i, i32(k * stride));
    if ((k + 1) * stride > n) at = b_.binary(OpCode::min, at, i32(n - 1));  // some threads have none there
    own.push_back(all.read(at));
  }
  for (std::int64_t step = power_above(n) / 2 / stride; step > 0; step /= 2) {
    for (std::int64_t k = 0; k < step && std::size_t(k + step) < own.size(); ++k) {
      ir::Value* both = combine(own[std::size_t(k)], own[std::size_t(k + step)]);
      if (!both) return nullptr;
      const std::int64_t there = n - (k + step) * stride;  // threads that have both
      own[std::size_t(k)] =
          there < stride ? b_.select(b_.binary(OpCode::lt, i, i32(there)), both, own[std::size_t(k)]) : both;
    }
    own.resize(std::min(own.size(), std::size_t(step)));
  }
  return own[0];
}

ir::Value* Tiles::joined_by_warp(const Elements& all, ir::Value* lane, const Combine& combine) {
  ir::Value* sum = joined_by_thread(all, lane, kWarp, combine);
  std::int64_t n = std::min(all.count, kWarp);
  for (std::int64_t half = power_above(n) / 2; sum && half > 0; half /= 2) {
    ir::Value* from = b_.cast(b_.binary(OpCode::bit_and, plus(lane, i32(half)), i32(kWarp - 1)), types::u32());
    ir::Value* both = combine(sum, from_lane(sum, from));
    // Lanes behind the half go on with numbers that nobody reads.
    if (both && n < 2 * half) both = b_.select(b_.binary(OpCode::lt, lane, i32(n - half)), both, sum);
    sum = both;
    n = half;
  }
  return sum;
}

Tiles::Component Tiles::component_of(const Type* type, ir::Value* number) {
  const ir::PathStep step{ir::PathStep::index, true, false, 0};
  if (!type->is_mat()) return {{step}, {number}};
  ir::Value* const columns = i32(std::int64_t(type->cols()));
  return {{step, step}, {b_.binary(OpCode::div, number, columns), b_.binary(OpCode::rem, number, columns)}};
}

bool Tiles::reduce_components(const Window& w, const Window& made, const Combine& combine) {
  const Type* type = w.type->element;
  const std::int64_t count = std::int64_t(type->component_count()), all_warps = threads_ / kWarp;
  // No more warps than it takes for as many rounds: the others would work for nobody.
  const std::int64_t rounds = (count + all_warps - 1) / all_warps, warps = (count + rounds - 1) / rounds;
  meet();
  ir::Value* const lane = b_.binary(OpCode::bit_and, thread(), i32(kWarp - 1));
  ir::Value* const warp = number_of_warp();
  std::vector<std::pair<ir::Value*, ir::Value*>> sums;
  const auto add_up = [&](std::int64_t first) {
    ir::Value* const number = plus(warp, i32(first));
    const bool all = first + warps <= count;  // else some take the last one once more, for nobody
    const Component part = component_of(type, all ? number : b_.binary(OpCode::min, number, i32(count - 1)));
    const Elements parts{w.type->count, [&](ir::Value* i) {
                           ir::Value* indices[] = {index(w, std::array{i})};
                           return b_.load(w.data, indices, 0, part.path, part.at);
                         }};
    sums.emplace_back(number, joined_by_warp(parts, lane, combine));
    return sums.back().second != nullptr;
  };
  const auto put_down = [&](ir::Value* number, ir::Value* sum) {
    const Component part = component_of(type, number);
    ir::Value* indices[] = {index(made, std::array{i32(0)})};
    b_.store(made.data, indices, 0, part.path, part.at, sum);
  };
  bool failed = false;
  const auto work = [&] {
    // All of them first: while one waits, the others go on.
    for (std::int64_t first = 0; first < count && !failed; first += warps) failed = !add_up(first);
    if (failed) return;
    guarded(b_.binary(OpCode::eq, lane, i32(0)), [&] {
      for (std::size_t k = 0; k < sums.size(); ++k) {
        const auto [number, sum] = sums[k];
        if (k + 1 < sums.size() || count % warps == 0)
          put_down(number, sum);
        else
          guarded(b_.binary(OpCode::lt, number, i32(count)), [&] { put_down(sums.back().first, sums.back().second); });
      }
    });
  };
  if (warps < all_warps)
    guarded(b_.binary(OpCode::lt, warp, i32(warps)), work);
  else
    work();
  return !failed;
}

Tiles::Window Tiles::reduced_by_warps(const Window& given, const Combine& combine, Joins joins) {
  Window w = flat(packed(given));
  if (w.type->count > kMostOfWarp) {
    const Window fewer = make(w.type->element, {kMostOfWarp});
    bool failed = false;
    loop(kMostOfWarp, [&](ir::Value* i) {
      ir::Value* sum = joined_by_thread(elements_of(w), i, kMostOfWarp, combine);
      ir::Value* at[] = {i};
      if (sum)
        put(fewer, at, sum);
      else
        failed = true;
    });
    if (failed) return {};
    w = fewer;
  }
  const Window made = make(w.type->element, {1});
  if (joins == Joins::components && threads_ > kWarp && w.type->element->is_composite())
    return reduce_components(w, made, combine) ? made : Window{};
  bool failed = false;
  by_rows(kWarp, [&](Row& row) {
    ir::Value* sum = joined_by_warp(elements_of(w), row.thread, combine);
    failed = !sum;
    ir::Value* first[] = {i32(0)};
    if (sum) guarded(b_.binary(OpCode::eq, row.thread, i32(0)), [&] { put(made, first, sum); });
  });
  return failed ? Window{} : made;
}

ir::Value* Tiles::reduced(const Window& given, const Combine& combine, Joins joins) {
  agree(given.offset, kWindowStart);
  ir::Value* first[] = {i32(0)};
  if (joins != Joins::as_asked && reduces_by_warps(given.type->count, given.type->element)) {
    const Window made = reduced_by_warps(given, combine, joins);
    return made ? get(made, first) : nullptr;
  }
  Window w = flat(packed(given));
  if (given.by_thread) return reduced_of_threads(w, combine);
  std::int64_t n = w.type->count;
  bool failed = false;
  // Element i meets i + half: halves of the next power of two, the lower index left, so that the order hangs on n alone.
  while (n > 1 && !failed) {
    std::int64_t half = 1;
    while (half * 2 < n) half *= 2;
    const Window next = make(w.type->element, {half});
    loop(n - half, [&](ir::Value* i) {
      ir::Value *low[] = {i}, *high[] = {plus(i, i32(half))};
      ir::Value* sum = combine(get(w, low), get(w, high));
      if (!sum) {
        failed = true;
        return;
      }
      put(next, low, sum);
    });
    if (n - half < half)
      loop(half - (n - half), [&](ir::Value* k) {
        ir::Value* i[] = {plus(k, i32(n - half))};
        put(next, i, get(w, i));
      });
    w = next;
    n = half;
  }
  return failed ? nullptr : get(w, first);
}

Tiles::Window Tiles::slice_along(const Window& w, std::size_t along, Coords at) {
  ir::Value* offset = w.offset;
  for (std::size_t d = 0, k = 0; d < w.type->rank(); ++d)
    if (d != along) offset = plus(offset, times(at[k++], w.type->strides[d]));
  Window slice = view(w, {w.type->shape[along]}, {w.type->strides[along]}, offset);
  slice.by_thread = w.by_thread && along + 1 == w.type->rank();
  return slice;
}

Entity Tiles::reduce(const Window& w, std::optional<std::int64_t> axis, const Combine& combine, Joins joins) {
  agree(w.offset, kWindowStart);
  if (!axis) {
    if (joins != Joins::as_asked && reduces_by_warps(w.type->count, w.type->element)) {
      const Window made = reduced_by_warps(w, combine, joins);
      return made ? fresh(made) : Entity::failed();
    }
    ir::Value* sum = reduced(w, combine);
    if (!sum) return Entity::failed();
    const Window made = make(w.type->element, {1});
    ir::Value* at[] = {i32(0)};
    once([&] { put(made, at, sum); });
    return fresh(made);
  }
  const std::size_t along = std::size_t(*axis);
  Shape shape = w.type->shape;
  shape.erase(shape.begin() + *axis);
  if (shape.empty()) shape = {1};
  const Window made = make(w.type->element, shape);
  const std::int64_t length = w.type->shape[along], slices = made.type->count, warps = threads_ / kWarp;
  bool failed = false;
  // Fewer slices than threads, and long ones: each is a warp's.
  if (joins != Joins::as_asked && length >= kWarp && length <= kMostOfWarp && slices < threads_ &&
      reduces_by_warps(length, w.type->element)) {
    meet();
    ir::Value* const lane = b_.binary(OpCode::bit_and, thread(), i32(kWarp - 1));
    ir::Value* const warp = b_.binary(OpCode::shr, thread(), i32(5));
    const auto one_slice = [&](ir::Value* number) {
      const std::vector<ir::Value*> at = coordinates(shape, number);
      ir::Value* sum = joined_by_warp(elements_of(slice_along(w, along, at)), lane, combine);
      failed = failed || !sum;
      if (sum) guarded(b_.binary(OpCode::eq, lane, i32(0)), [&] { put(made, at, sum); });
    };
    for (std::int64_t first = 0; first < slices && !failed; first += warps) {
      ir::Value* number = plus(warp, i32(first));
      if (first + warps <= slices)
        one_slice(number);
      else
        guarded(b_.binary(OpCode::lt, number, i32(slices)), [&] { one_slice(number); });
    }
    return failed ? Entity::failed() : fresh(made);
  }
  // Slices of threads that are missing are no slices.
  const bool by_thread = w.by_thread && along + 1 < w.type->rank();
  each(shape, [&](Coords at) {
    const auto join = [&] {
      ir::Value* sum = reduced(slice_along(w, along, at), combine);
      if (!sum)
        failed = true;
      else
        put(made, at, sum);
    };
    guarded(by_thread ? is_there(at.back()) : b_.boolean(true), join,
            [&] { put(made, at, f_.function_.zero(w.type->element)); });
  });
  if (by_thread) note_by_thread(made);
  return failed ? Entity::failed() : fresh(made);
}

}  // namespace weft::sema
