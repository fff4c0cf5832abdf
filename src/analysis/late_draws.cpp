// The tail of a draw is what depends on its number, by the values of its region. Whether it may wait is a question of memory:
// see may_wait.
#include "analysis/late_draws.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/alias.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Value;

constexpr std::size_t kMostPairs = 256;   // of arrays that a chunk compares
constexpr std::uint32_t kMostKept = 512;  // bytes for a draw: more are read and written for longer than a draw takes

/// Numbers from numbers: may be computed at any time, by whoever has the operands.
bool is_plain(const Op& op) {
  switch (ir::class_of(op.code)) {
    case ir::OpClass::arith:
    case ir::OpClass::bits:
    case ir::OpClass::compare:
    case ir::OpClass::round:
    case ir::OpClass::math:
    case ir::OpClass::data:
    case ir::OpClass::whole: return true;
    case ir::OpClass::memory: return op.code == OpCode::view || op.code == OpCode::slice || op.code == OpCode::dim;
    case ir::OpClass::control:
    case ir::OpClass::effect: return false;
  }
  return false;
}

class Finder {
 public:
  explicit Finder(const ir::Function& kernel) : kernel_(kernel), alias_(kernel, effects_, /*apart=*/true) {
    for (const Value* param : kernel.params()) layout_.add({}, param->type);
  }

  std::vector<LateDraws> run() {
    std::vector<LateDraws> out;
    ir::walk(*kernel_.body, [&](const Op& op) {
      LateDraw found;
      if (!is_draw(op) || !find_tail(op, found)) return;
      const auto same = std::find_if(out.begin(), out.end(), [&](const LateDraws& other) {
        return std::equal(op.operands.begin(), op.operands.end() - 1, other.draws.front().draw->operands.begin(),
                          other.draws.front().draw->operands.end() - 1);
      });
      if (same != out.end())
        same->draws.push_back(std::move(found));
      else
        out.push_back({{std::move(found)}, {}});
    });
    std::erase_if(out, [&](LateDraws& counter) {
      return !may_wait(counter) || !stays_in_order(counter) || (!kernel_.form.no_overlap && !find_pairs(counter));
    });
    drop_entangled(out);
    return out;
  }

 private:
  /// Whether a value is the same for all threads and can be made again of what a kernel is given.
  bool is_given(const Value* value, std::vector<const Op*>* made_by) const {
    if (value->is_constant()) return true;
    if (value->kind == ir::ValueKind::argument) return value->region == kernel_.body;
    const Op& op = *value->op;
    if (!is_plain(op) || op.operands.empty()) return false;
    for (const Value* operand : op.operands)
      if (!is_given(operand, made_by)) return false;
    if (made_by && std::find(made_by->begin(), made_by->end(), &op) == made_by->end()) made_by->push_back(&op);
    return true;
  }

  /// An addition of integers to one element of an array, the same for all threads.
  bool is_draw(const Op& op) const {
    if (op.code != OpCode::atomic || op.atomic != ir::AtomicKind::add || op.imm != 0 || !op.path.empty()) return false;
    if (!op.result()->type->is_int() || op.result()->type->size() < 4) return false;
    if (!ir::origin_of(op.operand(0)).is_parameter()) return false;
    for (const Value* operand : op.operands.first(op.operands.size() - 1))
      if (!is_given(operand, nullptr)) return false;
    return true;
  }

  /// Whether what an operation does with its operands can be done later; loads and stores are looked at by may_wait.
  static bool can_move(const Op& op) {
    // The other loops may have no end, and nobody asks a launch that waits whether to stop.
    if (op.code == OpCode::if_ || op.code == OpCode::for_) {
      for (const ir::Region* region : op.regions)
        for (const Op& inner : *region)
          if (!can_move(inner)) return false;
      return true;
    }
    // The thread's own memory is another thread's by then.
    if (op.code == OpCode::load || op.code == OpCode::store) return ir::origin_of(op.operand(0)).is_parameter();
    return op.code == OpCode::yield || is_plain(op);
  }

