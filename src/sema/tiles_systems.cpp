// Factors of tiles and systems of equations: which way is taken, by one thread, by a warp's registers, by panels of a block.
#include <algorithm>

#include "ir/origin.h"
#include "ir/walk.h"
#include "sema/tiles.h"

namespace weft::sema {

using namespace syntax;
using ir::OpCode;

Tiles::Window Tiles::padded_to_fours(const Window& square) {
  constexpr std::int64_t kLeast = 9;  // below, copies cost more than is gained
  const std::int64_t n = square.type->shape[0], size = (n + 3) / 4 * 4;
  if (n == size || n < kLeast) return {};
  // Zeros behind its last row and column, also in a loop: what a run leaves there changes no number of another.
  const Window made = make(square.type->element, {size, size});
  each({n, n}, [&](Coords at) { put(made, at, get(square, at)); });
  for (std::int64_t k = n; k < size; ++k) {
    ir::Value* diagonal[] = {i32(k), i32(k)};
    put(made, diagonal, f_.function_.constant_float(square.type->element, 1.0));
  }
  return made;
}

namespace {

/// Whether an operation may write to private memory, as far as can be told where it stands.
bool may_write(const ir::Op& op, const ir::Op* local) {
  const auto may_be = [&](const ir::Value* v) {
    using Kind = ir::Origin::Kind;
    const ir::Origin from = ir::origin_of(v);
    return from.kind == Kind::unknown || (from.kind == Kind::local && (!from.local || from.local == local));
  };
  switch (ir::access_of(op.code)) {
    case ir::Access::none:
    case ir::Access::reads: return false;
    case ir::Access::writes:
    case ir::Access::updates:
    case ir::Access::address: return may_be(op.operand(0));
    case ir::Access::callee:
      return std::any_of(op.operands.begin(), op.operands.end(),
                         [&](const ir::Value* v) { return ir::has_array(v->type) && may_be(v); });
  }
  return true;
}

/// Whether code for so many rows that a warp has in registers is short enough: each root and quotient of float64 is long.
bool is_short(std::int64_t n, const Type* type) { return n <= 16 || type == types::f32(); }

}  // namespace

void Tiles::keep_long_rows(const Window& tile, const Window& rows) {
  if (ir::origin_of(tile.data).local == nullptr) return;
  f_.long_rows_.push_back({tile.type, tile.data, tile.offset, rows.type, rows.data, rows.offset, b_.region()->last});
}

Tiles::Window Tiles::kept_long_rows(const Window& tile) const {
  for (auto kept = f_.long_rows_.rbegin(); kept != f_.long_rows_.rend(); ++kept) {
    if (kept->data != tile.data || kept->offset != tile.offset || kept->type != tile.type) continue;
    if (kept->since->parent != b_.region()) return {};
    bool changed = false;
    const auto look = [&](const ir::Op& op) { changed = changed || may_write(op, tile.data->op); };
    for (const ir::Op* op = kept->since->next; op; op = op->next) {
      look(*op);
      for (const ir::Region* nested : op->regions) ir::walk(*nested, look);
    }
    return changed ? Window{} : Window{kept->rows_type, kept->rows, kept->rows_offset};
  }
  return {};
}

Entity Tiles::form_cholesky(std::string_view name, const std::vector<Argument>& args) {
  static constexpr std::string_view kParams[] = {"A", "fill_mode"};
  const auto bound = bind(name, kParams, 1, args);
  const Window a = bound ? whole_argument(name, "A", *(*bound)[0]) : Window{};
  const auto mode = a ? word_argument((*bound)[1], "fill_mode", "lower", {"lower", "upper"}) : std::nullopt;
  if (!mode || !float_tile(name, a, at_, false)) return Entity::failed();
  if (a.type->rank() != 2 || a.type->shape[0] != a.type->shape[1])
    return fail(DiagCode::bad_call, at_,
                std::string(name) + "() takes a square tile, not " + shape_text(a.type->shape));
  const bool inplace = name == "tile_cholesky_inplace", upper = *mode == "upper";
  if (inplace && is_broadcast(a))
    return fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
  if (threads_ > 1 && !writes_once()) {
    const std::int64_t n = a.type->shape[0];
    if (fits_warp(n) && is_short(n, a.type->element)) {
      const Window work = apart(a), target = inplace ? a : make(a.type->element, a.type->shape);
      const Window made = work.data == a.data ? target : work;
      // The upper triangle is the lower one of the transpose.
      const auto turned = [&](const Window& w) {
        const Shape& s = w.type->strides;
        return upper ? view(w, w.type->shape, {s[1], s[0]}, w.offset) : w;
      };
      factor_by_rows(turned(work), turned(made));
      if (made.data != target.data) {
        copy(made, target);
        keep_long_rows(target, made);
      }
      return inplace ? Entity::nothing() : fresh(target);
    }
    const Window work = with_long_rows(a), target = inplace ? a : make(a.type->element, a.type->shape);
    const Shape& strides = work.type->strides;
    if (const std::int64_t panel = panel_of(n))
      factor_by_panels(view(work, work.type->shape, {strides[upper], strides[!upper]}, work.offset), panel);
    else
      library_call("_tile_cholesky_block", {work.data, work.offset, i32(strides[upper]), i32(strides[!upper]), i32(n),
                                            thread(), thread_count()});
    each({n, n}, [&](Coords at) {  // nothing on the other side of the diagonal
      ir::Value* kept = b_.binary(upper ? OpCode::ge : OpCode::le, at[1], at[0]);
      put(target, at, b_.select(kept, get(work, at), f_.function_.zero(a.type->element)));
    });
    return inplace ? Entity::nothing() : fresh(target);
  }
  if (!writes_once()) {
    Window target = inplace ? a : copy_of(a);
    const std::int64_t n = a.type->shape[0];
    const Window padded = padded_to_fours(target);
    const Shape& strides = target.type->strides;
    const bool packed_lines = strides[0] == 1 || strides[1] == 1;
    const Window work = padded ? padded : packed_lines ? target : copy_of(target);
    // The upper triangle is the lower one of the transpose, whose rows are columns.
    const bool rows = (work.type->strides[1] == 1) != upper;
    const std::int64_t size = work.type->shape[0], stride = work.type->strides[work.type->strides[1] == 1 ? 0 : 1];
    const bool fours = size % 4 == 0;
    std::vector<ir::Value*> values = {work.data, work.offset, i32(stride), i32(size)};
    if (rows || !fours) values.push_back(make(a.type->element, {fours ? 4 * size : size}).data);
    library_call(rows ? (fours ? "_tile_cholesky_rows_4" : "_tile_cholesky_rows")
                      : (fours ? "_tile_cholesky_columns_4" : "_tile_cholesky_columns"),
                 values);
    if (padded)
      each({n, n}, [&](Coords at) { put(target, at, get(work, at)); });
    else if (!packed_lines)
      copy(work, target);
    return inplace ? Entity::nothing() : fresh(target);
  }
  if (is_step(a.type->count * a.type->shape[0])) return cholesky_step(a, upper, inplace);
  const Window source = inplace ? copy_of(a) : a, target = inplace ? a : make(a.type->element, a.type->shape);
  std::vector<ir::Value*> values;
  pass(source, values, upper);  // the upper triangle is the lower one of the transpose
  pass(target, values, upper);
  values.push_back(i32(a.type->shape[0]));
  if (threads_ > 1) {
    values.push_back(thread());
    values.push_back(thread_count());
  }
  library_call(threads_ > 1 ? "_tile_cholesky_block_once" : "_tile_cholesky", values);
  return inplace ? Entity::nothing() : fresh(target);
}

Entity Tiles::form_solve(std::string_view name, const std::vector<Argument>& args) {
  const bool inplace = name.ends_with("_inplace"), both = name.starts_with("tile_cholesky"),
             upper = name.starts_with("tile_upper");
  const std::string_view matrix = upper ? "U" : "L", side = upper ? "z" : "y";
  const std::string_view params[] = {matrix, side, "fill_mode"};
  const auto bound = bind(name, std::span(params).first(both ? 3 : 2), 2, args);
  const Window t = bound ? whole_argument(name, matrix, *(*bound)[0]) : Window{};
  const Window y = t ? whole_argument(name, side, *(*bound)[1]) : Window{};
  if (!y || !float_tile(name, t, at_, false)) return Entity::failed();
  const auto mode = word_argument(both ? (*bound)[2] : nullptr, "fill_mode", "lower", {"lower", "upper"});
  if (!mode) return Entity::failed();
  const std::int64_t n = t.type->shape[0];
  if (t.type->rank() != 2 || t.type->shape[1] != n || y.type->rank() > 2 || y.type->shape[0] != n ||
      y.type->element != t.type->element)
    return fail(DiagCode::type_mismatch, at_,
                std::string(name) + "() takes a square tile and a right side of as many rows and the same dtype, not " +
                    t.type->type->user_name() + " and " + y.type->type->user_name());
  if (inplace && is_broadcast(y))
    return fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to");
  const std::int64_t columns = y.type->rank() > 1 ? y.type->shape[1] : 1;
  const bool step = is_step(n * n * columns), once = writes_once() && !step;
  const Window own = inplace && may_overlap(t, y) ? copy_of(t) : t;
  const bool by_warp = fits_warp(n) && is_short(n, t.type->element);
  const Window matrix_memory = columns == 1 && by_warp                          ? apart(own)
                               : threads_ > 1 && columns == 1 && !writes_once() ? with_long_rows(t)
                               : step                                           ? alone(own, t.type->element)
                                                                                : own;
  const bool given_upper = *mode == "upper";
  const std::int64_t panel = columns == 1 && !by_warp ? panel_of(n) : 0;
  if (panel || (by_warp && (columns == 1 || n <= kMostInRegisters))) {
    const auto turned = [&](bool swap) {
      const Shape& s = matrix_memory.type->strides;
      return swap ? view(matrix_memory, t.type->shape, {s[1], s[0]}, matrix_memory.offset) : matrix_memory;
    };
    std::vector<System> systems;
    if (both)
      systems = {{turned(given_upper), false}, {turned(!given_upper), true}};
    else
      systems = {{matrix_memory, upper}};
    const Window target = inplace ? y : make(y.type->element, y.type->shape);
    if (panel) {
      if (target.data != y.data) copy(y, target);
      for (const System& system : systems) solve_by_panels(target, system, panel);
    } else if (columns == 1)
      solve_by_rows(y, target, systems);
    else
      for (const System& system : systems) {
        solve_by_columns(&system == &systems[0] ? y : target, target, system);
        // Of two systems with the same numbers LLVM would keep all of them in registers from one to the other.
        if (&system != &systems.back()) b_.op_typed(OpCode::barrier, {}, {});
      }
    return inplace ? Entity::nothing() : fresh(target);
  }
  const auto solve = [&](const Window& from, const Window& to, bool is_upper, bool transposed) {
    std::vector<ir::Value*> values;
    pass_system(matrix_memory, values, n, true, transposed, is_upper);
    if (threads_ > 1)
      return solve_shared(values, from, to, n, columns,
                          [&](const Window& w) { pass_system(w, values, n, false, false, is_upper); });
    if (once) pass_system(from, values, n, false, false, is_upper);
    pass_system(to, values, n, false, false, is_upper);
    const bool rows = columns > 1 && to.type->strides[1] == 1;
    if (!writes_once() && rows) values.pop_back();
    values.push_back(i32(n));
    values.push_back(i32(columns));
    library_call(step   ? "_tile_substitute"
                 : once ? "_tile_solve"
                 : rows ? "_tile_solve_rows"
                        : "_tile_solve_columns",
                 values);
  };
  const bool written_once = once || threads_ > 1;
  const Window target = written_once ? inplace ? y : make(y.type->element, y.type->shape)
                        : !inplace ? copy_of(y)
                        : step       ? alone(y, y.type->element)
                                     : y;
  if (both) {
    solve(y, target, false, given_upper);
    solve(target, target, true, !given_upper);
  } else {
    solve(y, target, upper, false);
  }
  if (inplace && target.data != y.data) copy(target, y);
  return inplace ? Entity::nothing() : fresh(target);
}

void Tiles::solve_shared(std::vector<ir::Value*>& values, const Window& from, const Window& to, std::int64_t n,
                         std::int64_t columns, const std::function<void(const Window&)>& add) {
  const bool one = columns == 1, shorter = n <= threads_ && f_.module_.options().block_rows;
  if (one && !shorter && from.data != to.data) copy(from, to);
  if (!one || shorter) {
    add(from);
    if (one) values.pop_back();
  }
  add(to);
  if (one) values.pop_back();
  values.push_back(i32(n));
  if (!one) values.push_back(i32(columns));
  values.push_back(thread());
  values.push_back(thread_count());
  library_call(!one ? "_tile_solve_block" : shorter ? "_tile_solve_block_one" : "_tile_solve_block_long", values);
}

}  // namespace weft::sema
