// Which additions can wait for each other, and the loops around them.
#include "codegen/nvptx/grouped_adds.h"

#include <algorithm>

#include "codegen/nvptx/warp.h"
#include "ir/walk.h"

namespace weft::codegen {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr int kMaxOps = 48;  // of a body that is repeated

/// Registers for what turns of a group add, all in all; so many numbers fit a warp.
constexpr std::size_t kMaxWords = 32;

bool is_in(const Region& body, const Value* value) {
  if (value->is_constant()) return false;
  const Region* region = value->kind == ir::ValueKind::result ? value->op->parent : value->region;
  while (region && region != &body) region = region->parent_op ? region->parent_op->parent : nullptr;
  return region != nullptr;
}

/// Whether an index is the loop's own, moved by what does not change in it.
bool follows(const Region& body, const Value* index) {
  if (index == body.args[0]) return true;
  if (!is_in(body, index) || index->kind != ir::ValueKind::result) return false;
  const Op& op = *index->op;
  switch (op.code) {
    case OpCode::cast: return op.result()->type->is_int() && follows(body, op.operand(0));
    case OpCode::add:
      return (follows(body, op.operand(0)) && !is_in(body, op.operand(1))) ||
             (follows(body, op.operand(1)) && !is_in(body, op.operand(0)));
    case OpCode::sub: return follows(body, op.operand(0)) && !is_in(body, op.operand(1));
    default: return false;  // safe: not in groups
  }
}

/// Whether every turn comes to an operation, or none does: there may be a question for the gradient around it.
bool comes_always(const Region& body, const Op& op) {
  if (op.parent == &body) return true;
  const Op& around = *op.parent->parent_op;
  if (around.code != OpCode::if_ || around.parent != &body) return false;
  const Value* condition = around.operand(0);
  return condition->kind == ir::ValueKind::result && condition->op->code == OpCode::nonnull && !is_in(body, condition);
}

bool can_wait(const GpuHooks& gpu, const Region& body, const Op& op) {
  if (op.code != OpCode::atomic || !gpu.meeting_adds.contains(&op) || !gpu.lone_adds.contains(&op)) return false;
  if (op.num_indices == 0 || !op.path.empty() || op.wrap != 0 || !comes_always(body, op)) return false;
  const auto indices = op.indices();
  const auto outer = indices.first(indices.size() - 1);
  return !is_in(body, op.operand(0)) && follows(body, indices.back()) &&
         std::none_of(outer.begin(), outer.end(), [&](const Value* v) { return is_in(body, v); });
}

}  // namespace

GroupedAdds::GroupedAdds(Emitter& e, const GpuHooks& gpu, const Op& loop) {
  const Region& body = *loop.regions[0];
  const Value* step = loop.operand(2);
  if (e.W != 1 || gpu.lone_adds.empty() || !step->is_constant()) return;
  if (std::abs(step->as_int()) != 1 || body.function->form.strided) return;
  falls_ = step->as_int() < 0;
  int ops = 0;
  bool simple = true;
  std::size_t words = 0;
  ir::walk(body, [&](const Op& op) {
    ++ops;
    simple &= op.code != OpCode::for_ && op.code != OpCode::while_ && op.code != OpCode::call &&
              op.code != OpCode::check && op.code != OpCode::assert_;
    if (!can_wait(gpu, body, op)) return;
    const Type* element = op.result()->type;
    const TypeParts& info = e.unit.parts(element);
    if (!is_row_of_scalars(info) || !has_warp_add(info.parts.front().scalar)) return;
    adds_.push_back({&op, info.parts.front().scalar, {}, nullptr});
    words += info.parts.size() * scalar_bits(adds_.back().kind) / 32;
  });
  for (const Value* arg : body.args.subspan(1)) simple &= !e.is_block(arg->type);
  if (simple && ops <= kMaxOps && words > 0)
    while (turns_ < 8 && 2 * std::size_t(turns_) * words <= kMaxWords) turns_ *= 2;
  if (turns_ == 1) return;
  for (Add& add : adds_) {
    const std::size_t count = e.unit.parts(add.op->result()->type).parts.size() * std::size_t(turns_);
    for (std::size_t k = 0; k < count; ++k) add.slots.push_back(e.entry_alloca(e.unit.type(add.kind), 1, 8));
    add.place = e.entry_alloca(e.unit.ptr, 1, 8);
  }
}

