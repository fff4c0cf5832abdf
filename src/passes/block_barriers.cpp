// One walk that keeps, for each piece of shared memory, who has read and written it since the last barrier, and where: two
// accesses at places that belong to the thread itself never meet those of another one.
#include "passes/block_barriers.h"

#include <bitset>
#include <vector>

#include "analysis/block_arrays.h"
#include "analysis/block_memory.h"
#include "analysis/block_threads.h"
#include "ir/block_functions.h"
#include "ir/builder.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using analysis::BlockMemory;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// The thread's number in a block of a grid with one dimension, as programs write it: `tid % block_dim`.
bool is_number_in_block(const Op& op, const ir::Form& form) {
  if (op.code != OpCode::rem || form.rank != 1 || !op.operand(1)->is_constant()) return false;
  const Value* number = op.operand(0);
  return op.operand(1)->as_int() == form.block && number->kind == ir::ValueKind::result &&
         number->op->code == OpCode::tid;
}

/// Whether a number is made of the thread's own, and of nothing that could make it the same again.
bool tells_threads_apart(const Value* v, const ir::Form& form, const analysis::Uniformity& shapes, int depth = 0) {
  if (v->is_constant() || depth > 16 || v->kind != ir::ValueKind::result || shapes.uniform(v)) return false;
  const Op& op = *v->op;
  if (!form.rows) {
    // Such blocks may be anything: a number divided by their size can be the same for all of them.
    if (is_number_in_block(op, form)) return true;
    if (op.code == OpCode::thread || op.code == OpCode::tid) return false;
  }
  if (op.code == OpCode::block_thread || op.code == OpCode::thread) return true;
  if (op.code == OpCode::tid) return !form.rows || op.imm == form.rank - 1;
  switch (ir::class_of(op.code)) {
    case ir::OpClass::arith:
    case ir::OpClass::bits:
    case ir::OpClass::compare:
    case ir::OpClass::data: break;
    default: return false;  // safe: what is read or computed otherwise may be the same for all
  }
  bool any = false;
  for (const Value* operand : op.operands) {
    if (operand->is_constant() || shapes.uniform(operand)) continue;
    if (!tells_threads_apart(operand, form, shapes, depth + 1)) return false;
    any = true;
  }
  return any;
}

/// Where an access goes: to the thread's own elements (`own`), to the one that a value names, or anywhere.
struct Where {
  enum Kind : std::uint8_t { nowhere, own, by_value, anywhere } kind = nowhere;
  const Value* value = nullptr;

  void join(const Where& other) {
    if (other.kind == nowhere) return;
    if (kind == nowhere) {
      *this = other;
    } else if (kind != other.kind || value != other.value) {
      kind = anywhere;
      value = nullptr;
    }
  }
  /// Whether threads may meet: one was here, another comes there.
  bool meets(const Where& other) const {
    if (kind == nowhere || other.kind == nowhere) return false;
    return kind == anywhere || other.kind == anywhere || kind != other.kind || value != other.value;
  }
  bool operator==(const Where&) const = default;
};

/// What happened to a piece since the last barrier.
struct Pending {
  Where reads, writes, adds;
  void join(const Pending& other) {
    reads.join(other.reads);
    writes.join(other.writes);
    adds.join(other.adds);
  }
  bool operator==(const Pending&) const = default;
};
using State = std::vector<Pending>;

enum class Act : std::uint8_t { read, write, add };

/// Pieces of the block's memory, and behind them arrays of the launch.
using Pieces = std::bitset<BlockMemory::kMost + analysis::BaseMask::kMost>;

Pieces of_memory(const BlockMemory::Set& set) {
  Pieces pieces;
  for (std::size_t k = set._Find_first(); k < set.size(); k = set._Find_next(k)) pieces.set(k);
  return pieces;
}

Pieces of_arrays(const analysis::BaseMask& mask) {
  Pieces pieces;
  mask.each([&](std::size_t k) { pieces.set(BlockMemory::kMost + k); });
  return pieces;
}

class Barriers {
 public:
  explicit Barriers(ir::Function& kernel)
      : kernel_(kernel), memory_(kernel), threads_(kernel), arrays_(kernel, threads_) {}

  bool run() {
    if (memory_.empty() && arrays_.empty()) return false;
    State state(arrays_.empty() ? BlockMemory::kMost : Pieces().size());
    walk(*kernel_.body, state, true);
    return changed_;
  }

