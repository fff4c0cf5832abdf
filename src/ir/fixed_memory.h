// What `from_ptr` says of memory of objects, and how elements lie in it: vectors as loads of all their numbers want them, or loosely;
// in runs, where a vector of n numbers begins at each number, so that neighbours of a row are one element wherever it begins;
// or by bytes, where a number begins at each byte.
#pragma once
#include <algorithm>

#include "ir/ir.h"

namespace weft::ir {

/// Beside kFixed and kFixedLoose: elements overlap.
inline constexpr std::int64_t kFixedRuns = 5, kFixedBytes = 7;

/// What `from_ptr` says of an array that it made; 0 for others.
inline std::int64_t fixed_kind(const Value* array) {
  return array->kind == ValueKind::result && array->op->code == OpCode::from_ptr ? array->op->imm : 0;
}

inline bool is_runs(const Value* array) { return fixed_kind(array) == kFixedRuns; }
/// Its elements are seldom read as they lie.
inline bool is_loose(const Value* array) { return fixed_kind(array) == kFixedLoose; }

/// Bytes from one element of the array that `from_ptr` makes to the next.
inline std::int64_t element_distance(const Op& from_ptr) {
  const Type* element = from_ptr.result()->type->element();
  if (from_ptr.imm == kFixedBytes) return 1;
  return from_ptr.imm == kFixedRuns ? element->size() / element->component_count() : element->size();
}

/// The alignment that memory of objects has: vectors there lie as loads of all their components want them, unless it is loose or
/// in runs. 0: no more than that of their numbers; 1: none.
inline std::uint32_t fixed_align(const Value* array) {
  if (fixed_kind(array) == kFixedBytes) return 1;
  if (fixed_kind(array) != kFixed) return 0;
  constexpr std::uint32_t kWidest = 16;  // of a GPU's loads
  const std::uint32_t size = array->type->element()->size();
  return array->type->element()->is_vec() && (size & (size - 1)) == 0 ? std::min(size, kWidest) : 0;
}

}  // namespace weft::ir
