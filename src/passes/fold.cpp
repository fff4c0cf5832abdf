// One forward walk; nested regions first where their outcome decides the operation.
#include "passes/fold.h"

#include <algorithm>

#include "ir/infer.h"
#include "ir/scalar_eval.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::PathStep;
using ir::Region;
using ir::Value;

/// How far an extract looks back through inserts: bounds the cost of long chains.
constexpr int kChainLimit = 64;

class Folder {
 public:
  explicit Folder(ir::Function& function) : function_(function), rewriter_(function) {}
  bool run() {
    region(*function_.body);
    return changed_;
  }

 private:
  void region(Region& region) {
    for (Op& op : region) {
      rewriter_.apply(op);
      switch (op.code) {
        case OpCode::if_: fold_if(op); break;
        case OpCode::for_: fold_for(op); break;
        case OpCode::while_: fold_while(op); break;
        // One that fails stays, also where it is a constant: it reports when it is reached, not when it is compiled.
        case OpCode::assert_:
        case OpCode::check:
          if (op.operand(0)->is_constant() && !op.operand(0)->is_zero()) drop(op);
          break;
        case OpCode::load:
        case OpCode::store:
        // What is in memory is not known here; the way into an element may have become constant all the same.
        case OpCode::atomic: fix_path(op, op.operand(0)->type->element(), std::size_t(1) + op.num_indices); break;
        default:  // safe: fold_value knows what it knows
          if (op.results.size() == 1 && op.regions.empty())
            if (Value* value = fold_value(op)) {
              rewriter_.replace(op.result(), value);
              drop(op);
            }
      }
    }
  }

  void drop(Op& op) {
    ir::remove_op(&op);
    changed_ = true;
  }

  void replace_results(Op& op, std::span<Value* const> values) {
    for (std::size_t i = 0; i < op.results.size(); ++i) rewriter_.replace(op.result(i), values[i]);
    drop(op);
  }

  void fold_if(Op& op) {
    if (!op.operand(0)->is_constant()) {
      for (Region* side : op.regions) region(*side);
      return;
    }
    // The side not taken is never folded: it may hold anything, and goes away whole.
    Region& taken = *op.regions[op.operand(0)->is_zero() ? 1 : 0];
    region(taken);
    splice_before(taken, &op);
    replace_results(op, taken.last->operands);
  }

  void fold_for(Op& op) {
    TripCount trips = trip_count(op);
    // It never runs: what it begins with is what it gives. The body goes unseen.
    if (trips.known && trips.count == 0) return replace_results(op, op.operands.subspan(3));
    region(*op.regions[0]);
  }

  void fold_while(Op& op) {
    Region& test = *op.regions[0];
    region(test);
    const Value* condition = test.last->operand(0);
    // A condition that is itself carried is, in the first round, its initial value; `while` with a flag that starts
    // false is what a loop behind an early return becomes.
    if (condition->kind == ir::ValueKind::argument && condition->region == &test)
      condition = op.operand(condition->index);
    if (condition->is_constant() && condition->is_zero()) return replace_results(op, op.operands);
    region(*op.regions[1]);
  }

  Value* fold_value(Op& op) {
    switch (op.code) {
      case OpCode::select:
        if (!op.operand(0)->is_constant()) return nullptr;
        return op.operand(op.operand(0)->is_zero() ? 2 : 1);
      // Composite constants are zero or nothing: the IR has no other ones, so a construct of other constants must
      // stay.
      case OpCode::construct:
        if (std::all_of(op.operands.begin(), op.operands.end(), [](const Value* v) { return v->is_zero(); }))
          return function_.zero(op.result()->type);
        return nullptr;
      case OpCode::splat: return op.operand(0)->is_zero() ? function_.zero(op.result()->type) : nullptr;
      case OpCode::extract: return fold_extract(op);
      case OpCode::insert: return fold_insert(op);
      case OpCode::dim: return fold_dim(op);
      case OpCode::nonnull: return fold_nonnull(op);
      default: return fold_scalar(op);  // safe: what it does not know stays
    }
  }

  Value* fold_scalar(Op& op) {
    const Type* type = op.result()->type;
    if (!type->is_scalar() || op.operands.empty()) return nullptr;
    for (const Value* value : op.operands)
      if (!value->is_constant() || !value->type->is_scalar()) return nullptr;
    // All operands of these classes have one kind, the first one's; a comparison's result is bool, hence not the
    // result's.
    ScalarKind kind = op.operand(0)->type->scalar_kind();
    std::uint64_t a = op.operand(0)->bits;
    std::uint64_t b = op.operands.size() > 1 ? op.operand(1)->bits : 0;
    switch (ir::class_of(op.code)) {
      case ir::OpClass::arith:
        if (op.code == OpCode::fma) return function_.constant(type, ir::eval_fma(kind, a, b, op.operand(2)->bits));
        [[fallthrough]];
      case ir::OpClass::bits:
      case ir::OpClass::round:
        return function_.constant(
            type, op.operands.size() == 1 ? ir::eval_unary(op.code, kind, a) : ir::eval_binary(op.code, kind, a, b));
      // Class math is missing on purpose: the bits of sin and exp are those of the library's bodies, which are folded
      // when inline-math has put them here.
      case ir::OpClass::compare: return function_.constant_bool(ir::eval_compare(op.code, kind, a, b));
      case ir::OpClass::math:
      case ir::OpClass::data:
      case ir::OpClass::whole:
      case ir::OpClass::memory:
      case ir::OpClass::control:
      case ir::OpClass::effect: break;
    }
    if (op.code == OpCode::cast) return function_.constant(type, ir::eval_cast(kind, type->scalar_kind(), a));
    if (op.code == OpCode::bitcast) return function_.constant(type, a);
    return nullptr;
  }

