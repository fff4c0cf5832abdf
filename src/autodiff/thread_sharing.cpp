// One walk over all accesses: for each array, which of its dimensions are indexed by the same coordinate everywhere.
#include "autodiff/thread_sharing.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ir/walk.h"

namespace weft::autodiff {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

/// The coordinate that an index is, widened or not; −1 for anything else.
std::int64_t coordinate(const Value* index) {
  // Through casts that keep different numbers different. A narrowing one would let two threads meet.
  while (index->kind == ir::ValueKind::result && index->op->code == OpCode::cast && index->type->is_int() &&
         index->op->operand(0)->type->is_int() && index->type->size() >= index->op->operand(0)->type->size())
    index = index->op->operand(0);
  return index->kind == ir::ValueKind::result && index->op->code == OpCode::tid ? index->op->imm : -1;
}

/// The coordinate that each of the indices is. `a[i, j]` in a launch of two dimensions: no other thread has the same i and j.
/// Further indices, of whatever value, only tell elements of one thread apart; `a[i, 0]` in two dimensions is shared by all
/// that have the same i.
using Coordinates = std::vector<std::int64_t>;

bool one_thread_each(const Coordinates& indices, int rank) {
  std::uint32_t seen = 0;
  for (std::int64_t at : indices)
    if (at >= 0) seen |= 1u << at;
  return (seen & ((1u << rank) - 1)) == (1u << rank) - 1;
}

/// A descriptor as the launch gave it, not a part of it.
bool is_whole(const Value* array) {
  while (array->kind == ir::ValueKind::result && array->op->code == OpCode::extract) array = array->op->operand(0);
  return array->kind == ir::ValueKind::argument && !array->region->parent_op;
}

}  // namespace

analysis::BaseMask arrays_apart(const ir::Function& kernel, const analysis::Alias& alias) {
  // A function doesn't know who else is called with its arrays.
  if (kernel.kind != ir::FunctionKind::kernel || !kernel.form.no_overlap || kernel.form.meet) return 0;
  const analysis::BaseMask outside = ~alias.private_locals();
  analysis::BaseMask shared = analysis::kUnknownBase;
  std::unordered_map<analysis::BaseMask, Coordinates> indices;
  ir::walk(*kernel.body, [&](const Op& op) {
    analysis::BaseMask bases = alias.direct_reads(op) | alias.direct_writes(op);
    if (op.code == OpCode::call)  // a gradient function may add to arrays that its function doesn't touch
      for (const Value* operand : op.operands) bases |= alias.bases(operand);
    bases &= outside;
    if (!bases) return;
    // Views and slices shift indices, so that equal ones may mean different elements, and different ones the same.
    // A fence touches everything and names nothing.
    if (op.code == OpCode::call || op.operands.empty() || bases.count() != 1 || !is_whole(op.operand(0))) {
      shared |= alias.touched(bases);
      return;
    }
    Coordinates here;
    for (const Value* index : op.indices()) here.push_back(coordinate(index));
    auto [it, fresh] = indices.try_emplace(bases, here);
    // What counts are the coordinates that stand at the same place in all accesses.
    if (it->second.size() != here.size()) shared |= bases;
    for (std::size_t k = 0; k < std::min(here.size(), it->second.size()); ++k)
      if (it->second[k] != here[k]) it->second[k] = -1;
  });
  analysis::BaseMask apart = 0;
  for (const auto& [base, list] : indices)
    if (one_thread_each(list, kernel.form.rank)) apart |= base;
  return apart & ~shared;
}

analysis::BaseMask arrays_of_extremes(const ir::Function& kernel, const analysis::Alias& alias) {
  analysis::BaseMask least = 0, most = 0, others = 0;
  ir::walk(*kernel.body, [&](const Op& op) {
    const bool extreme = op.code == OpCode::atomic && is_extreme(op);
    const analysis::BaseMask here = alias.touched(alias.direct_reads(op) | alias.direct_writes(op));
    (!extreme ? others : op.atomic == ir::AtomicKind::min ? least : most) |= here;
  });
  // Not both of them: behind a minimum and a maximum of one array nobody knows who was on top in between.
  return (least ^ most) & ~others;
}

}  // namespace weft::autodiff