  bool find_tail(const Op& draw, LateDraw& out) const {
    std::unordered_set<const Value*> of_tail{draw.result()};
    auto needs_number = [&](const Op& op) {
      bool needs = false;
      for (const Value* operand : op.operands) needs |= of_tail.contains(operand);
      for (const ir::Region* region : op.regions)
        ir::walk(*region, [&](const Op& inner) {
          for (const Value* operand : inner.operands) needs |= of_tail.contains(operand);
        });
      return needs;
    };
    out.draw = &draw;
    for (const Op* op = draw.next; op; op = op->next) {
      if (!needs_number(*op)) continue;
      if (ir::effect_of(op->code) == ir::Effect::end || !can_move(*op)) return false;
      out.tail.push_back(op);
      of_tail.insert(op->results.begin(), op->results.end());
    }
    if (out.tail.empty()) return false;
    std::uint32_t bytes = 0;
    bool all = true;
    std::unordered_set<const Value*> inside = of_tail;
    auto take = [&](const Op& op) {
      inside.insert(op.results.begin(), op.results.end());
      for (const ir::Region* region : op.regions) inside.insert(region->args.begin(), region->args.end());
      for (const Value* operand : op.operands) {
        if (inside.contains(operand) || is_given(operand, &out.prepared)) continue;
        inside.insert(operand);
        out.kept.push_back(operand);
        all &= !ir::has_array(operand->type) && !operand->type->is_tuple();
        bytes += std::uint32_t(operand->type->size());
      }
    };
    // How much is drawn is kept as well, unless it is always the same.
    if (const Value* amount = draw.operands.back(); !amount->is_constant() && !is_given(amount, &out.prepared)) {
      inside.insert(amount);
      out.kept.push_back(amount);
      bytes += std::uint32_t(amount->type->size());
    }
    for (const Value* operand : draw.operands.first(draw.operands.size() - 1)) is_given(operand, &out.prepared);
    for (const Op* op : out.tail) {
      take(*op);
      for (const ir::Region* region : op->regions) ir::walk(*region, take);
    }
    return all && bytes <= kMostKept;
  }

  template <class Visit>
  static void walk_tail(const LateDraw& draw, Visit&& visit) {
    for (const Op* op : draw.tail) {
      visit(*op);
      for (const ir::Region* region : op->regions) ir::walk(*region, visit);
    }
  }

  /// Nothing else of the kernel touches the counter or what its tails write, so that nobody sees when they do. What a thread writes
  /// by several draws it writes in their order, then as now.
  bool may_wait(const LateDraws& counter) const {
    BaseMask reads = 0, writes = 0;
    for (const LateDraw& draw : counter.draws)
      walk_tail(draw, [&](const Op& op) {
        reads |= alias_.direct_reads(op);
        writes |= alias_.direct_writes(op);
      });
    const BaseMask counts = alias_.bases(counter.draws.front().draw->operand(0));
    const BaseMask changes = alias_.touched(writes | counts);
    if (reads & changes) return false;
    if (alias_.touched(writes) & alias_.touched(counts) & ~kUnknownBase) return false;
    std::unordered_set<const Op*> own;
    for (const LateDraw& draw : counter.draws) {
      own.insert(draw.draw);
      walk_tail(draw, [&](const Op& op) { own.insert(&op); });
    }
    bool apart = true;
    ir::walk(*kernel_.body, [&](const Op& op) {
      if (own.contains(&op)) return;
      const BaseMask written = alias_.touched(alias_.direct_writes(op));
      apart &= ((written | alias_.direct_reads(op)) & changes) == 0 && (written & reads) == 0;
    });
    return apart;
  }

  /// Records are written where tails end, and a record's whole tail runs at once. So tails have to end in the order of their draws, and
  /// none may store before those of earlier draws have.
  static bool stays_in_order(const LateDraws& counter) {
    std::unordered_map<const Op*, const LateDraw*> draws, tails;
    for (const LateDraw& draw : counter.draws) {
      draws.emplace(draw.draw, &draw);
      for (const Op* op : draw.tail) tails.emplace(op, &draw);
    }
    for (const LateDraw& draw : counter.draws) {
      std::unordered_set<const LateDraw*> later;
      for (const Op* op = draw.draw->next; op != draw.tail.back(); op = op->next) {
        if (const auto drawn = draws.find(op); drawn != draws.end()) later.insert(drawn->second);
        bool inside = false;
        for (const ir::Region* region : op->regions)
          ir::walk(*region, [&](const Op& inner) { inside |= draws.contains(&inner); });
        if (inside) return false;
        const auto of = tails.find(op);
        if (of == tails.end() || !later.contains(of->second)) continue;
        if (op == of->second->tail.back() || touches_memory(*op)) return false;
      }
    }
    return true;
  }

