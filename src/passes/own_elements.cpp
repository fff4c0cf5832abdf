// Units are those of passes/block_barriers: what threads do between two barriers. An atomic operation becomes a plain one if all that
// its unit does to the same memory is at the threads' own elements; between units barriers come, since a plain access
// meets what others do elsewhere.
#include "passes/own_elements.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/block_memory.h"
#include "analysis/block_threads.h"
#include "ir/block_functions.h"
#include "ir/builder.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using analysis::BlockMemory;
using ir::AtomicKind;
using ir::Op;
using ir::OpCode;
using ir::ProductOperand;
using ir::Region;
using ir::Value;

struct Use {
  Op* op;
  std::size_t operand;
};

bool is_access(const Op& op) {
  return op.code == OpCode::load || op.code == OpCode::store || op.code == OpCode::atomic;
}

bool is_wanted(const Op& op) {
  return op.code == OpCode::atomic && (op.atomic == AtomicKind::add || op.atomic == AtomicKind::exch);
}

class OwnElements {
 public:
  explicit OwnElements(ir::Function& kernel) : kernel_(kernel), memory_(kernel), threads_(kernel), rewriter_(kernel) {
    std::size_t position = 0;
    ir::walk(*kernel.body, [&](Op& op) {
      position_[&op] = ++position;
      if (ir::is_block_memory(op)) locals_.push_back(&op);
      for (std::size_t k = 0; k < op.operands.size(); ++k)
        if (!op.operand(k)->is_constant()) uses_[op.operand(k)].push_back({&op, k});
    });
  }

  bool run() {
    if (locals_.empty()) return false;
    walk(*kernel_.body);
    own_set_.insert(own_.begin(), own_.end());
    // Before anything is rewritten: what comes first and what comes last is asked of the operations as they are.
    for (Op* op : own_)
      if (op->atomic == AtomicKind::exch && is_last(*op)) last_.insert(op);
    for (Op* local : locals_)
      if (!(local->imm & ir::kRaw)) fill_at_once(*local);
    for (Op* op : own_)
      if (!filling_.contains(op)) make_plain(*op);
    ir::walk(*kernel_.body, [&](Op& op) { rewriter_.apply(op); });
    return !own_.empty() || changed_;
  }

 private:
  const std::vector<Use>& uses(const Value* value) const {
    static const std::vector<Use> none;
    const auto it = uses_.find(value);
    return it == uses_.end() ? none : it->second;
  }

  // -- which operations are at the threads' own elements

  /// Elements base + offset, where the base is below `reach` and another number for every thread and turn.
  struct Place {
    const Value* base = nullptr;
    std::int64_t offset = 0, reach = 0;
  };

  /// Where an access goes, if that is known: from the thread's number, or from thread + turn · threads of a shared loop, so far as
  /// tests around it, up to a region, let it.
  Place place_of(const Op& access, const Region* upto) const {
    if (access.num_indices != 1 || access.wrap) return {};
    const Value* base = access.indices()[0];
    std::int64_t offset = 0;
    if (base->kind == ir::ValueKind::result && base->op->code == OpCode::add && base->op->operand(1)->is_constant()) {
      offset = base->op->operand(1)->as_int();
      base = base->op->operand(0);
    }
    if (base->kind != ir::ValueKind::result || offset < 0) return {};
    std::int64_t reach = base->op->code == OpCode::block_thread ? kernel_.form.block : 0, most = reach;
    for (const Region* at = access.parent; at != upto && at->parent_op; at = at->parent_op->parent) {
      const Op& around = *at->parent_op;
      if (names_turn(base, around) && around.operand(1)->is_constant())
        reach = around.operand(1)->as_int() * kernel_.form.block;
      if (around.code != OpCode::if_ || at != around.regions[0]) continue;
      const Value* condition = around.operand(0);
      if (condition->kind != ir::ValueKind::result || condition->op->code != OpCode::lt) continue;
      const Value* bound = condition->op->operand(1);
      if (condition->op->operand(0) != base || !bound->is_constant() || bound->as_int() <= 0) continue;
      most = most ? std::min(most, bound->as_int()) : bound->as_int();
    }
    if (!reach) return {};
    return {base, offset, most ? std::min(reach, most) : reach};
  }

