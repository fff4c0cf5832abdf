// Uniformity is that of lanes, with the block for a vector.
#include "analysis/block_threads.h"

#include "ir/block_functions.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::analysis {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

/// The way threads of a block see their numbers.
LaneEntry entry_of(const ir::Form& form) {
  LaneEntry entry;
  entry.thread = entry.block_thread = 1;
  entry.in_step = false;
  const int last = form.rank - 1;
  for (int d = 0; d < form.rank; ++d)
    entry.tids[d] = d == last && (form.rows || form.rank == 1) ? 1 : form.rows ? kUniform : kVarying;
  return entry;
}

bool meets_inside(const Op& op) {
  bool any = false;
  for (const Region* nested : op.regions)
    ir::walk(*nested, [&](const Op& inner) { any |= inner.code == OpCode::meet; });
  return any;
}

}  // namespace

BlockThreads::BlockThreads(const ir::Function& kernel)
    : kernel_(kernel), entry_(entry_of(kernel.form)), shapes_(kernel, entry_) {}

bool BlockThreads::together(const Op& op) const {
  if (op.text == ir::kSharedLoop || op.text == ir::kOwnLoop) return false;
  // Where they work together on tiles, they do come together: what can't be told is the program's promise.
  if (meets_inside(op)) return true;
  return op.code == OpCode::if_ ? shapes_.uniform(op.operand(0)) : !shapes_.divergent(op);
}

bool BlockThreads::is_own(const Op& access) const {
  return access.num_indices == 1 && is_own_number(access.indices()[0]);
}

bool BlockThreads::is_own_number(const Value* index) const { return kernel_.form.rows && thread_part(index) == 1; }

std::optional<int> BlockThreads::thread_part(const Value* v, int depth) const {
  const std::int64_t block = kernel_.form.block;
  if (depth > 8) return std::nullopt;
  if (v->is_constant()) return v->as_int() % block == 0 ? std::optional(0) : std::nullopt;
  if (v->kind == ir::ValueKind::argument) {
    const Op* loop = v->region->parent_op;
    if (!loop || loop->code != OpCode::for_ || v->index != 0) return std::nullopt;
    const Value* step = loop->operand(2);
    if (!step->is_constant() || step->as_int() % block != 0) return std::nullopt;
    return thread_part(loop->operand(0), depth + 1);
  }
  const Op& op = *v->op;
  switch (op.code) {
    case OpCode::block_thread: return 1;
    case OpCode::tid: return op.imm == kernel_.form.rank - 1 ? std::optional(1) : std::nullopt;
    case OpCode::cast: return op.operand(0)->type->is_int() ? thread_part(op.operand(0), depth + 1) : std::nullopt;
    case OpCode::add: {
      const auto a = thread_part(op.operand(0), depth + 1), b = thread_part(op.operand(1), depth + 1);
      return a && b ? std::optional(*a + *b) : std::nullopt;
    }
    case OpCode::mul: {
      const Value* factor = op.operand(1)->is_constant() ? op.operand(1) : op.operand(0);
      return factor->is_constant() && factor->as_int() % block == 0 ? std::optional(0) : std::nullopt;
    }
    case OpCode::shl:
      return op.operand(1)->is_constant() && op.operand(1)->as_int() < 32 &&
                     (std::int64_t(1) << op.operand(1)->as_int()) % block == 0
                 ? std::optional(0)
                 : std::nullopt;
    default: return std::nullopt;  // safe: it is not known to be the thread's own
  }
}

}  // namespace weft::analysis