  /// No operation waits for two draws, and no tail keeps what waits itself.
  static void drop_entangled(std::vector<LateDraws>& all) {
    std::unordered_map<const Op*, const LateDraw*> waits;
    std::unordered_set<const LateDraw*> entangled;
    auto claim = [&](const Op& op, const LateDraw& draw) {
      const auto [known, fresh] = waits.try_emplace(&op, &draw);
      if (!fresh) entangled.insert({known->second, &draw});
    };
    for (const LateDraws& counter : all)
      for (const LateDraw& draw : counter.draws) {
        claim(*draw.draw, draw);
        walk_tail(draw, [&](const Op& op) { claim(op, draw); });
      }
    for (const LateDraws& counter : all)
      for (const LateDraw& draw : counter.draws)
        for (const Value* value : draw.kept)
          if (value->kind == ir::ValueKind::result && waits.contains(value->op)) entangled.insert(&draw);
    std::erase_if(all, [&](const LateDraws& counter) {
      return std::ranges::any_of(counter.draws, [&](const LateDraw& draw) { return entangled.contains(&draw); });
    });
  }

  /// Where arguments may overlap: which of them must not. False where a tail could not even run at its end: something else looks at
  /// memory between it and the draw, or the tail reads some.
  bool find_pairs(LateDraws& counter) const {
    std::unordered_set<const Op*> own;
    std::vector<ArrayPlace> written, others;
    bool can = true;
    auto place = [&](const Op& op, std::vector<ArrayPlace>& list) {
      const ir::Origin from = ir::origin_of(op.operand(0));
      if (from.kind == ir::Origin::Kind::local || from.kind == ir::Origin::Kind::fixed) return;
      if (!from.is_parameter()) {
        can = false;
        return;
      }
      const std::uint32_t offset = layout_.params[from.param->index].offset + from.offset;
      if (std::none_of(list.begin(), list.end(), [&](const ArrayPlace& known) { return known.offset == offset; }))
        list.push_back({offset, ir::whole_array(op.operand(0))->type});
    };
    for (const LateDraw& draw : counter.draws) {
      own.insert(draw.draw);
      walk_tail(draw, [&](const Op& op) {
        own.insert(&op);
        can &= op.code != OpCode::load;
        if (op.code == OpCode::store) place(op, written);
      });
    }
    place(*counter.draws.front().draw, others);
    if (!can) return false;
    const ArrayPlace counts = others.front();
    for (const LateDraw& draw : counter.draws)
      for (const Op* op = draw.draw->next; op != draw.tail.back(); op = op->next)
        if (!own.contains(op)) can &= !touches_memory(*op);
    ir::walk(*kernel_.body, [&](const Op& op) {
      if (own.contains(&op) || ir::access_of(op.code) == ir::Access::none) return;
      if (op.code == OpCode::call) {
        for (const Value* operand : op.operands) can &= !ir::has_array(operand->type);
        return;
      }
      place(op, others);
    });
    for (const ArrayPlace& one : written)
      for (const ArrayPlace& other : others) counter.if_apart.emplace_back(one, other);
    for (const ArrayPlace& other : others)
      if (other.offset != counts.offset) counter.if_apart.emplace_back(counts, other);
    return can && counter.if_apart.size() <= kMostPairs;
  }

  static bool touches_memory(const Op& op) {
    bool touches = ir::access_of(op.code) != ir::Access::none;
    for (const ir::Region* region : op.regions)
      ir::walk(*region, [&](const Op& inner) { touches |= ir::access_of(inner.code) != ir::Access::none; });
    return touches;
  }

  const ir::Function& kernel_;
  ParamLayout layout_;
  mutable Effects effects_;
  Alias alias_;
};

}  // namespace

std::vector<LateDraws> find_late_draws(const ir::Function& kernel) {
  // Threads of a block look at each other's memory; adjoints and what tapes record have other ways to keep numbers.
  if (kernel.form.block != 0 || kernel.form.adjoint || kernel.form.taped) return {};
  bool draws = false;
  ir::walk(*kernel.body, [&](const Op& op) { draws |= op.code == OpCode::atomic; });
  return draws ? Finder(kernel).run() : std::vector<LateDraws>{};
}

}  // namespace weft::analysis
