// Backwards from each question to what a number is made of. A value that a loop carries counts as the same while its own next
// value is looked at: what the loop does to it must make it apart.
#include "analysis/block_ways.h"

#include <algorithm>
#include <iterator>

#include "ir/op_cases.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"

namespace weft::analysis {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

constexpr int kDeepest = 200;  // of what numbers are made of
constexpr std::uint8_t kUnderWay = 1, kFirstAnswer = 2;

bool is_comparison(OpCode code) { return ir::class_of(code) == ir::OpClass::compare; }

/// The loop's number of a carried value: argument of one of its regions.
const Op* carrying_loop(const Value* value) {
  if (value->kind != ir::ValueKind::argument || !value->region->parent_op) return nullptr;
  const Op* loop = value->region->parent_op;
  if (loop->code == OpCode::for_) return value->index > 0 ? loop : nullptr;
  return loop->code == OpCode::while_ ? loop : nullptr;
}

std::uint32_t carried_number(const Op& loop, const Value& argument) {
  return loop.code == OpCode::for_ ? argument.index - 1 : argument.index;
}

const Value* first_of(const Op& loop, std::uint32_t number) {
  return loop.operand(number + (loop.code == OpCode::for_ ? 3 : 0));
}

/// The body's last operation; what it yields are the next values.
const Value* next_of(const Op& loop, std::uint32_t number) {
  return loop.regions[loop.code == OpCode::for_ ? 0 : 1]->last->operand(number);
}

bool is_carried(const Value& value, const Op& loop, std::uint32_t number) {
  return carrying_loop(&value) == &loop && carried_number(loop, value) == number;
}

}  // namespace

BlockWays::BlockWays(const ir::Function& kernel)
    : kernel_(kernel), threads_(kernel), ranges_(kernel), known_(kernel.value_count, 0) {}

Spread BlockWays::of(const Value* value) {
  if (value->is_constant()) return Spread::same;
  if (value->id >= known_.size()) return Spread::unknown;  // made since
  if (threads_.uniform(value)) return Spread::same;
  std::uint8_t& known = known_[value->id];
  if (known >= kFirstAnswer) return Spread(known - kFirstAnswer);
  if (known == kUnderWay) return Spread::same;
  if (depth_ >= kDeepest) return Spread::unknown;
  known = kUnderWay;
  ++depth_;
  const Spread found = find(value);
  --depth_;
  known_[value->id] = std::uint8_t(kFirstAnswer + std::uint8_t(found));
  return found;
}

Spread BlockWays::find(const Value* value) {
  const Type* type = value->type;
  if (type->is_bool() || type->is_int()) {
    const Range range = ranges_.of(value);
    if (range.lo == range.hi) return Spread::same;
  }
  if (value->kind == ir::ValueKind::result) return of_result(*value->op, value->index);
  const Op* around = value->region->parent_op;
  if (!around) return Spread::unknown;
  if (const Op* loop = carrying_loop(value)) return of_carried(*loop, carried_number(*loop, *value), value);
  // What a loop counts from apart stays apart.
  return around->code == OpCode::for_ && of(around->operand(0)) == Spread::apart ? Spread::apart : Spread::unknown;
}

