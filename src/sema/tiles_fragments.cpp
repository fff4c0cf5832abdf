// Products of tiles and loads of them by the threads of a block as the code generator writes them (ir/block_functions.h): which
// shapes these are for, and how the work is divided. Where they are not, the loops of stdlib/tile_block.py do it.
#include <optional>

#include "ir/block_functions.h"
#include "sema/tiles.h"

namespace weft::sema {

using ir::Fragments;
using ir::ProductKind;

namespace {

// Numbers of a product that a thread can have in registers, and what a product must at least be for its operands to be copied.
constexpr std::int64_t kMostSlots = 64, kMostOfUnits = 128, kWorthACopy = 4096;

/// Pieces for fused multiply-adds: the largest of which every thread has one, or two.
bool divide_pieces(Fragments& f) {
  constexpr std::int64_t kPieces[][2] = {{8, 8}, {8, 4}, {4, 4}, {2, 4}, {2, 2}};
  for (const auto& [rows, columns] : kPieces) {
    if (f.m % rows || f.n % columns) continue;
    const std::int64_t pieces = f.m * f.n / (rows * columns);
    if (pieces != f.threads && (pieces != 2 * f.threads || f.slots() > kMostSlots)) continue;
    f.rows = rows;
    f.columns = columns;
    return true;
  }
  return false;
}

/// Units for warps: the part of each is as near to a square as it gets, so that it reads the least.
bool divide_units(Fragments& f) {
  const std::int64_t warps = f.threads / Fragments::kWarp, rows = f.m / Fragments::kUnitRows,
                     columns = f.n / Fragments::kUnitColumns;
  std::int64_t least = 0;
  for (std::int64_t below = 1; below <= warps; ++below) {
    const std::int64_t beside = warps / below;
    if (warps % below || rows % below || columns % beside) continue;
    const std::int64_t reads = rows / below * Fragments::kUnitRows + columns / beside * Fragments::kUnitColumns;
    if (least && reads >= least) continue;
    least = reads;
    f.rows = rows / below;
    f.columns = columns / beside;
  }
  return least != 0 && f.slots() <= (f.kind == ProductKind::halves ? kMostOfUnits : kMostSlots);
}

/// How a product of float32 or float64 tiles is divided that is ragged nowhere; nothing: it is not.
std::optional<Fragments> divided(bool tf32, std::int64_t m, std::int64_t n, std::int64_t p, std::int64_t threads) {
  Fragments f{tf32 ? ProductKind::tf32 : ProductKind::fma, m, n, threads};
  if (!tf32) return divide_pieces(f) ? std::optional(f) : std::nullopt;
  if (threads % Fragments::kWarp || m % Fragments::kUnitRows || n % Fragments::kUnitColumns || p % 8)
    return std::nullopt;
  return m * n % threads == 0 && divide_units(f) ? std::optional(f) : std::nullopt;
}

std::int64_t up_to(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

Tiles::Window Tiles::with_zeros(const Window& w, std::int64_t rows, std::int64_t columns) {
  const Shape& shape = w.type->shape;
  if (shape[0] == rows && shape[1] == columns) return w;
  const Window made = make(w.type->element, {rows, columns});
  fill(made, f_.function_.zero(w.type->element));
  copy(w, view(made, shape, made.type->strides, made.offset));
  return made;
}

bool Tiles::multiply_fragments(Window a, Window b, const Window& c, bool fresh_out, bool plus_sign, bool tf32) {
  if (!cooperates() || !f_.module_.options().block_rows || f_.module_.options().debug) return false;
  const Type *from = a.type->element, *to = c.type->element;
  const std::int64_t m = c.type->shape[0], n = c.type->shape[1], p = a.type->shape[1];
  if (from != b.type->element) return false;
  if (writes_once()) {
    // A step with a gradient of its own: two products of other shapes, by other fragments. Numbers of 16 bits are exact as tf32;
    // sums, of which the gradients are products, are cut to it, for they have no fewer bits than what gradients are rounded to.
    const bool cut = tf32 || (from->size() == 2 && to == types::f32());
    const std::optional<Fragments> ways[] = {divided(cut, m, n, p, threads_), divided(cut, m, p, n, threads_),
                                             divided(cut, p, n, m, threads_)};
    if ((from != to && !cut) || !c.type->contiguous || m * n * p <= kSmallStep || !ways[0] || !ways[1] || !ways[2])
      return false;
    if (fresh_out) fill(c, f_.function_.zero(to));
    std::vector<ir::Value*> values = {alone(a, to).data, alone(b, to).data, c.data, c.offset};
    for (std::int64_t k :
         {m, n, p, std::int64_t(plus_sign ? 1 : -1), std::int64_t(ways[0]->kind), std::int64_t(threads_)})
      values.push_back(i32(k));
    for (const auto& way : ways) values.insert(values.end(), {i32(way->rows), i32(way->columns)});
    values.push_back(thread());
    library_call("_tile_product_block", values);
    return true;
  }
  const bool halves = from->size() == 2 && to == types::f32();
  Fragments f{halves ? ProductKind::halves : tf32 ? ProductKind::tf32 : ProductKind::fma, m, n, threads_};
  Window target = c;
  std::int64_t depth = p;
  if (f.kind == ProductKind::fma) {
    if (from != to || !c.type->contiguous || !divide_pieces(f)) return false;
  } else {
    if (threads_ % Fragments::kWarp) return false;
    f.m = up_to(m, Fragments::kUnitRows);
    f.n = up_to(n, Fragments::kUnitColumns);
    depth = up_to(p, halves ? 16 : 8);
    if (f.m * f.n % threads_ || !divide_units(f)) return false;
    const bool ragged = f.m != m || f.n != n || depth != p || !c.type->contiguous;
    if (ragged && m * n * p < kWorthACopy) return false;
    // Rows of 16 bytes are read whole: what does not lie so, or is ragged, is copied into memory that does.
    const auto lies_well = [&](const Window& w) {
      const Shape& strides = w.type->strides;
      const std::int64_t whole = 16 / std::int64_t(from->size());
      const bool along = strides[1] == 1 && strides[0] % whole == 0,
                 across = strides[0] == 1 && strides[1] % whole == 0;
      return w.offset->is_constant() && w.offset->as_int() % whole == 0 && (along || across);
    };
    a = with_zeros(a, f.m, depth);
    b = with_zeros(b, depth, f.n);
    if (!lies_well(a)) a = copy_of(a);
    if (!lies_well(b)) b = copy_of(b);
    if (ragged) {
      target = make(to, {f.m, f.n});
      if (!fresh_out) {
        fill(target, f_.function_.zero(to));
        copy(c, view(target, c.type->shape, target.type->strides, target.offset));
      }
    }
  }
  std::vector<ir::Value*> values;
  pass(a, values);
  pass(b, values);
  values.insert(values.end(), {target.data, target.offset});
  for (std::int64_t k :
       {f.m, f.n, depth, std::int64_t(plus_sign ? 1 : -1), std::int64_t(!fresh_out), std::int64_t(f.kind), f.threads,
        f.rows, f.columns, std::int64_t(0), std::int64_t(0), std::int64_t(0), std::int64_t(0)})
    values.push_back(i32(k));
  values.push_back(thread());
  library_call(ir::kBlockProduct, values);
  if (target.data != c.data) copy(view(target, c.type->shape, target.type->strides, target.offset), c);
  return true;
}

bool Tiles::load_wide(const Window& made, const Outer& from, bool check) {
  if (!cooperates() || !f_.module_.options().block_rows || writes_once() || f_.module_.options().debug) return false;
  const Type* element = made.type->element;
  if (from.shape.size() != 2 || from.array->type->is_indexed_array() || !element->is_scalar() || element->is_bool())
    return false;
  const std::int64_t row = from.shape[1] * std::int64_t(element->size());
  if (row % 16 || from.shape[0] * row / 16 < threads_ / 2) return false;
  std::vector<ir::Value*> values = {made.data, made.offset, from.array};
  for (ir::Value* offset : from.offset) {
    if (offset->type->size() >= 4 && offset->type != types::i32()) return false;
    values.push_back(f_.cast(offset, types::i32()));
  }
  for (std::int64_t k : {from.shape[0], from.shape[1], std::int64_t(threads_), std::int64_t(check), std::int64_t(0)})
    values.push_back(i32(k));
  values.push_back(thread());
  library_call(ir::kBlockCopy, values);
  return true;
}

}  // namespace weft::sema
