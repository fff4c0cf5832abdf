// Registers want loops that are written out, so only few elements a thread are worth it. Threads take four neighbours each, if all that
// is read and written beside lies so that four are one access.
#include "passes/own_tiles.h"

#include <algorithm>
#include <vector>

#include "analysis/block_threads.h"
#include "ir/block_functions.h"
#include "ir/builder.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"
#include "passes/element_loops.h"

namespace weft::passes {
namespace {

using ir::CopyOperand;
using ir::Op;
using ir::OpCode;
using ir::Value;

constexpr std::int64_t kMostBytes = 64;       // of a tile, for a thread
constexpr std::int64_t kMostOps = 512;        // of all loops that hang together, written out
constexpr std::int64_t kCallOps = 24;         // what an elementary function counts for, or a call
constexpr std::int64_t kMostRaggedTurns = 2;  // turns that ask whether there is an element
constexpr std::int64_t kWidestAccess = 16;    // bytes

/// Loops, and the tiles that they touch.
struct Group {
  std::int64_t turns = 0;
  std::vector<Op*> tiles;
  std::vector<ElementLoop> loops;
  std::vector<std::pair<Op*, ElementLoop>> accesses;
  std::vector<Op*> copies;  // calls that fill tiles from arrays

  bool has(const Op* loop) const {
    return std::any_of(loops.begin(), loops.end(), [&](const ElementLoop& one) { return one.op == loop; });
  }
};

std::int64_t weight_of(const ir::Region& region) {
  std::int64_t weight = 0;
  ir::walk(region, [&](const Op& op) {
    const bool long_one = op.code == OpCode::call || ir::class_of(op.code) == ir::OpClass::math;
    weight += long_one ? kCallOps : 1;
  });
  return weight;
}

class Owner {
 public:
  explicit Owner(ir::Function& kernel) : kernel_(kernel), threads_(kernel), elements_(kernel) {}

  bool run() {
    std::vector<Op*> locals;
    ir::walk(*kernel_.body, [&](Op& op) {
      if (ir::is_block_memory(op) && !ir::is_shared_tile_memory(op)) locals.push_back(&op);
    });
    std::vector<Group> groups;
    for (Op* local : locals) {
      Group found;
      if (!collect(*local, found)) continue;
      join(groups, std::move(found));
    }
    std::erase_if(groups, [](const Group& group) { return !worth(group); });
    for (Group& group : groups) place(group);
    return !groups.empty();
  }

 private:
  /// All that is done to a tile, if it is done by the threads whose elements they are.
  bool collect(Op& local, Group& out) const {
    const std::int64_t block = kernel_.form.block;
    if (local.ints.size() != 1 || local.ints[0] < 1) return false;
    const std::int64_t size = local.ints[0], turns = (size + block - 1) / block;
    if (turns * std::int64_t(local.result()->type->element()->size()) > kMostBytes) return false;
    if (size % block != 0 && turns > kMostRaggedTurns) return false;
    out.turns = turns;
    out.tiles.push_back(&local);
    for (const ValueUse& use : elements_.uses(local.result())) {
      if (is_copy(use, size)) {
        out.copies.push_back(use.op);
        continue;
      }
      if (!ElementLoops::is_access(use)) return false;
      Value* const index = use.op->indices()[0];
      ElementLoop loop;
      if (turns != 1 || !is_thread(index)) {
        loop = elements_.loop_of(index, turns);
        if (!loop.op) return false;
        if (!out.has(loop.op)) out.loops.push_back(loop);
      }
      out.accesses.emplace_back(use.op, loop);
    }
    return true;
  }

  static bool is_thread(const Value* index) {
    return index->kind == ir::ValueKind::result && index->op->code == OpCode::block_thread;
  }

  /// A call that fills a whole tile.
  bool is_copy(const ValueUse& use, std::int64_t size) const {
    if (!ir::calls_block_function(*use.op, ir::kBlockCopy) || use.operand != CopyOperand::tile) return false;
    const Op& call = *use.op;
    return size % kernel_.form.block == 0 && call.operand(CopyOperand::offset)->is_zero() &&
           call.operand(CopyOperand::threads)->as_int() == kernel_.form.block &&
           call.operand(CopyOperand::rows)->as_int() * call.operand(CopyOperand::columns)->as_int() == size &&
           call.operand(CopyOperand::array)->type->element() == call.operand(CopyOperand::tile)->type->element();
  }

