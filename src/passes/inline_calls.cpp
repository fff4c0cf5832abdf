// A callee's body is one region that ends in one `return`: inlining is a copy of its operations before the call.
#include "passes/inline_calls.h"

#include <algorithm>

#include "analysis/effects.h"
#include "analysis/uses.h"
#include "ir/block_functions.h"
#include "ir/clone.h"
#include "ir/origin.h"
#include "ir/tile_memory.h"
#include "ir/walk.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;

class Inliner {
 public:
  Inliner(ir::Module& module, const InlineLimits& limits) : limits_(limits) {
    for (const auto& function : module.functions)
      ir::walk(*function->body, [&](const Op& op) {
        if (op.code == OpCode::call) ++calls_[op.callee];
      });
  }

  bool run(ir::Function& function) {
    std::size_t grown = 0;
    bool changed = false;
    std::vector<std::uint32_t> uses;
    if (limits_.draws) uses = analysis::use_counts(function);
    ir::Rewriter rewriter(function);
    rewriter.run(*function.body, [&](Op& op) {
      // Native text is no IR; a derivative has no body yet (driver::derive writes it).
      if (op.code != OpCode::call || !op.callee->native.empty() || op.callee->derives) return;
      if (op.callee->lanewise && !limits_.lanewise) return;
      // The code generator writes it; differentiation goes by its body, but in steps that have a gradient of their own.
      if (ir::is_block_function(*op.callee) && !limits_.block && (!limits_.keep_custom || function.from_library))
        return;
      // A program's own gradient belongs to the call: without the call there would be nothing to hang it on.
      if (limits_.keep_custom && (op.callee->gradient || op.callee->replay)) return;
      std::size_t size = size_of(*op.callee);
      std::size_t most = calls_[op.callee] == 1 ? std::max(limits_.once, limits_.small) : limits_.small;
      std::size_t growth = limits_.growth;
      if (limits_.draws && nobody_wants(op, uses) && draws_numbers(*op.callee))
        most = std::max(most, limits_.small_draws);
      // Differentiation sees what a kernel overwrites only in its own body, and an array that a callee makes and gives
      // back is gone when it returns: these are a matter of being right, not of size, and only a bound against
      // explosion applies.
      // What the library asks of a program in debug mode is said of the program's own line, once it stands there.
      // Shapes and strides of tiles are constants where they are used, and all that makes their loops fast.
      if ((limits_.memory && touches_memory(*op.callee)) || gives_own_array(*op.callee) || asks_programs(*op.callee) ||
          ir::is_tile_function(*op.callee))
        most = growth = kMostForMemory;
      if (size > most || grown + size > growth || (in_test(op) && makes_locals(*op.callee))) return;
      if (depth_of(op) + height_of(*op.callee->body) > kDeepest) return;
      grown += size;
      expand(function, rewriter, op);
      changed = true;
    });
    return changed;
  }

 private:
  static constexpr std::size_t kMostForMemory = std::size_t(1) << 16;
  bool touches_memory(const ir::Function& callee) {
    const analysis::FunctionEffects& does = effects_.of(callee);
    auto any = [](const std::vector<bool>& which) {
      return std::find(which.begin(), which.end(), true) != which.end();
    };
    return does.reads_unknown || does.writes_unknown || any(does.reads) || any(does.writes);
  }

  static bool nobody_wants(const Op& call, const std::vector<std::uint32_t>& uses) {
    return std::all_of(call.results.begin(), call.results.end(),
                       [&](const ir::Value* result) { return result->id < uses.size() && uses[result->id] == 0; });
  }
  static bool draws_numbers(const ir::Function& callee) {
    bool any = false;
    ir::walk(*callee.body, [&](const Op& op) {
      any |= op.code == OpCode::atomic && op.atomic == ir::AtomicKind::add && op.result()->type->is_int();
    });
    return any;
  }

