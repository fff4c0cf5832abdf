// Which kernels keep to rows of their own, and what counts as leaving them.
#include "analysis/own_rows.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace weft::analysis {
namespace {

std::string uses(const std::string& body) {
  auto source = std::make_shared<SourceFile>(
      "t.wir", "kernel @k(%a: array<f32,1>, %m: array<f32,2>, %n: array<i32,1>, %s: f32) form(rank 2) {\n" + body +
                   "  return\n}\n");
  DiagnosticSink sink;
  auto module = ir::parse_module(source, sink);
  EXPECT_TRUE(module) << sink.render_all();
  if (!module) return {};
  const auto found = row_uses(*module->functions.back());
  if (!found) return "no";
  std::string out;
  for (RowUse use : *found) out += "-own"[std::size_t(use)];  // unused -, own o, whole w, added n
  return out;
}

TEST(OwnRows, RowsAndTables) {
  EXPECT_EQ(uses("  %i = tid 0\n  %v = load %a[%i]\n  store %a[%i], %v\n"), "o---");
  EXPECT_EQ(uses("  %i = tid 0\n  %j = tid 1\n  %k = load %n[%j]\n  %v = load %a[%k]\n  store %m[%i, %j], %v\n"),
            "wow-");
  EXPECT_EQ(uses("  %i = tid 0\n  %r = view %m[%i]\n  %v = load %r[2i32]\n  store %a[%i], %v\n"), "oo--");
  EXPECT_EQ(uses("  %i = tid 0\n  %w = cast %i : i64\n  store %a[%w], %s\n"), "o---");
}

TEST(OwnRows, SumsOverAll) {
  EXPECT_EQ(uses("  %i = tid 0\n  %v = load %a[%i]\n  %o = atomic add %m[0i32, 1i32], %v\n"), "on--");
  EXPECT_EQ(uses("  %i = tid 0\n  %o = atomic add %m[0i32, 1i32], %s\n  store %a[%i], %o\n"), "no");
  EXPECT_EQ(uses("  %o = atomic max %m[0i32, 1i32], %s\n"), "no");
  EXPECT_EQ(uses("  store %m[0i32, 1i32], %s\n"), "no");
}

TEST(OwnRows, TheIndexAsANumber) {
  EXPECT_EQ(uses("  %i = tid 0\n  %f = cast %i : f32\n  store %a[%i], %f\n"), "no");
  EXPECT_EQ(uses("  %i = tid 0\n  %j = add %i, 1i32\n  %v = load %a[%j]\n  store %a[%i], %v\n"), "no");
  EXPECT_EQ(uses("  %i = tid 0\n  %j = tid 1\n  store %m[%j, %i], %s\n"), "no");
  EXPECT_EQ(uses("  %t = thread\n  store %a[%t], %s\n"), "no");
  EXPECT_EQ(uses("  %i = tid 0\n  store %n[%i], %i\n"), "no");
}

TEST(OwnRows, BothOwnAndAnyRow) { EXPECT_EQ(uses("  %i = tid 0\n  %v = load %a[0i32]\n  store %a[%i], %v\n"), "no"); }

TEST(OwnRows, ExtentsOfRowsCountAsBoundsAlone) {
  EXPECT_EQ(
      uses(
          "  %i = tid 0\n  %e = dim %a, 0 : i32\n  %c = lt %i, %e\n  if %c {\n    store %a[%i], %s\n    yield\n  } else {\n    yield\n  }\n"),
      "o---");
  EXPECT_EQ(uses("  %i = tid 0\n  %e = dim %a, 0 : i32\n  store %n[%i], %e\n  store %a[%i], %s\n"), "no");
  EXPECT_EQ(uses("  %i = tid 0\n  %e = dim %a, 0 : i32\n  store %n[%i], %e\n"), "--o-");  // of an array that is not cut
  EXPECT_EQ(uses("  %i = tid 0\n  %e = dim %m, 1 : i32\n  store %n[%i], %e\n  store %m[%i, 0i32], %s\n"), "-oo-");
  EXPECT_EQ(
      uses(
          "  %i = tid 0\n  %e = dim %m, 0 : i32\n  %c = lt %i, %e\n  if %c {\n    store %a[%i], %s\n    yield\n  } else {\n    yield\n  }\n"),
      "no");
}

TEST(OwnRows, OtherMemory) {
  EXPECT_EQ(uses("  %i = tid 0\n  %l = local : array<f32,1> [4]\n  store %l[1i32], %s\n  %v = load %l[1i32]\n"
                 "  store %a[%i], %v\n"),
            "o---");
  EXPECT_EQ(uses("  %p = from_ptr 4096u64, 8i64 : array<f32,1>\n  store %p[0i32], %s\n"), "no");
  EXPECT_EQ(uses("  %p = slice %a, 0, 0i64, 2i64, 1i64\n  %v = load %p[0i32]\n"), "no");
}

}  // namespace
}  // namespace weft::analysis