void GroupedAdds::begin(Emitter& e) {
  for (const Add& add : adds_) e.b.CreateStore(llvm::ConstantPointerNull::get(e.unit.ptr), add.place);
}

bool GroupedAdds::put(Emitter& e, const Op& op, llvm::Value* place) {
  const auto add = std::find_if(adds_.begin(), adds_.end(), [&](const Add& a) { return a.op == &op; });
  if (add == adds_.end()) return false;
  const int element = falls_ ? turns_ - 1 - turn_ : turn_;
  const Parts& values = e.get(op.operands.back());
  for (std::size_t k = 0; k < values.size(); ++k)
    e.b.CreateStore(e.plain(values[k]), add->slots[std::size_t(element) * values.size() + k]);
  if (element == 0) e.b.CreateStore(place, add->place);
  return true;
}

void GroupedAdds::end(Emitter& e) {
  for (const Add& add : adds_) {
    llvm::Value* place = e.b.CreateLoad(e.unit.ptr, add.place);
    e.when(e.b.CreateIsNotNull(place), [&] {
      llvm::SmallVector<llvm::Value*, 32> numbers;
      for (llvm::Value* slot : add.slots) numbers.push_back(e.b.CreateLoad(e.unit.type(add.kind), slot));
      emit_warp_add(e, add.kind, place, numbers, false);
    });
  }
}

void Emitter::emit_grouped_for(const Op& op, GroupedAdds& adds) {
  const Region& body = *op.regions[0];
  const auto args = body.args.subspan(1);
  const auto several = std::uint64_t(adds.turns());
  llvm::Value *lo = base(get(op.operand(0))[0]), *trips = trip_count(op, false);
  const Carried in = carry_in(args, op.operands.subspan(3));
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = block("turns"), *few = block("few");
  llvm::Value* groups = b.CreateUDiv(trips, b.getInt64(several));
  b.CreateCondBr(b.CreateIsNotNull(groups), loop, few);

  b.SetInsertPoint(loop);
  llvm::PHINode *index = b.CreatePHI(lo->getType(), 2), *left = b.CreatePHI(unit.i64, 2);
  index->addIncoming(lo, before);
  left->addIncoming(groups, before);
  Carried phis = carry_phis(args, in, before), out = phis;
  group = &adds;
  adds.begin(*this);
  llvm::Value* at = index;
  emit_straight_turns(op, adds.turns(), at, out, false, [&](int turn) { adds.set_turn(turn); });
  group = nullptr;
  adds.end(*this);
  carry_next(args, phis, body.terminator()->operands, nullptr);
  llvm::BasicBlock* end = b.GetInsertBlock();
  index->addIncoming(at, end);
  llvm::Value* fewer = b.CreateSub(left, b.getInt64(1));
  left->addIncoming(fewer, end);
  b.CreateCondBr(b.CreateIsNotNull(fewer), loop, few);

  // What is left, turn by turn.
  b.SetInsertPoint(few);
  llvm::PHINode* from = b.CreatePHI(lo->getType(), 2);
  from->addIncoming(lo, before);
  from->addIncoming(at, end);
  const Carried start = join_carried(args, {{before, &in}, {end, &out}});
  llvm::Value* rest = b.CreateAnd(trips, b.getInt64(several - 1));
  llvm::BasicBlock *one_by_one = block("for"), *done = block("for.done");
  b.CreateCondBr(b.CreateIsNotNull(rest), one_by_one, done);
  const ForPart last = emit_for_part(op, {few, one_by_one, done}, {from, nullptr, rest}, start, false);
  b.SetInsertPoint(done);
  Carried all = join_carried(args, {{few, &start}, {last.end, &last.out}});
  for (std::size_t a = 0; a < args.size(); ++a) set(op.results[a], std::move(all[a]));
}

}  // namespace weft::codegen