  static void join(std::vector<Group>& groups, Group&& one) {
    std::erase_if(groups, [&](Group& other) {
      const bool meets =
          std::any_of(one.loops.begin(), one.loops.end(), [&](const ElementLoop& loop) { return other.has(loop.op); });
      if (!meets) return false;
      one.tiles.insert(one.tiles.end(), other.tiles.begin(), other.tiles.end());
      for (const ElementLoop& loop : other.loops)
        if (!one.has(loop.op)) one.loops.push_back(loop);
      one.accesses.insert(one.accesses.end(), other.accesses.begin(), other.accesses.end());
      one.copies.insert(one.copies.end(), other.copies.begin(), other.copies.end());
      return true;
    });
    groups.push_back(std::move(one));
  }

  static bool worth(const Group& group) {
    if (group.turns == 1) return true;
    std::int64_t weight = std::int64_t(group.copies.size()) * kCallOps;
    for (const ElementLoop& loop : group.loops) weight += weight_of(*loop.op->regions[0]);
    return weight * group.turns <= kMostOps;
  }

  void place(Group& group) {
    const std::int64_t side_by_side = neighbours(group);
    for (const auto& [op, loop] : group.accesses)
      op->operands[1] = loop.op ? loop.op->regions[0]->args[0] : kernel_.constant_int(types::i32(), 0);
    for (const ElementLoop& loop : group.loops) {
      if (side_by_side > 1) deal_out(loop, side_by_side);
      loop.op->text = ir::kOwnLoop;
    }
    for (Op* copy : group.copies) write_out(*copy, group.turns, side_by_side);
    for (Op* local : group.tiles) {
      local->imm &= ir::kRaw;
      local->ints[0] = group.turns;
    }
  }

  /// How many neighbours a thread is to have.
  std::int64_t neighbours(const Group& group) const {
    if (!kernel_.form.aligned || group.turns == 1) return 1;
    std::int64_t most = 1;
    for (const Op* local : group.tiles) {
      if (local->ints[0] % kernel_.form.block != 0) return 1;
      most = std::max(most, kWidestAccess / std::int64_t(local->result()->type->element()->size()));
    }
    while (most > 1 && group.turns % most != 0) most /= 2;
    if (most == 1 || !has_arrays_alone(group)) return 1;
    for (const ElementLoop& loop : group.loops)
      if (!side_by_side(group, loop, most)) return 1;
    for (const Op* copy : group.copies)
      if (!is_multiple(copy->operand(CopyOperand::column), most) ||
          copy->operand(CopyOperand::columns)->as_int() % most != 0)
        return 1;
    return most;
  }

  /// Whether what these loops write to arrays is read by nobody else, and the other way round: a thread may read what it has written
  /// itself, which would be another's.
  bool has_arrays_alone(const Group& group) const {
    if (!kernel_.form.no_overlap) return false;
    std::vector<const Value*> read, written;
    for (const Op* copy : group.copies) read.push_back(copy->operand(CopyOperand::array));
    for (const ElementLoop& loop : group.loops)
      ir::walk(*loop.op->regions[0], [&](const Op& op) {
        if (op.code == OpCode::load || op.code == OpCode::store)
          (op.code == OpCode::load ? read : written).push_back(op.operand(0));
      });
    const auto elsewhere = [&](const Value* array, bool reads_count) {
      if (ir::is_block_memory(array)) return false;
      if (array->kind != ir::ValueKind::argument) return true;  // may be part of another one
      const std::vector<ValueUse>& all = elements_.uses(array);
      return std::any_of(all.begin(), all.end(), [&](const ValueUse& use) {
        if (use.op->code == OpCode::dim || is_inside(group, *use.op)) return false;
        return reads_count || use.op->code != OpCode::load;
      });
    };
    return std::none_of(read.begin(), read.end(), [&](const Value* array) { return elsewhere(array, false); }) &&
           std::none_of(written.begin(), written.end(), [&](const Value* array) { return elsewhere(array, true); });
  }

  static bool is_inside(const Group& group, const Op& op) {
    if (std::find(group.copies.begin(), group.copies.end(), &op) != group.copies.end()) return true;
    for (const ir::Region* region = op.parent; region && region->parent_op; region = region->parent_op->parent)
      if (group.has(region->parent_op)) return true;
    return false;
  }

