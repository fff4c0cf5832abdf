// Which draws from a counter may wait, and what is kept for them.
#include "analysis/late_draws.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace weft::analysis {
namespace {

struct Found {
  std::shared_ptr<ir::Module> module;
  std::vector<LateDraws> counters;
};

Found find(const std::string& body, const std::string& form = "no_overlap, rank 1") {
  auto source = std::make_shared<SourceFile>(
      "t.wir",
      "kernel @k(%count: array<i32,1>, %list: array<i32,1>, %x: array<i32,1>, %y: array<f32,1>, %most: i32) form(" +
          form + ") {\n" + body + "  return\n}\n");
  DiagnosticSink sink;
  Found found;
  found.module = ir::parse_module(source, sink);
  EXPECT_TRUE(found.module) << sink.render_all();
  found.counters = find_late_draws(*found.module->functions.back());
  return found;
}

constexpr const char* kAppend =
    "  %i = tid 0\n  %v = load %x[%i]\n  %n = atomic add %count[0i32], 1i32\n  %fits = lt %n, %most\n"
    "  if %fits {\n    store %list[%n], %v\n    yield\n  } else {\n    yield\n  }\n";

TEST(LateDraws, Append) {
  const Found found = find(kAppend);
  ASSERT_EQ(found.counters.size(), 1u);
  ASSERT_EQ(found.counters[0].draws.size(), 1u);
  const LateDraw& draw = found.counters[0].draws[0];
  EXPECT_EQ(draw.tail.size(), 2u);  // the comparison and the `if`
  ASSERT_EQ(draw.kept.size(), 1u);  // not %most, which every thread has
  EXPECT_EQ(draw.kept[0]->name, "v");
}

TEST(LateDraws, WhereArgumentsMayOverlapOnlyIfTheseDoNot) {
  EXPECT_TRUE(find(kAppend).counters[0].if_apart.empty());
  const Found found = find(kAppend, "rank 1");
  ASSERT_EQ(found.counters.size(), 1u);
  // The list and the counter with %x and each other; nobody looks at %y.
  EXPECT_EQ(found.counters[0].if_apart.size(), 3u);
  // Could not even run where it stands: the load is before the store.
  EXPECT_TRUE(
      find("  %i = tid 0\n  %n = atomic add %count[0i32], 1i32\n  %v = load %x[%i]\n  store %list[%n], %v\n", "rank 1")
          .counters.empty());
}

TEST(LateDraws, NotForTapes) { EXPECT_TRUE(find(kAppend, "no_overlap, taped, rank 1").counters.empty()); }

TEST(LateDraws, NotWhereTheListIsRead) {
  EXPECT_TRUE(find(std::string(kAppend) + "  %w = load %list[%i]\n  store %x[%i], %w\n").counters.empty());
  EXPECT_TRUE(find(std::string(kAppend) + "  store %list[%i], %v\n").counters.empty());
}

TEST(LateDraws, NotWhereTheCounterIsLookedAt) {
  EXPECT_TRUE(find(std::string(kAppend) + "  %c = load %count[0i32]\n  store %x[%i], %c\n").counters.empty());
  EXPECT_TRUE(find(std::string(kAppend) + "  %c = atomic add %count[1i32], 1i32\n").counters.empty());
}

TEST(LateDraws, NotWhereAnythingElseDependsOnTheNumber) {
  EXPECT_TRUE(
      find("  %i = tid 0\n  %n = atomic add %count[0i32], 1i32\n  %c = atomic add %list[%n], 1i32\n").counters.empty());
  // Read where another thread may write.
  EXPECT_TRUE(find("  %i = tid 0\n  %n = atomic add %count[0i32], 1i32\n  %v = load %x[%n]\n  store %list[%n], %v\n"
                   "  store %x[%i], %i\n")
                  .counters.empty());
}

TEST(LateDraws, NotWhereTheTailReadsMemoryOfTheThread) {
  EXPECT_TRUE(
      find(
          "  %i = tid 0\n  %own = local : array<i32,1> [4]\n  store %own[0i32], %i\n  %n = atomic add %count[0i32], 1i32\n"
          "  %k = bit_and %n, 3i32\n  %v = load %own[%k]\n  store %list[%n], %v\n")
          .counters.empty());
}

TEST(LateDraws, ReadsOfWhatNothingWritesMayWait) {
  const Found found =
      find("  %i = tid 0\n  %n = atomic add %count[0i32], 1i32\n  %v = load %x[%n]\n  store %list[%n], %v\n");
  ASSERT_EQ(found.counters.size(), 1u);
  EXPECT_TRUE(found.counters[0].draws[0].kept.empty());
}

TEST(LateDraws, NotWhereThreadsHaveCountersOfTheirOwn) {
  EXPECT_TRUE(find("  %i = tid 0\n  %n = atomic add %count[%i], 1i32\n  store %list[%n], %i\n").counters.empty());
}

TEST(LateDraws, AllDrawsFromACounterAreOneQueue) {
  const std::string second = "  %m = atomic add %count[0i32], 2i32\n  store %list[%m], %i\n";
  const Found found = find(kAppend + second);
  ASSERT_EQ(found.counters.size(), 1u);
  EXPECT_EQ(found.counters[0].draws.size(), 2u);
  // One that may not wait holds up all.
  EXPECT_TRUE(find(kAppend + second + "  %j = atomic add %count[0i32], 1i32\n  %u = atomic add %x[%j], 1i32\n")
                  .counters.empty());
}

TEST(LateDraws, NumbersComeInTheOrderOfDraws) {
  const std::string two = "  %i = tid 0\n  %n = atomic add %count[0i32], 1i32\n  %m = atomic add %count[0i32], 1i32\n";
  const std::string of_n = "  store %list[%n], %i\n", of_m = "  store %x[%m], %i\n";
  EXPECT_EQ(find(two + of_n + of_m).counters.size(), 1u);
  EXPECT_TRUE(find(two + of_m + of_n).counters.empty());
  // What a thread stores twice, the second number in between.
  EXPECT_TRUE(find(two + "  store %x[%i], %m\n  store %x[%i], %n\n  store %list[%m], %i\n").counters.empty());
  const std::string inside =
      "  %i = tid 0\n  %n = atomic add %count[0i32], 1i32\n  %few = lt %i, %most\n  if %few {\n"
      "    %m = atomic add %count[0i32], 1i32\n    store %x[%m], %i\n    yield\n  } else {\n    yield\n  }\n";
  EXPECT_TRUE(find(inside + of_n).counters.empty());
}

TEST(LateDraws, WhatIsDrawnIsKeptWhereItDiffers) {
  const Found found =
      find("  %i = tid 0\n  %v = load %x[%i]\n  %n = atomic add %count[0i32], %v\n  store %list[%n], %i\n");
  ASSERT_EQ(found.counters.size(), 1u);
  EXPECT_EQ(found.counters[0].draws[0].kept.size(), 2u);
}

}  // namespace
}  // namespace weft::analysis
