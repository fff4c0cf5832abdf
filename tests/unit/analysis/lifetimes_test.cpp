// Private arrays that must live longer than their memory.
#include "analysis/lifetimes.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace weft::analysis {
namespace {

/// Whether an array of a loop is used too long; `body` runs with %old, the array of before, and yields the next one.
bool outlives(const std::string& body, const std::string& head = "") {
  const std::string text =
      "kernel @k(%x: array<f32,1>, %n: i32, %c: bool) form(rank 1) {\n%first = local : array<f32,1> [4]\n" + head +
      "%last = for %i = 0i32 to %n step 1i32 (%old = %first) {\n" + body +
      "}\n%r = load %last[0i32]\nstore %x[0i32], %r\nreturn\n}\n";
  DiagnosticSink sink;
  auto module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  if (!module) {
    ADD_FAILURE() << sink.render_all();
    return false;
  }
  Effects effects;
  const ir::Function& kernel = *module->functions.back();
  return outliving_local(kernel, Alias(kernel, effects)) != nullptr;
}

constexpr const char* kMake = "%own = local : array<f32,1> [4]\n";

TEST(Lifetimes, TheLastArrayMayLeave) { EXPECT_FALSE(outlives(std::string(kMake) + "yield %own\n")); }

TEST(Lifetimes, ReadBeforeTheNextIsMade) {
  EXPECT_FALSE(outlives("%v = load %old[1i32]\n" + std::string(kMake) + "store %own[0i32], %v\nyield %own\n"));
}

TEST(Lifetimes, ReadWhenTheNextIsMade) {
  EXPECT_TRUE(outlives(std::string(kMake) + "%v = load %old[1i32]\nstore %own[0i32], %v\nyield %own\n"));
  EXPECT_TRUE(outlives("%part = slice %old, 0, 1i64, 3i64, 1i64\n" + std::string(kMake) +
                       "%v = load %part[1i32]\nstore %own[0i32], %v\nyield %own\n"));
}

TEST(Lifetimes, KeptOnOtherWaysThroughTheIteration) {
  EXPECT_FALSE(outlives("%next = if %c : array<f32,1> {\n" + std::string(kMake) +
                        "yield %own\n} else {\nyield %old\n}\n%v = load %next[0i32]\nyield %next\n"));
  EXPECT_TRUE(outlives(std::string(kMake) +
                       "%next = if %c : array<f32,1> {\nyield %own\n} else {\nyield %old\n}\nyield %next\n"));
  EXPECT_TRUE(outlives("%next = if %c : array<f32,1> {\n" + std::string(kMake) +
                       "%v = load %old[1i32]\nyield %own\n} else {\nyield %old\n}\nyield %next\n"));
}

TEST(Lifetimes, LoopsThatMayNotRun) {
  EXPECT_FALSE(outlives("%next = for %j = 0i32 to %n step 1i32 (%before = %old) {\n" + std::string(kMake) +
                        "yield %own\n}\n%v = load %next[0i32]\nyield %next\n"));
  EXPECT_TRUE(outlives("%next = for %j = 0i32 to %n step 1i32 (%before = %old) {\n" + std::string(kMake) +
                       "%v = load %old[0i32]\nyield %own\n}\nyield %next\n"));
}

TEST(Lifetimes, ArraysOfOutsideMayBeSwapped) {
  const std::string two = "%second = local : array<f32,1> [4]\n";
  EXPECT_FALSE(outlives("%v = load %old[0i32]\nstore %second[1i32], %v\nyield %second\n", two));
}

TEST(Lifetimes, ReturnedByAFunction) {
  DiagnosticSink sink;
  const std::string text = "func @f(%v: f32) -> (array<f32,1>) {\n%own = local : array<f32,1> [4]\nreturn %own\n}\n";
  auto module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  ASSERT_TRUE(module) << sink.render_all();
  Effects effects;
  EXPECT_TRUE(outliving_local(*module->functions[0], Alias(*module->functions[0], effects)));
}

}  // namespace
}  // namespace weft::analysis
