// The verifier: each rule broken once, in text where text can say it, in memory where only a broken pass could.
#include "util.h"

namespace weft::ir {
namespace {

struct Bad {
  const char* lines;
  const char* message;
};

class BadKernel : public testing::TestWithParam<Bad> {};

TEST_P(BadKernel, IsRejected) {
  std::string error = parse_error(kernel_text(GetParam().lines));
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
  EXPECT_NE(error.find("[ir_verify]"), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Verifier, BadKernel,
    testing::Values(
        Bad{"while () { test %b %x = neg %i test %b } do { yield }",
            "a terminator stands before the end of its region"},
        Bad{"yield %i }  kernel @k2() { ", "the region must end in return"},
        Bad{"%r = if %b : f32 { yield } else { yield %f }", "yield must give (f32)"},
        Bad{"%r = if %b : f32 { yield %i } else { yield %f }", "yield must give (f32)"},
        Bad{"if %b { return } else { yield }", "the region must end in yield"},
        Bad{"if %b { } else { yield }", "a region of if has no terminator"},
        Bad{"if %b { test %b } else { yield }", "the region must end in yield"},
        Bad{"%r = for %n = 0i32 to %i step 1i32 (%x = %f) { yield }", "yield must give (f32)"},
        Bad{"while () { yield } do { yield }", "the region must end in test"},
        Bad{"while () { store %a[0i32], %f test %b } do { yield }", "a while's test must be pure"},
        Bad{"while () { %x = local : array<f32,1> [1] test %b } do { yield }", "a while's test must be pure"},
        Bad{"while () { %x = load %a[0i32] test %b } do { store %a[1i32], %f yield }",
            "a while's test reads memory although the loop writes some"},
        Bad{"while () { %x = load %a[0i32] test %b } do { %z = slice %a, 0, %l, %l, %l store %z[1i32], %f yield }",
            "a while's test reads memory although the loop writes some"},
        Bad{"%r = while (%c = %a) { %x = load %c[0i32] test %b } do { store %c[1i32], %f yield %c }",
            "a while's test reads memory although the loop writes some"},
        Bad{"while () { if %b { assert %b, \"\" yield } else { yield } test %b } do { yield }",
            "a while's test must be pure"}));

TEST(Verifier, AcceptsWhatTheRulesAllow) {
  EXPECT_TRUE(
      parsed(kernel_text("while () { %go = running %x = load %a[0i32] %c = lt %x, %f test %c } do {\n"
                         "%y = load %a2[0i32, 0i32] yield }")));
}

std::string broken(const std::string& text) {
  std::string error = parse_error(text);
  EXPECT_NE(error.find("[ir_verify]"), std::string::npos) << error;
  return error;
}

TEST(Verifier, Functions) {
  EXPECT_NE(broken("func @f() { %i = tid 0 return }").find("tid outside a kernel"), std::string::npos);
  EXPECT_NE(broken("kernel @k() -> (f32) { return 1.0f32 }").find("a kernel has no results"), std::string::npos);
  EXPECT_NE(broken("func @f() -> (f32) { return }").find("return must give (f32)"), std::string::npos);
  EXPECT_NE(broken("func @f() { }").find("the body has no terminator"), std::string::npos);
  EXPECT_NE(parse_error("kernel @k() { return } func @f() { call @k() return }").find("@k is a kernel"),
            std::string::npos);
}

TEST(Verifier, TypesOfValues) {
  EXPECT_NE(broken("func @f(%a: array<tuple<f32>,1>) { return }").find("has a tuple in memory"), std::string::npos);
  EXPECT_NE(broken("struct %S { t: tuple<f32> } func @f(%a: %S) { return }").find("has a tuple in memory"),
            std::string::npos);
  EXPECT_TRUE(parsed("func @f(%a: tuple<tuple<f32>,array<f32,1>>) { return }"));
  for (const Type* type : {types::string(), types::function("g"), types::array(types::string(), 1)}) {
    Module module;
    Function* f = module.add("f", FunctionKind::function);
    f->add_argument(f->body, type);
    Builder(*f, f->body).ret({});
    EXPECT_NE(verify(module).find("is no type of a value"), std::string::npos);
  }
  Module module;
  Function* f = module.add("f", FunctionKind::function);
  f->add_argument(f->body, types::quat(types::i32()));
  Builder(*f, f->body).ret({});
  EXPECT_NE(verify(module).find("is not made of floats"), std::string::npos);
}

/// A function with a parameter %x: i32 and a builder at its end.
struct Fixture {
  Module module;
  Function* f = module.add("f", FunctionKind::function);
  Value* x = f->add_argument(f->body, types::i32(), "x");
  Builder b{*f, f->body};

  std::string finish() {
    b.ret({});
    return verify(module);
  }
};

TEST(VerifierInMemory, GoodFunctionHasNoViolations) {
  Fixture t;
  t.b.binary(OpCode::add, t.x, t.b.i32(1));
  EXPECT_EQ(t.finish(), "");
}

TEST(VerifierInMemory, UseBeforeDefinition) {
  Fixture t;
  Value* a = t.b.unary(OpCode::neg, t.x);
  Value* c = t.b.unary(OpCode::neg, t.x);
  a->op->operands[0] = c;
  EXPECT_NE(t.finish().find("operand 0 is not defined before or not visible here in '%0 = neg %1'"), std::string::npos);
}

TEST(VerifierInMemory, UseOutsideTheRegion) {
  Fixture t;
  Op* branch = t.b.if_op(t.b.boolean(true), {});
  Builder inner(*t.f, branch->regions[0]);
  Value* hidden = inner.unary(OpCode::neg, t.x);
  inner.yield({});
  Builder(*t.f, branch->regions[1]).yield({});
  t.b.unary(OpCode::neg, hidden);
  EXPECT_NE(t.finish().find("not visible here"), std::string::npos);
}

TEST(VerifierInMemory, ValuesOfAnotherFunction) {
  Fixture t, other;
  t.b.unary(OpCode::neg, other.x);
  EXPECT_NE(t.finish().find("not visible here"), std::string::npos);
}

TEST(VerifierInMemory, IllTypedAndMisshapenOperations) {
  Fixture t;
  Value* a = t.b.unary(OpCode::neg, t.x);
  a->type = types::f32();
  EXPECT_NE(t.finish().find("neg: results must be (i32)"), std::string::npos);

  Fixture u;
  Op* branch = u.f->make_op(OpCode::if_, std::vector<Value*>{u.b.boolean(true)}, {}, 1);
  insert_op(u.f->body, branch);
  Builder(*u.f, branch->regions[0]).yield({});
  EXPECT_NE(u.finish().find("if has 2 regions, not 1"), std::string::npos);

  Fixture v;
  v.b.op_typed(OpCode::add, {}, {});
  EXPECT_NE(v.finish().find("add: takes 2 operands, not 0"), std::string::npos);

  Fixture w;
  Op* loop = w.b.for_op(w.x, w.x, w.x, {});
  w.f->add_argument(loop->regions[0], types::f32());
  Builder(*w.f, loop->regions[0]).yield({});
  EXPECT_NE(w.finish().find("the arguments of region 0 do not match what is carried"), std::string::npos);
}

TEST(VerifierInMemory, Attributes) {
  Fixture t;
  Op* add = t.b.binary(OpCode::add, t.x, t.x)->op;
  add->contract = true;
  add->num_indices = 1;
  add->callee = t.f;
  PathStep step{PathStep::index, false, true, 0};
  add->path = std::span<PathStep>(&step, 1);
  std::string text = t.finish();
  for (const char* rule : {"only dot and matmul contract", "only an access has indices", "only a call has a callee",
                           "only an access has a path", "a constant index does not wrap"})
    EXPECT_NE(text.find(rule), std::string::npos) << rule << text;
}

TEST(VerifierInMemory, CallsAndOrder) {
  Fixture t;
  t.b.call(t.f, std::vector<Value*>{t.x});
  EXPECT_NE(t.finish().find("a function calls itself"), std::string::npos);

  Module module;
  Function* caller = module.add("caller", FunctionKind::function);
  Function* callee = module.add("callee", FunctionKind::function);
  Builder c(*caller, caller->body);
  c.call(callee, {});
  c.ret({});
  Builder(*callee, callee->body).ret({});
  EXPECT_NE(verify(module).find("calls @callee, which does not stand before it"), std::string::npos);
  EXPECT_EQ(verify(*caller), "");
  std::swap(module.functions[0], module.functions[1]);
  EXPECT_EQ(verify(module), "");
  module.functions[0]->name = "caller";
  EXPECT_NE(verify(module).find("two functions of this name"), std::string::npos);
}

TEST(VerifierInMemory, BrokenLinks) {
  Fixture t;
  Value* a = t.b.unary(OpCode::neg, t.x);
  t.b.ret({});
  a->op->next->prev = nullptr;
  EXPECT_NE(verify(t.module).find("linked wrongly"), std::string::npos);
}

}  // namespace
}  // namespace weft::ir
