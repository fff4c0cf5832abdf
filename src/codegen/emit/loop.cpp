// Loops. Where all lanes agree on the trip count they are scalar loops; else they run while any lane is active and lanes
// that are done keep their carried values. Carried blocks live in one place for the whole loop.
#include "codegen/emit/emitter.h"
#include "codegen/emit/target_hooks.h"
#include "ir/block_functions.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::codegen {

using ir::OpCode;

/// The carried values before the loop, in the form that the loop's arguments have.
Emitter::Carried Emitter::carry_in(std::span<ir::Value* const> args, std::span<ir::Value* const> init) {
  Carried in;
  for (std::size_t a = 0; a < args.size(); ++a) {
    const TypeParts& info = parts_of(args[a]);
    const Parts from = get(init[a]);
    Parts parts;
    for (std::size_t k = 0; k < info.parts.size(); ++k) {
      const PartInfo& part = info.parts[k];
      analysis::LaneShape want = shape(args[a], part.unit);
      if (part.kind == PartKind::block) {
        // One home for the whole loop: each turn copies its result there, and
        // inside of the body inserts may work in place.
        Part home = new_block(part.scalar, part.count, W > 1 && want != analysis::kUniform);
        block_copy(home, from[k], part.scalar, part.count);
        parts.push_back(home);
      } else {
        parts.push_back(shaped(part, from[k], want));
      }
    }
    in.push_back(std::move(parts));
  }
  return in;
}

/// Phis at the top of a loop, with their first way in. The other one is added by
/// carry_next, when the body has been emitted.
Emitter::Carried Emitter::carry_phis(std::span<ir::Value* const> args, const Carried& in, llvm::BasicBlock* from) {
  Carried phis;
  for (std::size_t a = 0; a < args.size(); ++a) {
    const TypeParts& info = parts_of(args[a]);
    Parts parts;
    for (std::size_t k = 0; k < info.parts.size(); ++k) {
      Part part = in[a][k];
      // Another turn may bring a descriptor of another array.
      part.scope = -1;
      if (info.parts[k].kind != PartKind::block) {
        llvm::PHINode* phi = b.CreatePHI(part.v->getType(), 2);
        phi->addIncoming(part.v, from);
        part.v = phi;
      }
      parts.push_back(part);
    }
    phis.push_back(std::move(parts));
  }
  return phis;
}

bool Emitter::is_looked_at(const ir::Op& loop, std::size_t result) {
  const ir::Region* whole = loop.parent;
  while (whole->parent_op) whole = whole->parent_op->parent;
  const auto [known, fresh] = looked_at_.try_emplace(whole);
  if (fresh)
    ir::walk(*whole, [&](const ir::Op& op) {
      for (const ir::Value* operand : op.operands)
        if (operand->kind == ir::ValueKind::result && !operand->op->regions.empty()) known->second.insert(operand);
    });
  return known->second.contains(loop.results[result]);
}

/// At the end of the body: the next values go into the phis. `active` keeps lanes that did not take part, but for floats at which
/// nobody looks behind the loop: lanes that have left it compute on and touch nothing, and a test that has failed stays so.
void Emitter::carry_next(std::span<ir::Value* const> args, Carried& phis, std::span<ir::Value* const> next,
                         llvm::Value* active, const ir::Op* loop) {
  // With fast arithmetic LLVM takes for granted that no number gets out of bounds.
  const bool may_run_on = active && loop && !unit.options.fast_math;
  struct Copy {
    Part to, from;
    ScalarKind kind;
    std::uint32_t count;
  };
  // All values are taken before anything is written: `yield %b, %a` swaps.
  std::vector<Copy> copies;
  std::vector<std::vector<llvm::Value*>> values(args.size());
  for (std::size_t a = 0; a < args.size(); ++a) {
    const TypeParts& info = parts_of(args[a]);
    const Parts from = get(next[a]);
    for (std::size_t k = 0; k < info.parts.size(); ++k) {
      const PartInfo& part = info.parts[k];
      values[a].push_back(nullptr);
      if (part.kind == PartKind::block) {
        copies.push_back({phis[a][k], from[k], part.scalar, part.count});
        continue;
      }
      llvm::Value* v = shaped(part, from[k], shape(args[a], part.unit)).v;
      const bool runs_on =
          may_run_on && part.kind == PartKind::scalar && part.scalar >= ScalarKind::f16 && !is_looked_at(*loop, a);
      values[a].back() = active && !runs_on ? select(active, v, phis[a][k].v) : v;
    }
  }
  // Blocks that trade places go through a third one.
  for (Copy& copy : copies)
    for (const Copy& other : copies)
      if (&other != &copy && other.to.v == copy.from.v) {
        Part spare = new_block(copy.kind, copy.count, copy.from.wide);
        block_copy(spare, copy.from, copy.kind, copy.count);
        copy.from = spare;
        break;
      }
  for (const Copy& copy : copies)
    // A block that is not wide is the same for all lanes, the inactive ones included.
    block_copy(copy.to, copy.from, copy.kind, copy.count, copy.to.wide ? active : nullptr);
  llvm::BasicBlock* end = b.GetInsertBlock();
  for (std::size_t a = 0; a < args.size(); ++a)
    for (std::size_t k = 0; k < values[a].size(); ++k)
      if (values[a][k]) llvm::cast<llvm::PHINode>(phis[a][k].v)->addIncoming(values[a][k], end);
}

