// Summaries of functions, callees first.
#include "analysis/effects.h"

#include <algorithm>

#include "analysis/alias.h"
#include "analysis/uses.h"
#include "ir/op_cases.h"
#include "ir/origin.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

using ir::OpCode;

/// Values of the type may hold an address.
bool may_hold_address(const Type* type) {
  if (type->is_struct() || type->is_tuple())
    return std::any_of(type->fields().begin(), type->fields().end(),
                       [](const Field& field) { return may_hold_address(field.type); });
  return type->is_numeric() && (type->scalar_kind() == ScalarKind::u64 || type->scalar_kind() == ScalarKind::i64);
}

/// An atomic addition whose result nobody uses: what was there has no say in anything.
bool only_adds(const ir::Op& op, const std::vector<std::uint32_t>& uses) {
  return op.code == OpCode::atomic && op.atomic == ir::AtomicKind::add && uses[op.result()->id] == 0;
}

}  // namespace

bool FunctionEffects::removable() const {
  return !outside && !writes_unknown && std::find(writes.begin(), writes.end(), true) == writes.end();
}

bool FunctionEffects::pure() const {
  return removable() && !asks_running && !reads_unknown && !leaks &&
         std::find(reads.begin(), reads.end(), true) == reads.end();
}

Effects::Effects(Barriers barriers) : barriers_(barriers) {}
Effects::~Effects() = default;

const FunctionEffects& Effects::of(const ir::Function& function) {
  // A stack of our own: chains of calls may be as long as a program likes, and must not end the native stack. A
  // function stays on it until all of its callees are known.
  std::vector<const ir::Function*> open = {&function};
  while (!open.empty()) {
    const ir::Function* top = open.back();
    if (known_.contains(top)) {
      open.pop_back();
      continue;
    }
    std::size_t before = open.size();
    ir::walk(*top->body, [&](const ir::Op& op) {
      if (op.code == OpCode::call && !known_.contains(op.callee)) open.push_back(op.callee);
    });
    if (open.size() != before) continue;
    known_.emplace(top, std::make_unique<FunctionEffects>(summarize(*top)));
    open.pop_back();
  }
  return *known_.at(&function);
}

FunctionEffects Effects::summarize(const ir::Function& function) {
  FunctionEffects sum;
  sum.reads.resize(function.params().size());
  sum.writes.resize(function.params().size());
  if (!function.native.empty()) {  // may do anything, with the memory that it is given
    sum.outside = sum.leaks = true;
    for (const ir::Value* param : function.params())
      if (may_hold_address(param->type)) sum.reads_unknown = sum.reads_elsewhere = sum.writes_unknown = true;
    sum.reads.assign(sum.reads.size(), true);
    sum.writes.assign(sum.writes.size(), true);
    return sum;
  }
  // Asks for the effects of callees in turn, which are all there by now.
  Alias alias(function, *this);
  auto add = [&](BaseMask bases, std::vector<bool>& params, bool& unknown) {
    if (bases & kUnknownBase) unknown = true;
    for (std::size_t i = 0; i < params.size(); ++i)
      // By parameter: a struct of arrays counts as a whole.
      if (bases & alias.bases(function.params()[i])) params[i] = true;
  };
  // Reads through gradient pointers are unknown memory to Alias, but no array's values change by them.
  auto is_elsewhere = [&](const ir::Value* array) {
    return (alias.bases(array) & kUnknownBase) && !ir::origin_of(array).gradient;
  };
  const std::vector<std::uint32_t> uses = use_counts(function);
  ir::walk(*function.body, [&](const ir::Op& op) {
    const ir::Access access = ir::access_of(op.code);
    if ((access == ir::Access::reads || access == ir::Access::updates) && !only_adds(op, uses))
      sum.reads_elsewhere |= is_elsewhere(op.operand(0));
    switch (op.code) {
      case OpCode::print:
      case OpCode::printf:
      case OpCode::breakpoint:
      case OpCode::assert_:
      case OpCode::meet:
      case OpCode::check: sum.outside = true; break;
      case OpCode::fence:
      case OpCode::tally:
      case OpCode::warp_sync:
      case OpCode::barrier:  // from here on all that other threads wrote may be seen, wherever it lies
        sum.outside = true;
        if (barriers_ == Barriers::show_nothing) return;
        sum.reads_unknown = sum.writes_unknown = true;
        sum.reads.assign(sum.reads.size(), true);
        sum.writes.assign(sum.writes.size(), true);
        break;
      case OpCode::running: sum.asks_running = true; break;
      // Whoever has the address, or a descriptor whose gradient is that memory, can come back to it later.
      case OpCode::data_ptr:
      case OpCode::with_gradient: sum.leaks = true; break;
      case OpCode::store:
        if (ir::has_array(op.operands.back()->type)) sum.leaks = true;
        break;
      case OpCode::call: {
        const FunctionEffects& inner = *known_.at(op.callee);
        sum.outside |= inner.outside;
        sum.asks_running |= inner.asks_running;
        sum.leaks |= inner.leaks;
        sum.reads_elsewhere |= inner.reads_elsewhere;
        for (std::size_t k = 0; k < op.operands.size(); ++k)
          if (inner.reads[k]) sum.reads_elsewhere |= is_elsewhere(op.operand(k));
        break;
      }
      // Memory is below; the others see nothing but their operands, and the thread's number.
      case OpCode::load:
      case OpCode::atomic:
      case OpCode::view:
      case OpCode::slice:
      case OpCode::dim:
      case OpCode::nonnull:
      case OpCode::prefetch:
      case OpCode::from_ptr:
      case OpCode::gradient:
      case OpCode::recall:
      case OpCode::local:
      case OpCode::if_:
      case OpCode::for_:
      case OpCode::while_:
      case OpCode::return_:
      case OpCode::yield:
      case OpCode::test:
      case OpCode::tid:
      case OpCode::thread:
      case OpCode::block_dim:
      case OpCode::block_thread:
      case OpCode::on_gpu:
      case OpCode::objects:
      case OpCode::any:
      case OpCode::warp:
      case OpCode::lane:
      case OpCode::vote:
      case OpCode::shuffle:
      case OpCode::texture:
      WEFT_CASES(WEFT_NUMBER_OPS)
      WEFT_CASES(WEFT_DATA_OPS) break;
    }
    add(alias.direct_reads(op), sum.reads, sum.reads_unknown);
    add(alias.direct_writes(op), sum.writes, sum.writes_unknown);
  });
  return sum;
}

/// Operations with regions are not: all that they hold would have to be, and no pass moves them as a whole.
bool is_movable(const ir::Op& op, Effects& effects) {
  if (op.code == OpCode::call) return effects.of(*op.callee).pure();
  return op.regions.empty() && ir::effect_of(op.code) == ir::Effect::none;
}

}  // namespace weft::analysis
