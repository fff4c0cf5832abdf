// Which arrays count as only added to, and that their additions are marked.
#include "analysis/private_sums.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/walk.h"

namespace weft::analysis {
namespace {

struct Found {
  std::vector<PrivateSum> sums;
  int marked = 0;
};

Found find(const std::string& body, const std::string& form = "no_overlap, rank 1") {
  auto source = std::make_shared<SourceFile>(
      "t.wir", "kernel @k(%a: array<vec<f32,3>,1>, %n: array<i32,1>, %b: array<f32,1>) form(" + form + ") {\n" + body +
                   "  return\n}\n");
  DiagnosticSink sink;
  auto module = ir::parse_module(source, sink);
  EXPECT_TRUE(module) << sink.render_all();
  Found found;
  found.sums = mark_private_sums(*module->functions.back());
  ir::walk(*module->functions.back()->body, [&](const ir::Op& op) { found.marked += op.imm == kAddsAlone; });
  return found;
}

constexpr const char* kAdd = "  %i = tid 0\n  %j = load %n[%i]\n  %v = load %b[%i]\n  %o = atomic add %a[%j][1], %v\n";

TEST(PrivateSums, OnlyAddedTo) {
  Found found = find(kAdd);
  ASSERT_EQ(found.sums.size(), 1u);
  EXPECT_EQ(found.sums[0].offset, 0u);
  EXPECT_FALSE(found.sums[0].gradient);
  EXPECT_EQ(found.sums[0].element_size, 12u);
  EXPECT_EQ(found.marked, 1);
}

std::vector<SumStream> streams(const std::string& body) {
  auto source = std::make_shared<SourceFile>(
      "t.wir",
      "kernel @k(%a: array<vec<f32,3>,1>, %n: array<i32,1>, %b: array<f32,1>, %h: array<f16,1>) "
      "form(no_overlap, rank 1) {\n" +
          body + "  return\n}\n");
  DiagnosticSink sink;
  auto module = ir::parse_module(source, sink);
  EXPECT_TRUE(module) << sink.render_all();
  std::vector<SumStream> found = find_sum_streams(*module->functions.back(), true);
  ir::walk(*module->functions.back()->body, [&](const ir::Op& op) {
    if (op.code == ir::OpCode::atomic && !found.empty()) {
      EXPECT_LT(std::size_t(op.imm - kAddsByStream), found.size());
    }
  });
  return found;
}

TEST(SumStreams, AdditionsOfOneFormToOneArrayAreOneStream) {
  const std::vector<SumStream> found = streams(std::string(kAdd) + "  %o2 = atomic add %a[%i][0], %v\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 1u);
  EXPECT_EQ(found[0].scalar, ScalarKind::f32);
}

TEST(SumStreams, NoneWhereOneCannotBeWrittenDown) {
  EXPECT_TRUE(streams(std::string(kAdd) + "  %x = load %h[0i32]\n").size() == 1);
  EXPECT_TRUE(streams(std::string(kAdd) + "  %x = atomic add %h[%i], 1.0f16\n").empty());
}

TEST(PrivateSums, ReadAsWell) {
  EXPECT_TRUE(find(std::string(kAdd) + "  %r = load %a[%j][0]\n  store %b[%i], %r\n").sums.empty());
}

TEST(PrivateSums, ResultUsed) { EXPECT_TRUE(find(std::string(kAdd) + "  store %b[%i], %o\n").sums.empty()); }

TEST(PrivateSums, OtherOperations) {
  EXPECT_TRUE(find("  %i = tid 0\n  %v = load %b[%i]\n  %o = atomic max %a[%i][1], %v\n").sums.empty());
}

TEST(PrivateSums, OverlapLeavesGradientsOnly) {
  EXPECT_TRUE(find(kAdd, "rank 1").sums.empty());
  Found found =
      find("  %i = tid 0\n  %v = load %b[%i]\n  %g = gradient %b\n  %o = atomic add %g[0i32], %v\n", "rank 1");
  ASSERT_EQ(found.sums.size(), 1u);
  EXPECT_TRUE(found.sums[0].gradient);
}

TEST(PrivateSums, UnknownMemorySpoilsAll) {
  EXPECT_TRUE(find(std::string("  %p = from_ptr 4096u64, 8i64 : array<f32,1>\n  store %p[0i32], 1.0f32\n") + kAdd)
                  .sums.empty());
}

}  // namespace
}  // namespace weft::analysis