 private:
  struct Access {
    Pieces pieces;
    Pieces exact;  // of these: where the place is told; elsewhere it may be any
    Act act;
    Where where;
  };

  Where where(const Op& op) const {
    if (op.num_indices != 1) return {Where::anywhere};
    const Value* index = op.indices()[0];
    if (threads_.is_own(op)) return {Where::own};
    if (index->is_constant() || threads_.uniform(index)) return {Where::anywhere};
    // A number that comes from elsewhere may be the same for all threads, though nobody can tell.
    if (!tells_threads_apart(index, kernel_.form, threads_.shapes())) return {Where::anywhere};
    return {Where::by_value, index};
  }

  void accesses_of(const Op& op, std::vector<Access>& out) const {
    if (ir::is_block_memory(op)) {
      if (op.imm & ir::kRaw) return;
      Pieces piece;
      piece.set(std::min(memory_.number_of(op), BlockMemory::kMost - 1));
      out.push_back({piece, piece, Act::write, {Where::own}});
      return;
    }
    arrays_of(op, out);
    switch (op.code) {
      case OpCode::load: return add(op.operand(0), Act::read, where(op), out);
      case OpCode::store: return add(op.operand(0), Act::write, where(op), out);
      case OpCode::atomic: {
        const bool sums = op.atomic == ir::AtomicKind::add;
        // Numbers of 8 and 16 bits are swapped with their word, in which a neighbour's lie as well.
        const Type* type = op.result()->type;
        const bool alone = !type->is_numeric() || scalar_bits(type->scalar_kind()) >= 32;
        return add(op.operand(0), sums ? Act::add : Act::write, alone ? where(op) : Where{Where::anywhere}, out);
      }
      case OpCode::call:
        for (std::size_t k = 0; k < op.operands.size(); ++k) {
          const Value* operand = op.operand(k);
          if (ir::has_barriers_already(op, k)) continue;
          add(operand, Act::read, {Where::anywhere}, out);
          if (!ir::only_reads(op, k)) add(operand, Act::write, {Where::anywhere}, out);
        }
        return;
      default: return;  // safe: nothing else touches elements
    }
  }

  void add(const Value* array, Act act, Where where, std::vector<Access>& out) const {
    const Pieces pieces = of_memory(memory_.of(array));
    if (pieces.any()) out.push_back({pieces, pieces, act, where});
  }

  void arrays_of(const Op& op, std::vector<Access>& out) const {
    if (arrays_.empty()) return;
    const analysis::BlockArrays::Touched touched = arrays_.touched(op);
    if (!touched.read && !touched.written) return;
    Where where{Where::anywhere};
    if (op.code == OpCode::load || op.code == OpCode::store || op.code == OpCode::atomic) {
      const analysis::BlockArrays::Place place = arrays_.place(op);
      if (place.own && place.from) where = {Where::by_value, place.from};
      if (place.own && !place.from) where = {Where::own};
    }
    const Pieces exact = of_arrays(touched.exact);
    const bool adds = op.code == OpCode::atomic && op.atomic == ir::AtomicKind::add;
    if (touched.read && !adds) out.push_back({of_arrays(touched.read), exact, Act::read, where});
    if (touched.written) out.push_back({of_arrays(touched.written), exact, adds ? Act::add : Act::write, where});
  }

  static bool meets(const Pending& before, Act act, const Where& where) {
    switch (act) {
      case Act::read: return before.writes.meets(where) || before.adds.meets(where);
      case Act::write: return before.writes.meets(where) || before.reads.meets(where) || before.adds.meets(where);
      case Act::add: return before.writes.meets(where) || before.reads.meets(where);
    }
    return true;
  }

  bool conflicts(const State& state, const Access& access) const {
    Pieces all = access.pieces;
    BlockMemory::Set memory;
    for (std::size_t k = all._Find_first(); k < BlockMemory::kMost; k = all._Find_next(k)) memory.set(k);
    if (memory.any()) all |= of_memory(memory_.together(memory));
    for (std::size_t k = all._Find_first(); k < state.size(); k = all._Find_next(k))
      // What lies in the same place under another name has elements of its own.
      if (meets(state[k], access.act, where_of(access, k))) return true;
    return false;
  }

  static Where where_of(const Access& access, std::size_t piece) {
    return access.exact.test(piece) ? access.where : Where{Where::anywhere};
  }