void Emitter::emit_for(const ir::Op& op) {
  if (op.text == ir::kOwnLoop) {  // of few turns, which name registers
    for (std::int64_t turn = 0; turn < op.operand(1)->as_int(); ++turn) {
      set(op.regions[0]->args[0], {Part{b.getInt32(std::uint32_t(turn))}});
      emit_region(*op.regions[0]);
    }
    return;
  }
  if (divergent(op))
    emit_divergent_for(op);
  else
    emit_uniform_for(op);
}

/// max(0, ceil((hi − lo) / step)) for either sign of the step, 0 for step 0, as an unsigned 64-bit number: the true
/// difference of two 64-bit numbers fits there.
llvm::Value* Emitter::trip_count(const ir::Op& op, bool by_lane) {
  const Type* type = op.operand(0)->type;
  llvm::Value* v[3];
  for (std::size_t k = 0; k < 3; ++k) {
    const Part& part = get(op.operand(k))[0];
    v[k] = to_i64(by_lane ? vector(part) : part.v, type);
  }
  llvm::Value *lo = v[0], *hi = v[1], *step = v[2];
  llvm::Value* zero = llvm::Constant::getNullValue(lo->getType());
  auto count = [&](llvm::Value* from, llvm::Value* to, llvm::Value* by) {
    llvm::Value* runs = b.CreateICmpSLT(from, to);
    // Taken as unsigned, it is right whenever from < to.
    llvm::Value* distance = b.CreateSub(to, from);
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(by);
    llvm::Value* trips = distance;
    if (!known || !known->isOne()) {
      // A step of 0 must not be divided by, though its result is thrown away: division by zero traps.
      llvm::Value* safe = select(b.CreateICmpEQ(by, zero), constant_like(by, 1), by);
      llvm::Value* steps = b.CreateUDiv(b.CreateSub(distance, constant_like(distance, 1)), safe);
      trips = b.CreateAdd(steps, constant_like(steps, 1));
    }
    return select(runs, trips, zero);
  };
  // Nearly all steps are constants: half of the work is left out.
  if (op.operand(2)->is_constant()) {
    std::int64_t by = op.operand(2)->as_int();
    if (by == 0) return zero;
    return by > 0 ? count(lo, hi, step) : count(hi, lo, b.CreateNeg(step));
  }
  llvm::Value* trips = select(b.CreateICmpSGT(step, zero), count(lo, hi, step), count(hi, lo, b.CreateNeg(step)));
  return select(b.CreateICmpEQ(step, zero), zero, trips);
}

namespace {

/// The most turns of a small loop that are taken at once.
constexpr std::int64_t kMaxBulkTurns = 1 << 16;

void mark_loop(llvm::Instruction* latch, llvm::ArrayRef<llvm::Metadata*> wish) {
  llvm::LLVMContext& context = latch->getContext();
  llvm::Metadata* parts[] = {nullptr, llvm::MDNode::get(context, wish)};
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, parts);
  // LLVM's form of a loop's name: a node that refers to itself.
  loop->replaceOperandWith(0, loop);
  latch->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

void ask_for_unrolling(llvm::Instruction* latch, int count) {
  llvm::LLVMContext& context = latch->getContext();
  mark_loop(
      latch,
      {llvm::MDString::get(context, "llvm.loop.unroll.count"),
       llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), std::uint64_t(count)))});
}

