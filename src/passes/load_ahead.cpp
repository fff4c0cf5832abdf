// With S places for each tile, for k in lo, lo + step, … becomes a loop with S - 1 turns more in front, which multiply nothing:
//   barrier S - 2; if k + (S - 1) step < hi { copy for that turn into its place }; if k >= lo { multiply what is in this turn's }
// The barrier is for both: this turn's tiles are there (those of the S - 2 turns behind may be on their way), and nobody reads the
// place that is written next, which was that of the turn before.
#include "passes/load_ahead.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ir/block_functions.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::CopyOperand;
using ir::Op;
using ir::OpCode;
using ir::ProductOperand;
using ir::Region;
using ir::Value;

constexpr std::int64_t kLargestStart = 1 << 28;
// Of groups of warps the next turn begins at once; all others have enough to do meanwhile for one more place.
constexpr std::int64_t kFewPlaces = 2, kMostPlaces = 4;

/// Shared memory in bytes: of a block at most, and of a multiprocessor. Each block takes some more by itself.
struct Room {
  static constexpr std::int64_t kOwn = 1024;
  std::int64_t block, all;
};
Room room_of(int sm) {
  const auto of = [](std::int64_t kilobytes) { return Room{kilobytes * 1024 - Room::kOwn, kilobytes * 1024}; };
  if (sm >= 90) return of(228);
  if (sm == 80 || sm == 87) return of(164);
  if (sm >= 86) return of(100);
  return {64 * 1024, 64 * 1024};
}

class Ahead {
 public:
  Ahead(ir::Function& kernel, int sm) : kernel_(kernel), room_(room_of(sm)) {
    ir::walk(*kernel.body, [&](Op& op) {
      for (Value* operand : op.operands)
        if (!operand->is_constant()) ++uses_[operand];
    });
  }

  bool run() {
    std::vector<Op*> loops;
    ir::walk(*kernel_.body, [&](Op& op) {
      if (op.code == OpCode::for_) loops.push_back(&op);
    });
    ir::walk(*kernel_.body, [&](const Op& op) {
      if (ir::is_block_memory(op)) bytes_ += bytes_of(op);
    });
    bool changed = false;
    for (Op* loop : loops) changed |= rotate(*loop);
    return changed;
  }

 private:
  struct Found {
    std::vector<Op*> copies, products, locals;
    std::int64_t bytes = 0, blocks = 1;  // of a turn's tiles; that a multiprocessor has registers for
  };

  /// What a loop consists of; false if there is anything but copies, products and numbers.
  bool look(Op& loop, Found& found) {
    const Value *low = loop.operand(0), *step = loop.operand(2);
    if (loop.operands.size() != 3 || !loop.text.empty() || loop.operand(0)->type != types::i32()) return false;
    if (!low->is_constant() || low->as_int() < 0 || low->as_int() > kLargestStart) return false;
    if (!step->is_constant() || step->as_int() < 1 || step->as_int() > kLargestStart) return false;
    std::unordered_map<const Value*, int> here;  // uses of tiles by what is found
    std::int64_t registers = 1;
    for (Op& op : *loop.regions[0]) {
      if (op.code == OpCode::meet || op.code == OpCode::yield) continue;
      if (ir::calls_block_function(op, ir::kBlockCopy)) {
        found.copies.push_back(&op);
        ++here[op.operand(CopyOperand::tile)];
      } else if (ir::calls_block_function(op, ir::kBlockProduct)) {
        found.products.push_back(&op);
        ++here[op.operand(ProductOperand::a)];
        ++here[op.operand(ProductOperand::b)];
        registers = std::max(registers, ir::Fragments::of(op).registers());
      } else if (ir::is_block_memory(op)) {
        found.locals.push_back(&op);
        found.bytes += bytes_of(op);
      } else if (!op.regions.empty() || ir::effect_of(op.code) != ir::Effect::none) {
        return false;
      }
    }
    // All memory of the block counts the tiles of this loop once already.
    if (found.copies.empty() || found.products.empty() || bytes_ + found.bytes > room_.block) return false;
    found.blocks = std::max<std::int64_t>(ir::Fragments::kRegisters / (registers * kernel_.form.block), 1);
    if (found.copies.size() != found.locals.size()) return false;
    for (std::size_t k = 0; k < found.copies.size(); ++k) {
      const Op &copy = *found.copies[k], &local = *found.locals[k];
      // Each is made, filled once and then read by products alone.
      if (copy.operand(CopyOperand::tile) != local.result() || !copy.operand(CopyOperand::offset)->is_zero())
        return false;
      if (uses_[local.result()] != here[local.result()]) return false;
      for (std::size_t at : {std::size_t(CopyOperand::row), std::size_t(CopyOperand::column)})
        if (!can_repeat(copy.operand(at), *loop.regions[0])) return false;
    }
    const Op* const last = found.copies.back();
    for (const Op* product : found.products)
      if (!stands_behind(*product, *last)) return false;
    return true;
  }

