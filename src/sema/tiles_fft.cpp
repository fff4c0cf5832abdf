// Fourier transforms of tiles: the plan of passes and the table of roots. The passes are library functions
// (stdlib/tile_fft.py).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "sema/tiles.h"

namespace weft::sema {

using ir::OpCode;

namespace {

// Longer tables would make the code large and slow to compile.
constexpr std::size_t kMostConstants = 16384;
// Loops of so many turns are unrolled, and arrays of so many numbers become values (passes/unroll, passes/promote_locals).
constexpr std::int64_t kUnrolled = 16, kSmallArray = 64;

/// e^(2πi k/n): real and imaginary part. Angles are brought into the first eighth of a turn, where both are most exact, and
/// the corners are whole numbers.
std::pair<double, double> root_of_one(std::int64_t k, std::int64_t n) {
  k %= n;
  if (8 * k > 4 * n) {
    auto [c, s] = root_of_one(n - k, n);
    return {c, -s};
  }
  if (8 * k > 2 * n) {
    auto [c, s] = root_of_one(4 * k - n, 4 * n);  // a quarter turn less
    return {-s, c};
  }
  if (8 * k > n) {
    auto [c, s] = root_of_one(n - 4 * k, 4 * n);  // mirrored at an eighth of a turn
    return {s, c};
  }
  const double angle = 2 * std::numbers::pi * double(k) / double(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

ir::Value* Tiles::root_table(std::span<const Pass> passes, std::size_t size, const Type* scalar, int sign) {
  if (size > kMostConstants) {
    const Window memory = make(scalar, {std::int64_t(size)});
    for (const Pass& pass : passes) {
      if (pass.rest > 1)
        library_call("_tile_fft_roots",
                     {memory.data, i32(std::int64_t(pass.turns)), i32(pass.radix), i32(pass.rest), i32(sign)});
      // The radix-th roots: cosines, then sines, of one.
      for (std::int64_t k = 0; pass.radix % 2 && k < pass.radix; ++k) {
        const auto [c, s] = root_of_one(k, pass.radix);
        ir::Value* at[] = {i32(std::int64_t(pass.roots) + k)};
        put(memory, at, f_.function_.constant_float(scalar, c));
        at[0] = i32(std::int64_t(pass.roots) + pass.radix + k);
        put(memory, at, f_.function_.constant_float(scalar, sign * s));
      }
    }
    return memory.data;
  }
  std::vector<ir::Value*> numbers(std::max<std::size_t>(size, 2), f_.function_.constant_float(scalar, 0.0));
  const auto set = [&](std::size_t cosine, std::size_t sine, std::int64_t k, std::int64_t n) {
    const auto [c, s] = root_of_one(k, n);
    numbers[cosine] = f_.function_.constant_float(scalar, c);
    numbers[sine] = f_.function_.constant_float(scalar, sign * s);
  };
  for (const Pass& pass : passes) {
    const std::int64_t r = pass.radix, m = pass.rest;
    for (std::int64_t k = 1; m > 1 && k < r; ++k)
      for (std::int64_t p = 0; p < m; ++p) {
        const std::size_t at = pass.turns + std::size_t(2 * (k - 1) * m + p);
        set(at, at + std::size_t(m), k * p, r * m);
      }
    for (std::int64_t k = 0; r % 2 && k < r; ++k)
      set(pass.roots + std::size_t(k), pass.roots + std::size_t(r + k), k, r);
  }
  return b_.construct(types::vec(scalar, std::uint32_t(numbers.size())), numbers);
}

Entity Tiles::form_fft(std::string_view name, const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"inout"};
  const auto bound = bind(name, kParams, 1, args);
  const Window w = bound ? whole_argument(name, "inout", *(*bound)[0]) : Window{};
  if (!w) return Entity::failed();
  const Type* element = w.type->element;
  if (!element->is_vec() || element->rows() != 2 || !element->element()->is_float() || element->element()->size() < 4)
    return fail(
        DiagCode::bad_call, at_,
        std::string(name) + "() takes tiles of complex numbers, vec2f or vec2d, not of " + element->user_name());
  if (is_broadcast(w)) return fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
  const std::int64_t n = w.type->shape.back();
  std::vector<Pass> passes;
  std::int64_t rest = n;
  std::size_t size = 0;
  const auto divide = [&](std::int64_t r) {
    while (rest % r == 0) {
      rest /= r;
      Pass& pass = passes.emplace_back(Pass{r, rest, n / (r * rest)});
      pass.turns = size;
      if (rest > 1) size += std::size_t(2 * (r - 1) * rest);
      pass.roots = size;
      if (r % 2) size += std::size_t(2 * r);
    }
  };
  if (threads_ > 1) divide(8);  // fewer ways through memory of the block
  divide(4);
  divide(2);
  for (std::int64_t r = 3; rest > 1 && r <= 64; r += 2) divide(r);
  if (rest > 1)
    return fail(DiagCode::value_out_of_range, at_,
                std::string(name) + "() of " + std::to_string(n) + " numbers: the length has the prime factor " +
                    std::to_string(rest) + " or a multiple of it; factors up to 64 are possible");
  if (n == 1) return Entity::nothing();
  const Type* scalar = element->element();
  const int sign = name == "tile_fft" ? -1 : 1;
  if (threads_ > 1) {
    transform_shared(w, passes, sign);
    return Entity::nothing();
  }
  ir::Value* table = root_table(passes, size, scalar, sign);
  ir::Value* turn = f_.function_.constant_float(scalar, sign);
  ir::Value* parts[2][2];  // real and imaginary: from the one to the other and back
  // Large enough to stay memory: small private arrays become values, which loops over them would carry as a whole.
  const std::int64_t room = n > kUnrolled ? std::max(n, kSmallArray + 1) : n;
  for (auto& pair : parts)
    for (ir::Value*& part : pair) part = make(scalar, {room}).data;
  in_packed(w, [&](const Window& memory) {
    loop(memory.type->count / n, [&](ir::Value* row) {
      ir::Value* start = plus(memory.offset, times(row, n));
      library_call("_tile_fft_split", {memory.data, start, parts[0][0], parts[0][1], i32(n)});
      std::size_t from = 0;
      for (const Pass& pass : passes) {
        const auto &x = parts[from], &y = parts[1 - from];
        std::vector<ir::Value*> values = {x[0], x[1], y[0], y[1]};
        const auto add = [&](std::initializer_list<ir::Value*> more) { values.insert(values.end(), more); };
        ir::Value *turns = i32(std::int64_t(pass.turns)), *m = i32(pass.rest), *stride = i32(pass.stride);
        const bool last = pass.rest == 1;
        if (pass.radix % 2) {
          add({table, turns, i32(std::int64_t(pass.roots)), m, stride, i32(pass.radix)});
          library_call("_tile_fft_odd", values);
        } else if (last) {
          add({stride});
          if (pass.radix == 4) add({turn});
          library_call(pass.radix == 4 ? "_tile_fft_last_4" : "_tile_fft_last_2", values);
        } else {
          add({table, turns, m, stride});
          if (pass.radix == 4) add({turn});
          library_call(pass.radix == 4 ? "_tile_fft_4" : "_tile_fft_2", values);
        }
        from = 1 - from;
      }
      library_call("_tile_fft_join", {parts[from][0], parts[from][1], memory.data, start, i32(n)});
    });
  });
  return Entity::nothing();
}

}  // namespace weft::sema