Spread BlockWays::of_result(const Op& op, std::uint32_t index) {
  switch (op.code) {
    case OpCode::block_thread: return Spread::apart;
    case OpCode::thread: return kernel_.form.rows ? Spread::apart : Spread::unknown;
    case OpCode::tid: return kernel_.form.rows && op.imm == kernel_.form.rank - 1 ? Spread::apart : Spread::unknown;
    case OpCode::if_: return of_if(op, index);
    case OpCode::for_:
    case OpCode::while_: return of_carried(op, index, nullptr);
    case OpCode::load:
      // A private array holds what the program put there.
      if (ir::origin_of(op.operand(0)).kind == ir::Origin::Kind::local && !ir::is_block_memory(op.operand(0)))
        return Spread::unknown;
      return of_operands(op);
    case OpCode::atomic:
      return op.atomic == ir::AtomicKind::add && of(op.operands.back()) == Spread::same &&
                     !op.operands.back()->is_zero()
                 ? Spread::apart
                 : Spread::unknown;
    case OpCode::rem:
      // The thread's number in a block of a grid with one dimension, as programs write it.
      if (!kernel_.form.rows && kernel_.form.rank == 1 && op.operand(1)->is_constant() &&
          op.operand(1)->as_int() == kernel_.form.block && op.operand(0)->kind == ir::ValueKind::result &&
          op.operand(0)->op->code == OpCode::tid)
        return Spread::apart;
      return of_operands(op);
    default: break;  // safe: below
  }
  if (is_comparison(op.code) && (runs_by_blocks(op.operand(0)) || runs_by_blocks(op.operand(1))))
    return Spread::unknown;
  switch (ir::class_of(op.code)) {
    case ir::OpClass::arith:
    case ir::OpClass::bits:
    case ir::OpClass::compare:
    case ir::OpClass::round:
    case ir::OpClass::math:
    case ir::OpClass::whole:
    case ir::OpClass::data: return of_operands(op);
    case ir::OpClass::memory:
      return op.code == OpCode::view || op.code == OpCode::slice ? of_operands(op) : Spread::unknown;
    case ir::OpClass::effect:
    case ir::OpClass::control: break;
  }
  return Spread::unknown;
}

/// Apart if something of it is, and all else the same.
Spread BlockWays::of_operands(const Op& op) {
  bool apart = false;
  for (const Value* operand : op.operands) {
    const Spread one = of(operand);
    if (one == Spread::unknown) return one;
    apart = apart || one == Spread::apart;
  }
  if (apart) return Spread::apart;
  // What memory holds may have changed between two threads' reading it.
  return op.code == OpCode::load ? Spread::unknown : Spread::same;
}

Spread BlockWays::of_if(const Op& op, std::uint32_t index) {
  const Value *yes = op.regions[0]->last->operand(index), *no = op.regions[1]->last->operand(index);
  const Spread way = of(op.operand(0)), a = of(yes), b = of(no);
  if (way == Spread::apart) {
    // Both sides are taken, by different threads.
    const bool differ = yes->is_constant() && no->is_constant() && yes->bits != no->bits;
    return differ ? Spread::apart : Spread::unknown;
  }
  if (way == Spread::unknown || a == Spread::unknown || b == Spread::unknown) return Spread::unknown;
  return a == Spread::apart || b == Spread::apart ? Spread::apart : Spread::unknown;
}

Spread BlockWays::of_carried(const Op& loop, std::uint32_t number, const Value* inside) {
  const Value *first = first_of(loop, number), *next = next_of(loop, number);
  const Spread begins = of(first);
  if (begins == Spread::unknown) return begins;
  if (begins == Spread::apart) {
    if (is_carried(*next, loop, number)) return begins;
    // Moved on by the same for all, it stays apart.
    if (next->kind != ir::ValueKind::result || (next->op->code != OpCode::add && next->op->code != OpCode::sub))
      return Spread::unknown;
    const Op& step = *next->op;
    const auto moves = [&](std::size_t from, std::size_t by) {
      return is_carried(*step.operand(from), loop, number) && of(step.operand(by)) == Spread::same;
    };
    return moves(0, 1) || moves(1, 0) ? begins : Spread::unknown;
  }
  // Its arguments stand for the same number while what comes next is looked at.
  std::vector<std::uint8_t*> marked;
  for (const Region* region : loop.regions)
    for (const Value* argument : region->args)
      if (argument != inside && is_carried(*argument, loop, number) && argument->id < known_.size() &&
          known_[argument->id] == 0) {
        known_[argument->id] = kUnderWay;
        marked.push_back(&known_[argument->id]);
      }
  const Spread later = of(next);
  for (std::uint8_t* mark : marked) *mark = 0;
  if (later == Spread::apart) return later;
  // Who is in a turn has the same number; behind the loop threads may have taken more turns than others.
  return later == Spread::same && inside ? later : Spread::unknown;
}

