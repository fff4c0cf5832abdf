// Functions and operations in memory: constants, growing lists, links, purity, the builder's refusals.
#include "ir/ir.h"

#include <cmath>

#include "util.h"

namespace weft::ir {
namespace {

TEST(Names, OfOperationsAndKinds) {
  EXPECT_EQ(name_of(OpCode::if_), "if");
  EXPECT_EQ(name_of(OpCode::return_), "return");
  EXPECT_EQ(name_of(OpCode::assert_), "assert");
  EXPECT_EQ(name_of(OpCode::bit_and), "bit_and");
  EXPECT_EQ(class_of(OpCode::sin), OpClass::math);
  EXPECT_EQ(effect_of(OpCode::load), Effect::read);
  EXPECT_EQ(name_of(AtomicKind::cas), "cas");
  EXPECT_EQ(name_of(CheckKind::divide_by_zero), "divide_by_zero");
}

TEST(Constants, AreUniquePerFunction) {
  Function f("f", FunctionKind::function);
  EXPECT_EQ(f.constant_int(types::i32(), 7), f.constant_int(types::i32(), 7));
  EXPECT_NE(f.constant_int(types::i32(), 7), f.constant_int(types::i64(), 7));
  EXPECT_EQ(f.constant_int(types::i32(), -1)->bits, 0xffffffffu);
  EXPECT_EQ(f.constant_int(types::i32(), -1)->as_int(), -1);
  EXPECT_EQ(f.constant_int(types::u32(), -1)->as_int(), 0xffffffff);
  EXPECT_EQ(f.constant_bool(true)->as_int(), 1);
  EXPECT_EQ(f.constant_float(types::f32(), 0.1)->as_float(), double(0.1f));
  EXPECT_EQ(f.constant_float(f16(), 0.1)->bits, 0x2e66u);
  EXPECT_TRUE(f.zero(vec3())->is_zero());
  EXPECT_FALSE(f.constant_float(types::f32(), -0.0)->is_zero());
  EXPECT_EQ(f.zero(vec3()), f.zero(vec3()));
  EXPECT_THROW(f.constant(vec3(), 1), InternalError);
  EXPECT_THROW(f.constant(types::i32(), std::uint64_t(1) << 32), InternalError);
  EXPECT_THROW(f.constant(types::boolean(), 2), InternalError);
  EXPECT_THROW(f.constant_float(types::i32(), 1), InternalError);
  EXPECT_THROW(f.zero(types::f32())->as_int(), InternalError);
}

TEST(Lists, GrowOneByOne) {
  Function f("f", FunctionKind::function);
  Builder b(f, f.body);
  Op* loop = b.for_op(b.i32(0), b.i32(9), b.i32(1), {});
  Region* body = loop->regions[0];
  for (int i = 0; i < 1000; ++i) {
    f.append_operand(loop, b.i32(i));
    Value* result = f.append_result(loop, types::i32(), "r");
    Value* arg = f.add_argument(body, types::i32());
    ASSERT_EQ(result->index, std::uint32_t(i));
    ASSERT_EQ(arg->index, std::uint32_t(i + 1));
    ASSERT_EQ(result->op, loop);
  }
  ASSERT_EQ(loop->operands.size(), 1003u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(loop->operand(std::size_t(i) + 3)->as_int(), i);
  EXPECT_LT(f.arena.bytes_reserved(), 600000u);
  Builder(f, body).yield(std::vector<Value*>(body->args.begin() + 1, body->args.end()));
  b.ret({});
  EXPECT_EQ(verify(f), "");
}

TEST(Lists, ReplacedSpansStillGrow) {
  Function f("f", FunctionKind::function);
  Builder b(f, f.body);
  Op* print = b.op(OpCode::print, {});
  for (int i = 0; i < 5; ++i) f.append_operand(print, b.i32(i));
  std::vector<Value*> own = {b.i32(8)};
  print->operands = own;
  f.append_operand(print, b.i32(9));
  ASSERT_EQ(print->operands.size(), 2u);
  EXPECT_EQ(print->operand(0)->as_int(), 8);
  EXPECT_EQ(print->operand(1)->as_int(), 9);
  print->operands = print->operands.first(1);
  f.append_operand(print, b.i32(7));
  EXPECT_EQ(print->operand(1)->as_int(), 7);
}

TEST(Links, InsertAndRemove) {
  Function f("f", FunctionKind::function);
  Builder b(f, f.body);
  Op* first = b.op(OpCode::running, {});
  Op* last = b.op(OpCode::running, {});
  Builder middle(f, f.body, last);
  Op* between = middle.op(OpCode::running, {});
  EXPECT_EQ(first->next, between);
  EXPECT_EQ(last->prev, between);
  EXPECT_THROW(insert_op(f.body, between), InternalError);
  for (Op& op : *f.body)
    if (&op == between) remove_op(&op);
  EXPECT_EQ(first->next, last);
  EXPECT_EQ(between->parent, nullptr);
  EXPECT_THROW(remove_op(between), InternalError);
  remove_op(first);
  remove_op(last);
  EXPECT_EQ(f.body->first, nullptr);
  EXPECT_EQ(f.body->last, nullptr);
}

TEST(Modules, FindByName) {
  Module module;
  Function* f = module.add("f", FunctionKind::kernel);
  EXPECT_EQ(module.find("f"), f);
  EXPECT_EQ(module.find("g"), nullptr);
}

TEST(BuilderRefuses, WhatIsIllTyped) {
  Function f("f", FunctionKind::function);
  Builder b(f, f.body);
  EXPECT_THROW(b.binary(OpCode::add, b.i32(1), b.i64(1)), InternalError);
  EXPECT_THROW(b.cast(b.zero(vec3()), types::f32()), InternalError);
  EXPECT_THROW(b.extract(b.zero(vec3()), 3), InternalError);
  EXPECT_THROW(b.tid(4), InternalError);
  EXPECT_EQ(f.body->first, nullptr);
}

TEST(Builder, MakesEveryShape) {
  Module module;
  Function* f = module.add("k", FunctionKind::kernel);
  Value* a = f->add_argument(f->body, types::array(vec3(), 2), "a");
  Value* n = f->add_argument(f->body, types::array(types::i32(), 1), "n");
  Builder b(*f, f->body);
  Value* i = b.tid(0);
  Value* index[] = {i, b.i64(2)};
  PathStep component{PathStep::index, true, true, 0};
  Value* dynamic[] = {i};
  Value* x = b.load(a, index, 1, std::span<const PathStep>(&component, 1), dynamic);
  b.store(a, index, 0, std::span<const PathStep>(&component, 1), dynamic, x);
  Value* at[] = {i};
  b.atomic(AtomicKind::cas, n, at, 1, {}, {}, b.i32(1), b.i32(2));
  Value* row = b.view(a, at, 1);
  b.slice(row, 0, b.i64(0), b.i64(4), b.i64(1));
  b.dim(a, 1, types::i64());
  std::int64_t shape[] = {4};
  b.local(types::array(types::f32(), 1), shape);
  Value* v = b.splat(vec3(), x);
  v = b.insert(v, x, 1);
  v = b.insert(v, x, std::span<const PathStep>(&component, 1), dynamic);
  b.select(b.boolean(true), v, b.construct(vec3(), std::vector<Value*>{x, x, x}));
  b.bitcast(x, types::u32());
  b.ternary(OpCode::fma, v, x, v);
  Value* init[] = {x};
  Op* loop = b.while_op(init);
  Builder test(*f, loop->regions[0]);
  test.test(test.binary(OpCode::lt, loop->regions[0]->args[0], x));
  Builder body(*f, loop->regions[1]);
  body.yield(std::span<Value* const>(&loop->regions[1]->args[0], 1));
  b.ret({});
  EXPECT_EQ(verify(module), "");
  EXPECT_EQ(print(*parsed(print(module))), print(module));
  EXPECT_NE(print(module).find("%1 = load %a[%0~, 2i64][%0~]"), std::string::npos) << print(module);
  EXPECT_NE(print(module).find("atomic cas %n[%0~], 2i32, 1i32"), std::string::npos) << print(module);
}

TEST(Builder, PassesLocationsOn) {
  Function f("f", FunctionKind::function);
  Builder b(f, f.body);
  b.set_loc({nullptr, 7, 3});
  EXPECT_EQ(b.op(OpCode::running, {})->loc.line, 7u);
}

Op* first_op(const Module& module) { return module.functions.back()->body->first; }

TEST(Purity, OfSingleOperations) {
  struct Case {
    const char* line;
    bool pure, removable;
  };
  for (const Case& c :
       {Case{"%r = add %f, %g", true, true}, Case{"%r = load %a[%i]", false, true},
        Case{"store %a[%i], %f", false, false}, Case{"%r = atomic add %a[%i], %f", false, false},
        Case{"%r = view %a2[%i]", true, true}, Case{"%r = local : array<f32,1> [4]", false, true},
        Case{"%r = running", false, true}, Case{"%r = tid 0", true, true}, Case{"print \"\"", false, false},
        Case{"assert %b, \"\"", false, false}, Case{"check bounds %b, \"\", %i, %i", false, false},
        Case{"call @none()", true, true}, Case{"if %b { yield } else { yield }", true, true},
        Case{"while () { test %b } do { yield }", true, true},
        Case{"for %n = %i to %i step %i { %x = load %a[%n] yield }", false, true},
        Case{"if %b { yield } else { for %n = %i to %i step %i { store %a[%n], %f yield } yield }", false, false},
        Case{"if %b { %r = local : array<f32,1> [4] yield } else { yield }", false, true}}) {
    auto module = parsed(kernel_text(c.line));
    ASSERT_TRUE(module);
    EXPECT_EQ(is_pure(*first_op(*module)), c.pure) << c.line;
    EXPECT_EQ(is_removable(*first_op(*module)), c.removable) << c.line;
  }
  auto module = parsed(kernel_text(""));
  EXPECT_FALSE(is_pure(*first_op(*module)));
  EXPECT_FALSE(is_removable(*first_op(*module)));
}

TEST(Purity, TreesAndChainsOfCallsAreCheap) {
  // Each function calls the one before twice: walking every path would take 2^n steps; recursion would go n deep.
  auto build = [](const char* leaf) {
    std::string text = std::string("func @f0(%a: array<f32,1>) { ") + leaf + " return }\n";
    for (int i = 1; i < 20000; ++i) {
      std::string inner = "call @f" + std::to_string(i - 1) + "(%a) ";
      text += "func @f" + std::to_string(i) + "(%a: array<f32,1>) { " + inner + inner + "return }\n";
    }
    return parsed(text);
  };
  auto pure = build(""), reads = build("%x = load %a[0i32]"), writes = build("store %a[0i32], 1.0f32");
  EXPECT_TRUE(is_pure(*first_op(*pure)));
  EXPECT_FALSE(is_pure(*first_op(*reads)));
  EXPECT_TRUE(is_removable(*first_op(*reads)));
  EXPECT_FALSE(is_removable(*first_op(*writes)));
}

}  // namespace
}  // namespace weft::ir
