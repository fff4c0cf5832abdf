// Which memory a kernel touches, by its parameters.
#include "analysis/param_memory.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace weft::analysis {
namespace {

constexpr std::uint8_t kReads = ParamMemory::kReads, kWrites = ParamMemory::kWrites;

ParamMemory memory_of(const std::string& lines, const std::string& called = "") {
  const std::string text =
      called + "kernel @k(%x: array<f32,1>, %y: array<f32,1>, %n: i32, %p: u64) form(rank 1) {\n  %i = tid 0\n" +
      lines + "  return\n}\n";
  DiagnosticSink sink;
  auto module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  EXPECT_TRUE(module) << sink.render_all();
  return module ? param_memory(*module) : ParamMemory{};
}

void expect_uses(const ParamMemory& memory, const std::vector<std::uint8_t>& uses) {
  EXPECT_TRUE(memory.all);
  EXPECT_FALSE(memory.prints);
  EXPECT_EQ(memory.uses, uses);
}

TEST(ParamMemories, LoadsStoresAndAtomics) {
  expect_uses(memory_of("  %v = load %x[%i]\n  store %y[%i], %v\n"), {kReads, kWrites, 0, 0});
  expect_uses(memory_of("  %o = atomic add %y[%n], 1.0f32\n"), {0, kReads | kWrites, 0, 0});
  expect_uses(memory_of("  %c = lt %i, %n\n  %a = select %c, %x, %y\n  store %a[%i], 1.0f32\n"),
              {kWrites, kWrites, 0, 0});
  expect_uses(
      memory_of("  %a = local : array<f32,1> [4]\n  store %a[%n], 1.0f32\n  %v = load %a[%i]\n  store %x[%i], %v\n"),
      {kWrites, 0, 0, 0});
  expect_uses(memory_of(""), {0, 0, 0, 0});
}

TEST(ParamMemories, WhatFunctionsDoIsTheirCallers) {
  const std::string f =
      "func @f(%a: array<f32,1>, %b: array<f32,1>) -> (f32) {\n  %v = load %a[0i32]\n  store %b[0i32], %v\n  return %v\n}\n";
  expect_uses(memory_of("  %v = call @f(%y, %x)\n", f), {kWrites, kReads, 0, 0});
}

TEST(ParamMemories, WhatABlockShowsItsThreadsIsNotOthers) {
  expect_uses(memory_of("  %v = load %x[%i]\n  barrier\n  store %y[%i], %v\n"), {kReads, kWrites, 0, 0});
}

TEST(ParamMemories, AddressesLeadAnywhere) {
  EXPECT_FALSE(memory_of("  %a = from_ptr %p, 4i64 : array<f32,1>\n  store %a[%i], 1.0f32\n").all);
  EXPECT_FALSE(memory_of("  %q = data_ptr %x\n").all);
  const std::string f =
      "func @f(%p: u64) -> (f32) {\n  %a = from_ptr %p, 4i64 : array<f32,1>\n  %v = load %a[0i32]\n  return %v\n}\n";
  EXPECT_FALSE(memory_of("  %v = call @f(%p)\n  store %y[%i], %v\n", f).all);
}

TEST(ParamMemories, GradientsAreMemoryOfTheirOwn) {
  expect_uses(memory_of("  %g = gradient %x\n  %v = load %g[%i]\n  %h = gradient %y\n  %o = atomic add %h[%i], %v\n"),
              {kReads * ParamMemory::kGradient, (kReads | kWrites) * ParamMemory::kGradient, 0, 0});
}

TEST(ParamMemories, PrintsAreToldApart) {
  const ParamMemory memory = memory_of("  printf \"%d\\n\", %n\n  store %y[%i], 1.0f32\n");
  EXPECT_TRUE(memory.all && memory.prints);
  EXPECT_EQ(memory.uses, (std::vector<std::uint8_t>{0, kWrites, 0, 0}));
}

}  // namespace
}  // namespace weft::analysis
