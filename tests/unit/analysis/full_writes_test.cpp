// Which arrays a launch writes in full, and what stands against it.
#include "analysis/full_writes.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace weft::analysis {
namespace {

/// A letter for each parameter: f where the launch fills it.
std::string filled(const std::string& body) {
  auto source = std::make_shared<SourceFile>(
      "t.wir",
      "kernel @k(%a: array<f32,2>, %b: array<f32,2>, %r: array<f32,1>, %v: array<vec<f32,3>,2>, %s: f32) "
      "form(rank 2) {\n  %i = tid 0\n  %j = tid 1\n" +
          body + "  return\n}\n");
  DiagnosticSink sink;
  auto module = ir::parse_module(source, sink);
  EXPECT_TRUE(module) << sink.render_all();
  if (!module) return {};
  std::string out;
  for (bool one : full_writes(*module->functions.back())) out += one ? 'f' : '-';
  return out;
}

TEST(FullWrites, OwnElements) {
  EXPECT_EQ(filled("  %x = load %b[%i, %j]\n  store %a[%i, %j], %x\n"), "f----");
  EXPECT_EQ(filled("  %w = cast %i : i64\n  store %a[%w, %j], %s\n  store %b[%i, %j], %s\n"), "ff---");
  EXPECT_EQ(filled("  store %a[%i, %j], %s\n  store %a[0i32, 0i32], %s\n"), "f----");  // and another one besides
}

TEST(FullWrites, OtherPlaces) {
  EXPECT_EQ(filled("  store %a[%j, %i], %s\n"), "-----");
  EXPECT_EQ(filled("  store %a[%i, 0i32], %s\n"), "-----");
  EXPECT_EQ(filled("  %k = add %j, 1i32\n  store %a[%i, %k], %s\n"), "-----");
  EXPECT_EQ(filled("  %k = cast %j : i8\n  store %a[%i, %k], %s\n"), "-----");
  EXPECT_EQ(filled("  store %r[%i], %s\n"), "-----");  // fewer dimensions than the launch
  EXPECT_EQ(filled("  store %v[%i, %j][1i32], %s\n"), "-----");
}

TEST(FullWrites, WaysThroughTheKernel) {
  const std::string test = "  %c = lt %s, 0.0f32\n  if %c {\n";
  EXPECT_EQ(filled(test + "    store %a[%i, %j], %s\n    yield\n  } else {\n    yield\n  }\n"), "-----");
  EXPECT_EQ(
      filled(test + "    store %a[%i, %j], %s\n    yield\n  } else {\n    store %a[%i, %j], 1.0f32\n    yield\n  }\n"),
      "f----");
  EXPECT_EQ(filled("  for %k = 0i32 to %j step 1i32 {\n    store %a[%i, %j], %s\n    yield\n  }\n"), "-----");
}

TEST(FullWrites, WhoLooksAtWhatIsThere) {
  EXPECT_EQ(filled("  %x = load %a[%i, %j]\n  store %a[%i, %j], %x\n"), "-----");
  EXPECT_EQ(filled("  %x = atomic add %a[%i, %j], %s\n"), "-----");
  EXPECT_EQ(filled("  %w = view %a[%i]\n  store %w[%j], %s\n"), "-----");
  EXPECT_EQ(filled("  %g = gradient %a\n  %x = load %g[%i, %j]\n  store %a[%i, %j], %x\n"), "-----");
  EXPECT_EQ(filled("  %e = dim %a, 0 : i32\n  %x = cast %e : f32\n  store %a[%i, %j], %x\n"), "f----");
}

}  // namespace
}  // namespace weft::analysis
