// The copies are loops over whole arrays: tiles that are parts of larger ones come here in memory of their own (sema/tiles). What the
// threads of a block share is copied into memory that they share as well, by all of them together.
#include "autodiff/private_calls.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::autodiff {

using ir::Op;
using ir::OpCode;
using ir::Value;

bool fills_private(const Op& call, const analysis::Alias& alias, analysis::Effects& effects) {
  if (call.code != OpCode::call || !call.results.empty()) return false;
  const ir::Function& callee = *call.callee;
  if (!callee.gradient || !callee.from_library || !callee.native.empty()) return false;
  const analysis::FunctionEffects& does = effects.of(callee);
  if (does.outside || does.writes_unknown || does.leaks || does.reads_unknown) return false;
  bool any = false;
  for (std::size_t k = 0; k < call.operands.size(); ++k) {
    if (!does.writes[k]) continue;
    const analysis::BaseMask to = alias.bases(call.operand(k));
    if (!to || (to & ~alias.private_locals())) return false;
    any = true;
  }
  return any;
}

namespace {

/// What is to be done for a call.
struct Settlement {
  Op* call;
  std::vector<std::size_t> before;  // operands to copy in front of it
  std::vector<std::size_t> around;  // operands that it writes: it gets memory of its own, which is copied back
  bool expand = false;
};

/// The array's memory if it is one that is made around the call; else null.
const Op* memory_of(const Value* array, const Op& call) {
  const ir::Origin from = ir::origin_of(array);
  if (from.kind != ir::Origin::Kind::local || !from.local || from.gradient) return nullptr;
  const ir::Region* at = call.parent;
  while (at != from.local->parent && at->parent_op) at = at->parent_op->parent;
  return at == from.local->parent ? from.local : nullptr;
}

/// In front of `before`, which stands at `place`.
void copy_all(ir::Builder& b, const ir::Form& form, ir::Region* place, Op* before, Value* from, Value* to,
              std::int64_t count) {
  const bool shared = ir::is_block_memory(to), known = shared && form.rows;
  const std::int64_t turns = known ? (count + form.block - 1) / form.block : count;
  Op* loop = nullptr;
  if (shared) b.op_typed(OpCode::meet, {}, {});
  Value* const thread = shared ? b.op(OpCode::block_thread, {})->result() : nullptr;
  if (shared && !known)
    loop = b.for_op(thread, b.i32(count), b.op(OpCode::block_dim, {})->result(), {});
  else
    loop = b.for_op(b.i32(0), b.i32(turns), b.i32(1), {});
  if (shared) loop->text = ir::kSharedLoop;
  b.set_place(loop->regions[0]);
  Value* number = loop->regions[0]->args[0];
  if (known) number = b.binary(OpCode::add, thread, b.binary(OpCode::mul, number, b.i32(form.block)));
  Op* test = nullptr;  // where the last turn is not for all threads
  if (known && count % form.block) {
    test = b.if_op(b.binary(OpCode::lt, number, b.i32(count)), {});
    b.set_place(test->regions[0]);
  }
  Value* at[] = {number};
  b.store(to, at, 0, {}, {}, b.load(from, at, 0));
  if (test) {
    b.yield({});
    b.set_place(test->regions[1]);
    b.yield({});
    b.set_place(loop->regions[0]);
  }
  b.yield({});
  b.set_place(place, before);
}

void settle(ir::Function& function, const ir::Form& form, const Settlement& how) {
  Op& call = *how.call;
  ir::Builder b(function, call.parent, &call);
  b.set_loc(call.loc);
  if (how.expand) {
    ir::ValueMap map;
    for (std::size_t k = 0; k < call.operands.size(); ++k) map[call.callee->params()[k]] = call.operand(k);
    ir::clone_ops(*call.callee->body, function, call.parent, map, /*skip_terminator=*/true, nullptr, &call);
    ir::remove_op(&call);
    return;
  }
  const auto own_memory = [&](std::size_t k) {
    Value* array = call.operand(k);
    const Op& made = *memory_of(array, call);
    Value* copy = b.local(array->type, made.ints);
    copy->op->text = made.text;
    if (ir::is_block_memory(made)) copy->op->imm = ir::kOfBlock | ir::kRaw;
    return copy;
  };
  const auto count = [](const Value* copy) { return copy->op->ints[0]; };
  for (std::size_t k : how.before) {
    Value* copy = own_memory(k);
    copy_all(b, form, call.parent, &call, call.operand(k), copy, count(copy));
    call.operands[k] = copy;
  }
  for (std::size_t k : how.around) {
    Value *array = call.operand(k), *copy = own_memory(k);
    // Also what the call only writes: it may leave some of the elements alone.
    copy_all(b, form, call.parent, &call, array, copy, count(copy));
    call.operands[k] = copy;
    b.set_place(call.parent, call.next);
    copy_all(b, form, call.parent, call.next, copy, array, count(copy));
    b.set_place(call.parent, &call);
  }
}

}  // namespace

bool settle_private_calls(ir::Function& function, const ir::Form& form) {
  bool any = false;
  ir::walk(*function.body, [&](const Op& op) { any = any || (op.code == OpCode::call && op.callee->gradient); });
  if (!any) return false;
  analysis::Effects effects;
  const analysis::Alias alias(function, effects);
  std::vector<Settlement> found;
  ir::walk(*function.body, [&](Op& op) {
    if (!fills_private(op, alias, effects)) return;
    const analysis::FunctionEffects &does = effects.of(*op.callee), &back = effects.of(*op.callee->gradient);
    Settlement how{&op, {}, {}};
    for (std::size_t k = 0; k < op.operands.size(); ++k) {
      if (!ir::has_array(op.operand(k)->type)) continue;
      // Of what it writes only that has to stay which the way back looks at.
      if (does.writes[k] ? !back.reads[k] : !does.reads[k] && !back.reads[k]) continue;
      const Op* made = memory_of(op.operand(k), op);
      if (!made || made->ints.size() != 1) {
        how.expand = true;
      } else if (written_behind(alias, op, alias.bases(op.operand(k)), *made->parent)) {
        (does.writes[k] ? how.around : how.before).push_back(k);
      }
    }
    if (how.expand || !how.before.empty() || !how.around.empty()) found.push_back(std::move(how));
  });
  for (const Settlement& how : found) settle(function, form, how);
  return !found.empty();
}

}  // namespace weft::autodiff
