// Which way launches with shared sums take, from times that are made up, and the copies that they use.
#include "runtime/sum_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/sum_copies.h"

namespace weft::runtime {
namespace {

/// Runs launches whose ways take so many seconds each; gives how often each of the last hundred was taken.
std::array<int, kSumWays> last_ways(const SumCase& launch, const SumOptions& options,
                                    const std::array<double, kSumWays>& seconds, int launches = 400) {
  std::array<int, kSumWays> taken{};
  for (int k = 0; k < launches; ++k) {
    const SumWay way = choose_sum_way(launch, options);
    tell_sum_time(launch, way, seconds[std::size_t(way)]);
    if (k >= launches - 100) ++taken[std::size_t(way)];
  }
  return taken;
}

class SumChoiceTest : public testing::Test {
 protected:
  SumChoiceTest() { forget_sum_times(); }
  int kernel_ = 0;
  const SumCase launch_{&kernel_, false, 1 << 20, 8};
};

TEST_F(SumChoiceTest, theFastestWins) {
  for (int winner = 0; winner < kSumWays; ++winner) {
    forget_sum_times();
    std::array<double, kSumWays> seconds{3e-3, 3e-3, 3e-3, 3e-3};
    seconds[std::size_t(winner)] = 1e-3;
    EXPECT_GE(last_ways(launch_, {true, true, true, 0, true}, seconds)[std::size_t(winner)], 95) << winner;
    forget_sum_times();
    EXPECT_GE(last_ways(launch_, {true, true, false, 0, true}, seconds)[std::size_t(winner)], 95) << winner;
  }
}

TEST_F(SumChoiceTest, whatIsNotOpenIsNeverTaken) {
  EXPECT_EQ(last_ways(launch_, {true, false, true}, {3e-3, 2e-3, 1e-3})[std::size_t(SumWay::atomics)], 0);
  forget_sum_times();
  const auto taken = last_ways(launch_, {false, false, true}, {3e-3, 1e-3, 1e-3});
  EXPECT_EQ(taken[std::size_t(SumWay::alone)], 100);
}

TEST_F(SumChoiceTest, atomicsAreTriedWhereLaunchesAreLongEnough) {
  EXPECT_EQ(last_ways(launch_, {true, true, true, 5e-3}, {3e-3, 2e-3, 1e-3})[std::size_t(SumWay::atomics)], 0);
  forget_sum_times();
  EXPECT_GE(last_ways(launch_, {true, true, true, 1e-3}, {3e-3, 2e-3, 1e-3})[std::size_t(SumWay::atomics)], 95);
}

TEST_F(SumChoiceTest, bucketsAreTriedWhereTheySuitAndLaunchesAreLongEnough) {
  const std::array<double, kSumWays> seconds{3e-3, 2e-3, 2e-3, 1e-3};
  const auto buckets = std::size_t(SumWay::buckets);
  EXPECT_EQ(last_ways(launch_, {true, true, true, 0, false}, seconds)[buckets], 0);
  forget_sum_times();
  EXPECT_EQ(last_ways(launch_, {true, true, true, 0, true, 5e-3}, seconds)[buckets], 0);
  forget_sum_times();
  EXPECT_GE(last_ways(launch_, {true, true, true, 0, true, 1e-3}, seconds)[buckets], 95);
}

TEST_F(SumChoiceTest, aForcedWayIsTakenWhereItCanBe) {
  const SumOptions all{true, true, true, 0, true}, few{true, false, true, 0, false};
  for (int way = 0; way < kSumWays; ++way) {
    force_sum_way(SumWay(way));
    EXPECT_EQ(choose_sum_way(launch_, all), SumWay(way));
    if (way > 1) {
      EXPECT_NE(choose_sum_way(launch_, few), SumWay(way));
    }
  }
  force_sum_way(std::nullopt);
}

TEST_F(SumChoiceTest, otherDataAreNoticedSoon) {
  const SumOptions all{true, true, true, 0, true};
  last_ways(launch_, all, {5e-3, 2e-3, 6e-3, 4e-3});
  // The same launch over places in another order: what was known of each way is wrong by far.
  const std::array<double, kSumWays> seconds{90e-3, 50e-3, 70e-3, 20e-3};
  int slow = 0;
  for (int k = 0; k < 50; ++k) {
    const SumWay way = choose_sum_way(launch_, all);
    tell_sum_time(launch_, way, seconds[std::size_t(way)]);
    slow += way != SumWay::buckets;
  }
  EXPECT_LE(slow, 12);
}

TEST_F(SumChoiceTest, oneSlowLaunchChangesNothing) {
  const SumOptions all{true, true, true, 0, true};
  const std::array<double, kSumWays> seconds{5e-3, 2e-3, 6e-3, 4e-3};
  last_ways(launch_, all, seconds, 40);
  int others = 0;
  for (int k = 0; k < 20; ++k) {
    const SumWay way = choose_sum_way(launch_, all);
    tell_sum_time(launch_, way, (k % 3 ? 1 : 40) * seconds[std::size_t(way)]);
    others += way != SumWay::copies;
  }
  EXPECT_LE(others, 2);
}

TEST_F(SumChoiceTest, shortLaunchesKeepToTheEstimate) {
  EXPECT_EQ(last_ways(launch_, {true, true, true}, {1e-6, 20e-6, 1e-6})[std::size_t(SumWay::copies)], 100);
  forget_sum_times();
  EXPECT_EQ(last_ways(launch_, {true, true, false}, {20e-6, 1e-6, 1e-6})[std::size_t(SumWay::alone)], 100);
}

TEST_F(SumChoiceTest, dataThatChangesIsNoticed) {
  last_ways(launch_, {true, true, true}, {2e-3, 1e-3, 5e-3});
  EXPECT_GE(last_ways(launch_, {true, true, true}, {2e-3, 8e-3, 5e-3}, 2000)[std::size_t(SumWay::alone)], 95);
}

TEST_F(SumChoiceTest, casesAreApart) {
  const SumCase larger{&kernel_, false, 1 << 24, 8}, back{&kernel_, true, 1 << 20, 8},
      fewer{&kernel_, false, 1 << 20, 2};
  last_ways(launch_, {true, true, true}, {3e-3, 2e-3, 1e-3});
  for (const SumCase& other : {larger, back, fewer})
    EXPECT_GE(last_ways(other, {true, true, true}, {1e-3, 2e-3, 3e-3})[std::size_t(SumWay::alone)], 95);
  EXPECT_GE(last_ways(launch_, {true, true, true}, {3e-3, 2e-3, 1e-3})[std::size_t(SumWay::atomics)], 95);
}

TEST(SumCopies, knowWhatWasTouched) {
  constexpr std::uint64_t kBytes = 4 << 20;
  SumCopy copy(kBytes);
  ASSERT_TRUE(copy.data());
  copy.forget_pages();
  for (const std::uint64_t at : {std::uint64_t(0), std::uint64_t(1 << 20), kBytes - 1}) {
    copy.data()[at] = 1;
    bool covered = false;
    std::uint64_t all = 0;
    for (const auto& [lo, hi] : copy.touched()) {
      covered |= lo <= at && at < hi;
      all += hi - lo;
      EXPECT_LE(hi, kBytes);
    }
    EXPECT_TRUE(covered) << at;
    EXPECT_LE(all, kBytes);
    copy.data()[at] = 0;
  }
  copy.forget_pages();
}

TEST(SumCopies, faultsTellThatMoreWasTouched) {
  constexpr std::uint64_t kBytes = 4 << 20;
  const auto write = [](const SumCopy& copy, std::uint64_t at) {
    const PageFaults faults;
    copy.data()[at] = 1;
    copy.data()[at] = 0;
    return faults.any();
  };
  const auto covers = [](const SumCopy::Ranges& ranges, std::uint64_t at) {
    return std::ranges::any_of(ranges, [&](const auto& range) { return range.first <= at && at < range.second; });
  };
  SumCopy copy(kBytes);
  ASSERT_TRUE(copy.data());
  copy.forget_pages();
  EXPECT_TRUE(copy.touched(false).empty());
  for (const std::uint64_t at : {std::uint64_t(5), std::uint64_t(1 << 20), kBytes - 1}) {
    EXPECT_TRUE(write(copy, at));  // a page that nobody has touched
    EXPECT_TRUE(covers(copy.touched(true), at));
    write(copy, at + (at == kBytes - 1 ? 0 : 8));
    EXPECT_TRUE(covers(copy.touched(false), at));  // no more than before
  }
  // A part of the pages goes, the others stay, as the system says as well.
  copy.forget_pages(1 << 19, 3 << 20);
  for (const bool grown : {false, true}) {
    EXPECT_TRUE(covers(copy.touched(grown), 5));
    EXPECT_FALSE(covers(copy.touched(grown), 1 << 20));
    EXPECT_TRUE(covers(copy.touched(grown), kBytes - 1));
  }
  EXPECT_TRUE(write(copy, 1 << 20));
  copy.forget_pages();
  EXPECT_TRUE(copy.touched(false).empty());
}

TEST(SumCopies, areZerosAgainAfterUse) {
  for (const std::uint64_t bytes : {std::uint64_t(64), std::uint64_t(1 << 20), std::uint64_t((1 << 20) + 12)})
    for (int round = 0; round < 3; ++round) {
      const SumCopy copy(bytes);
      ASSERT_TRUE(copy.data());
      for (std::uint64_t k = 0; k < bytes; ++k) ASSERT_EQ(copy.data()[k], 0);
      std::memset(copy.data(), 7, bytes);
      std::memset(copy.data(), 0, bytes);
    }
}

}  // namespace
}  // namespace weft::runtime