/// From a number of the thread on in steps of the block: all threads get as far, if the end fits.
bool BlockWays::runs_by_blocks(const Value* value) const {
  while (value->kind == ir::ValueKind::result && value->op->code == OpCode::cast) value = value->op->operand(0);
  const auto fits = [&](const Value* step) {
    return step->is_constant() ? step->as_int() % kernel_.form.block == 0 : true;
  };
  if (value->kind != ir::ValueKind::argument || !value->region->parent_op) return false;
  const Op& loop = *value->region->parent_op;
  if (loop.code == OpCode::for_ && value->index == 0) return fits(loop.operand(2));
  if (!carrying_loop(value)) return false;
  const std::uint32_t number = carried_number(loop, *value);
  const Value* next = next_of(loop, number);
  if (next->kind != ir::ValueKind::result || next->op->code != OpCode::add) return false;
  const Op& step = *next->op;
  return (is_carried(*step.operand(0), loop, number) && fits(step.operand(1))) ||
         (is_carried(*step.operand(1), loop, number) && fits(step.operand(0)));
}

const Value* BlockWays::parts_by(const Op& branch) {
  if (branch.text == ir::kSharedLoop || branch.text == ir::kOwnLoop) return nullptr;
  const auto apart = [&](const Value* value) { return of(value) == Spread::apart; };
  switch (branch.code) {
    case OpCode::if_: return apart(branch.operand(0)) ? branch.operand(0) : nullptr;
    case OpCode::while_: {
      const Value* test = branch.regions[0]->terminator()->operand(0);
      return apart(test) ? test : nullptr;
    }
    case OpCode::for_: {
      if (apart(branch.operand(1))) return branch.operand(1);
      const Value* step = branch.operand(2);
      // From the thread's number on in steps of the block: as many turns for all, if the end fits.
      const bool strided = !step->is_constant() || step->as_int() % kernel_.form.block == 0;
      return !strided && apart(branch.operand(0)) ? branch.operand(0) : nullptr;
    }
    default: return nullptr;  // safe: nobody parts there
  }
}

Spread BlockWays::of_branch(const Op& op) {
  if (op.text == ir::kSharedLoop || op.text == ir::kOwnLoop) return Spread::same;
  if (parts_by(op)) return Spread::apart;
  const bool same = op.code == OpCode::if_ ? threads_.uniform(op.operand(0)) : !threads_.shapes().divergent(op);
  return same ? Spread::same : Spread::unknown;
}

std::string BlockWays::reason(const Value* value) {
  for (int depth = 0; depth < kDeepest; ++depth) {
    const Value* next = nullptr;
    if (value->kind == ir::ValueKind::argument) {
      const Op* around = value->region->parent_op;
      if (const Op* loop = carrying_loop(value)) {
        const std::uint32_t number = carried_number(*loop, *value);
        const Value* first = first_of(*loop, number);
        next = of(first) == Spread::apart ? first : next_of(*loop, number);
      } else if (around && around->code == OpCode::for_) {
        next = around->operand(0);
      }
    } else {
      const Op& op = *value->op;
      const std::string at = op.loc.line > 0 ? " (line " + std::to_string(op.loc.line) + ")" : "";
      switch (op.code) {
        case OpCode::block_thread:
        case OpCode::thread:
        case OpCode::tid: return "by their number";
        case OpCode::atomic: return "by what an atomic operation gave each of them" + at;
        case OpCode::load: {
          const Value* array = ir::whole_array(const_cast<Value*>(op.operand(0)));
          return "by what they read" + (array->name.empty() ? std::string() : " from " + std::string(array->name)) + at;
        }
        case OpCode::if_:
          next = of(op.operand(0)) == Spread::apart ? op.operand(0) : nullptr;
          for (const Region* side : op.regions)
            if (!next && of(side->last->operand(value->index)) == Spread::apart)
              next = side->last->operand(value->index);
          break;
        case OpCode::for_:
        case OpCode::while_: {
          const Value* first = first_of(op, value->index);
          next = of(first) == Spread::apart ? first : next_of(op, value->index);
          break;
        }
        default:  // safe: the first of what it is made of
          for (const Value* operand : op.operands)
            if (!next && of(operand) == Spread::apart) next = operand;
      }
    }
    if (!next) break;
    value = next;
  }
  return "by their number";
}

}  // namespace weft::analysis
