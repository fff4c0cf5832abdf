// Which memory an access goes to is the alias analysis' matter; private memory and that of the block are others'.
#include "analysis/block_arrays.h"

#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {

using ir::Op;
using ir::OpCode;
using ir::Value;

BlockArrays::BlockArrays(const ir::Function& kernel, const BlockThreads& threads)
    : threads_(threads), alias_(kernel, effects_) {
  bool together = false;
  ir::walk(*kernel.body, [&](const Op& op) {
    if (op.code == OpCode::local) locals_ |= alias_.bases(op.result());
    together |= op.code == OpCode::meet;
  });
  if (!together) return;
  watched_ = kAllBases;
  BaseMask written, once, often, named;
  ir::walk(*kernel.body, [&](const Op& op) {
    const Touched here = touched(op);
    const BaseMask all = here.read | here.written;
    written |= here.written;
    often |= once & all;
    once |= all;
    named |= alias_.direct_reads(op) | alias_.direct_writes(op);
  });
  watched_ = written & often & named;
}

BlockArrays::Touched BlockArrays::touched(const Op& op) const {
  if (!watched_ || op.code == OpCode::barrier || op.code == OpCode::fence) return {};
  const bool access = op.code == OpCode::load || op.code == OpCode::store || op.code == OpCode::atomic;
  if (access && ir::origin_of(op.operand(0)).kind == ir::Origin::Kind::local) return {};
  const BaseMask others = watched_ & ~locals_ & ~kFixedBase;
  const BaseMask reads = alias_.direct_reads(op), writes = alias_.direct_writes(op);
  Touched out;
  out.read = reads & others;
  out.written = alias_.touched(writes & ~locals_) & others;
  const BaseMask named = reads | writes;
  if (named.count() == 1 && named != kUnknownBase) out.exact = named & others;
  return out;
}

BlockArrays::Place BlockArrays::place(const Op& access) const {
  if (access.num_indices == 0) return {};
  // A slice counts from elsewhere.
  for (const Value* array = access.operand(0); array->kind == ir::ValueKind::result; array = array->op->operand(0)) {
    if (array->op->code == OpCode::view) continue;
    if (array->op->code != OpCode::extract && array->op->code != OpCode::gradient) return {};
    break;
  }
  const Value* last = access.indices()[access.num_indices - 1];
  if (threads_.is_own_number(last)) return {true, nullptr};
  if (last->kind != ir::ValueKind::result || last->op->code != OpCode::add) return {};
  for (std::size_t k = 0; k < 2; ++k) {
    const Value *from = last->op->operand(k), *rest = last->op->operand(1 - k);
    if (threads_.uniform(from) && threads_.is_own_number(rest)) return {true, from};
  }
  return {};
}

}  // namespace weft::analysis