  /// What a unit does to memory of the block.
  struct Unit {
    std::vector<Op*> accesses;
    BlockMemory::Set elsewhere;  // what is touched in other ways
  };

  void note(Op& op, Unit& unit) const {
    if (ir::is_block_memory(op)) return;
    if (is_access(op) && ir::is_block_memory(op.operand(0))) return unit.accesses.push_back(&op);
    if (is_access(op) || op.code == OpCode::call)
      for (const Value* operand : op.operands) unit.elsewhere |= memory_.of(operand);
  }

  /// Takes what a unit does atomically to memory in which its threads don't meet.
  void settle(const Unit& unit, const Region* outside) {
    std::unordered_map<const Value*, std::vector<Op*>> by_memory;
    for (Op* op : unit.accesses) by_memory[op->operand(0)].push_back(op);
    for (const auto& [memory, ops] : by_memory) {
      if ((memory_.of(memory) & unit.elsewhere).any()) continue;
      bool own = true, apart = true;
      std::int64_t reach = 0;
      const Value* base = nullptr;
      for (const Op* op : ops) own = own && threads_.is_own(*op) && !op->wrap;
      if (!own) {
        for (const Op* op : ops) {
          const Place place = place_of(*op, outside);
          apart = apart && place.base && (!base || base == place.base);
          base = place.base;
          reach = std::max(reach, place.reach);
        }
        for (const Op* op : ops) apart = apart && place_of(*op, outside).offset % reach == 0;
      }
      if (!own && !apart) continue;
      for (Op* op : ops)
        if (is_wanted(*op)) own_.push_back(op);
    }
  }

  void walk(const Region& region) {
    // Operations that stand alone are units of their own. Additions of one region are kept of one kind all the same: a plain one
    // between atomic ones would take two barriers.
    Unit alone;
    for (Op& op : region) {
      if (op.regions.empty()) {
        if (op.code == OpCode::atomic) note(op, alone);
        continue;
      }
      if (threads_.together(op)) {
        for (const Region* nested : op.regions) walk(*nested);
        continue;
      }
      Unit unit;
      for (const Region* nested : op.regions) ir::walk(*nested, [&](Op& inner) { note(inner, unit); });
      settle(unit, &region);
    }
    settle(alone, &region);
  }

  void make_plain(Op& op) {
    ir::Builder b(kernel_, op.parent, &op);
    b.set_loc(op.loc);
    const std::span<Value* const> indices = op.indices();
    const std::span<Value* const> dynamic =
        op.operands.subspan(1 + op.num_indices, op.operands.size() - 2 - op.num_indices);
    Value* const value = op.operands.back();
    const bool sums = op.atomic == AtomicKind::add;
    Value* before = nullptr;
    if (sums || !uses(op.result()).empty()) before = b.load(op.operand(0), indices, op.wrap, op.path, dynamic);
    if (sums || !last_.contains(&op))
      b.store(op.operand(0), indices, op.wrap, op.path, dynamic, sums ? b.binary(OpCode::add, before, value) : value);
    if (before) rewriter_.replace(op.result(), before);
    ir::remove_op(&op);
  }

  // -- what comes first and what comes last

  /// Memory that is only handed to accesses and calls, as it is.
  bool is_plain(const Op& local) const {
    for (const Use& use : uses(local.result())) {
      if (is_access(*use.op) && use.operand == 0) continue;
      if (use.op->code != OpCode::call) return false;
      for (const Type* type : use.op->callee->result_types)
        if (ir::has_array(type)) return false;
    }
    return true;
  }

