// The function's operations in the order in which they run, outermost loops twice: what a turn changes, the next one may read.
#include "sema/second_names.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::sema {
namespace {

using ir::Access;
using ir::Op;
using ir::Region;

/// Which parameters a function writes to, itself or by those that it calls.
class Written {
 public:
  const std::vector<bool>& of(const ir::Function& function) {
    const auto [known, is_new] = known_.try_emplace(&function, function.params().size(), !function.native.empty());
    if (!is_new) return known->second;
    std::vector<bool> found = known->second;  // as it stands, for a function that calls itself
    const auto write = [&](const ir::Value* array) {
      const ir::Origin origin = ir::origin_of(array);
      for (std::size_t k = 0; k < found.size(); ++k)
        if (origin.kind == ir::Origin::Kind::parameter && (!origin.param || origin.param == function.params()[k]))
          found[k] = true;
    };
    ir::walk(*function.body, [&](const Op& op) {
      const Access access = ir::access_of(op.code);
      if (access == Access::writes || access == Access::updates) write(op.operand(0));
      if (access != Access::callee) return;
      const std::vector<bool> inner = of(*op.callee);
      for (std::size_t k = 0; k < op.operands.size(); ++k)
        if (inner[k] && ir::has_array(op.operand(k)->type)) write(op.operand(k));
    });
    return known_[&function] = std::move(found);
  }

 private:
  std::unordered_map<const ir::Function*, std::vector<bool>> known_;
};

/// What an operation does with the two memories of a copy: bit 0 the first, bit 1 the second.
struct Touch {
  const Op* op;
  unsigned reads = 0, writes = 0;
};

class Finder {
 public:
  Finder(const SecondNames::Copy& copy, const std::unordered_set<const Op*>& assignments, Written& written)
      : copy_(copy), assignments_(assignments), written_(written) {}

  /// Whether one of both is changed behind the copying, and then the other one read.
  bool differs(const Region& body) {
    list(body, true);
    bool apart = false;
    unsigned changed = 0;
    for (const Touch& touch : order_) {
      if (touch.op == copy_.first || touch.op == copy_.second) apart = false;  // other memory from here on
      if (apart && (touch.reads & swapped(changed))) return true;
      if (apart) changed |= touch.writes;
      if (touch.op == copy_.last) {
        apart = true;
        changed = 0;
      }
    }
    return false;
  }

 private:
  static unsigned swapped(unsigned both) { return (both & 1) << 1 | both >> 1; }

  unsigned which(const ir::Value* array) const {
    const Op* local = tile_memory_of(array);
    return local == copy_.first ? 1 : local == copy_.second ? 2 : 0;
  }

  void list(const Region& region, bool twice) {
    for (const Op& op : region) {
      const bool before = assigns_;
      assigns_ = assigns_ || assignments_.contains(&op);
      note(op);
      const bool again = twice && (op.code == ir::OpCode::for_ || op.code == ir::OpCode::while_);
      for (int turn = 0; turn < (again ? 2 : 1); ++turn)
        for (const Region* nested : op.regions) list(*nested, twice && !again);
      assigns_ = before;
      if (&op == copy_.last) order_.push_back({&op});
    }
  }

  void note(const Op& op) {
    Touch touch{&op};
    const Access access = ir::access_of(op.code);
    if (access == Access::reads || access == Access::updates) touch.reads |= which(op.operand(0));
    if (access == Access::writes || access == Access::updates) touch.writes |= which(op.operand(0));
    if (access == Access::callee) {
      const std::vector<bool>& written = written_.of(*op.callee);
      for (std::size_t k = 0; k < op.operands.size(); ++k) {
        if (!ir::has_array(op.operand(k)->type)) continue;
        touch.reads |= which(op.operand(k));
        if (written[k]) touch.writes |= which(op.operand(k));
      }
    }
    if (assigns_) touch.writes = 0;
    if (&op == copy_.last) touch.op = nullptr;  // which counts when all of it has run
    if ((touch.reads | touch.writes) || &op == copy_.first || &op == copy_.second) order_.push_back(touch);
  }

  const SecondNames::Copy& copy_;
  const std::unordered_set<const Op*>& assignments_;
  Written& written_;
  bool assigns_ = false;  // inside of an operation that gives a variable a tile
  std::vector<Touch> order_;
};

}  // namespace

const Op* tile_memory_of(const ir::Value* value) {
  constexpr int kMostSteps = 1000;  // of loops inside each other, and views of views
  for (int step = 0; step < kMostSteps; ++step) {
    if (value->kind == ir::ValueKind::argument) {
      const Op* loop = value->region->parent_op;
      if (!loop) return nullptr;
      const bool counts = loop->code == ir::OpCode::for_;
      if (counts && value->index == 0) return nullptr;
      value = loop->operand(value->index + (counts ? 2 : 0));
      continue;
    }
    if (value->kind != ir::ValueKind::result) return nullptr;
    const Op& op = *value->op;
    if (op.code == ir::OpCode::local) return &op;
    if (op.code == ir::OpCode::for_ || op.code == ir::OpCode::while_)
      value = op.operand(value->index + (op.code == ir::OpCode::for_ ? 3 : 0));
    else if (ir::descent_of(op) == ir::Descent::operand || op.code == ir::OpCode::construct)
      value = op.operand(0);
    else
      return nullptr;
  }
  return nullptr;
}

void SecondNames::report(const ir::Function& function, DiagnosticSink& sink) const {
  if (copies_.empty()) return;
  const std::unordered_set<const Op*> assignments(assignments_.begin(), assignments_.end());
  Written written;
  for (const Copy& copy : copies_) {
    if (!Finder(copy, assignments, written).differs(*function.body)) continue;
    sink.report(
        DiagCode::second_name, copy.at,
        "'" + copy.second_name + "' is a copy of '" + copy.first_name +
            "' here, and one of them is changed further on; where tiles in shared memory get second names on GPUs, both are",
        "for a second name write wp.tile_view(" + copy.first_name +
            ", …); a copy everywhere is what wp.tile_assign() makes",
        copy.underline);
  }
}

}  // namespace weft::sema
