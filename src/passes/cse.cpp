// A scoped table from what an operation computes to its result. Memory is versioned: every possible write moves a
// clock, and each base remembers the time of the last write that may have changed it; a load's key holds the latest
// such time among its bases, so entries die by themselves. Entering a loop counts as all the writes in it, for an
// earlier iteration may have made them.
#include "passes/cse.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "analysis/alias.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

/// All that determines a result, as words.
using Key = std::vector<std::uint64_t>;

struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = key.size();
    for (std::uint64_t word : key) h = (std::rotl(h, 5) ^ word) * 0x9e3779b97f4a7c15ULL;
    return std::size_t(h ^ h >> 32);
  }
};

bool commutes(OpCode code) {
  switch (code) {
    // Bit for bit the same either way round, NaN payloads aside, which no executor promises. min and max are missing:
    // of equal operands, zeros of two signs among them, they give the second.
    case OpCode::add:
    case OpCode::mul:
    case OpCode::bit_and:
    case OpCode::bit_or:
    case OpCode::bit_xor:
    case OpCode::eq:
    case OpCode::ne: return true;
    default: return false;  // safe: two orders stay two operations
  }
}

std::uint64_t word(const void* pointer) { return std::uint64_t(reinterpret_cast<std::uintptr_t>(pointer)); }

class Merger {
 public:
  Merger(ir::Function& function, analysis::Effects& effects)
      : effects_(effects), alias_(function, effects), rewriter_(function) {}

  bool run(Region& body) {
    region(body);
    return changed_;
  }

 private:
  void region(Region& region) {
    std::size_t scope = undo_.size();
    for (Op& op : region) {
      rewriter_.apply(op);
      visit(op);
    }
    // What was computed in a region does not dominate what comes behind it. Times of writes are not undone: what a
    // branch wrote may have been written.
    for (; undo_.size() > scope; undo_.pop_back()) table_.erase(undo_.back());
  }

  void visit(Op& op) {
    if (!op.regions.empty()) {
      // A loop's first operations may follow its last ones, so all of its writes count on entry. Sides of an `if` touch
      // what they write themselves; the clock is never set back, so this holds behind the `if`, too.
      if (op.code != OpCode::if_) touch(alias_.writes(op));
      for (Region* nested : op.regions) region(*nested);
      return;
    }
    if (op.code == OpCode::load) {
      // A load that an earlier store wrote is that value: the store left an entry with the same key.
      merge(op, load_key(op, op.operands.subspan(1)));
    } else if (op.code == OpCode::store) {
      touch(alias_.writes(op));
      // An index beyond the value's extent stores nothing, so only constant paths tell what memory holds.
      // Of threads that store to one place in shared memory, another one may be the last.
      if (!has_dynamic_step(op.path) && !ir::is_block_memory(op.operand(0)))
        add(load_key(op, op.operands.subspan(1, op.num_indices)), op.operands.last(1));
    } else if (!op.results.empty() && analysis::is_movable(op, effects_)) {
      // Pure, or a call without effects that reads nothing: the operands alone decide. Atomics are not: two additions
      // are two.
      merge(op, key_of(op));
    } else {
      touch(alias_.writes(op));
    }
  }

  void merge(Op& op, Key key) {
    auto it = table_.find(key);
    // The earlier one dominates this one: the table holds only entries of this region and of those around it.
    if (it == table_.end()) return add(std::move(key), op.results);
    for (std::size_t i = 0; i < op.results.size(); ++i) rewriter_.replace(op.result(i), it->second[i]);
    ir::remove_op(&op);
    changed_ = true;
  }

  void add(Key key, std::span<Value* const> results) {
    auto [it, fresh] = table_.try_emplace(std::move(key), std::vector<Value*>(results.begin(), results.end()));
    // The first of equal ones stays the representative, however many stores of the same value follow.
    if (fresh) undo_.push_back(it->first);
  }

  void touch(analysis::BaseMask bases) {
    if (!bases) return;
    ++clock_;
    bases.each([&](std::size_t base) { written_[base] = clock_; });
  }

  Key load_key(const Op& op, std::span<Value* const> operands) const {
    // A descriptor that may point to several bases was changed when the last one of them was.
    std::uint64_t time = 0;
    alias_.bases(op.operand(0)).each([&](std::size_t base) { time = std::max(time, written_[base]); });
    Key key = {std::uint64_t(OpCode::load), time, op.operand(0)->id, std::uint64_t(op.wrap) << 8 | op.num_indices};
    for (const Value* value : operands) key.push_back(value->id);
    add_path(key, op);
    return key;
  }

  static Key key_of(const Op& op) {
    // The type belongs in: casts of one value to two types differ in nothing else. A callee is known by its address,
    // equal within the module.
    Key key = {std::uint64_t(op.code) | std::uint64_t(op.contract) << 8 | std::uint64_t(op.num_indices) << 16 |
                   std::uint64_t(op.wrap) << 24,
               std::uint64_t(op.imm), word(op.callee)};
    for (const Value* result : op.results) key.push_back(word(result->type));
    std::size_t first = key.size();
    for (const Value* value : op.operands) key.push_back(value->id);
    if (commutes(op.code)) std::sort(key.begin() + std::ptrdiff_t(first), key.end());
    add_path(key, op);
    return key;
  }

  static void add_path(Key& key, const Op& op) {
    for (const ir::PathStep& step : op.path)
      // The top bit keeps a step apart from an operand's number, so that the lists need no lengths.
      key.push_back(std::uint64_t(1) << 63 | std::uint64_t(step.kind) << 40 | std::uint64_t(step.dynamic) << 41 |
                    std::uint64_t(step.wrap) << 42 | std::uint32_t(step.value));
  }

  analysis::Effects& effects_;
  analysis::Alias alias_;
  ir::Rewriter rewriter_;
  std::unordered_map<Key, std::vector<Value*>, KeyHash> table_;
  std::vector<Key> undo_;
  std::uint64_t clock_ = 0;
  std::array<std::uint64_t, analysis::BaseMask::kMost> written_{};
  bool changed_ = false;
};

}  // namespace

bool cse(ir::Function& function, analysis::Effects* effects) {
  analysis::Effects own;
  return Merger(function, effects ? *effects : own).run(*function.body);
}

}  // namespace weft::passes
