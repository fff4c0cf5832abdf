// Sets of pieces flow from `local` through values and through private tables of descriptors (adjoints keep the states of loops
// there), loops to a fixed point; then live ranges by positions in the text, then a place for each, first fit.
#include "analysis/block_memory.h"

#include <algorithm>

#include "ir/block_functions.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::analysis {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

namespace {

constexpr std::uint32_t kAlignment = 16;

bool is_loop(const Op& op) { return op.code == OpCode::for_ || op.code == OpCode::while_; }

bool encloses(const Op& outer, const Op& inner) {
  for (const Region* at = inner.parent; at && at->parent_op; at = at->parent_op->parent)
    if (at->parent_op == &outer) return true;
  return false;
}

}  // namespace

BlockMemory::BlockMemory(const ir::Function& kernel) {
  find(*kernel.body);
  if (pieces_.empty()) return;
  while (pass_on(*kernel.body)) {
  }
  std::uint32_t position = 0;
  measure(*kernel.body, position);
  bool panels = false;
  ir::walk(*kernel.body, [&](const Op& op) { panels = panels || ir::multiplies_panels(op); });
  place(panels ? ir::kPanelAlignment : kAlignment);
}

void BlockMemory::find(const Region& region) {
  ir::walk(region, [&](const Op& op) {
    if (!ir::is_block_memory(op)) return;
    std::uint64_t size = op.result()->type->element()->size();
    for (std::int64_t n : op.ints) size *= std::uint64_t(n);
    const std::size_t number = std::min(pieces_.size(), kMost - 1);
    numbers_[&op] = pieces_.size();
    pieces_.push_back({&op, std::uint32_t((size + kAlignment - 1) / kAlignment * kAlignment)});
    sets_[op.result()].set(number);
  });
}

bool BlockMemory::join(Sets& sets, const Value* value, const Set& pieces) {
  if (pieces.none()) return false;
  Set& known = sets[value];
  const Set before = known;
  known |= pieces;
  return known != before;
}

BlockMemory::Set BlockMemory::of(const Sets& sets, const Value* value) {
  const auto it = sets.find(value);
  return it == sets.end() ? Set() : it->second;
}

bool BlockMemory::pass_on(const Region& region) {
  bool changed = false;
  const auto flow = [&](const Value* to, std::initializer_list<const Value*> from) {
    for (Sets* sets : {&sets_, &held_})
      for (const Value* value : from) changed |= join(*sets, to, of(*sets, value));
  };
  for (const Op& op : region) {
    for (const Region* nested : op.regions) changed |= pass_on(*nested);
    if (op.code == OpCode::if_) {
      for (const Region* side : op.regions)
        for (std::size_t k = 0; k < op.results.size(); ++k) flow(op.result(k), {side->last->operand(k)});
    } else if (is_loop(op)) {
      const std::size_t init = op.code == OpCode::for_ ? 3 : 0, arg = op.code == OpCode::for_ ? 1 : 0;
      for (std::size_t k = 0; k < op.results.size(); ++k) {
        const Value *first = op.operand(init + k), *next = op.regions.back()->last->operand(k);
        for (const Region* nested : op.regions) flow(nested->args[arg + k], {first, next});
        flow(op.result(k), {first, next});
      }
    } else if (op.code == OpCode::store) {
      changed |= join(held_, op.operand(0), of(op.operands.back()));
    } else {
      // What is read from a table of descriptors is one of those that it holds.
      Set all, held;
      for (const Value* operand : op.operands) {
        if (operand->is_constant() || !ir::has_array(operand->type)) continue;
        all |= of(operand);
        held |= of(held_, operand);
      }
      if (op.code == OpCode::load) all |= held;
      if (all.any() || held.any())
        for (const Value* result : op.results) {
          if (!ir::has_array(result->type)) continue;
          changed |= join(sets_, result, all);
          changed |= join(held_, result, held);
        }
    }
  }
  return changed;
}

/// A use in a loop that does not make the piece lasts as long as the loop: the next turn may read what this one left.
void BlockMemory::measure(const Region& region, std::uint32_t& position) {
  for (const Op& op : region) {
    const std::uint32_t start = ++position;
    if (const auto it = numbers_.find(&op); it != numbers_.end())
      pieces_[it->second].first = pieces_[it->second].last = start;
    for (const Region* nested : op.regions) measure(*nested, position);
    if (is_loop(op)) loops_[&op] = {start, ++position};
    Set used;
    for (const Value* operand : op.operands) used |= of(operand);
    if (used.none()) continue;
    for (std::size_t k = 0; k < pieces_.size(); ++k)
      if (used.test(std::min(k, kMost - 1))) pieces_[k].last = std::max(pieces_[k].last, position);
  }
  // Loops are complete now: what stands in this region and was used inside of one of them lives until its end.
  for (const Op& op : region) {
    if (!is_loop(op)) continue;
    const auto [start, end] = loops_.at(&op);
    for (Piece& piece : pieces_)
      if (piece.first && piece.first < start && piece.last >= start && piece.last < end && !encloses(op, *piece.local))
        piece.last = end;
  }
}

void BlockMemory::place(std::uint32_t alignment) {
  std::vector<std::size_t> order(pieces_.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces_[a].size > pieces_[b].size; });
  const auto meet = [](const Piece& a, const Piece& b) { return a.first <= b.last && b.first <= a.last; };
  std::vector<std::size_t> placed;
  for (std::size_t k : order) {
    Piece& piece = pieces_[k];
    std::vector<std::pair<std::uint32_t, std::uint32_t>> taken;
    for (std::size_t other : placed)
      if (meet(piece, pieces_[other]))
        taken.emplace_back(pieces_[other].offset, pieces_[other].offset + pieces_[other].size);
    std::sort(taken.begin(), taken.end());
    std::uint32_t at = 0;
    for (const auto& [from, to] : taken) {
      if (at + piece.size <= from) break;
      at = std::max(at, (to + alignment - 1) / alignment * alignment);
    }
    piece.offset = at;
    bytes_ = std::max(bytes_, at + piece.size);
    placed.push_back(k);
  }
  shares_.resize(std::min(pieces_.size(), kMost));
  for (std::size_t a = 0; a < pieces_.size(); ++a)
    for (std::size_t b = 0; b < pieces_.size(); ++b) {
      const Piece &x = pieces_[a], &y = pieces_[b];
      if (x.offset < y.offset + y.size && y.offset < x.offset + x.size)
        shares_[std::min(a, kMost - 1)].set(std::min(b, kMost - 1));
    }
}

std::vector<std::pair<const Op*, std::uint32_t>> BlockMemory::at_most() const {
  std::vector<std::pair<const Op*, std::uint32_t>> out;
  std::uint64_t most = 0;
  for (const Piece& made : pieces_) {  // the most is reached where one begins
    std::vector<std::pair<const Op*, std::uint32_t>> alive;
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces_) {
      if (piece.first > made.first || piece.last < made.first) continue;
      alive.emplace_back(piece.local, piece.size);
      bytes += piece.size;
    }
    if (bytes <= most) continue;
    most = bytes;
    out = std::move(alive);
  }
  return out;
}

BlockMemory::Set BlockMemory::together(const Set& pieces) const {
  Set out = pieces;
  for (std::size_t k = 0; k < shares_.size(); ++k)
    if (pieces.test(k)) out |= shares_[k];
  return out;
}

}  // namespace weft::analysis