  /// Whether turns of a loop may be any thread's, and neighbours' accesses to arrays lie side by side.
  bool side_by_side(const Group& group, const ElementLoop& loop, std::int64_t count) const {
    bool fits = true;
    ir::walk(*loop.op->regions[0], [&](const Op& op) {
      switch (op.code) {
        case OpCode::load:
        case OpCode::store: fits = fits && (is_ours(group, op) || is_wide(op, *loop.number, count)); break;
        case OpCode::atomic:
        case OpCode::call:
        case OpCode::tid:
        case OpCode::thread:
        case OpCode::block_thread:
        case OpCode::lane:
        case OpCode::warp:
        case OpCode::shuffle:
        case OpCode::vote:
        case OpCode::tally:
        case OpCode::warp_sync:
        case OpCode::for_:
        case OpCode::while_: fits = false; break;
        default: break;  // safe: all others know nothing of threads
      }
      for (const Value* operand : op.operands)
        fits = fits && (&op == loop.number->op || is_within(*operand, *loop.op) || is_one_for_all(group, *operand));
    });
    return fits;
  }

  static bool is_within(const Value& value, const Op& loop) {
    if (value.is_constant()) return true;
    const ir::Region* region = value.kind == ir::ValueKind::argument ? value.region : value.op->parent;
    while (region && region->parent_op && region->parent_op != &loop) region = region->parent_op->parent;
    return region && region->parent_op == &loop;
  }

  bool is_one_for_all(const Group& group, const Value& value) const {
    if (value.kind == ir::ValueKind::result && value.op->code == OpCode::local)
      return std::find(group.tiles.begin(), group.tiles.end(), value.op) != group.tiles.end();
    return threads_.uniform(&value);
  }

  static bool is_ours(const Group& group, const Op& access) {
    return std::any_of(group.accesses.begin(), group.accesses.end(),
                       [&](const auto& one) { return one.first == &access; });
  }

  /// An element of an array whose column is that of the tile's element, from a multiple on; rows hang on rows alone.
  bool is_wide(const Op& access, const Value& number, std::int64_t count) const {
    const std::span<Value* const> indices = access.indices();
    for (std::size_t k = 0; k < indices.size(); ++k)
      if (!is_wide(*indices[k], number, count, k + 1 == indices.size())) return false;
    return true;
  }

  bool is_wide(const Value& index, const Value& number, std::int64_t count, bool last) const {
    if (&index == &number) return last;
    if (index.is_constant() || threads_.uniform(&index)) return true;
    if (index.kind != ir::ValueKind::result) return false;
    const Op& op = *index.op;
    const auto constant = [&](std::size_t k) { return op.operand(k)->is_constant() ? op.operand(k)->as_int() : 0; };
    switch (op.code) {
      case OpCode::add: {
        const bool first = threads_.uniform(op.operand(0));
        const Value &from = *op.operand(first ? 0 : 1), &rest = *op.operand(first ? 1 : 0);
        if (!threads_.uniform(&from) || (last && !is_multiple(&from, count))) return false;
        return is_wide(rest, number, count, last);
      }
      case OpCode::rem: return last && op.operand(0) == &number && constant(1) > 0 && constant(1) % count == 0;
      case OpCode::bit_and: return last && op.operand(0) == &number && (constant(1) + 1) % count == 0;
      case OpCode::div: return op.operand(0) == &number && constant(1) > 0 && constant(1) % count == 0;
      case OpCode::shr:
        return op.operand(0) == &number && constant(1) > 0 && constant(1) < 31 &&
               (std::int64_t(1) << constant(1)) % count == 0;
      default: return false;  // safe: nobody knows where it goes
    }
  }

  static bool is_multiple(const Value* value, std::int64_t of, int depth = 0) {
    if (value->is_constant()) return value->as_int() % of == 0;
    if (depth > 8 || value->kind != ir::ValueKind::result) return false;
    const Op& op = *value->op;
    const auto operand = [&](std::size_t k) { return is_multiple(op.operand(k), of, depth + 1); };
    switch (op.code) {
      case OpCode::add:
      case OpCode::sub: return operand(0) && operand(1);
      case OpCode::mul: return operand(0) || operand(1);
      case OpCode::shl:
        return operand(0) || (op.operand(1)->is_constant() && op.operand(1)->as_int() < 31 &&
                              (std::int64_t(1) << op.operand(1)->as_int()) % of == 0);
      default: return false;  // safe: not known to be one
    }
  }

  /// The element of a thread's turn: `count` neighbours, then those of all other threads, then its next ones.
  Value* number_of(ir::Builder& b, Value* turn, std::int64_t count) const {
    const IndexMath math{b};
    Value* const thread = b.op(OpCode::block_thread, {})->result();
    Value* const first =
        math.add(math.times(thread, count), math.times(math.over(turn, count), count * kernel_.form.block));
    return math.add(first, math.rest(turn, count));
  }

