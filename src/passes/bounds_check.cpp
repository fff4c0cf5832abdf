// One walk that rewrites accesses and loops. Inserted operations are never visited again.
#include "passes/bounds_check.h"

#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/op_cases.h"
#include "ir/walk.h"
#include "passes/finite.h"
#include "passes/move_tests.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool is_int_division(const Op& op) {
  switch (op.code) {
    case OpCode::div:
    case OpCode::floordiv:
    case OpCode::rem:
    case OpCode::unscale: return op.result()->type->scalar_kind() <= ScalarKind::u64;
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::min:
    case OpCode::max:
    case OpCode::least:
    case OpCode::greatest:
    case OpCode::neg:
    case OpCode::abs:
    case OpCode::fma:
    case OpCode::scale:
    case OpCode::dot:
    case OpCode::matmul:
    case OpCode::transpose:
    case OpCode::outer:
    case OpCode::less_bits:
    case OpCode::less_equal_bits:
    case OpCode::choose_bits:
    WEFT_CASES(WEFT_BITS_OPS)
    WEFT_CASES(WEFT_COMPARE_OPS)
    WEFT_CASES(WEFT_ROUND_OPS)
    WEFT_CASES(WEFT_MATH_OPS)
    WEFT_CASES(WEFT_OTHER_OPS) break;
  }
  return false;
}

/// A name for the message: the value's own, or that of what it was taken from.
std::string name_of_array(const Value* value, int depth = 0) {
  if (!value->name.empty()) return std::string(value->name);
  if (value->kind != ir::ValueKind::result || depth > 8) return "array";
  const Op& op = *value->op;
  if (op.code == OpCode::view || op.code == OpCode::slice) return name_of_array(op.operand(0), depth + 1);
  // A view that was checked before.
  if (op.code == OpCode::if_) return name_of_array(op.regions[0]->last->operand(value->index), depth + 1);
  if (op.code == OpCode::extract && op.operand(0)->type->is_struct() && op.path.size() == 1 &&
      !op.operand(0)->name.empty())
    return std::string(op.operand(0)->name) + "." +
           std::string(op.operand(0)->type->fields()[std::size_t(op.path[0].value)].name);
  return "array";
}

/// "a / b" where both operands have names, else nothing.
std::string division_text(const Op& op) {
  auto operand = [](const Value* value) {
    if (value->is_constant() && value->type->is_int()) return std::to_string(value->as_int());
    return std::string(value->name);
  };
  std::string a = operand(op.operand(0)), b = operand(op.operand(1));
  if (a.empty() || b.empty()) return {};
  return a + (op.code == OpCode::rem ? " % " : op.code == OpCode::floordiv ? " // " : " / ") + b;
}

class Checker {
 public:
  Checker(ir::Function& function, const CheckOptions& options)
      : function_(function), options_(options), rewriter_(function), build_(function, function.body) {}

  bool run() {
    region(*function_.body);
    return changed_;
  }

 private:
  void region(Region& region) {
    for (Op& op : region) {
      // Results of accesses before this one have become those of an `if` around them.
      rewriter_.apply(op);
      visit(op);
    }
  }

  void visit(Op& op) {
    switch (op.code) {
      case OpCode::for_:
        if (options_.stop) return visit_for(op);
        break;
      case OpCode::while_: return visit_while(op);
      case OpCode::load:
      case OpCode::atomic:
      case OpCode::store:
      case OpCode::view: return visit_access(op);
      case OpCode::extract: return check_path(op, op.operand(0)->type, 1);
      case OpCode::insert: return check_path(op, op.operand(0)->type, 2);
      WEFT_CASES(WEFT_NUMBER_OPS)
        if (is_int_division(op)) return check_division(op);
        break;
      case OpCode::if_:
      case OpCode::call:
      case OpCode::return_:
      case OpCode::yield:
      case OpCode::test:
      // Nothing of these has an index that could be out of bounds: slices clamp theirs, others are constants, and any
      // address may be named to a cache.
      case OpCode::prefetch:
      case OpCode::select:
      case OpCode::cast:
      case OpCode::bitcast:
      case OpCode::construct:
      case OpCode::splat:
      case OpCode::slice:
      case OpCode::dim:
      case OpCode::nonnull:
      case OpCode::data_ptr:
      case OpCode::from_ptr:
      case OpCode::gradient:
      case OpCode::with_gradient:
      case OpCode::recall:
      case OpCode::local: WEFT_CASES(WEFT_EFFECT_OPS) break;
    }
    for (Region* nested : op.regions) region(*nested);
  }

