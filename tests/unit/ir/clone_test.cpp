// Copies, walks and rewrites.
#include "ir/clone.h"

#include "ir/walk.h"
#include "util.h"

namespace weft::ir {
namespace {

const char* kProgram =
    "func @leaf(%x: f32) -> (f32) library {\n  %y = sin %x\n  return %y\n}\n"
    "func @unused(%x: f32) -> (f32) {\n  return %x\n}\n"
    "func @inner(%x: f32) -> (f32) {\n  %y = call @leaf(%x)\n  return %y\n}\n"
    "kernel @k(%a: array<f32,1>, %m: i32) form(no_overlap, rank 2) {\n  %i = tid 0\n  %v = load %a[%i~]\n"
    "  %s = for %j = 0i32 to %m step 1i32 (%acc = %v) {\n    %c = lt %acc, 1.0f32\n"
    "    %r = if %c : f32 {\n      %w = call @inner(%acc)\n      yield %w\n    } else {\n"
    "      %w_1 = call @leaf(%acc)\n      yield %w_1\n    }\n    yield %r\n  }\n"
    "  %l = local : array<f32,1> [4]\n  store %l[0i32], %s\n  print \"text\", %s\n  store %a[%i], %s\n  return\n}\n";

TEST(Clone, OfAModuleIsEqualAndIndependent) {
  auto module = parsed(kProgram);
  auto copy = clone(*module);
  std::string text = print(*module);
  EXPECT_EQ(text, kProgram);
  module.reset();  // names, texts and shapes must not point into the source
  EXPECT_EQ(print(*copy), text);
  EXPECT_EQ(verify(*copy), "");
  Op* call = nullptr;
  walk(*copy->find("k")->body, [&](Op& op) {
    if (op.code == OpCode::call && !call) call = &op;
  });
  EXPECT_EQ(call->callee, copy->find("inner"));
  EXPECT_TRUE(copy->find("leaf")->from_library);
  EXPECT_EQ(copy->sources.size(), 1u);
}

TEST(ExtractClosure, TakesWhatIsCalledCalleesFirst) {
  auto module = parsed(kProgram);
  auto closure = extract_closure(*module->find("k"), module.get());
  ASSERT_EQ(closure->functions.size(), 3u);
  EXPECT_EQ(closure->functions[0]->name, "leaf");
  EXPECT_EQ(closure->functions[1]->name, "inner");
  EXPECT_EQ(closure->functions[2]->name, "k");
  EXPECT_EQ(verify(*closure), "");
  EXPECT_EQ(closure->sources, module->sources);
  EXPECT_EQ(print(*closure->find("k")), print(*module->find("k")));
  EXPECT_EQ(extract_closure(*module->find("unused"))->functions.size(), 1u);
}

TEST(ExtractClosure, TakesGradientsAlong) {
  // The gradient calls a caller of its function: it comes last, and the kernel after it.
  auto module = parsed(
      "func @f(%x: f32) -> (f32) gradient @df {\n  return %x\n}\n"
      "func @g(%x: f32) -> (f32) {\n  %y = call @f(%x)\n  return %y\n}\n"
      "func @df(%x: f32, %adj: f32) -> (f32) {\n  %y = call @g(%adj)\n  return %y\n}\n"
      "kernel @k(%a: array<f32,1>) form(rank 1) {\n  %v = load %a[0i32]\n  %w = call @g(%v)\n  store %a[0i32], %w\n"
      "  return\n}\n");
  for (const auto& copy : {extract_closure(*module->find("k"), module.get()), clone(*module)}) {
    EXPECT_EQ(print(*copy), print(*module));
    EXPECT_EQ(verify(*copy), "");
    EXPECT_EQ(copy->find("f")->gradient, copy->find("df"));
  }
  EXPECT_EQ(verify(*extract_closure(*module->find("g"))), "");
}

TEST(ExtractClosure, LongChains) {
  std::string text = "func @f0() { return }\n";
  for (int i = 1; i < 20000; ++i)
    text += "func @f" + std::to_string(i) + "() { call @f" + std::to_string(i - 1) + "() return }\n";
  auto module = parsed(text);
  auto closure = extract_closure(*module->functions.back());
  EXPECT_EQ(closure->functions.size(), 20000u);
  EXPECT_EQ(closure->functions[0]->name, "f0");
}

TEST(CloneOps, InlinesIntoAnotherFunction) {
  auto module = parsed(kProgram);
  Function& kernel = *module->find("k");
  const Function& leaf = *module->find("leaf");
  Op* store = kernel.body->last->prev;
  ValueMap map{{leaf.params()[0], store->operands.back()}};
  clone_ops(*leaf.body, kernel, kernel.body, map, true, nullptr, store);
  store->operands.back() = map.at(leaf.body->first->result());
  EXPECT_EQ(verify(*module), "");
  EXPECT_NE(print(kernel).find("  %y = sin %s\n  store %a[%i], %y\n"), std::string::npos) << print(kernel);
}

TEST(CloneOps, WithinOneFunctionKeepsOuterValues) {
  auto module = parsed("func @f(%x: i32) -> (i32) {\n  %y = add %x, 1i32\n  %z = mul %y, %x\n  return %z\n}\n");
  Function& f = *module->functions[0];
  ValueMap map;
  clone_ops(*f.body, f, f.body, map, true, nullptr, f.body->first->next);
  EXPECT_EQ(verify(*module), "");
  EXPECT_EQ(print(*module),
            "func @f(%x: i32) -> (i32) {\n  %y = add %x, 1i32\n  %y_1 = add %x, 1i32\n  %z = mul %y_1, %x\n"
            "  %z_1 = mul %y, %x\n  return %z_1\n}\n");
}

TEST(CloneOps, ForeignValuesNeedAnEntry) {
  auto module = parsed(kProgram);
  ValueMap map;
  Function& kernel = *module->find("k");
  EXPECT_THROW(clone_ops(*module->find("leaf")->body, kernel, kernel.body, map), InternalError);
}

TEST(Walk, VisitsInTextOrder) {
  auto module = parsed(kProgram);
  std::string pre, post;
  walk(*module->find("k")->body, [&](Op& op) { pre += std::string(name_of(op.code)) + " "; });
  walk_post(*module->find("k")->body, [&](Op& op) { post += std::string(name_of(op.code)) + " "; });
  EXPECT_EQ(pre, "tid load for lt if call yield call yield yield local store print store return ");
  EXPECT_EQ(post, "tid load lt call yield call yield if yield for local store print store return ");
}

TEST(Walk, RemovedOperationsAreNotEntered) {
  auto module = parsed(kProgram);
  int visited = 0;
  walk(*module->find("k")->body, [&](Op& op) {
    ++visited;
    if (op.code == OpCode::for_) remove_op(&op);
  });
  EXPECT_EQ(visited, 8);
}

TEST(Rewriter, ReplacesAlongOneWalk) {
  auto module = parsed(
      "func @f(%x: i32) -> (i32) {\n  %a = add %x, 0i32\n  %b = add %a, 0i32\n  %c = mul %b, %a\n"
      "  %r = if true : i32 { yield %b } else { yield %c }\n  return %r\n}\n");
  Function& f = *module->functions[0];
  Rewriter rewriter(f);
  rewriter.run(*f.body, [&](Op& op) {
    if (op.code != OpCode::add || !op.operand(1)->is_zero()) return;
    rewriter.replace(op.result(), op.operand(0));
    remove_op(&op);
  });
  EXPECT_TRUE(rewriter.changed());
  EXPECT_EQ(verify(*module), "");
  EXPECT_EQ(print(*module),
            "func @f(%x: i32) -> (i32) {\n  %c = mul %x, %x\n  %r = if true : i32 {\n    yield %x\n"
            "  } else {\n    yield %c\n  }\n  return %r\n}\n");
}

TEST(Rewriter, FollowsChainsAndNewValues) {
  Function f("f", FunctionKind::function);
  Builder b(f, f.body);
  Rewriter rewriter(f);
  Value* a = b.unary(OpCode::neg, b.i32(1));
  Value* c = b.unary(OpCode::neg, b.i32(2));
  Value* d = b.unary(OpCode::neg, b.i32(3));
  rewriter.replace(a, c);
  rewriter.replace(c, d);
  rewriter.replace(d, b.i32(9));
  EXPECT_EQ(rewriter.now(a), b.i32(9));
  EXPECT_EQ(rewriter.now(c), b.i32(9));
  EXPECT_EQ(rewriter.now(b.i32(1)), b.i32(1));
  EXPECT_THROW(rewriter.replace(a, b.i64(1)), InternalError);
}

}  // namespace
}  // namespace weft::ir
