// inline_calls and unroll: what they expand, and where they stop.
#include "analysis/uses.h"
#include "ir_text.h"
#include "passes/inline_calls.h"
#include "passes/unroll.h"

namespace weft::testing {
namespace {

void inline_all(ir::Module& module) { passes::inline_calls(module); }
void unroll(ir::Module& module) {
  for (auto& function : module.functions) passes::unroll(*function);
}

TEST(Inline, CopiesTheBodyAndItsResults) {
  std::string callee =
      "func @f(%v: f32, %k: i32) -> (f32, i32) {\n%1 = add %v, 1.0f32\n%2 = mul %k, 2i32\nreturn %1, %2\n}\n";
  expect_rewrite(inline_all, callee + in_kernel("%r, %s = call @f(%a, %i)\n%t, %u = call @f(%r, %s)\nstore %x[%u], %t"),
                 callee + in_kernel("%1 = add %a, 1.0f32\n%2 = mul %i, 2i32\n%3 = add %1, 1.0f32\n%4 = mul %2, 2i32\n"
                                    "store %x[%4], %3"));
}

TEST(Inline, ParametersAndConstantsMayBeReturned) {
  std::string callee = "func @f(%v: f32, %k: i32) -> (i32, f32) {\nreturn 7i32, %v\n}\n";
  expect_rewrite(inline_all, callee + in_kernel("%r, %s = call @f(%a, %i)\nstore %x[%r], %s"),
                 callee + in_kernel("store %x[7i32], %a"));
}

std::string body_of(int ops) {
  std::string text = "%t0 = add %v, 1.0f32\n";
  for (int k = 1; k < ops; ++k) text += "%t" + std::to_string(k) + " = mul %t" + std::to_string(k - 1) + ", %v\n";
  return text + "return %t" + std::to_string(ops - 1) + "\n}\n";
}

TEST(Inline, LargeCalleesOnlyWhenCalledOnce) {
  std::string once =
      "func @big(%v: f32) -> (f32) {\n" + body_of(200) + in_kernel("%1 = call @big(%a)\nstore %x[0i32], %1");
  std::string twice = "func @big(%v: f32) -> (f32) {\n" + body_of(200) +
                      in_kernel("%1 = call @big(%a)\n%2 = call @big(%1)\nstore %x[0i32], %2");
  auto module = parse_ir(once);
  passes::inline_calls(*module);
  EXPECT_EQ(analysis::count_ops(*module->functions.back()->body), 201u);
  module = parse_ir(twice);
  EXPECT_FALSE(passes::inline_calls(*module));
}

TEST(Inline, WhatDrawsForNobodyMayBeLarger) {
  std::string callee =
      "func @draw(%n: array<i32,1>, %y: array<f32,1>, %v: f32) -> (f32) {\n"
      "%d = atomic add %n[0i32], 1i32\nstore %y[%d], %v\n" +
      body_of(60);
  std::string head = "kernel @k(%n: array<i32,1>, %y: array<f32,1>, %a: f32) {\n";
  std::string calls = "%1 = call @draw(%n, %y, %a)\n%2 = call @draw(%n, %y, %a)\n";
  passes::InlineLimits draws;
  draws.draws = true;
  EXPECT_FALSE(passes::inline_calls(*parse_ir(callee + head + calls + "return\n}\n")));
  EXPECT_TRUE(passes::inline_calls(*parse_ir(callee + head + calls + "return\n}\n"), draws));
  auto module = parse_ir(callee + head + calls + "store %y[0i32], %2\nreturn\n}\n");
  EXPECT_TRUE(passes::inline_calls(*module, draws));
  EXPECT_EQ(analysis::count_ops(*module->functions.back()->body),
            64u);  // the first call; somebody wants what the second gives
}

TEST(Inline, ATreeOfDoubledCallsStaysSmall) {
  std::string text = "func @f0(%v: f32) -> (f32) {\n%1 = mul %v, %v\n%2 = add %1, %v\nreturn %2\n}\n";
  for (int level = 1; level <= 20; ++level) {
    std::string callee = "@f" + std::to_string(level - 1);
    text += "func @f" + std::to_string(level) + "(%v: f32) -> (f32) {\n%1 = call " + callee + "(%v)\n%2 = call " +
            callee + "(%1)\nreturn %2\n}\n";
  }
  auto module = parse_ir(text + in_kernel("%1 = call @f20(%a)\nstore %x[0i32], %1"));
  passes::inline_calls(*module);
  EXPECT_EQ(ir::verify(*module), "");
  std::size_t total = 0;
  for (auto& function : module->functions) total += analysis::count_ops(*function->body);
  EXPECT_LT(total, 2000u);
}

TEST(Inline, AManyTimesCalledFunctionStopsAtTheGrowthLimit) {
  std::string text = "func @f(%v: f32) -> (f32) {\n" + body_of(40);
  std::string calls = "%c0 = add %a, %b\n";
  for (int k = 1; k <= 1000; ++k) calls += "%c" + std::to_string(k) + " = call @f(%c" + std::to_string(k - 1) + ")\n";
  auto module = parse_ir(text + in_kernel(calls + "store %x[0i32], %c1000"));
  passes::inline_calls(*module);
  EXPECT_EQ(ir::verify(*module), "");
  EXPECT_LT(analysis::count_ops(*module->functions.back()->body), 6000u);
}

TEST(Inline, TestsStayPure) {
  std::string callee =
      "func @f(%k: i32) -> (i32) {\n%l = local : array<i32,1> [4]\n%1 = load %l[0i32]\n%2 = add %1, %k\nreturn %2\n}\n";
  auto module =
      parse_ir(callee + in_kernel("%r = while (%p = 0i32) {\n %1 = call @f(%p)\n %2 = lt %1, %i\n test %2\n} do {\n"
                                  " %3 = add %p, 1i32\n yield %3\n}\nstore %n[0i32], %r"));
  passes::inline_calls(*module);
  EXPECT_EQ(ir::verify(*module), "");
}

TEST(Unroll, EveryTripGetsItsConstants) {
  expect_rewrite(
      unroll,
      in_kernel("%s = for %k = 1i32 to 6i32 step 2i32 (%p = %a) {\n %1 = add %p, %b\n store %x[%k], %1\n yield %1\n}\n"
                "store %y[0i32], %s"),
      in_kernel("%1 = add %a, %b\nstore %x[1i32], %1\n%2 = add %1, %b\nstore %x[3i32], %2\n%3 = add %2, %b\n"
                "store %x[5i32], %3\nstore %y[0i32], %3"));
}

TEST(Unroll, DownwardsAndSwappedCarries) {
  expect_rewrite(
      unroll,
      in_kernel("%s, %t = for %k = 2i64 to 0i64 step -1i64 (%p = %a, %q = %b) {\n store %x[%k], %p\n yield %q, %p\n}\n"
                "store %y[0i32], %s\nstore %y[1i32], %t"),
      in_kernel("store %x[2i64], %a\nstore %x[1i64], %b\nstore %y[0i32], %a\nstore %y[1i32], %b"));
}

TEST(Unroll, LongOrUnknownLoopsStay) {
  std::string seventeen = in_kernel("for %k = 0i32 to 17i32 step 1i32 {\n store %x[%k], %a\n yield\n}");
  expect_rewrite(unroll, seventeen, seventeen);
  std::string unknown = in_kernel("for %k = 0i32 to %i step 1i32 {\n store %x[%k], %a\n yield\n}");
  expect_rewrite(unroll, unknown, unknown);
}

TEST(Unroll, ThreeNestedSixteensUnrollOnce) {
  std::string text = in_kernel(
      "for %p = 0i32 to 16i32 step 1i32 {\n for %q = 0i32 to 16i32 step 1i32 {\n  for %r = 0i32 to 16i32 step 1i32 {\n"
      "   %1 = add %p, %q\n   %2 = add %1, %r\n   store %x[%2], %a\n   yield\n  }\n  yield\n }\n yield\n}");
  auto module = parse_ir(text);
  passes::unroll(*module->functions.back());
  EXPECT_EQ(ir::verify(*module), "");
  EXPECT_EQ(analysis::count_ops(*module->functions.back()->body), 2u + 16 * 3);
}

TEST(Unroll, ManyLoopsStopAtTheGrowthLimit) {
  std::string text;
  for (int k = 0; k < 400; ++k)
    text += "for %k" + std::to_string(k) + " = 0i32 to 16i32 step 1i32 {\n store %x[%k" + std::to_string(k) +
            "], %a\n store %y[%k" + std::to_string(k) + "], %a\n yield\n}\n";
  auto module = parse_ir(in_kernel(text));
  passes::unroll(*module->functions.back());
  EXPECT_LT(analysis::count_ops(*module->functions.back()->body), 400u * 3 + 8192 + 1);
}

}  // namespace
}  // namespace weft::testing
