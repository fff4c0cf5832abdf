// Components of vectors, matrices, quaternions and transforms: single ones by index, several by slice.
#include "ir/infer.h"
#include "sema/lowering.h"

namespace weft::sema {

using namespace syntax;
using ir::PathStep;

namespace {

PathStep index_step(std::int64_t k) { return {PathStep::index, false, false, std::int32_t(k)}; }
PathStep dynamic_step(ir::Value* index) { return {PathStep::index, true, index->type->is_signed_int(), 0}; }

}  // namespace

void FunctionLowering::take_part(Place& run, std::size_t number) {
  Place::Part part = std::move(run.parts[number]);
  run.path.insert(run.path.end(), part.path.begin(), part.path.end());
  run.dynamic.insert(run.dynamic.end(), part.dynamic.begin(), part.dynamic.end());
  run.type = run.whole->element();
  run.parts.clear();
}

Entity FunctionLowering::slice_entity(const SliceExpr& slice) {
  const auto part = [&](const Expr* given) {
    return given ? lower_expr(*given) : Entity::of_kind(Entity::Kind::none_literal);
  };
  Entity parts = Entity::of_tuple({part(slice.lower), part(slice.upper), part(slice.step)});
  parts.kind = Entity::Kind::slice;
  return parts;
}

std::optional<std::vector<std::int64_t>> FunctionLowering::slice_positions(const SliceExpr& slice, std::int64_t n) {
  return slice_positions(slice_entity(slice), slice, n);
}

std::optional<std::vector<std::int64_t>> FunctionLowering::slice_positions(const Entity& slice, const Expr& at,
                                                                           std::int64_t n) {
  const auto* parts = at.as_if<SliceExpr>();
  const auto is_given = [&](std::size_t k) { return (*slice.elements)[k].kind != Entity::Kind::none_literal; };
  const auto node = [&](std::size_t k) -> const Expr& {
    const Expr* part = !parts ? nullptr : k == 0 ? parts->lower : k == 1 ? parts->upper : parts->step;
    return part ? *part : at;
  };
  std::int64_t step = 1;
  if (is_given(2)) {
    auto given = need_constant((*slice.elements)[2], node(2), "the step of a slice");
    if (!given) return std::nullopt;
    step = *given;
    if (step == 0) {
      fail(DiagCode::bad_index, node(2), "the step of a slice can't be zero");
      return std::nullopt;
    }
  }
  // Bounds are clipped as in Python; a negative step runs from the end.
  std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
  auto bound = [&](std::size_t k, std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (!is_given(k)) return otherwise;
    auto value = need_constant((*slice.elements)[k], node(k), "the bound of a slice");
    if (!value) return std::nullopt;
    return std::min(std::max(*value < 0 ? *value + n : *value, low), high);
  };
  auto start = bound(0, step > 0 ? low : high);
  auto stop = bound(1, step > 0 ? high : low);
  if (!start || !stop) return std::nullopt;
  std::vector<std::int64_t> positions;
  for (std::int64_t k = *start; step > 0 ? k < *stop : k > *stop;) {
    positions.push_back(k);
    if (step > 0 ? step >= *stop - k : step <= *stop - k) break;
    k += step;
  }
  return positions;
}

std::optional<FunctionLowering::Selector> FunctionLowering::selector(const Expr& index, const Type* type,
                                                                     std::int64_t n) {
  Selector out;
  if (const auto* slice = index.as_if<SliceExpr>()) {
    auto positions = slice_positions(*slice, n);
    if (!positions) return std::nullopt;
    if (positions->empty()) {
      fail(DiagCode::bad_index, *slice, "the slice is empty; a vector needs at least one component");
      return std::nullopt;
    }
    out.is_slice = true;
    out.positions = *std::move(positions);
    return out;
  }
  ir::Value* value = index_value(index);
  if (!value) return std::nullopt;
  if (!value->is_constant()) {
    out.dynamic = value;
    return out;
  }
  std::int64_t given = value->as_int(), k = given < 0 ? given + n : given;
  if (k < 0 || k >= n) {
    fail(DiagCode::bad_index, index, "index " + std::to_string(given) + " is out of range for " + type->user_name());
    return std::nullopt;
  }
  out.positions = {k};
  return out;
}

Place FunctionLowering::component_place(Place base, const SubscriptExpr& expr) {
  const Type* type = base.type;
  bool mat = type->is_mat();
  if (expr.indices.size() > (mat ? 2u : 1u)) {
    fail(DiagCode::bad_index, expr, "too many indices for " + type->user_name());
    return {};
  }
  std::int64_t rows = ir::step_extent(type), cols = mat ? type->cols() : 1;
  auto row = selector(*expr.indices[0], type, rows);
  if (!row) return {};
  Selector all;  // of a row, where only the row is given
  all.is_slice = true;
  for (std::int64_t c = 0; mat && c < cols; ++c) all.positions.push_back(c);
  bool col_given = expr.indices.size() == 2;
  std::optional<Selector> col = col_given ? selector(*expr.indices[1], type, cols) : std::optional(all);
  if (!col) return {};
  if (!base.is_run()) return select_components(std::move(base), *row, *col, col_given);
  if (!row->dynamic && !col->dynamic) return select_parts(std::move(base), *row, *col);
  Place copy;  // a run-time index into several components: read, it is one of a copy
  copy.root = Place::Root::temporary;
  copy.base = read_place(base).value;
  copy.type = type;
  copy = select_components(std::move(copy), *row, *col, col_given);
  copy.run_index = row->dynamic ? expr.indices[0] : expr.indices[1];
  return copy;
}

Place FunctionLowering::select_parts(Place base, const Selector& row, const Selector& col) {
  const Type* type = base.type;
  bool mat = type->is_mat();
  std::vector<Place::Part> picked;
  for (std::int64_t r : row.positions) {
    if (!mat) picked.push_back(base.parts[std::size_t(r)]);
    for (std::size_t c = 0; mat && c < col.positions.size(); ++c)
      picked.push_back(base.parts[std::size_t(r * type->cols() + col.positions[c])]);
  }
  base.parts = std::move(picked);
  bool one = !row.is_slice && (!mat || !col.is_slice);
  if (one)
    take_part(base, 0);
  else
    base.type = selected_type(type, row, col);
  return base;
}

Place FunctionLowering::select_components(Place base, const Selector& row, const Selector& col, bool col_given) {
  const Type* type = base.type;
  bool mat = type->is_mat();
  auto step_of = [](const Selector& s, std::size_t k) {
    return s.dynamic ? dynamic_step(s.dynamic) : index_step(s.positions[k]);
  };
  if (!row.is_slice) {  // a single component or a whole row, or part of that row
    base.path.push_back(step_of(row, 0));
    if (row.dynamic) base.dynamic.push_back(row.dynamic);
    base.type = ir::step_type(type, base.path.back());
    if (!col_given) return base;
    if (!col.is_slice) {
      base.path.push_back(step_of(col, 0));
      if (col.dynamic) base.dynamic.push_back(col.dynamic);
      base.type = type->element();
      return base;
    }
    base.whole = base.type;
    for (std::int64_t c : col.positions) base.parts.push_back({{index_step(c)}, {}});
    base.type = selected_type(type, row, col);
    return base;
  }
  base.whole = type;
  for (std::int64_t r : row.positions) {
    if (!mat) base.parts.push_back({{index_step(r)}, {}});
    for (std::size_t c = 0; mat && c < (col.dynamic ? 1 : col.positions.size()); ++c) {
      Place::Part part{{index_step(r), step_of(col, c)}, {}};
      if (col.dynamic) part.dynamic.push_back(col.dynamic);
      base.parts.push_back(std::move(part));
    }
  }
  base.type = selected_type(type, row, col);
  return base;
}

const Type* FunctionLowering::selected_type(const Type* type, const Selector& row, const Selector& col) const {
  std::uint32_t r = std::uint32_t(row.positions.size()), c = std::uint32_t(col.positions.size());
  if (!type->is_mat() || !col.is_slice) return types::vec(type->element(), r);
  return row.is_slice ? types::mat(type->element(), r, c) : types::vec(type->element(), c);
}

}  // namespace weft::sema