  /// Turns dynamic steps whose index is a constant in range into constant steps. Returns false if one is out of range.
  bool fix_path(Op& op, const Type* type, std::size_t first_dynamic) {
    std::size_t operand = first_dynamic;
    for (PathStep& step : op.path) {
      const Type* part = ir::step_type(type, step);
      if (step.dynamic) {
        Value* index = op.operand(operand);
        if (!index->is_constant()) {
          ++operand;
        } else {
          std::int64_t extent = ir::step_extent(type);
          std::int64_t i = index->as_int();
          // Beyond int64 is out of range, not negative.
          if (index->type->scalar_kind() == ScalarKind::u64 && i < 0) i = extent;
          if (step.wrap && i < 0) i += extent;
          // Out of range has a meaning for values (extract gives zero, insert changes nothing), which the callers
          // know; for memory the step stays dynamic and the emitter's test decides.
          if (i < 0 || i >= extent) return false;
          step = {PathStep::index, false, false, std::int32_t(i)};
          // The index leaves the list of operands, and those behind it move up; `operand` then names the next one.
          std::copy(op.operands.begin() + std::ptrdiff_t(operand) + 1, op.operands.end(),
                    op.operands.begin() + std::ptrdiff_t(operand));
          op.operands = op.operands.first(op.operands.size() - 1);
          changed_ = true;
        }
      }
      type = part;
    }
    return true;
  }

  Value* fold_insert(Op& op) { return fix_path(op, op.result()->type, 2) ? nullptr : op.operand(0); }

  Value* fold_extract(Op& op) {
    if (!fix_path(op, op.operand(0)->type, 1) || op.operand(0)->is_zero()) return function_.zero(op.result()->type);
    if (has_dynamic_step(op.path)) return nullptr;
    Value* from = op.operand(0);
    std::vector<PathStep> path(op.path.begin(), op.path.end());
    bool moved = false;
    // An unrolled loop over components leaves one insert per component; each extract looks past those that wrote
    // elsewhere. Ends at the value the path names, or at one that can't be seen through; the path then is what remains
    // to be extracted.
    for (int i = 0; i < kChainLimit && !path.empty(); ++i) {
      Value* next = step_back(from, path);
      if (!next) break;
      from = next;
      moved = true;
    }
    if (path.empty()) return from;
    if (moved) {
      if (from->is_zero()) return function_.zero(op.result()->type);
      op.operands[0] = from;
      op.path = function_.arena.copy(path);
      changed_ = true;
    }
    return nullptr;
  }

  /// Where the part of `from` that `path` names comes from; shortens or lengthens the path accordingly.
  Value* step_back(Value* from, std::vector<PathStep>& path) {
    if (from->kind != ir::ValueKind::result) return nullptr;
    const Op& op = *from->op;
    switch (op.code) {
      case OpCode::splat:
        // A row of a splat matrix is a vector that nobody has made.
        if (from->type->is_mat() && path.size() < 2) return nullptr;
        path.clear();
        return op.operand(0);
      case OpCode::construct: {
        std::size_t part = std::size_t(path[0].value), used = 1;
        if (from->type->is_mat()) {
          if (path.size() < 2) return nullptr;
          part = part * from->type->cols() + std::size_t(path[1].value);
          used = 2;
        }
        path.erase(path.begin(), path.begin() + std::ptrdiff_t(used));
        return op.operand(part);
      }
      case OpCode::extract:
        if (has_dynamic_step(op.path)) return nullptr;
        path.insert(path.begin(), op.path.begin(), op.path.end());
        return op.operand(0);
      case OpCode::insert: {
        std::size_t common = std::min(path.size(), op.path.size());
        for (std::size_t i = 0; i < common; ++i) {
          // It may or may not have written here.
          if (op.path[i].dynamic) return nullptr;
          if (op.path[i].value != path[i].value) return op.operand(0);
        }
        // It wrote a part of what is wanted: neither operand is all of it.
        if (op.path.size() > path.size()) return nullptr;
        path.erase(path.begin(), path.begin() + std::ptrdiff_t(common));
        return op.operand(1);
      }
      default: return nullptr;  // safe: nothing is known of what it is made of
    }
  }

  Value* fold_dim(const Op& op) {
    const Value* array = op.operand(0);
    if (array->is_zero()) return function_.zero(op.result()->type);
    // Of all arrays only private ones have a shape that is known here.
    if (array->kind != ir::ValueKind::result || array->op->code != OpCode::local) return nullptr;
    return function_.constant_int(op.result()->type, array->op->ints[std::size_t(op.imm)]);
  }

  static bool is_result_of(const Value* value, OpCode code) {
    return value->kind == ir::ValueKind::result && value->op->code == code;
  }

  Value* fold_nonnull(const Op& op) {
    const Value* array = op.operand(0);
    if (array->is_zero()) return function_.constant_bool(false);
    if (array->kind != ir::ValueKind::result) return nullptr;
    if (array->op->code == OpCode::gradient)  // of nothing, or of what never had one
      if (const Value* of = array->op->operand(0); of->is_zero() || is_result_of(of, OpCode::local))
        return function_.constant_bool(false);
    if (array->op->code != OpCode::local) return nullptr;
    return function_.constant_bool(true);
  }

  ir::Function& function_;
  ir::Rewriter rewriter_;
  bool changed_ = false;
};

}  // namespace

bool fold(ir::Function& function) { return Folder(function).run(); }

}  // namespace weft::passes