  /// How many places each tile gets: as many as there are turns and room, for as many blocks as run side by side.
  std::int64_t places_of(const Op& loop, const Found& found) const {
    const std::int64_t low = loop.operand(0)->as_int(), step = loop.operand(2)->as_int();
    std::int64_t most = ir::multiplies_panels(*found.products.front()) ? kMostPlaces : kFewPlaces;
    if (const Value* high = loop.operand(1); high->is_constant())
      most = std::min(most, (high->as_int() - low + step - 1) / step);
    while (most > kFewPlaces) {
      const std::int64_t bytes = bytes_ + (most - 1) * found.bytes;
      if (bytes <= room_.block && (bytes + Room::kOwn) * found.blocks <= room_.all) break;
      --most;
    }
    return std::max(most, kFewPlaces);
  }

  static std::int64_t bytes_of(const Op& local) {
    std::int64_t bytes = std::int64_t(local.result()->type->element()->size());
    for (std::int64_t n : local.ints) bytes *= n;
    return bytes;
  }

  static bool stands_behind(const Op& op, const Op& other) {
    for (const Op* at = other.next; at; at = at->next)
      if (at == &op) return true;
    return false;
  }

  /// Whether a number is made of the loop's and of others by operations without effects.
  static bool can_repeat(const Value* value, const Region& body) {
    if (value->is_constant()) return true;
    if (value->kind == ir::ValueKind::argument) return value->region != &body || value->index == 0;
    const Op& op = *value->op;
    if (op.parent != &body) return true;
    if (!op.regions.empty() || ir::effect_of(op.code) != ir::Effect::none) return false;
    for (const Value* operand : op.operands)
      if (!can_repeat(operand, body)) return false;
    return true;
  }

  /// The number as it is when the loop's is `next`.
  Value* repeated(Value* value, const Region& body, ir::ValueMap& map, Region* to) {
    if (value->is_constant()) return value;
    if (const auto it = map.find(value); it != map.end()) return it->second;
    if (value->kind == ir::ValueKind::argument || value->op->parent != &body) return value;
    const Op& op = *value->op;
    std::vector<Value*> operands;
    for (Value* operand : op.operands) operands.push_back(repeated(operand, body, map, to));
    std::vector<const Type*> types;
    for (const Value* result : op.results) types.push_back(result->type);
    Op* const copy = kernel_.make_op(op.code, operands, types);
    ir::copy_attributes(op, kernel_, *copy);
    ir::insert_op(to, copy);
    for (std::size_t k = 0; k < op.results.size(); ++k) map[op.results[k]] = copy->results[k];
    return map[value];
  }

  void flag(Op& call, std::size_t at, std::int64_t flags) {
    call.operands[at] = kernel_.constant_int(types::i32(), call.operand(at)->as_int() | flags);
  }

