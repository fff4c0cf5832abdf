// while (v = init) { T; test c } do { B; yield n }  →
// while (go = true, v = init) { test go } do { T; w = if c { B; yield n } else { yield v }; yield c, w }
#include "passes/move_tests.h"

#include "passes/rewrite.h"

namespace weft::passes {
namespace {

using ir::Op;
using ir::OpCode;
using ir::Region;
using ir::Value;

bool reads_memory(const Region& region) {
  // A call in a test is taken for a reader: that costs a flag, and being wrong would cost a gradient.
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
  explicit Mover(ir::Function& function) : function_(function), rewriter_(function) {}

  bool run() {
    region(*function_.body);
    return changed_;
  }

 private:
  void region(Region& region) {
    for (Op& op : region) {
      rewriter_.apply(op);
      // Loops inside of the body come after, in the new body: the walk goes on there, as the old one is empty now.
      if (op.code == OpCode::while_ && reads_memory(*op.regions[0])) {
        changed_ = true;
        this->region(*move_test(op, rewriter_, [](ir::Builder&, Value* go) { return go; }));
      } else {
        for (Region* inner : op.regions) this->region(*inner);
      }
    }
  }

  ir::Function& function_;
  ir::Rewriter rewriter_;
  bool changed_ = false;
};

}  // namespace

Region* move_test(Op& op, ir::Rewriter& rewriter, const std::function<Value*(ir::Builder&, Value*)>& goes_on) {
  ir::Function& function = rewriter.function();
  Region &old_test = *op.regions[0], &old_body = *op.regions[1];
  ir::Builder b(function, op.parent, &op);
  b.set_loc(op.loc);
  std::vector<Value*> init = {function.constant_bool(true)};
  init.insert(init.end(), op.operands.begin(), op.operands.end());
  Op* loop = b.while_op(init);
  Region *test = loop->regions[0], *body = loop->regions[1];
  std::vector<const Type*> types;
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    types.push_back(op.result(i)->type);
    loop->result(i + 1)->name = op.result(i)->name;
    test->args[i + 1]->name = body->args[i + 1]->name = old_body.args[i]->name;
    rewriter.replace(op.result(i), loop->result(i + 1));
    // Test and body had arguments of their own for one carried value; in one region they are one.
    rewriter.replace(old_test.args[i], body->args[i + 1]);
    rewriter.replace(old_body.args[i], body->args[i + 1]);
  }
  b.set_place(test);
  // The new test looks at a flag alone, so it is pure, whatever the old one did.
  b.test(goes_on(b, test->args[0]));
  b.set_place(body);
  Value* condition = rewriter.now(old_test.last->operand(0));
  Op* choice = b.if_op(condition, types);
  std::vector<Value*> yields = {condition};
  // The last round yields what came in, so that results behind the loop are those of before.
  yields.insert(yields.end(), choice->results.begin(), choice->results.end());
  b.yield(yields);
  b.set_place(choice->regions[0]);
  // The operands may have been replaced by now; whoever walks the new body applies the rewriter to them.
  b.yield(old_body.last->operands);
  b.set_place(choice->regions[1]);
  b.yield(body->args.subspan(1));
  splice_before(old_test, choice);
  splice_before(old_body, choice->regions[0]->last);
  ir::remove_op(&op);
  return body;
}

bool move_tests(ir::Function& function) { return writes_memory(*function.body) && Mover(function).run(); }

}  // namespace weft::passes