  void at(const Op& op) {
    build_.set_place(op.parent, const_cast<Op*>(&op));
    build_.set_loc(op.loc);
    changed_ = true;
  }

  void check(ir::CheckKind kind, Value* ok, Value* index, Value* extent, const std::string& text) {
    Value* operands[] = {ok, index, extent};
    Op* op = build_.op(OpCode::check, operands);
    op->check = kind;
    op->text = function_.arena.copy(std::string_view(text));
  }

  Value* to_i64(Value* index) { return index->type == types::i64() ? index : build_.cast(index, types::i64()); }

  Value* both(Value* a, Value* b) { return a ? build_.binary(OpCode::bit_and, a, b) : b; }

  /// Normalises a wrapping index and checks it; the condition comes back through `ok`, joined to what it held.
  Value* checked_index(Value* index, bool wrap, Value* extent, Value*& ok, const std::string& text) {
    Value* zero = build_.i64(0);
    Value* wide = to_i64(index);
    Value* normal = wide;
    // 64 bits wide from here on: in the index's own type the sum with the extent could wrap into range.
    if (wrap && index->type->is_signed_int()) {
      Value* negative = build_.binary(OpCode::lt, wide, zero);
      Value* from_end = build_.binary(OpCode::add, wide, extent);
      normal = build_.select(negative, from_end, wide);
    }
    Value* not_below = build_.binary(OpCode::ge, normal, zero);
    Value* not_above = build_.binary(OpCode::lt, normal, extent);
    Value* inside = build_.binary(OpCode::bit_and, not_below, not_above);
    // The report shows the number that the program wrote, not the one counted from the end.
    check(ir::CheckKind::bounds, inside, wide, extent, text);
    ok = both(ok, inside);
    return normal;
  }

  /// Component indices: the operation itself is safe (zero, or no change), so only the report is needed.
  void check_path(Op& op, const Type* type, std::size_t first_dynamic) {
    if (!options_.bounds || !has_dynamic_step(op.path)) return;
    at(op);
    std::size_t operand = first_dynamic;
    for (const ir::PathStep& step : op.path) {
      if (step.dynamic) {
        Value* ok = nullptr;
        std::string name(op.operand(0)->name);
        checked_index(op.operand(operand++), step.wrap, build_.i64(ir::step_extent(type)), ok,
                      name.empty() ? "vector" : name);
      }
      type = ir::step_type(type, step);
    }
  }

  void visit_access(Op& op) {
    if (op.code != OpCode::view) check_path(op, op.operand(0)->type->element(), std::size_t(1) + op.num_indices);
    if (options_.not_finite && op.code == OpCode::store) check_finite(op);
    if (!options_.bounds) return;
    at(op);
    std::string name = name_of_array(op.operand(0));
    Value* ok = nullptr;
    for (std::size_t k = 0; k < op.num_indices; ++k) {
      std::size_t d = k + std::size_t(op.imm);  // views may keep leading dimensions
      std::string text = op.operand(0)->type->rank() == 1 ? name : name + " (dimension " + std::to_string(d) + ")";
      Value* extent = build_.dim(op.operand(0), int(d), types::i64());
      op.operands[1 + k] = checked_index(op.operand(1 + k), op.wrap >> k & 1, extent, ok, text);
    }
    // The index is normal now; looking at its sign again would turn one that is still negative into another element.
    op.wrap = 0;
    // A view of everything: nothing can be wrong, and an `if` around a descriptor would hide it from passes.
    if (op.num_indices == 0) return;
    guard(op, ok);
  }

  /// op → if ok { op } else { zeros }
  void guard(Op& op, Value* ok) {
    std::vector<const Type*> types;
    for (const Value* result : op.results) types.push_back(result->type);
    Op* choice = build_.if_op(ok, types);
    std::vector<Value*> zeros;
    for (std::size_t i = 0; i < types.size(); ++i) {
      // Uses behind it read the choice; the operation's own result is still yielded inside, so it must not be replaced
      // there: operations that are inserted here are not visited.
      rewriter_.replace(op.result(i), choice->result(i));
      choice->result(i)->name = op.result(i)->name;
      zeros.push_back(function_.zero(types[i]));
    }
    ir::remove_op(&op);
    ir::insert_op(choice->regions[0], &op);
    build_.set_place(choice->regions[0]);
    build_.yield(op.results);
    build_.set_place(choice->regions[1]);
    build_.yield(zeros);
  }