  /// Whether `index` is thread + turn · threads of that loop: an element of its own for every turn and thread.
  bool names_turn(const Value* index, const Op& loop) const {
    if (loop.code != OpCode::for_ || loop.text != ir::kSharedLoop || index->kind != ir::ValueKind::result) return false;
    const std::int64_t block = kernel_.form.block;
    const auto is = [&](std::size_t k, std::int64_t n) {
      return loop.operand(k)->is_constant() && loop.operand(k)->as_int() == n;
    };
    if (index->op->code != OpCode::add || !is(0, 0) || !is(2, 1)) return false;
    for (std::size_t side = 0; side < 2; ++side) {
      const Value *own = index->op->operand(side), *rest = index->op->operand(1 - side);
      if (own->kind != ir::ValueKind::result || own->op->code != OpCode::block_thread) continue;
      if (rest->kind != ir::ValueKind::result || rest->op->operand(0) != loop.regions[0]->args[0]) continue;
      const Op& step = *rest->op;
      if (step.operands.size() != 2 || !step.operand(1)->is_constant()) continue;
      const std::int64_t n = step.operand(1)->as_int();
      if (step.code == OpCode::mul && n == block) return true;
      if (step.code == OpCode::shl && n < 20 && std::int64_t(1) << n == block) return true;
    }
    return false;
  }

  static bool is_inside(const Op& op, const Op& around) {
    for (const Region* at = op.parent; at && at->parent_op; at = at->parent_op->parent)
      if (at->parent_op == &around) return true;
    return false;
  }

  /// Two operations on different sides of an `if`: never both.
  static bool exclude_each_other(const Op& a, const Op& b) {
    std::unordered_map<const Op*, const Region*> around;
    for (const Region* at = a.parent; at->parent_op; at = at->parent_op->parent) around[at->parent_op] = at;
    for (const Region* at = b.parent; at->parent_op; at = at->parent_op->parent)
      if (const auto it = around.find(at->parent_op); it != around.end())
        return at->parent_op->code == OpCode::if_ && it->second != at;
    return false;
  }

  /// Whether nobody looks at the element behind this operation.
  bool is_last(const Op& op) const {
    const Op& local = *op.operand(0)->op;
    if (!is_plain(local)) return false;
    const std::vector<Use>& all = uses(local.result());
    for (const Region* at = op.parent; at != local.parent; at = at->parent_op->parent) {
      const Op& around = *at->parent_op;
      if (around.code == OpCode::if_) continue;
      if (!names_turn(op.indices()[0], around)) return false;
      for (const Use& use : all)
        if (is_inside(*use.op, around) && (!is_access(*use.op) || use.op->indices()[0] != op.indices()[0]))
          return false;
    }
    for (const Use& use : all)
      if (use.op != &op && position_.at(use.op) > position_.at(&op) && !exclude_each_other(*use.op, op)) return false;
    return true;
  }

  /// Memory whose first use gives every element a number need not be cleared.
  void fill_at_once(Op& local) {
    if (local.ints.size() != 1 || !is_plain(local) || uses(local.result()).empty()) return;
    const std::vector<Use>& all = uses(local.result());
    Op* first = all[0].op;
    if (ir::calls_block_function(*first, ir::kBlockProduct)) {
      const auto number = [&](std::size_t k) { return first->operand(k)->as_int(); };
      const bool once = all.size() == 1 || all[1].op != first;
      if (!once || all[0].operand != ProductOperand::c || first->parent != local.parent ||
          !first->operand(ProductOperand::co)->is_zero() ||
          number(ProductOperand::m) * number(ProductOperand::n) != local.ints[0])
        return;
      first->operands[ProductOperand::keep] = kernel_.constant_int(types::i32(), 0);
    } else {
      const std::vector<Op*> adds = adds_to_all(local);
      for (Op* op : adds) {
        ir::Builder b(kernel_, op->parent, op);
        b.set_loc(op->loc);
        // The sum that an addition to zero gives: −0 becomes 0.
        Value* const value = op->operands.back();
        Value* const sum = b.binary(OpCode::add, b.zero(value->type), value);
        b.store(op->operand(0), op->indices(), op->wrap, {}, {}, sum);
        ir::remove_op(op);
        filling_.insert(op);
      }
      if (adds.empty()) return;
    }
    local.imm |= ir::kRaw;
    changed_ = true;
  }

