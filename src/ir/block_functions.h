// Functions of the library that a GPU's code generator writes by itself (stdlib/tile_block.py has what they mean, which is what
// analyses and derivatives go by): products of tiles by fragments, and copies of rows from arrays into tiles. Calls of them
// stay calls; shapes and ways are constants among their operands. docs/design/tiles.md, "Products on GPUs".
#pragma once
#include <cstdint>
#include <string_view>

#include "ir/ir.h"

namespace weft::ir {

inline constexpr std::string_view kBlockProduct = "_block_product", kBlockCopy = "_block_copy";

inline bool is_block_function(const Function& function) {
  return function.from_library && function.name.starts_with("_block_");
}
inline bool calls_block_function(const Op& op, std::string_view which) {
  return op.code == OpCode::call && op.callee->from_library && op.callee->name.starts_with(which);
}

/// The text of a shared loop that is dealt out by the slots of a product: its turns are written out, for registers.
inline constexpr std::string_view kOwnLoop = "own";

/// Operands of a product: c = ±a b, or added to c. Tiles come with an offset and with strides; c has rows without gaps. Stages are added to the offsets
/// of a and b, and are multiples of 16 bytes.
struct ProductOperand {
  enum : std::size_t {
    a,
    ao,
    a0,
    a1,
    b,
    bo,
    b0,
    b1,
    c,
    co,
    m,
    n,
    p,
    sign,
    keep,
    kind,
    threads,
    rows,
    columns,
    flags,
    own,
    a_stage,
    b_stage,
    thread
  };
};
/// Operands of a copy: a tile of so many rows and columns, from an offset on, from array[row…, column…]. `check`: parts may lie outside.
struct CopyOperand {
  enum : std::size_t { tile, offset, array, row, column, rows, columns, threads, check, flags, thread };
};

/// Flags of both: passes/load_ahead has set the barriers for the first operand, for the second, for the tile of a copy.
inline constexpr std::int64_t kAhead = 1, kAheadSecond = 2;

/// How rows lie in a tile that only copies and products touch: so that parts of 16 bytes which threads read together are in
/// different banks, the number of such a part is changed by that of the `1 << shift` bytes around it, cut to `bits` bits. None if
/// there are no bits. A byte of the flags for the first operand, or the tile, and one for the second.
struct Swizzle {
  static constexpr int kPart = 4;  // of 16 bytes
  std::int64_t shift = 0, bits = 0;

  explicit operator bool() const { return bits != 0; }
  bool operator==(const Swizzle&) const = default;
  std::int64_t flags(bool second) const { return (shift * 8 + bits) << (second ? 16 : 8); }
  static Swizzle of(std::int64_t flags, bool second) {
    const std::int64_t code = flags >> (second ? 16 : 8) & 0xFF;
    return {code / 8, code % 8};
  }
};

/// Whether a pass that knew better has set the barriers for an operand.
inline bool has_barriers_already(const Op& call, std::size_t operand) {
  if (calls_block_function(call, kBlockCopy)) return (call.operand(CopyOperand::flags)->as_int() & kAhead) != 0;
  if (!calls_block_function(call, kBlockProduct)) return false;
  const bool first = operand == ProductOperand::a, second = operand == ProductOperand::b;
  return (first && (call.operand(ProductOperand::flags)->as_int() & kAhead)) ||
         (second && (call.operand(ProductOperand::flags)->as_int() & kAheadSecond));
}

/// How a product is computed: by fused multiply-adds, or by a warp's units for 16-bit numbers, or for float32 cut to tf32.
enum class ProductKind : std::int64_t { fma, halves, tf32 };

/// Which elements of a product a thread has. With `fma` a thread has pieces of rows by columns; else a warp has so many units
/// of 16 by 8 elements below and beside each other, of which each thread has two by two.
struct Fragments {
  static constexpr std::int64_t kUnitRows = 16, kUnitColumns = 8, kWarp = 32;

  ProductKind kind = ProductKind::fma;
  std::int64_t m = 0, n = 0, threads = 0, rows = 0, columns = 0;

  bool operator==(const Fragments&) const = default;
  std::int64_t slots() const { return m * n / threads; }
  /// Pieces, or warps' parts, beside each other.
  std::int64_t beside() const { return kind == ProductKind::fma ? n / columns : n / (columns * kUnitColumns); }

  /// Pieces of a warp lie four below and eight beside each other: it reads less than by whole rows of pieces.
  bool warps_are_blocks() const { return threads % kWarp == 0 && beside() % 8 == 0 && m / rows % 4 == 0; }

  static Fragments of(const Op& call) {
    const auto number = [&](std::size_t k) { return call.operand(k)->as_int(); };
    using P = ProductOperand;
    return {ProductKind(number(P::kind)), number(P::m),    number(P::n),
            number(P::threads),           number(P::rows), number(P::columns)};
  }

  /// The row and the column of a thread's element, by whatever computes: `math` adds values, and multiplies, divides them by
  /// numbers, or takes the remainder.
  template <class Value, class Math>
  void place(const Math& math, Value thread, Value slot, Value& row, Value& column) const {
    if (kind == ProductKind::fma) {
      const std::int64_t piece = rows * columns;
      Value at = math.add(thread, math.times(math.over(slot, piece), threads));
      Value inside = math.rest(slot, piece);
      Value piece_row = math.over(at, beside()), piece_column = math.rest(at, beside());
      if (warps_are_blocks()) {
        Value warp = math.over(at, kWarp), lane = math.rest(at, kWarp);
        piece_row = math.add(math.times(math.over(warp, beside() / 8), 4), math.over(lane, 8));
        piece_column = math.add(math.times(math.rest(warp, beside() / 8), 8), math.rest(lane, 8));
      }
      row = math.add(math.times(piece_row, rows), math.over(inside, columns));
      column = math.add(math.times(piece_column, columns), math.rest(inside, columns));
      return;
    }
    Value warp = math.over(thread, kWarp), lane = math.rest(thread, kWarp);
    Value unit = math.over(slot, 4), part = math.rest(slot, 4);
    Value unit_row = math.add(math.times(math.over(warp, beside()), rows), math.over(unit, columns));
    Value unit_column = math.add(math.times(math.rest(warp, beside()), columns), math.rest(unit, columns));
    row = math.add(math.times(unit_row, kUnitRows), math.add(math.over(lane, 4), math.times(math.over(part, 2), 8)));
    column = math.add(math.times(unit_column, kUnitColumns),
                      math.add(math.times(math.rest(lane, 4), 2), math.rest(part, 2)));
  }
};

}  // namespace weft::ir
