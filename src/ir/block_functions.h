// Functions of the library that a GPU's code generator writes by itself (stdlib/tile_block.py has what they mean, which is what
// analyses and derivatives go by): products of tiles by fragments, and copies of rows from arrays into tiles. Calls of them
// stay calls; shapes and ways are constants among their operands. docs/design/tiles.md, "Products on GPUs".
#pragma once
#include <algorithm>
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

/// A barrier's number says of how many turns, the last ones, copies may still be on their way (passes/load_ahead).
inline constexpr std::int64_t kMostTurnsAhead = 7;

/// Where memory of the block begins that is laid out in panels, and what its pieces are multiples of.
inline constexpr std::uint32_t kPanelAlignment = 1024;

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
/// there are no bits. With `panels` rows are cut into parts of `16 << bits` bytes, and all rows of the first part lie in front of those
/// of the next. A byte of the flags for the first operand, or the tile, and one for the second, and a bit each.
struct Swizzle {
  static constexpr int kPart = 4;  // of 16 bytes
  std::int64_t shift = 0, bits = 0;
  bool panels = false;

  explicit operator bool() const { return bits != 0; }
  bool operator==(const Swizzle&) const = default;
  std::int64_t width() const { return std::int64_t(1) << (kPart + bits); }
  std::int64_t flags(bool second) const {
    return (shift * 8 + bits) << (second ? 16 : 8) | std::int64_t(panels) << (second ? 25 : 24);
  }
  static Swizzle of(std::int64_t flags, bool second) {
    const std::int64_t code = flags >> (second ? 16 : 8) & 0xFF;
    return {code / 8, code % 8, (flags >> (second ? 25 : 24) & 1) != 0};
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

/// Whether a call only reads the memory of an operand.
inline bool only_reads(const Op& call, std::size_t operand) {
  return calls_block_function(call, kBlockProduct) && (operand == ProductOperand::a || operand == ProductOperand::b);
}

/// How a product is computed: by fused multiply-adds, or by a warp's units for 16-bit numbers, or for float32 cut to tf32, or by
/// what four warps have together for 16-bit numbers that lie in panels (sm_90a).
enum class ProductKind : std::int64_t { fma, halves, tf32, groups };

/// Which elements of a product a thread has. With `fma` a thread has pieces of rows by columns; else a warp has so many units
/// of 16 by 8 elements below and beside each other, of which each thread has two by two. The units of a group's four warps lie
/// below each other, one of each in turn.
struct Fragments {
  static constexpr std::int64_t kUnitRows = 16, kUnitColumns = 8, kWarp = 32, kGroupWarps = 4, kGroupRows = 64;

  ProductKind kind = ProductKind::fma;
  std::int64_t m = 0, n = 0, threads = 0, rows = 0, columns = 0;

  bool operator==(const Fragments&) const = default;
  std::int64_t slots() const { return m * n / threads; }

  /// Registers of a multiprocessor, and of a thread: its sums, and what a step needs beside them.
  static constexpr std::int64_t kRegisters = 65536, kFewestRegisters = 64;
  std::int64_t registers() const {
    constexpr std::int64_t kBeside[] = {64, 48, 80, 40}, kMany = 64, kMore = 16;  // by kind
    // Pieces of 8 by 4 have eight steps' operands on their way; sums of more than a row of units want some room to be moved.
    const bool more = kind == ProductKind::fma ? rows * columns == 32 : slots() > kMany;
    return std::max(slots() + kBeside[std::size_t(kind)] + (more ? kMore : 0), kFewestRegisters);
  }
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
      const bool one = slots() == piece;
      Value at = one ? thread : math.add(thread, math.times(math.over(slot, piece), threads));
      Value inside = one ? slot : math.rest(slot, piece);
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
    // Whose part it is, and what of it: a warp's, or a group's.
    Value who = kind == ProductKind::groups ? math.over(warp, kGroupWarps) : warp;
    const std::int64_t unit_rows = kind == ProductKind::groups ? kGroupRows : kUnitRows;
    // What hangs on the thread, and then on the slot, which is a number where loops over slots are written out.
    row = math.add(math.times(math.over(who, beside()), rows * unit_rows), math.over(lane, 4));
    if (kind == ProductKind::groups) row = math.add(row, math.times(math.rest(warp, kGroupWarps), kUnitRows));
    row = math.add(row, math.add(math.times(math.over(unit, columns), unit_rows), math.times(math.over(part, 2), 8)));
    column = math.add(math.times(math.rest(who, beside()), columns * kUnitColumns), math.times(math.rest(lane, 4), 2));
    column = math.add(column, math.add(math.times(math.rest(unit, columns), kUnitColumns), math.rest(part, 2)));
  }
};

/// Whether an operation is a product of tiles that lie in panels.
inline bool multiplies_panels(const Op& op) {
  return calls_block_function(op, kBlockProduct) &&
         ProductKind(op.operand(ProductOperand::kind)->as_int()) == ProductKind::groups;
}

}  // namespace weft::ir