/// A loop that neither LLVM nor the assembler of a GPU writes out.
void keep_rolled(llvm::Instruction* latch) {
  mark_loop(latch, {llvm::MDString::get(latch->getContext(), "llvm.loop.unroll.disable")});
}

}  // namespace

void Emitter::emit_straight_turns(const ir::Op& op, int turns, llvm::Value*& at, Carried& values, bool in_range,
                                  const std::function<void(int)>& before_turn) {
  const ir::Region& body = *op.regions[0];
  std::span<ir::Value* const> args = body.args.subspan(1);
  overlaps_roots = true;
  for (int turn = 0; turn < turns; ++turn) {
    if (before_turn) before_turn(turn);
    set(body.args[0], {Part{at}});
    for (std::size_t a = 0; a < args.size(); ++a) set(args[a], values[a]);
    emit_region(body);
    // The end of one turn is the begin of the next, without a branch between them.
    values = carry_in(args, body.terminator()->operands);
    at = b.CreateAdd(at, base(get(op.operand(2))[0]), "", false, in_range);
  }
  overlaps_roots = false;
}

/// Loops from here to there that are unrolled four times. What is left, up to three turns, runs as a pair and a single
/// one, so that loads of the pair run together, too; LLVM would take turn by turn. False for other loops.
bool Emitter::emit_paired_rest(const ir::Op& op) {
  const ir::Region& body = *op.regions[0];
  std::span<ir::Value* const> args = body.args.subspan(1);
  const ir::Value* start = op.operand(0);
  if (W != 1 || start->is_constant() || !start->type->is_signed_int()) return false;
  if (!op.operand(2)->is_constant() || op.operand(2)->as_int() != 1 || unit.hooks->unrolling(body) != 4) return false;
  for (const ir::Value* arg : args)
    for (const PartInfo& part : parts_of(arg).parts)
      if (part.kind == PartKind::block) return false;
  llvm::Value *lo = base(get(op.operand(0))[0]), *hi = base(get(op.operand(1))[0]);
  Carried carried = carry_in(args, op.operands.subspan(3));
  auto number = [&](std::int64_t n) { return llvm::ConstantInt::getSigned(lo->getType(), n); };
  llvm::Value* trips = b.CreateSelect(b.CreateICmpSLT(lo, hi), b.CreateSub(hi, lo), number(0));
  llvm::Value* fours = b.CreateAnd(trips, number(-4));
  llvm::Value* at = b.CreateAdd(lo, fours);
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = block("for"), *rest = block("for.rest");
  b.CreateCondBr(b.CreateIsNotNull(fours), loop, rest);
  // Nothing counts turns here: only GPUs unroll, and they count none.
  ForPart part = emit_for_part(op, {before, loop, rest}, {lo, at, nullptr}, carried, false);
  b.SetInsertPoint(rest);
  carried = join_carried(args, {{before, &carried}, {part.end, &part.out}});
  // The two lower bits of the count say which of them run.
  for (int turns : {2, 1}) {
    llvm::BasicBlock *from = b.GetInsertBlock(), *some = block("for.some"), *done = block("for.done");
    b.CreateCondBr(b.CreateIsNotNull(b.CreateAnd(trips, number(turns))), some, done);
    b.SetInsertPoint(some);
    Carried now = carried;
    llvm::Value* index = at;
    emit_straight_turns(op, turns, index, now, true);
    llvm::BasicBlock* end = b.GetInsertBlock();
    b.CreateBr(done);
    b.SetInsertPoint(done);
    llvm::PHINode* next = b.CreatePHI(at->getType(), 2);
    next->addIncoming(at, from);
    next->addIncoming(index, end);
    at = next;
    carried = join_carried(args, {{from, &carried}, {end, &now}});
  }
  for (std::size_t a = 0; a < args.size(); ++a) set(op.results[a], std::move(carried[a]));
  return true;
}

