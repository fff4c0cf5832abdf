// Which arrays nobody writes while a kernel runs, and what fixed memory shares with others: nothing.
#include "analysis/read_only.h"

#include <gtest/gtest.h>

#include "analysis/alias.h"
#include "ir/text.h"

namespace weft::analysis {
namespace {

std::unique_ptr<ir::Module> kernel(const std::string& lines, const std::string& form = "form(no_overlap, rank 1)") {
  const std::string text =
      "struct %S { a: array<f32,1>, b: array<f32,1> }\n"
      "kernel @k(%x: array<f32,1>, %y: array<f32,1>, %s: %S, %p: u64, %c: bool) " +
      form + " {\n" + lines + "\nreturn\n}\n";
  DiagnosticSink sink;
  auto module = ir::parse_module(std::make_shared<SourceFile>("test.wir", text), sink);
  EXPECT_TRUE(module) << sink.render_all();
  return module;
}

/// Of %x and %y: which are read only.
std::pair<bool, bool> read_only(const std::string& lines, const std::string& form = "form(no_overlap, rank 1)") {
  auto module = kernel(lines, form);
  if (!module) return {};
  const std::vector<bool> found = read_only_arrays(*module->functions.back());
  return {found[0], found[1]};
}

using Both = std::pair<bool, bool>;

TEST(ReadOnly, WhatIsStoredToIsNot) {
  EXPECT_EQ(read_only("store %y[0i32], 1.0f32"), Both(true, false));
  EXPECT_EQ(read_only("%v = slice %y, 0, 0i64, 2i64, 1i64\n%o = atomic add %v[0i32], 1.0f32"), Both(true, false));
  EXPECT_EQ(read_only("store %y[0i32], 1.0f32", "form(rank 1)"), Both(false, false)) << "arrays may overlap";
}

TEST(ReadOnly, PrivateArraysAndThoseOfStructsAreOthers) {
  EXPECT_EQ(read_only("%l = local : array<f32,1> [4]\nstore %l[0i32], 1.0f32"), Both(true, true));
  EXPECT_EQ(read_only("%a = extract %s.0\nstore %a[0i32], 1.0f32"), Both(true, true));
}

TEST(ReadOnly, UnknownStoresEndAll) {
  EXPECT_EQ(read_only("%a = from_ptr %p, 4i64 : array<f32,1>\nstore %a[0i32], 1.0f32"), Both(false, false));
  EXPECT_EQ(read_only("%a = select %c, %x, %y\nstore %a[0i32], 1.0f32"), Both(false, false));
  EXPECT_EQ(read_only("%g = gradient %x\nstore %g[0i32], 1.0f32"), Both(false, false));
}

TEST(Alias, FixedMemoryIsNobodysElse) {
  auto module = kernel(
      "%f = from_ptr(fixed) %p, 4i64 : array<f32,1>\n%v = load %f[0i32]\nstore %x[0i32], %v\n"
      "%a = from_ptr %p, 4i64 : array<f32,1>\nstore %a[0i32], %v\n%e = select %c, %f, %x",
      "form(rank 1)");
  ASSERT_TRUE(module);
  const ir::Function& function = *module->functions.back();
  Effects effects;
  const Alias alias(function, effects);
  BaseMask written = 0, read = 0, either = 0;
  for (const ir::Op& op : *function.body) {
    written |= alias.writes(op);
    read |= alias.direct_reads(op);
    if (op.code == ir::OpCode::select) either = alias.bases(op.result());
  }
  EXPECT_EQ(read, kFixedBase);
  EXPECT_EQ(written & read, 0u);
  EXPECT_EQ(alias.touched(either) & kFixedBase, 0u) << "a write can only have meant the other one";
  EXPECT_NE(either & kFixedBase, 0u);
  const FunctionEffects& sum = effects.of(function);
  EXPECT_FALSE(sum.reads_unknown);
  EXPECT_TRUE(sum.writes_unknown);
}

}  // namespace
}  // namespace weft::analysis