  void deal_out(const ElementLoop& loop, std::int64_t count) {
    ir::Region& body = *loop.op->regions[0];
    ir::Builder b(kernel_, &body, body.first);
    b.set_loc(loop.op->loc);
    Value* const number = number_of(b, body.args[0], count);
    for (const ValueUse& use : elements_.uses(loop.number))
      if (use.op->operands[use.operand] == loop.number) use.op->operands[use.operand] = number;
  }

  /// A copy into registers: with zeros for what lies outside, if anything does.
  void write_out(Op& call, std::int64_t turns, std::int64_t count) {
    ir::Builder b(kernel_, call.parent, &call);
    b.set_loc(call.loc);
    Value* const row = call.operand(CopyOperand::row);
    Value* const column = call.operand(CopyOperand::column);
    const std::int64_t rows = call.operand(CopyOperand::rows)->as_int(),
                       columns = call.operand(CopyOperand::columns)->as_int();
    if (call.operand(CopyOperand::check)->is_zero()) {
      fill(b, call, turns, count, nullptr, nullptr);
    } else {
      Value* const array = call.operand(CopyOperand::array);
      Value* const extents[] = {b.dim(array, 0, types::i32()), b.dim(array, 1, types::i32())};
      const auto lies_inside = [&](Value* from, Value* extent, std::int64_t size) {
        Value* const begins = b.binary(OpCode::ge, from, b.i32(0));
        Value* const ends = b.binary(OpCode::le, from, b.binary(OpCode::sub, extent, b.i32(size)));
        return b.binary(OpCode::bit_and, begins, ends);
      };
      Value* const inside =
          b.binary(OpCode::bit_and, lies_inside(row, extents[0], rows), lies_inside(column, extents[1], columns));
      Op* const fork = b.if_op(inside, {});
      for (std::size_t k = 0; k < 2; ++k) {
        ir::Builder way(kernel_, fork->regions[k], nullptr);
        way.set_loc(call.loc);
        fill(way, call, turns, count, k == 0 ? nullptr : extents[0], k == 0 ? nullptr : extents[1]);
        way.yield({});
      }
    }
    ir::remove_op(&call);
  }

  /// The loop of it; extents where they have to be asked.
  void fill(ir::Builder& b, const Op& call, std::int64_t turns, std::int64_t count, Value* height, Value* width) {
    Op* const loop = b.for_op(b.i32(0), b.i32(turns), b.i32(1), {});
    loop->text = ir::kOwnLoop;
    ir::Builder in(kernel_, loop->regions[0], nullptr);
    in.set_loc(call.loc);
    const IndexMath math{in};
    Value* const turn = loop->regions[0]->args[0];
    Value* const number = number_of(in, turn, count);
    const std::int64_t columns = call.operand(CopyOperand::columns)->as_int();
    Value* const place[] = {math.add(call.operand(CopyOperand::row), math.over(number, columns)),
                            math.add(call.operand(CopyOperand::column), math.rest(number, columns))};
    Value* const array = call.operand(CopyOperand::array);
    Value* const tile = call.operand(CopyOperand::tile);
    Value* const slot[] = {turn};
    if (!height) {
      in.store(tile, slot, 0, {}, {}, in.load(array, place, 0));
    } else {
      const auto within = [&](Value* index, Value* extent) {
        return in.binary(OpCode::bit_and, in.binary(OpCode::ge, index, in.i32(0)),
                         in.binary(OpCode::lt, index, extent));
      };
      Op* const fork = in.if_op(in.binary(OpCode::bit_and, within(place[0], height), within(place[1], width)), {});
      ir::Builder inside(kernel_, fork->regions[0], nullptr), outside(kernel_, fork->regions[1], nullptr);
      inside.set_loc(call.loc);
      outside.set_loc(call.loc);
      inside.store(tile, slot, 0, {}, {}, inside.load(array, place, 0));
      inside.yield({});
      outside.store(tile, slot, 0, {}, {}, outside.zero(tile->type->element()));
      outside.yield({});
    }
    in.yield({});
  }

  ir::Function& kernel_;
  const analysis::BlockThreads threads_;
  const ElementLoops elements_;
};

}  // namespace

bool own_tiles(ir::Function& kernel) {
  if (kernel.form.block <= 1 || !kernel.form.rows) return false;
  return Owner(kernel).run();
}

}  // namespace weft::passes