/// A loop of all lanes together, tested at its end. One that takes its turns in bulk goes through portions of them:
///
///           br lo < hi, strip, done
///   strip:  to = from + min(hi - from, 65536)         ; from: lo, then where the portion before has ended
///   for:    …  br i != to, for, bulk
///   bulk:   turns -= taken;  br turns > 0, done, ask
///   ask:    …more turns, or out of the function;  br taken != all, strip, done
void Emitter::emit_uniform_for(const ir::Op& op) {
  // Both are a GPU's; on the CPU they say no.
  if (unit.hooks->emit_grouped_for(*this, op) || emit_paired_rest(op)) return;
  const ir::Region& body = *op.regions[0];
  std::span<ir::Value* const> args = body.args.subspan(1);
  LoopTurns::Way way = turns_of(op);
  // Few threads run under a mask: their loops are worth no second copy.
  if (way == LoopTurns::Way::bulk && mask) way = LoopTurns::Way::each;
  llvm::Value *lo = base(get(op.operand(0))[0]), *hi = base(get(op.operand(1))[0]);
  bool unit_step = op.operand(2)->is_constant() && op.operand(2)->as_int() == 1;
  Carried in = carry_in(args, op.operands.subspan(3));
  // Steps of one compare the index itself; other steps count down the trips.
  llvm::Value* trips = unit_step ? nullptr : trip_count(op, false);
  // Tested in front, so that the loop itself is tested at its end: one branch a turn.
  llvm::Value* runs = unit_step ? b.CreateICmpSLT(lo, hi) : b.CreateIsNotNull(trips);
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = block("for"), *done = block("for.done");
  if (way != LoopTurns::Way::bulk) {
    b.CreateCondBr(runs, loop, done);
    ForPart all = emit_for_part(op, {before, loop, done}, {lo, hi, trips}, in, way == LoopTurns::Way::each);
    b.SetInsertPoint(done);
    Carried out = join_carried(args, {{before, &in}, {all.end, &all.out}});
    for (std::size_t a = 0; a < args.size(); ++a) set(op.results[a], std::move(out[a]));
    return;
  }
  // The turns of a small loop are taken at once, behind it, which leaves the loop as it is. Long ones, which are rare, come
  // back for the rest: they have always used up what there was.
  static_assert(kMaxBulkTurns >= runtime::kTurnsBetweenQuestions);
  llvm::BasicBlock *strip = block("for.strip"), *behind = block("for.bulk");
  b.CreateCondBr(runs, strip, done);
  b.SetInsertPoint(strip);
  llvm::PHINode* from = b.CreatePHI(lo->getType(), 2);
  from->addIncoming(lo, before);
  llvm::PHINode* left = nullptr;
  if (trips) {
    left = b.CreatePHI(trips->getType(), 2);
    left->addIncoming(trips, before);
  }
  Carried start = carry_phis(args, in, before);
  // Turns that are left, this portion of them, and where it ends. Portions are at least what lies between two
  // questions, so that who comes back has always asked.
  llvm::Value* all = left ? left : b.CreateSub(hi, from);
  llvm::Value* taken = all;
  if (all->getType()->getIntegerBitWidth() > 16)
    taken = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, all, constant_like(all, kMaxBulkTurns));
  llvm::Value* to = left ? nullptr : b.CreateAdd(from, taken);
  b.CreateBr(loop);
  ForPart part = emit_for_part(op, {strip, loop, behind}, {from, to, left ? taken : nullptr}, start, false);
  b.SetInsertPoint(behind);
  // Straight out where there are turns left, without a look whether all are done: they are, since a portion
  // that is not the last uses up everything.
  take_turns(b.CreateZExtOrTrunc(taken, unit.i32), done);
  llvm::BasicBlock* granted = b.GetInsertBlock();
  from->addIncoming(part.next, granted);
  if (left) left->addIncoming(b.CreateSub(left, taken), granted);
  for (std::size_t a = 0; a < args.size(); ++a)
    for (std::size_t k = 0; k < start[a].size(); ++k)
      if (parts_of(args[a]).parts[k].kind != PartKind::block)
        llvm::cast<llvm::PHINode>(start[a][k].v)->addIncoming(part.out[a][k].v, granted);
  b.CreateCondBr(b.CreateICmpNE(taken, all), strip, done);
  b.SetInsertPoint(done);
  Carried out = join_carried(args, {{before, &in}, {behind, &part.out}, {granted, &part.out}});
  for (std::size_t a = 0; a < args.size(); ++a) set(op.results[a], std::move(out[a]));
}

