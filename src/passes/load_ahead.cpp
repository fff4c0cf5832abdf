// for k in lo, lo + step, … becomes a loop with one turn more in front, which multiplies nothing:
//   barrier; if k + step < hi { copy for k + step into the other half }; if k >= lo { multiply what this half has }
// The barrier is for both: this turn's tiles are there, and nobody reads the half that is written next.
#include "passes/load_ahead.h"

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

constexpr std::int64_t kMostBytes = 64 * 1024;  // of all tiles with the second halves: every GPU has so many
constexpr std::int64_t kLargestStart = 1 << 30;

class Ahead {
 public:
  explicit Ahead(ir::Function& kernel) : kernel_(kernel) {
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
  };

  /// What a loop consists of; false if there is anything but copies, products and numbers.
  bool look(Op& loop, Found& found) {
    const Value *low = loop.operand(0), *step = loop.operand(2);
    if (loop.operands.size() != 3 || !loop.text.empty() || loop.operand(0)->type != types::i32()) return false;
    if (!low->is_constant() || low->as_int() < 0 || low->as_int() > kLargestStart) return false;
    if (!step->is_constant() || step->as_int() < 1 || step->as_int() > kLargestStart) return false;
    std::unordered_map<const Value*, int> here;  // uses of tiles by what is found
    std::int64_t bytes = 0;
    for (Op& op : *loop.regions[0]) {
      if (op.code == OpCode::meet || op.code == OpCode::yield) continue;
      if (ir::calls_block_function(op, ir::kBlockCopy)) {
        found.copies.push_back(&op);
        ++here[op.operand(CopyOperand::tile)];
      } else if (ir::calls_block_function(op, ir::kBlockProduct)) {
        found.products.push_back(&op);
        ++here[op.operand(ProductOperand::a)];
        ++here[op.operand(ProductOperand::b)];
      } else if (ir::is_block_memory(op)) {
        found.locals.push_back(&op);
        bytes += bytes_of(op);
      } else if (!op.regions.empty() || ir::effect_of(op.code) != ir::Effect::none) {
        return false;
      }
    }
    if (found.copies.empty() || found.products.empty() || bytes_ + bytes > kMostBytes) return false;
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
    std::unordered_map<const Value*, std::int64_t> sizes;
    for (Op* local : found.locals) {
      ir::remove_op(local);
      ir::insert_op(loop.parent, local, &loop);
      sizes[local->result()] = local->ints[0];
      bytes_ += bytes_of(*local);
      local->ints[0] *= 2;
    }
    const auto barrier = [&](Region* region, Op* before) {
      ir::Builder b(kernel_, region, before);
      b.set_loc(loop.loc);
      b.op_typed(OpCode::barrier, {}, {});
    };
    barrier(loop.parent, &loop);
    if (loop.next) barrier(loop.parent, loop.next);
    barrier(&body, body.first);
    ir::Builder b(kernel_, &body, body.first->next);
    b.set_loc(loop.loc);
    // Halves in turn, by the number of the turn.
    Value* turn = low->is_zero() ? k : b.binary(OpCode::sub, k, low);
    if (step != 1) turn = b.binary(OpCode::div, turn, b.i32(step));
    Value* const half = b.binary(OpCode::bit_and, turn, b.i32(1));
    Value* const next = b.binary(OpCode::add, k, b.i32(step));
    Value* const other = b.binary(OpCode::bit_xor, half, b.i32(1));
    Op* const more = b.if_op(b.binary(OpCode::lt, next, high), {});
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
        product->operands[stages[side]] = inside.binary(OpCode::mul, half, inside.i32(size->second));
        flag(*product, ProductOperand::flags, side == 0 ? ir::kAhead : ir::kAheadSecond);
      }
      ir::remove_op(product);
      ir::insert_op(when->regions[0], product);
      ir::Builder(kernel_, when->regions[0], nullptr).yield({});
      ir::Builder(kernel_, when->regions[1], nullptr).yield({});
    }
    loop.operands[0] = kernel_.constant_int(types::i32(), low->as_int() - step);
    return true;
  }

  ir::Function& kernel_;
  std::unordered_map<const Value*, int> uses_;
  std::int64_t bytes_ = 0;  // of all memory of the block
};

}  // namespace

bool load_ahead(ir::Function& kernel) {
  if (kernel.form.block <= 1 || !kernel.form.rows) return false;
  return Ahead(kernel).run();
}

}  // namespace weft::passes