  void check_division(Op& op) {
    Value* divisor = op.operand(1);
    if (!options_.divisions) return;
    if (divisor->is_constant() && !divisor->is_zero()) return;
    at(op);
    Value* ok = nullptr;
    Value* zero = function_.zero(types::scalar(divisor->type->scalar_kind()));
    // The division itself is defined for zero (it gives 0), so nothing has to be guarded: one report for all
    // components.
    for_components(divisor, [&](Value* part) { ok = both(ok, build_.binary(OpCode::ne, part, zero)); });
    check(ir::CheckKind::divide_by_zero, ok, build_.i64(0), build_.i64(0), division_text(op));
  }

  void check_finite(Op& op) {
    at(op);
    Value* ok = all_finite(build_, op.operands.back());
    if (!ok) return;
    // The element's indices travel in the two numbers that a check reports: whole up to two of them, in halves beyond.
    Value* words[] = {build_.i64(0), build_.i64(0)};
    std::string text = name_of_array(op.operand(0));
    for (std::size_t k = 0; k < op.num_indices; ++k) {
      text += k == 0 ? "[{}" : ", {}";
      Value* index = to_i64(op.operand(1 + k));
      if (op.num_indices <= 2)
        words[k] = index;
      else if (k % 2 == 0)
        words[k / 2] = build_.binary(OpCode::bit_and, index, build_.i64(0xffffffff));
      else
        words[k / 2] = build_.binary(OpCode::bit_or, words[k / 2], build_.binary(OpCode::shl, index, build_.i64(32)));
    }
    if (op.num_indices > 0) text += "]";
    check(ir::CheckKind::not_finite, ok, words[0], words[1], text);
  }

  template <class Visit>
  void for_components(Value* value, Visit visit) {
    const Type* type = value->type;
    if (type->is_scalar()) return visit(value);
    for (std::uint32_t i = 0; i < type->rows(); ++i)
      for (std::uint32_t j = 0; j < type->cols(); ++j) {
        ir::PathStep path[] = {{ir::PathStep::index, false, false, std::int32_t(i)},
                               {ir::PathStep::index, false, false, std::int32_t(j)}};
        visit(build_.extract(value, std::span(path, type->is_mat() ? 2 : 1)));
      }
  }

  // A `for` can't be left early, and a launch that is told to stop must end: hence loops that count down what is left,
  // and ask. The count is worked out first, since an index that is compared with the end could pass over it and wrap
  // around.
  /// How often a `for` runs, as u64: (hi − lo − 1) / step + 1 upwards, likewise downwards, in wrapping arithmetic.
  Value* trips(Value* lo, Value* hi, Value* step) {
    auto sub = [&](Value* a, Value* b) { return build_.binary(OpCode::sub, a, b); };
    Value* from = build_.cast(to_i64(lo), types::u64());
    Value* to = build_.cast(to_i64(hi), types::u64());
    Value* by = build_.cast(to_i64(step), types::u64());
    Value* zero = function_.zero(types::u64());
    Value* one = function_.constant(types::u64(), 1);
    auto count = [&](Value* some, Value* distance, Value* width) {
      Value* last = build_.binary(OpCode::div, sub(distance, one), width);
      return build_.select(some, build_.binary(OpCode::add, last, one), zero);
    };
    auto upwards = [&] {
      Value* some = build_.binary(OpCode::lt, lo, hi);
      return count(some, sub(to, from), by);
    };
    auto downwards = [&] {
      Value* some = build_.binary(OpCode::gt, lo, hi);
      Value* distance = sub(from, to);
      return count(some, distance, sub(zero, by));
    };
    if (step->is_constant()) {
      if (step->is_zero()) return zero;
      return step->as_int() > 0 ? upwards() : downwards();
    }
    // Both are computed, whatever the sign: they are pure, and a select costs less than a branch.
    Value* up = upwards();
    Value* down = downwards();
    Value* is_down = build_.binary(OpCode::lt, step, function_.zero(step->type));
    Value* other = build_.select(is_down, down, zero);
    Value* is_up = build_.binary(OpCode::gt, step, function_.zero(step->type));
    return build_.select(is_up, up, other);
  }