/// At the beginning of a block: carried values that come from several others.
Emitter::Carried Emitter::join_carried(std::span<ir::Value* const> args,
                                       std::initializer_list<std::pair<llvm::BasicBlock*, const Carried*>> ways) {
  Carried out = *ways.begin()->second;
  for (std::size_t a = 0; a < args.size(); ++a)
    for (std::size_t k = 0; k < out[a].size(); ++k) {
      out[a][k].scope = -1;
      if (parts_of(args[a]).parts[k].kind == PartKind::block) continue;
      llvm::PHINode* value = b.CreatePHI(out[a][k].v->getType(), unsigned(ways.size()));
      for (const auto& [from, values] : ways) value->addIncoming((*values)[a][k].v, from);
      out[a][k].v = value;
    }
  return out;
}

/// The loop itself, from `before` to `behind`, of which the caller knows that it runs. What it carries behind its
/// last turn, and the index there, are for the caller to join with other ways.
Emitter::ForPart Emitter::emit_for_part(const ir::Op& op, const ForBlocks& blocks, const ForRange& range,
                                        const Carried& in, bool counts) {
  const ir::Region& body = *op.regions[0];
  std::span<ir::Value* const> args = body.args.subspan(1);
  b.SetInsertPoint(blocks.loop);
  llvm::PHINode* index = b.CreatePHI(range.from->getType(), 2);
  index->addIncoming(range.from, blocks.before);
  llvm::PHINode* left = nullptr;
  if (range.trips) {
    left = b.CreatePHI(unit.i64, 2);
    left->addIncoming(range.trips, blocks.before);
  }
  Carried phis = carry_phis(args, in, blocks.before);
  set(body.args[0], {Part{index}});
  for (std::size_t a = 0; a < args.size(); ++a) set(args[a], phis[a]);
  // At the top of the body, where the block ends anyway.
  if (counts) take_turn();
  const int times = unit.hooks->unrolling(body);
  overlaps_roots = times > 1;
  emit_region(body);
  overlaps_roots = false;
  carry_next(args, phis, body.terminator()->operands, nullptr);
  // Steps of one end at `hi`: no overflow, and the back end takes the steps of an unrolled loop as parts of addresses.
  const bool in_range = !left && op.operand(0)->type->is_signed_int();
  llvm::Value* next = b.CreateAdd(index, base(get(op.operand(2))[0]), "", false, in_range);
  llvm::Value* rest = left ? b.CreateSub(left, b.getInt64(1)) : nullptr;
  ForPart part{next, phis, b.GetInsertBlock()};
  index->addIncoming(next, part.end);
  if (left) left->addIncoming(rest, part.end);
  llvm::Instruction* latch =
      b.CreateCondBr(left ? b.CreateIsNotNull(rest) : b.CreateICmpNE(next, range.to), blocks.loop, blocks.behind);
  if (times > 1) ask_for_unrolling(latch, times);
  if (op.text == ir::kRolledLoop) keep_rolled(latch);
  for (std::size_t a = 0; a < args.size(); ++a)
    for (std::size_t k = 0; k < phis[a].size(); ++k)
      if (parts_of(args[a]).parts[k].kind != PartKind::block)
        // Behind the loop the values of the last turn are wanted, not those that it began with.
        part.out[a][k].v = llvm::cast<llvm::PHINode>(phis[a][k].v)->getIncomingValueForBlock(part.end);
  return part;
}

