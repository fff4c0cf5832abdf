// One walk over the kernel and all that it calls; the answer is the worst that any operation gives.
#include "analysis/sum_order.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "analysis/alias.h"
#include "analysis/private_sums.h"
#include "analysis/uses.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::AtomicKind;
using ir::Op;
using ir::OpCode;

bool is_float(const Type* type) { return !type->is_numeric() || types::scalar(type->scalar_kind())->is_float(); }

bool is_private(const Op& atomic) { return ir::origin_of(atomic.operand(0)).kind == ir::Origin::Kind::local; }

/// Private to a block, whose threads come by in any order.
bool is_of_block(const Op& atomic) {
  const ir::Origin from = ir::origin_of(atomic.operand(0));
  if (from.kind != ir::Origin::Kind::local || !atomic.parent->function->form.block) return false;
  return !from.local || ir::is_block_memory(*from.local);
}

SumOrder of_atomic(const Op& op, bool result_used) {
  if (is_private(op) && !is_of_block(op)) return SumOrder::free;  // no other thread sees it
  // What an operation finds is what threads before it have left, also for integers.
  if (result_used) return SumOrder::all;
  const Type* type = op.operands.back()->type;
  switch (op.atomic) {
    case AtomicKind::add:
      // Rounding makes a sum of floats depend on its order. Additions to arrays that are only added to can be put in
      // order afterwards, by parts; all others can't.
      if (is_float(type) && is_private(op)) return SumOrder::all;
      if (is_float(type)) return op.imm == kAddsAlone ? SumOrder::lone_sums : SumOrder::all;
      return SumOrder::free;  // integers wrap, in whatever order
    case AtomicKind::min:
    case AtomicKind::max:
      // Of two zeros of different signs the last one stays.
      return has_no_negative_zero(op.operands.back()) ? SumOrder::free : SumOrder::all;
    case AtomicKind::bit_and:
    case AtomicKind::bit_or:
    case AtomicKind::bit_xor: return SumOrder::free;
    case AtomicKind::exch:
    case AtomicKind::cas: return SumOrder::all;
  }
  return SumOrder::all;
}

/// Operations of one kind come to the same in any order, but not mixed with those of another kind, nor with loads and stores
/// in between: what is found there, or overwritten, is then what threads before have left.
bool mixes(const ir::Function& kernel) {
  Effects effects;
  const Alias alias(kernel, effects);
  BaseMask by_kind[ir::kAtomicKinds] = {}, others = 0;
  ir::walk(*kernel.body, [&](const Op& op) {
    if (op.code == OpCode::atomic && op.imm == kAddsAlone) return;  // looked at already, and gradients told apart
    const BaseMask direct = (alias.direct_reads(op) | alias.direct_writes(op)) & ~alias.private_locals();
    if (!direct) return;
    (op.code == OpCode::atomic ? by_kind[std::size_t(op.atomic)] : others) |= direct;
  });
  bool any = false;
  for (const BaseMask mask : by_kind) {
    any = any || (alias.touched(mask) & others);
    others |= mask;
  }
  return any;
}

}  // namespace

bool has_no_negative_zero(const ir::Value* value) {
  if (!is_float(value->type)) return true;
  if (value->is_constant())
    return value->bits == 0 ||
           (value->type->is_scalar() && ir::bits_to_float(value->type->scalar_kind(), value->bits) != 0);
  if (value->kind != ir::ValueKind::result || value->op->code != OpCode::add) return false;
  // The sum of a zero and +0 is +0, whatever its sign.
  return value->op->operand(0)->is_zero() || value->op->operand(1)->is_zero();
}

SumOrder sum_order(const ir::Function& kernel) {
  SumOrder worst = SumOrder::free;
  bool atomics = false;
  std::unordered_set<const ir::Function*> seen = {&kernel};
  std::vector<const ir::Function*> todo = {&kernel};
  while (!todo.empty()) {
    const ir::Function& function = *todo.back();
    todo.pop_back();
    // C++ that nobody looks into may do anything.
    if (!function.native.empty()) return SumOrder::all;
    const std::vector<std::uint32_t> uses = use_counts(function);
    ir::walk(*function.body, [&](const Op& op) {
      if (op.code == OpCode::atomic) {
        atomics = true;
        worst = std::max(worst, of_atomic(op, uses[op.result()->id] != 0));
        // What else is done to an array that a function was given, only its callers know.
        if (&function != &kernel && !is_private(op)) worst = SumOrder::all;
      }
      if (op.code == OpCode::call && seen.insert(op.callee).second) todo.push_back(op.callee);
    });
  }
  return worst != SumOrder::all && atomics && mixes(kernel) ? SumOrder::all : worst;
}

}  // namespace weft::analysis
