// First everything is judged as the program wrote it, then it is changed, in one forward walk.
#include "passes/check_together.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "analysis/block_ways.h"
#include "ir/builder.h"
#include "ir/walk.h"
#include "passes/move_tests.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using analysis::Spread;
using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

constexpr std::string_view kWay = "threads of a block go different ways here, but work on tiles together inside";

bool meets_inside(const Op& op) {
  bool any = false;
  for (const Region* nested : op.regions)
    ir::walk(*nested, [&](const Op& inner) { any |= inner.code == OpCode::meet; });
  return any;
}

class Checker {
 public:
  explicit Checker(ir::Function& kernel) : kernel_(kernel), rewriter_(kernel), build_(kernel, kernel.body) {}

  bool run() {
    judge();
    if (asked_.empty()) return false;
    region(*kernel_.body);
    return true;
  }

 private:
  void judge() {
    analysis::BlockWays ways(kernel_);
    ir::walk(*kernel_.body, [&](const Op& op) {
      switch (op.code) {
        case OpCode::if_:
        case OpCode::for_:
        case OpCode::while_:
          if (meets_inside(op) && ways.of_branch(op) != Spread::same) asked_.insert(&op);
          break;
        case OpCode::meet:
          for (const Value* number : op.operands)
            if (number->type->is_scalar() && ways.of(number) != Spread::same) asked_.insert(&op);
          break;
        default: break;  // safe: threads part at these alone
      }
    });
  }

  void region(Region& region) {
    for (Op& op : region) {
      rewriter_.apply(op);
      if (!asked_.contains(&op)) {
        for (Region* nested : op.regions) this->region(*nested);
        continue;
      }
      switch (op.code) {
        case OpCode::if_: op.operands[0] = agreed(op, op.operand(0), kWay); break;
        case OpCode::for_:
          for (std::size_t k = 0; k < 3; ++k) op.operands[k] = agreed(op, op.operand(k), kWay);
          break;
        case OpCode::while_: {
          Region& body = *move_test(op, rewriter_, [](ir::Builder&, Value* go) { return go; });
          agree_on_turns(body);
          this->region(body);
          continue;
        }
        case OpCode::meet:
          for (Value* number : op.operands)
            if (number->type->is_scalar()) agreed(op, number, op.text);
          break;
        default: break;  // safe: nothing else was asked about
      }
      for (Region* nested : op.regions) this->region(*nested);
    }
  }

  /// The body of a loop whose test has moved into it: the test decides a branch, and whether there is another turn.
  void agree_on_turns(Region& body) {
    Value* const goes_on = body.last->operand(0);
    for (Op& op : body)
      if (op.code == OpCode::if_ && op.operand(0) == goes_on) {
        op.operands[0] = body.last->operands[0] = agreed(op, goes_on, kWay);
        return;
      }
  }

  /// Thread 0's number, in front of an operation; whoever has another one says so.
  Value* agreed(Op& before, Value* number, std::string_view text) {
    if (number->is_constant()) return number;
    build_.set_place(before.parent, &before);
    build_.set_loc(before.loc);
    const std::int64_t one = 1;
    Value* const cell = build_.local(types::array(number->type, 1), std::span(&one, 1));
    cell->op->imm = ir::kOfBlock | ir::kRaw;
    Value* const thread = build_.op(OpCode::block_thread, {})->result();
    Value* const first[] = {build_.i32(0)};
    Op* const fork = build_.if_op(build_.binary(OpCode::eq, thread, build_.i32(0)), {});
    for (Region* side : fork->regions) {
      build_.set_place(side);
      if (side == fork->regions[0]) build_.store(cell, first, 0, {}, {}, number);
      build_.yield({});
    }
    build_.set_place(before.parent, &before);
    Value* const all = build_.load(cell, first, 0);
    // No number is like itself where it is none.
    Value* same = build_.binary(OpCode::eq, number, all);
    if (number->type->is_float()) {
      Value* const neither = build_.binary(OpCode::bit_and, build_.binary(OpCode::ne, number, number),
                                           build_.binary(OpCode::ne, all, all));
      same = build_.binary(OpCode::bit_or, same, neither);
    }
    Value* operands[] = {same, build_.cast(thread, types::i64()), build_.i64(0)};
    Op* const check = build_.op(OpCode::check, operands);
    check->check = ir::CheckKind::together;
    check->text = kernel_.arena.copy(text);
    return all;
  }

  ir::Function& kernel_;
  ir::Rewriter rewriter_;
  ir::Builder build_;
  std::unordered_set<const Op*> asked_;
};

}  // namespace

bool check_together(ir::Function& kernel) { return kernel.form.block > 1 && Checker(kernel).run(); }

}  // namespace weft::passes