  std::size_t size_of(const ir::Function& callee) {
    auto [it, fresh] = sizes_.try_emplace(&callee, 0);
    if (fresh) it->second = analysis::count_ops(*callee.body);
    return it->second;
  }

  /// Regions around an operation, and levels of regions below one: together they must stay inside the IR's limit, with
  /// room for the passes that follow.
  static constexpr int kDeepest = ir::kMaxRegionDepth * 3 / 4;
  static int depth_of(const Op& op) {
    int depth = 0;
    for (const ir::Region* region = op.parent; region->parent_op; region = region->parent_op->parent) ++depth;
    return depth;
  }
  static int height_of(const ir::Region& region) {
    int height = 0;
    for (const Op& op : region)
      for (const ir::Region* inner : op.regions) height = std::max(height, 1 + height_of(*inner));
    return height;
  }

  /// A `while`'s test must stay pure in the letter: the callee's private arrays can't move into it.
  static bool in_test(const Op& op) {
    for (const ir::Region* region = op.parent; region->parent_op; region = region->parent_op->parent)
      if (region->parent_op->code == OpCode::while_ && region->parent_op->regions[0] == region) return true;
    return false;
  }
  /// Private arrays die with the call that made them, unless its body comes to the caller.
  static bool gives_own_array(const ir::Function& callee) {
    return std::any_of(callee.result_types.begin(), callee.result_types.end(), ir::has_array) && makes_locals(callee);
  }
  static bool makes_locals(const ir::Function& callee) {
    bool any = false;
    ir::walk(*callee.body, [&](const Op& op) { any |= op.code == OpCode::local; });
    return any;
  }

  /// A function of the library with questions about what a program gave it.
  static bool asks_programs(const ir::Function& callee) {
    bool any = false;
    if (callee.from_library) ir::walk(*callee.body, [&](const Op& op) { any = any || asks_program(op); });
    return any;
  }
  static bool asks_program(const Op& op) {
    return op.code == OpCode::assert_ || (op.code == OpCode::check && op.check == ir::CheckKind::object);
  }

  static void expand(ir::Function& function, ir::Rewriter& rewriter, Op& call) {
    ir::ValueMap map;
    const ir::Function& callee = *call.callee;
    const Op* const before = call.prev;
    // Parameters become the arguments themselves: values can't change, so nothing has to be copied in.
    for (std::size_t i = 0; i < call.operands.size(); ++i) map[callee.params()[i]] = call.operand(i);
    ir::clone_ops(*callee.body, function, call.parent, map, /*skip_terminator=*/true, nullptr, &call);
    if (callee.from_library && !function.from_library)
      for (Op* op = before ? before->next : call.parent->first; op != &call; op = op->next) speak_of(*op, call.loc);
    for (std::size_t i = 0; i < call.results.size(); ++i)
      rewriter.replace(call.result(i), ir::mapped(function, map, callee.body->last->operand(i)));
    ir::remove_op(&call);
  }

  /// Places what an operation, and those in its regions, asks of a program.
  static void speak_of(Op& op, const SourceLoc& place) {
    if (asks_program(op)) op.loc = place;
    for (ir::Region* region : op.regions)
      for (Op& inner : *region) speak_of(inner, place);
  }

  const InlineLimits limits_;
  analysis::Effects effects_;
  std::unordered_map<const ir::Function*, std::size_t> calls_;
  std::unordered_map<const ir::Function*, std::size_t> sizes_;  // after the callee's own calls were settled
};

}  // namespace

bool inline_calls(ir::Module& module, const InlineLimits& limits) {
  Inliner inliner(module, limits);
  bool changed = false;
  // Callees come first, so that what is copied is settled: its own calls are expanded, or stay.
  // Calls in a native function's body stand for those that its C++ makes.
  for (const auto& function : module.functions)
    if (function->native.empty()) changed |= inliner.run(*function);
  return changed;
}

}  // namespace weft::passes
