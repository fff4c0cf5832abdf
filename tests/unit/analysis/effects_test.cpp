// What a function does to memory that is none of its parameters': which of it has a say in what comes out.
#include "analysis/effects.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace weft::analysis {
namespace {

/// Effects of a function that is called with an address, a place and an array; `caller` is asked about if it is not empty.
FunctionEffects effects_of(const std::string& lines, const std::string& caller = "") {
  std::string text = "func @f(%p: u64, %i: i32, %x: array<f32,1>) -> (f32) {\n" + lines + "\n}\n";
  if (!caller.empty()) text += "func @g(%p: u64, %i: i32, %x: array<f32,1>) -> (f32) {\n" + caller + "\n}\n";
  DiagnosticSink sink;
  auto module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  EXPECT_TRUE(module) << sink.render_all();
  if (!module) return {};
  Effects effects;
  return effects.of(*module->functions.back());
}

const std::string kMemory = "%a = from_ptr %p, 4i64 : array<f32,1>\n";

TEST(Effects, AnAdditionWhoseResultNobodyUsesReadsNothing) {
  const FunctionEffects does = effects_of(kMemory + "%old = atomic add %a[%i], 1.0f32\nreturn 0.0f32");
  EXPECT_FALSE(does.reads_elsewhere) << "what was there has no say in anything";
  EXPECT_TRUE(does.writes_unknown);
  EXPECT_FALSE(does.removable());
}

TEST(Effects, OneWhoseResultIsUsedDoes) {
  EXPECT_TRUE(effects_of(kMemory + "%old = atomic add %a[%i], 1.0f32\nreturn %old").reads_elsewhere);
  EXPECT_TRUE(
      effects_of(kMemory + "%old = atomic add %a[%i], 1.0f32\nstore %x[%i], %old\nreturn 0.0f32").reads_elsewhere);
  const std::string inside = "%c = eq %i, 0i32\n%r = if %c : f32 {\nyield %old\n} else {\nyield 0.0f32\n}\nreturn %r";
  EXPECT_TRUE(effects_of(kMemory + "%old = atomic add %a[%i], 1.0f32\n" + inside).reads_elsewhere);
}

TEST(Effects, OtherAtomicsKeepWhatWasThere) {
  EXPECT_TRUE(effects_of(kMemory + "%old = atomic max %a[%i], 1.0f32\nreturn 0.0f32").reads_elsewhere);
  EXPECT_TRUE(effects_of(kMemory + "%v = load %a[%i]\nreturn %v").reads_elsewhere);
  EXPECT_FALSE(effects_of(kMemory + "store %a[%i], 1.0f32\nreturn 0.0f32").reads_elsewhere);
}

TEST(Effects, AnAdditionToAParameterIsARead) {
  // Of arrays that have a name, the additions that others must see are told apart where they are differentiated.
  const FunctionEffects does = effects_of("%old = atomic add %x[%i], 1.0f32\nreturn 0.0f32");
  EXPECT_TRUE(does.writes[2]);
  EXPECT_FALSE(does.reads_elsewhere);
}

TEST(Effects, CallersDoWhatTheyCall) {
  const std::string adds = kMemory + "%old = atomic add %a[%i], 1.0f32\nreturn 0.0f32";
  const std::string uses = kMemory + "%old = atomic add %a[%i], 1.0f32\nreturn %old";
  const std::string call = "%r = call @f(%p, %i, %x)\nreturn %r";
  EXPECT_FALSE(effects_of(adds, call).reads_elsewhere);
  EXPECT_TRUE(effects_of(uses, call).reads_elsewhere);
  EXPECT_TRUE(effects_of(adds, call).writes_unknown);
}

}  // namespace
}  // namespace weft::analysis
