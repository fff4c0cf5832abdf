// When the order of threads can be seen in what a kernel's atomic operations leave behind.
#include "analysis/sum_order.h"

#include <gtest/gtest.h>

#include "analysis/private_sums.h"
#include "ir/text.h"

namespace weft::analysis {
namespace {

SumOrder order_of(const std::string& body, bool marked = true, const std::string& functions = "") {
  auto source = std::make_shared<SourceFile>(
      "t.wir", functions +
                   "kernel @k(%a: array<f32,1>, %n: array<i32,1>, %b: array<f32,1>) form(no_overlap, rank 1) {\n" +
                   "  %i = tid 0\n" + body + "  return\n}\n");
  DiagnosticSink sink;
  auto module = ir::parse_module(source, sink);
  EXPECT_TRUE(module) << sink.render_all();
  if (marked) mark_private_sums(*module->functions.back());
  return sum_order(*module->functions.back());
}

constexpr const char* kSum = "  %v = load %b[%i]\n  %o = atomic add %a[0i32], %v\n";

TEST(SumOrder, IntegersAndExtremesAreFree) {
  EXPECT_EQ(order_of("  store %a[%i], 1.0f32\n"), SumOrder::free);
  EXPECT_EQ(order_of("  %o = atomic add %n[0i32], 1i32\n"), SumOrder::free);
  EXPECT_EQ(order_of("  %o = atomic max %n[0i32], %i\n"), SumOrder::free);
}

TEST(SumOrder, OfTwoZerosTheLastStays) {
  for (const std::string kind : {"min", "max"}) {
    EXPECT_EQ(order_of("  %v = load %b[%i]\n  %o = atomic " + kind + " %a[0i32], %v\n"), SumOrder::all);
    for (const char* sum : {"%v, 0.0f32", "0.0f32, %v"})
      EXPECT_EQ(order_of("  %v = load %b[%i]\n  %w = add " + std::string(sum) + "\n  %o = atomic " + kind +
                         " %a[0i32], %w\n"),
                SumOrder::free);
    EXPECT_EQ(order_of("  %v = load %b[%i]\n  %w = add %v, -0.0f32\n  %o = atomic " + kind + " %a[0i32], %w\n"),
              SumOrder::all);
    EXPECT_EQ(order_of("  %o = atomic " + kind + " %a[0i32], 0.0f32\n"), SumOrder::free);
    EXPECT_EQ(order_of("  %o = atomic " + kind + " %a[0i32], -1.0f32\n"), SumOrder::free);
    EXPECT_EQ(order_of("  %o = atomic " + kind + " %a[0i32], -0.0f32\n"), SumOrder::all);
  }
}

TEST(SumOrder, SumsOfFloats) {
  EXPECT_EQ(order_of(kSum), SumOrder::lone_sums);
  EXPECT_EQ(order_of(kSum, false), SumOrder::all) << "a GPU has no copies of its arrays";
  EXPECT_EQ(order_of(std::string(kSum) + "  %r = load %a[1i32]\n  store %b[%i], %r\n"), SumOrder::all);
}

TEST(SumOrder, ValuesBefore) {
  EXPECT_EQ(order_of("  %o = atomic add %n[0i32], 1i32\n  store %n[%o], %i\n"), SumOrder::all);
  EXPECT_EQ(order_of("  %o = atomic exch %n[0i32], %i\n"), SumOrder::all);
}

TEST(SumOrder, PrivateMemoryHasNoOrder) {
  EXPECT_EQ(order_of("  %l = local : array<f32,1> [2]\n  %o = atomic add %l[0i32], 1.0f32\n  store %a[%i], %o\n"),
            SumOrder::free);
}

TEST(SumOrder, KindsThatMixHaveOne) {
  EXPECT_EQ(order_of("  %o = atomic min %n[0i32], %i\n  %p = atomic max %n[0i32], %i\n"), SumOrder::all);
  EXPECT_EQ(order_of("  %o = atomic add %n[0i32], %i\n  %v = load %n[0i32]\n  store %b[%v], 1.0f32\n"), SumOrder::all);
  EXPECT_EQ(order_of("  %o = atomic bit_or %n[0i32], %i\n  store %n[%i], 1i32\n"), SumOrder::all);
  EXPECT_EQ(order_of("  %o = atomic add %n[0i32], %i\n  %p = atomic add %n[1i32], 1i32\n  %v = load %b[%i]\n"
                     "  store %a[%i], %v\n"),
            SumOrder::free);
  EXPECT_EQ(order_of(std::string(kSum) + "  %p = atomic max %n[0i32], %i\n"), SumOrder::lone_sums);
}

TEST(SumOrder, FunctionsCount) {
  const std::string g = "func @f(%x: array<i32,1>) {\n  %o = atomic add %x[0i32], 1i32\n  return\n}\n";
  EXPECT_EQ(order_of("  call @f(%n)\n", true, g), SumOrder::all);
  const std::string f = "func @f(%x: array<f32,1>) {\n  %o = atomic add %x[0i32], 1.0f32\n  return\n}\n";
  EXPECT_EQ(order_of("  call @f(%a)\n", true, f), SumOrder::all);
}

}  // namespace
}  // namespace weft::analysis
