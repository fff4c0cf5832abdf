// What is made in a branch runs at most once each time the `if` runs, so it can as well be made before it: nobody sees
// zeroed memory that nobody reads. What is made in an iteration and needed only behind the loop is made before the loop,
// and cleared in each iteration.
#include "passes/hoist_locals.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/alias.h"
#include "analysis/lifetimes.h"
#include "ir/builder.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr std::int64_t kSpelledOut = 64;  // elements of an array that are cleared one by one

bool is_local(const Value* value) { return value->kind == ir::ValueKind::result && value->op->code == OpCode::local; }

/// Stores zero to every element of an array.
void clear(ir::Builder& b, Value* array, std::span<const std::int64_t> extents, bool spelled_out,
           std::vector<Value*>& indices) {
  if (extents.empty()) return b.store(array, indices, 0, {}, {}, b.zero(array->type->element()));
  const std::int64_t n = extents.front();
  if (spelled_out) {
    for (std::int64_t k = 0; k < n; ++k) {
      indices.push_back(b.i32(k));
      clear(b, array, extents.subspan(1), spelled_out, indices);
      indices.pop_back();
    }
    return;
  }
  Op* loop = b.for_op(b.i64(0), b.i64(n), b.i64(1), {});
  Region* outer = b.region();
  b.set_place(loop->regions[0]);
  indices.push_back(loop->regions[0]->args[0]);
  clear(b, array, extents.subspan(1), spelled_out, indices);
  indices.pop_back();
  b.yield({});
  b.set_place(outer, loop->next);
}

/// Moves arrays before the outermost operation that lets them out.
bool move_out(ir::Function& function) {
  struct Move {
    Op* local;
    Op* before;
    bool again;  // it is made in a loop
  };
  std::vector<Move> moves;
  analysis::Effects effects;
  const analysis::Alias alias(function, effects);
  ir::walk(*function.body, [&](Op& op) {
    // Raw arrays (they come at the end of the pipeline only) are not cleared where they are made, and moving relies on
    // that.
    // What threads of a block share is written before it is read, wherever it is made.
    if (op.code != OpCode::local || (op.imm && !ir::is_block_memory(op))) return;
    const analysis::BaseMask base = alias.bases(op.result());
    Move move{&op, nullptr, false};
    // Outwards for as long as some result may be this array. An iteration that still reads its predecessor's array
    // needs two of them; one piece of memory before the loop would merge both.
    for (const Region* at = op.parent; at->parent_op; at = at->parent_op->parent) {
      Op* around = at->parent_op;
      const bool out = std::any_of(around->results.begin(), around->results.end(), [&](const Value* result) {
        return ir::has_array(result->type) && (alias.bases(result) & base);
      });
      if (!out || (around->code != OpCode::if_ && analysis::is_kept(*around, op, alias))) break;
      move.before = around;
      move.again |= around->code != OpCode::if_;
    }
    if (move.before) moves.push_back(move);
  });
  for (const Move& move : moves) {
    // Each iteration expects zeros, so they are written where the array was made. Small arrays element by element:
    // behind promote_locals these are inserts that fold into a zero vector, where a loop would have to carry it.
    if (move.again && !(move.local->imm & ir::kRaw)) {
      ir::Builder b(function, move.local->parent, move.local);
      b.set_loc(move.local->loc);
      std::int64_t elements = 1;
      for (std::int64_t n : move.local->ints) elements = std::min(elements * n, kSpelledOut + 1);
      std::vector<Value*> indices;
      clear(b, move.local->result(), move.local->ints, elements <= kSpelledOut, indices);
    }
    // In the order in which they were found, each directly before its operation: several arrays of one branch keep
    // their order, and none stands behind a use.
    ir::remove_op(move.local);
    ir::insert_op(move.before->parent, move.local, move.before);
  }
  return !moves.empty();
}

using Uses = std::unordered_map<const Value*, std::vector<const Op*>>;  // of arrays

/// Whether a descriptor is only good for accesses, wherever it goes.
bool only_accessed(const Value* array, const Uses& uses) {
  auto it = uses.find(array);
  if (it == uses.end()) return true;
  for (const Op* use : it->second) {
    // An array that is stored, compared or asked for its length is more than a place for accesses: there null and the
    // array differ.
    const bool first = use->operand(0) == array;
    switch (use->code) {
      case OpCode::load: break;
      case OpCode::store:
      case OpCode::atomic:
        if (!first || use->operands.back() == array) return false;
        break;
      case OpCode::view:
      case OpCode::slice:
        if (!only_accessed(use->result(), uses)) return false;
        break;
      case OpCode::yield: {
        const Op* around = use->parent->parent_op;
        // Through a loop it would come back as another iteration's.
        if (around->code != OpCode::if_) return false;
        for (std::size_t k = 0; k < use->operands.size(); ++k)
          if (use->operand(k) == array && !only_accessed(around->result(k), uses)) return false;
        break;
      }
      default: return false;  // safe: it stays where it is
    }
  }
  return true;
}

bool carried_is_used(const Op& loop, std::size_t k, const Uses& uses) {
  for (const Region* region : loop.regions)
    if (uses.contains(region->args[first_carried(loop) + k])) return true;
  return false;
}

/// An `if` that gives an array on one side and nothing on the other, or a loop that begins with nothing: accesses to
/// nothing have no meaning, so accesses go to the array.
bool name_results(ir::Function& function) {
  Uses uses;
  ir::walk(*function.body, [&](const Op& op) {
    for (const Value* operand : op.operands)
      if (operand->type->is_array() && !operand->is_constant()) uses[operand].push_back(&op);
  });
  ir::Rewriter rewriter(function);
  rewriter.run(*function.body, [&](Op& op) {
    const bool branch = op.code == OpCode::if_;
    if (!branch && op.code != OpCode::for_ && op.code != OpCode::while_) return;
    std::vector<bool> keep(op.results.size(), true);
    bool any = false;
    for (std::size_t k = 0; k < op.results.size(); ++k) {
      if (!op.result(k)->type->is_array()) continue;
      Value* sides[] = {rewriter.now(branch ? op.regions[0]->last->operand(k) : op.operand(first_init(op) + k)),
                        rewriter.now(op.regions.back()->last->operand(k))};
      // Inside, the carried array may still be the one from before the loop, or none: only the result behind the loop
      // is surely the last one made.
      if (!branch && carried_is_used(op, k, uses)) continue;
      Value* one = sides[0]->is_constant() ? sides[1] : sides[0];
      const bool alike = sides[0] == sides[1];
      // What is made inside is not there outside; move_out has moved all that can be.
      if (!is_local(one) || one->op->parent == op.regions[0] || one->op->parent == op.regions.back()) continue;
      if (!alike && (!(sides[0]->is_constant() || sides[1]->is_constant()) || !only_accessed(op.result(k), uses)))
        continue;
      rewriter.replace(op.result(k), one);
      keep[k] = false;
      any = true;
    }
    if (any) drop_results(op, keep);
  });
  return rewriter.changed();
}

}  // namespace

bool hoist_locals(ir::Function& function) {
  bool changed = move_out(function);
  // When an inner result is the array itself, what the operation around it yields is known: each round takes a level.
  while (name_results(function)) changed = true;
  return changed;
}

}  // namespace weft::passes
