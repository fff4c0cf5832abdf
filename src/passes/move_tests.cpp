// while (v = init) { T; test c } do { B; yield n }  →
// while (go = true, v = init) { test go } do { T; w = if c { B; yield n } else { yield v }; yield c, w }
#include "passes/move_tests.h"

#include "ir/builder.h"
#include "ir/walk.h"
#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool reads_memory(const Region& region) {
  bool any = false;
  ir::walk(region, [&](const Op& op) { any |= op.code == OpCode::load || op.code == OpCode::call; });
  return any;
}

bool writes_memory(const Region& region) {
  bool any = false;
  ir::walk(region, [&](const Op& op) { any |= op.code == OpCode::store || op.code == OpCode::atomic; });
  return any;
}

class Mover {
 public:
  explicit Mover(ir::Function& function) : function_(function), rewriter_(function), b_(function, function.body) {}

  bool run() {
    region(*function_.body);
    return changed_;
  }

 private:
  void region(Region& region) {
    for (Op& op : region) {
      rewriter_.apply(op);
      if (op.code == OpCode::while_ && reads_memory(*op.regions[0]))
        move(op);
      else
        for (Region* inner : op.regions) this->region(*inner);
    }
  }

  void move(Op& op) {
    changed_ = true;
    Region &old_test = *op.regions[0], &old_body = *op.regions[1];
    b_.set_place(op.parent, &op);
    b_.set_loc(op.loc);
    std::vector<Value*> init = {function_.constant_bool(true)};
    init.insert(init.end(), op.operands.begin(), op.operands.end());
    Op* loop = b_.while_op(init);
    Region *test = loop->regions[0], *body = loop->regions[1];
    std::vector<const Type*> types;
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      types.push_back(op.result(i)->type);
      loop->result(i + 1)->name = op.result(i)->name;
      test->args[i + 1]->name = body->args[i + 1]->name = old_body.args[i]->name;
      rewriter_.replace(op.result(i), loop->result(i + 1));
      rewriter_.replace(old_test.args[i], body->args[i + 1]);
      rewriter_.replace(old_body.args[i], body->args[i + 1]);
    }
    b_.set_place(test);
    b_.test(test->args[0]);
    b_.set_place(body);
    Value* condition = rewriter_.now(old_test.last->operand(0));
    Op* choice = b_.if_op(condition, types);
    std::vector<Value*> yields = {condition};
    yields.insert(yields.end(), choice->results.begin(), choice->results.end());
    b_.yield(yields);
    b_.set_place(choice->regions[0]);
    b_.yield(old_body.last->operands);
    b_.set_place(choice->regions[1]);
    b_.yield(body->args.subspan(1));
    splice_before(old_test, choice);
    splice_before(old_body, choice->regions[0]->last);
    ir::remove_op(&op);
    region(*body);
  }

  ir::Function& function_;
  ir::Rewriter rewriter_;
  ir::Builder b_;
  bool changed_ = false;
};

}  // namespace

bool move_tests(ir::Function& function) { return writes_memory(*function.body) && Mover(function).run(); }

}  // namespace weft::passes