  bool rotate(Op& loop) {
    Found found;
    if (!look(loop, found)) return false;
    Region& body = *loop.regions[0];
    Value *const k = body.args[0], *const low = loop.operand(0), *const high = loop.operand(1);
    const std::int64_t step = loop.operand(2)->as_int();
    const std::int64_t places = places_of(loop, found);
    std::unordered_map<const Value*, std::int64_t> sizes;
    for (Op* local : found.locals) {
      ir::remove_op(local);
      ir::insert_op(loop.parent, local, &loop);
      sizes[local->result()] = local->ints[0];
      bytes_ += (places - 1) * bytes_of(*local);
      local->ints[0] *= places;
    }
    const auto barrier = [&](Region* region, Op* before, std::int64_t turns) {
      ir::Builder b(kernel_, region, before);
      b.set_loc(loop.loc);
      b.op_typed(OpCode::barrier, {}, {})->imm = turns;
    };
    barrier(loop.parent, &loop, 0);
    if (loop.next) barrier(loop.parent, loop.next, 0);
    barrier(&body, body.first, places - 2);
    ir::Builder b(kernel_, &body, body.first->next);
    b.set_loc(loop.loc);
    // Places in turn, by the number of the turn; the next one that is written is that in front of this one.
    const std::int64_t ahead = (places - 1) * step, start = low->as_int() - ahead;
    Value* turn = start == 0 ? k : b.binary(OpCode::sub, k, b.i32(start));
    if (step != 1) turn = b.binary(OpCode::div, turn, b.i32(step));
    const auto place_of = [&](Value* number) {
      return places == 3 ? b.binary(OpCode::rem, number, b.i32(places))
                         : b.binary(OpCode::bit_and, number, b.i32(places - 1));
    };
    Value* const other = place_of(turn);
    Value* const place = place_of(b.binary(OpCode::add, turn, b.i32(1)));
    Value* const next = b.binary(OpCode::add, k, b.i32(ahead));
    // A sum might not be a number any more; the difference is one wherever the loop has a turn.
    Op* const more = b.if_op(b.binary(OpCode::lt, k, b.binary(OpCode::sub, high, b.i32(ahead))), {});
    ir::ValueMap map;
    map[k] = next;
    Region* const copying = more->regions[0];
    for (Op* copy : found.copies) {
      Value* const row = repeated(copy->operand(CopyOperand::row), body, map, copying);
      Value* const column = repeated(copy->operand(CopyOperand::column), body, map, copying);
      ir::Builder inside(kernel_, copying, nullptr);
      inside.set_loc(copy->loc);
      ir::remove_op(copy);
      copy->operands[CopyOperand::row] = row;
      copy->operands[CopyOperand::column] = column;
      copy->operands[CopyOperand::offset] =
          inside.binary(OpCode::mul, other, inside.i32(sizes.at(copy->operand(CopyOperand::tile))));
      flag(*copy, CopyOperand::flags, ir::kAhead);
      ir::insert_op(copying, copy);
    }
    ir::Builder(kernel_, copying, nullptr).yield({});
    ir::Builder(kernel_, more->regions[1], nullptr).yield({});
    for (Op* product : found.products) {
      ir::Builder outside(kernel_, &body, product);
      outside.set_loc(product->loc);
      Op* const when = outside.if_op(outside.binary(OpCode::ge, k, low), {});
      ir::Builder inside(kernel_, when->regions[0], nullptr);
      inside.set_loc(product->loc);
      const std::size_t tiles[] = {ProductOperand::a, ProductOperand::b},
                        stages[] = {ProductOperand::a_stage, ProductOperand::b_stage};
      for (std::size_t side = 0; side < 2; ++side) {
        const auto size = sizes.find(product->operand(tiles[side]));
        if (size == sizes.end()) continue;
        product->operands[stages[side]] = inside.binary(OpCode::mul, place, inside.i32(size->second));
        flag(*product, ProductOperand::flags, side == 0 ? ir::kAhead : ir::kAheadSecond);
      }
      ir::remove_op(product);
      ir::insert_op(when->regions[0], product);
      ir::Builder(kernel_, when->regions[0], nullptr).yield({});
      ir::Builder(kernel_, when->regions[1], nullptr).yield({});
    }
    loop.operands[0] = kernel_.constant_int(types::i32(), start);
    return true;
  }

  ir::Function& kernel_;
  const Room room_;
  std::unordered_map<const Value*, int> uses_;
  std::int64_t bytes_ = 0;  // of all memory of the block
};

}  // namespace

bool load_ahead(ir::Function& kernel, int sm) {
  if (kernel.form.block <= 1 || !kernel.form.rows) return false;
  return Ahead(kernel, sm).run();
}

}  // namespace weft::passes