  static void note(State& state, const Access& access) {
    for (std::size_t k = access.pieces._Find_first(); k < state.size(); k = access.pieces._Find_next(k)) {
      Pending& p = state[k];
      (access.act == Act::read ? p.reads : access.act == Act::write ? p.writes : p.adds).join(where_of(access, k));
    }
  }

  bool meet_any(const State& state, const std::vector<Access>& all) const {
    for (const Access& access : all)
      if (conflicts(state, access)) return true;
    return false;
  }

  void put_before(Op& op, State& state, bool insert) {
    state.assign(state.size(), Pending{});
    ++met_;
    if (!insert) return;
    ir::Builder b(kernel_, op.parent, &op);
    b.set_loc(op.loc);
    b.op_typed(OpCode::barrier, {}, {});
    changed_ = true;
  }

  void before(Op& op, const std::vector<Access>& all, State& state, bool insert) {
    if (meet_any(state, all)) put_before(op, state, insert);
    for (const Access& access : all) note(state, access);
  }

  /// Places that values name are others in the next turn.
  static void forget_values(State& state) {
    for (Pending& p : state)
      for (Where* w : {&p.reads, &p.writes, &p.adds})
        if (w->kind == Where::by_value) *w = {Where::anywhere};
  }

  void walk(const Region& region, State& state, bool insert) {
    for (Op& op : region) {
      if (op.code == OpCode::barrier) {
        state.assign(state.size(), Pending{});
        continue;
      }
      if (op.regions.empty()) {
        std::vector<Access> all;
        accesses_of(op, all);
        if (!all.empty()) before(op, all, state, insert);
        continue;
      }
      std::vector<Access> inside;
      for (const Region* nested : op.regions) ir::walk(*nested, [&](const Op& inner) { accesses_of(inner, inside); });
      if (inside.empty() && !has_barrier(op)) continue;
      if (!threads_.together(op)) {
        before(op, inside, state, insert);
        continue;
      }
      if (op.code == OpCode::if_) {
        State other = state;
        walk(*op.regions[0], state, insert);
        walk(*op.regions[1], other, insert);
        for (std::size_t k = 0; k < state.size(); ++k) state[k].join(other[k]);
        continue;
      }
      // A barrier in front of a loop is one for all of its turns.
      if (meet_any(state, inside)) {
        State nothing(state.size()), all = state;
        if (walk_loop(op, nothing, false) < walk_loop(op, all, false)) put_before(op, state, insert);
      }
      walk_loop(op, state, insert);
    }
  }

  /// Gives the number of barriers in it.
  std::size_t walk_loop(const Op& op, State& state, bool insert) {
    // A loop begins with what was before it, or with what a turn has left.
    for (;;) {
      State turn = state;
      for (const Region* nested : op.regions) walk(*nested, turn, false);
      forget_values(turn);
      State joined = state;
      for (std::size_t k = 0; k < joined.size(); ++k) joined[k].join(turn[k]);
      if (joined == state) break;
      state = std::move(joined);
    }
    const std::size_t before = met_;
    State turn = state;
    walk(*op.regions[0], turn, insert);
    if (op.code == OpCode::while_) {  // it is left behind its condition
      state = turn;
      walk(*op.regions[1], turn, insert);
    } else if (may_not_turn(op)) {
      for (std::size_t k = 0; k < state.size(); ++k) state[k].join(turn[k]);
    } else {
      state = std::move(turn);
    }
    return met_ - before;
  }

  static bool may_not_turn(const Op& loop) {
    const Value *low = loop.operand(0), *high = loop.operand(1), *step = loop.operand(2);
    return !low->is_constant() || !high->is_constant() || !step->is_constant() || step->as_int() <= 0 ||
           low->as_int() >= high->as_int();
  }

  static bool has_barrier(const Op& op) {
    bool any = false;
    for (const Region* nested : op.regions)
      ir::walk(*nested, [&](const Op& inner) { any |= inner.code == OpCode::barrier; });
    return any;
  }

  ir::Function& kernel_;
  const BlockMemory memory_;
  const analysis::BlockThreads threads_;
  const analysis::BlockArrays arrays_;
  std::size_t met_ = 0;  // barriers so far, those of walks that set none included
  bool changed_ = false;
};

}  // namespace

bool block_barriers(ir::Function& kernel) { return kernel.form.block > 1 && Barriers(kernel).run(); }

}  // namespace weft::passes
