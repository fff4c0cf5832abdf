// Loops are copied into the first branch of an `if` and moved into the second.
#include "passes/split_signs.h"

#include <algorithm>

#include "analysis/ranges.h"
#include "analysis/uses.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

// Two copies of a large body cost more in the instruction cache than the signs do.
constexpr std::size_t kMaxOps = 48;

/// Which indices of an access are the loop's own and look for their sign, by bit.
unsigned own_wraps(const Op& op, const Value* index) {
  unsigned found = 0;
  for (std::uint32_t k = 0; k < op.num_indices; ++k)
    if ((op.wrap >> k & 1) && op.indices()[k] == index) found |= 1u << k;
  return found;
}

/// Whether the operation is in a branch of a test of this sign.
bool is_split(const Op& loop, const Value* lo) {
  const Op* branch = loop.parent->parent_op;
  if (!branch || branch->code != OpCode::if_ || branch->operand(0)->kind != ir::ValueKind::result) return false;
  // Without this look the half with the signs would be split again in every run.
  const Op& test = *branch->operand(0)->op;
  return test.code == OpCode::ge && test.operand(0) == lo;
}

bool is_candidate(const Op& loop, const analysis::Ranges& ranges) {
  if (loop.code != OpCode::for_) return false;
  const Value *lo = loop.operand(0), *step = loop.operand(2);
  // With a positive step an index that starts at or above zero stays so: a `for` ends before it could wrap around.
  if (!step->is_constant() || step->as_int() <= 0 || !lo->type->is_signed_int() || ranges.never_negative(lo))
    return false;
  if (is_split(loop, lo) || analysis::count_ops(*loop.regions[0], kMaxOps + 1) > kMaxOps) return false;
  bool wraps = false, inner = false;
  ir::walk(*loop.regions[0], [&](const Op& op) {
    wraps |= own_wraps(op, loop.regions[0]->args[0]) != 0;
    // Nested loops would double with each level.
    inner |= op.code == OpCode::for_ || op.code == OpCode::while_ || op.code == OpCode::call;
  });
  return wraps && !inner;
}

}  // namespace

bool split_signs(ir::Function& function) {
  const analysis::Ranges ranges(function);
  std::vector<Op*> loops;
  ir::walk(*function.body, [&](Op& op) {
    if (is_candidate(op, ranges)) loops.push_back(&op);
  });
  if (loops.empty()) return false;
  ir::Rewriter rewriter(function);
  rewriter.run(*function.body, [&](Op& loop) {
    if (std::find(loops.begin(), loops.end(), &loop) == loops.end()) return;
    // The walk does not come to copies: what stands for results of loops before is put in now.
    ir::walk(*loop.regions[0], [&](Op& op) { rewriter.apply(op); });
    ir::Builder builder(function, loop.parent, &loop);
    builder.set_loc(loop.loc);
    Value* rises = builder.binary(OpCode::ge, loop.operand(0), function.zero(loop.operand(0)->type));
    std::vector<const Type*> types;
    for (const Value* result : loop.results) types.push_back(result->type);
    Op* both = builder.if_op(rises, types);
    // Both branches get copies, and the loop goes: nobody else may hold on to an operation that moved.
    for (int branch = 0; branch < 2; ++branch) {
      builder.set_place(both->regions[std::size_t(branch)]);
      Op* copy = builder.op_typed(OpCode::for_, loop.operands, types, 1);
      ir::copy_attributes(loop, function, *copy);
      ir::ValueMap map;
      for (const Value* arg : loop.regions[0]->args)
        map[arg] = function.add_argument(copy->regions[0], arg->type, arg->name);
      ir::clone_ops(*loop.regions[0], function, copy->regions[0], map);
      if (branch == 0)
        ir::walk(*copy->regions[0],
                 [&](Op& op) { op.wrap &= std::uint8_t(~own_wraps(op, copy->regions[0]->args[0])); });
      builder.op(OpCode::yield, copy->results);
    }
    for (std::size_t k = 0; k < loop.results.size(); ++k) {
      both->result(k)->name = loop.result(k)->name;
      rewriter.replace(loop.result(k), both->result(k));
    }
    ir::remove_op(&loop);
  });
  return true;
}

}  // namespace weft::passes