  void visit_for(Op& op) {
    at(op);
    Region& old = *op.regions[0];
    // `for i = lo to hi step s (v)` becomes `while (left = trips, i = lo, v) { test left != 0 and running }`.
    std::vector<Value*> init = {trips(op.operand(0), op.operand(1), op.operand(2)), op.operand(0)};
    init.insert(init.end(), op.operands.begin() + 3, op.operands.end());
    Op* loop = build_.while_op(init);
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      loop->result(i + 2)->name = op.result(i)->name;
      rewriter_.replace(op.result(i), loop->result(i + 2));
    }
    Region* test = loop->regions[0];
    build_.set_place(test);
    Value* more = build_.binary(OpCode::ne, test->args[0], function_.zero(types::u64()));
    build_.test(build_.binary(OpCode::bit_and, more, build_.op(OpCode::running, {})->result()));

    Region* body = loop->regions[1];
    for (std::size_t i = 0; i < old.args.size(); ++i) {
      test->args[i + 1]->name = body->args[i + 1]->name = old.args[i]->name;
      rewriter_.replace(old.args[i], body->args[i + 1]);
    }
    build_.set_place(body);
    // The two sums stand at the end of the body; what the old body held goes before them and is visited there.
    Value* left = build_.binary(OpCode::sub, body->args[0], function_.constant(types::u64(), 1));
    // One addition too many behind the last turn, which may wrap: nobody reads it.
    Value* next = build_.binary(OpCode::add, body->args[1], op.operand(2));
    std::vector<Value*> yields = {left, next};
    yields.insert(yields.end(), old.last->operands.begin(), old.last->operands.end());
    build_.yield(yields);
    splice_before(old, left->op);
    ir::remove_op(&op);
    region(*body);
  }

  void visit_while(Op& op) {
    // A test must be pure, and a check is not: such a test moves into the body first, where anything may stand.
    if (needs_checks(*op.regions[0])) return move_test(op);
    for (Region* nested : op.regions) region(*nested);
    if (!options_.stop) return;
    Op* test = op.regions[0]->last;
    at(*test);
    build_.set_loc(op.loc);
    // `running` is read in each turn by all lanes alike, and costs a load that is nearly always in the cache.
    test->operands[0] = build_.binary(OpCode::bit_and, test->operand(0), build_.op(OpCode::running, {})->result());
  }

  /// Something in the region gets a check, or calls what may hold one.
  bool needs_checks(const Region& region) const {
    bool any = false;
    ir::walk(region, [&](const Op& op) {
      switch (op.code) {
        case OpCode::load:
        case OpCode::view: any |= options_.bounds; break;
        case OpCode::extract:
        case OpCode::insert: any |= options_.bounds && has_dynamic_step(op.path); break;
        case OpCode::call:
        // A test region holds none of these; if it did, there would be something to check.
        case OpCode::store:
        case OpCode::atomic: any = true; break;
        WEFT_CASES(WEFT_NUMBER_OPS) any |= options_.divisions && is_int_division(op); break;
        case OpCode::if_:
        case OpCode::for_:
        case OpCode::while_:
        case OpCode::return_:
        case OpCode::yield:
        case OpCode::test:
        case OpCode::select:
        case OpCode::cast:
        case OpCode::bitcast:
        case OpCode::construct:
        case OpCode::splat:
        case OpCode::slice:
        case OpCode::dim:
        case OpCode::nonnull:
        case OpCode::data_ptr:
        case OpCode::from_ptr:
        case OpCode::gradient:
        case OpCode::with_gradient:
        case OpCode::recall:
        case OpCode::local:
        case OpCode::prefetch:
        WEFT_CASES(WEFT_EFFECT_OPS) break;
      }
    });
    return any;
  }

  void move_test(Op& op) {
    region(*passes::move_test(op, rewriter_, [this](ir::Builder& build, Value* go) {
      if (!options_.stop) return go;
      return build.binary(OpCode::bit_and, go, build.op(OpCode::running, {})->result());
    }));
  }

  ir::Function& function_;
  const CheckOptions options_;
  ir::Rewriter rewriter_;
  ir::Builder build_;
  bool changed_ = false;
};

}  // namespace

bool bounds_check(ir::Function& function, const CheckOptions& options) { return Checker(function, options).run(); }

}  // namespace weft::passes
