// Where a path into an aggregate leads.
#include "ir/infer.h"

namespace weft::ir {

const Type* step_type(const Type* aggregate, const PathStep& step) {
  if (step.value < 0 && !step.dynamic) return nullptr;
  if (step.kind == PathStep::field) {
    if (!aggregate->is_struct() && !aggregate->is_tuple()) return nullptr;
    return std::size_t(step.value) < aggregate->fields().size() && !step.dynamic
               ? aggregate->fields()[std::size_t(step.value)].type
               : nullptr;
  }
  if (!aggregate->is_composite()) return nullptr;
  if (!step.dynamic && std::uint32_t(step.value) >= step_extent(aggregate)) return nullptr;
  return aggregate->is_mat() ? types::vec(aggregate->element(), aggregate->cols()) : aggregate->element();
}

const Type* type_at(const Type* aggregate, std::span<const PathStep> path) {
  for (const PathStep& step : path) {
    if (!aggregate) return nullptr;
    aggregate = step_type(aggregate, step);
  }
  return aggregate;
}

std::uint32_t step_extent(const Type* aggregate) {
  WEFT_CHECK(aggregate->is_composite());
  return aggregate->rows();
}

}  // namespace weft::ir