  /// The first uses of memory, if these add to each element once: operations side by side, each to as many elements behind those of
  /// the others as all threads and turns reach. Empty if they don't.
  std::vector<Op*> adds_to_all(const Op& local) const {
    const std::vector<Use>& all = uses(local.result());
    const Region* const at = all[0].op->parent;
    const Op* around = nullptr;  // what stands beside the memory and holds them; null: they stand there themselves
    for (const Region* up = at; up != local.parent; up = up->parent_op->parent) {
      around = up->parent_op;
      // A test that only lets the right elements pass, and a loop over elements: nothing else.
      if (around->code != OpCode::if_ && around->text != ir::kSharedLoop) return {};
    }
    std::vector<Op*> adds;
    std::unordered_set<std::int64_t> offsets;
    Place first;
    for (const Use& use : all) {
      Op& op = *use.op;
      if (around ? !is_inside(op, *around)
                 : op.parent != at || offsets.size() * std::size_t(first.reach) >= size_of(local))
        break;
      if (op.parent != at || op.code != OpCode::atomic || op.atomic != AtomicKind::add || !op.path.empty() ||
          !uses(op.result()).empty() || !own_set_.contains(&op))
        return {};
      const Place place = place_of(op, local.parent);
      if (!place.base || (first.base && (first.base != place.base || first.reach != place.reach))) return {};
      if (place.offset % place.reach != 0 || !offsets.insert(place.offset).second) return {};
      first = place;
      adds.push_back(&op);
    }
    // As many as there are elements, one test at most, on the element's own number.
    if (offsets.size() * std::size_t(first.reach) != size_of(local)) return {};
    for (std::int64_t offset : offsets)
      if (offset + first.reach > local.ints[0]) return {};
    for (const Region* up = at; up != local.parent; up = up->parent_op->parent)
      if (up->parent_op->code == OpCode::if_ && !lets_pass(*up, first)) return {};
    return adds;
  }

  static std::size_t size_of(const Op& local) { return std::size_t(local.ints[0]); }

  /// Whether a side of an `if` is taken for exactly the numbers below the reach.
  static bool lets_pass(const Region& side, const Place& place) {
    const Op& test = *side.parent_op;
    const Value* condition = test.operand(0);
    return &side == test.regions[0] && condition->kind == ir::ValueKind::result && condition->op->code == OpCode::lt &&
           condition->op->operand(0) == place.base && condition->op->operand(1)->is_constant() &&
           condition->op->operand(1)->as_int() == place.reach;
  }

  ir::Function& kernel_;
  const BlockMemory memory_;
  const analysis::BlockThreads threads_;
  ir::Rewriter rewriter_;
  std::unordered_map<const Value*, std::vector<Use>> uses_;
  std::unordered_map<const Op*, std::size_t> position_;
  std::vector<Op*> locals_, own_;
  std::unordered_set<const Op*> own_set_, last_, filling_;
  bool changed_ = false;
};

}  // namespace

bool own_elements(ir::Function& kernel) {
  if (kernel.form.block <= 1 || !kernel.form.rows) return false;
  bool any = false;  // most kernels that are no adjoints have nothing of the kind
  ir::walk(*kernel.body, [&](const Op& op) { any = any || (is_wanted(op) && ir::is_block_memory(op.operand(0))); });
  return any && OwnElements(kernel).run();
}

}  // namespace weft::passes