/// Lanes have trip counts of their own:
///
///           active = mask & trips > 0;  br any(active), for, done
///   for:    …                                         ; under `active`
///           s = select(active, next s, s)             ; who is done keeps what it had
///           turn += 1;  active &= trips > turn;  br any(active), for, done
void Emitter::emit_divergent_for(const ir::Op& op) {
  const ir::Region& body = *op.regions[0];
  std::span<ir::Value* const> args = body.args.subspan(1);
  llvm::Value* outer = mask;
  Carried in = carry_in(args, op.operands.subspan(3));
  llvm::Value* trips = trip_count(op, true);
  // Lanes that take part at all. A lane that is masked out has whatever trip count, and must not keep the loop going.
  llvm::Value* first = both(outer, b.CreateICmpNE(trips, llvm::Constant::getNullValue(trips->getType())));
  // The index stays scalar while all lanes start together and step alike.
  const Part lo = get(op.operand(0))[0], by = get(op.operand(2))[0];
  bool scalar_index = shape(body.args[0], 0) != analysis::kVarying;
  llvm::Value* start = scalar_index ? lo.v : vector(lo);
  llvm::Value* step = scalar_index ? by.v : vector(by);
  llvm::BasicBlock *before = b.GetInsertBlock(), *loop = block("for"), *done = block("for.done");
  b.CreateCondBr(any(first), loop, done);
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(start->getType(), 2);
  llvm::PHINode* turn = b.CreatePHI(unit.i64, 2);
  llvm::PHINode* active = b.CreatePHI(first->getType(), 2);
  index->addIncoming(start, before);
  turn->addIncoming(b.getInt64(0), before);
  active->addIncoming(first, before);
  Carried phis = carry_phis(args, in, before);
  set(body.args[0], {Part{index, scalar_index ? lo.stride : 0}});
  for (std::size_t a = 0; a < args.size(); ++a) set(args[a], phis[a]);
  // A lane stays in the mask until it has run as often as its own bounds say; `turn` counts for all.
  mask = active;
  if (turns_of(op) != LoopTurns::Way::none) take_turn();
  emit_region(body);
  carry_next(args, phis, body.terminator()->operands, active, &op);
  llvm::Value* next_turn = b.CreateAdd(turn, b.getInt64(1));
  llvm::Value* still = b.CreateAnd(active, b.CreateICmpUGT(trips, splat(next_turn)));
  llvm::Value* next_index = b.CreateAdd(index, step);
  llvm::BasicBlock* end = b.GetInsertBlock();
  index->addIncoming(next_index, end);
  turn->addIncoming(next_turn, end);
  active->addIncoming(still, end);
  b.CreateCondBr(any(still), loop, done);
  b.SetInsertPoint(done);
  mask = outer;
  Carried next = phis;
  for (std::size_t a = 0; a < args.size(); ++a)
    for (std::size_t k = 0; k < next[a].size(); ++k)
      if (parts_of(args[a]).parts[k].kind != PartKind::block)
        next[a][k].v = llvm::cast<llvm::PHINode>(phis[a][k].v)->getIncomingValueForBlock(end);
  Carried out = join_carried(args, {{before, &in}, {end, &next}});
  for (std::size_t a = 0; a < args.size(); ++a) set(op.results[a], std::move(out[a]));
}

void Emitter::emit_while(const ir::Op& op) {
  const ir::Region &test = *op.regions[0], &body = *op.regions[1];
  bool diverges = divergent(op);
  llvm::Value* outer = mask;
  // `active` holds lanes whose test has not failed yet. It only ever shrinks: a lane that is done does not come back.
  llvm::Value* first = diverges ? mask_or_all() : nullptr;
  Carried in = carry_in(test.args, op.operands);
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = block("while"), *inside = block("do"),
                   *done = block("while.done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* active = nullptr;
  if (diverges) {
    active = b.CreatePHI(first->getType(), 2);
    active->addIncoming(first, before);
    mask = active;
  }
  Carried phis = carry_phis(test.args, in, before);
  for (std::size_t a = 0; a < test.args.size(); ++a) {
    set(test.args[a], phis[a]);
    set(body.args[a], phis[a]);
    // The loop is left from its head, where the phis are: they are the results, also for lanes that left
    // long ago, whose values carry_next has held.
    set(op.results[a], phis[a]);
  }
  emit_region(test);
  llvm::Value* go = plain(test.terminator()->operand(0));
  llvm::Value* still = nullptr;
  if (diverges) {
    still = both(active, go);
    b.CreateCondBr(any(still), inside, done);
  } else {
    b.CreateCondBr(go, inside, done);
  }
  b.SetInsertPoint(inside);
  mask = diverges ? still : outer;
  if (turns_of(op) != LoopTurns::Way::none) take_turn();
  emit_region(body);
  carry_next(test.args, phis, body.terminator()->operands, still, &op);
  if (active) active->addIncoming(still, b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
  mask = outer;
}

}  // namespace weft::codegen
