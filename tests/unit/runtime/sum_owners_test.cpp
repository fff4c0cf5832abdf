// Who owns buckets, by what launches wrote down for them.
#include "runtime/sum_owners.h"

#include <gtest/gtest.h>

namespace weft::runtime {
namespace {

using Range = std::pair<std::size_t, std::size_t>;

std::vector<BucketUse> written_by(std::initializer_list<int> workers, std::uint64_t each = 100) {
  std::vector<BucketUse> out;
  for (const int who : workers) out.push_back({each, 0, each, who});
  return out;
}

TEST(SumOwners, WhoeverWritesMostOwnsNeighbours) {
  SumOwners owners(6, 3);
  EXPECT_FALSE(owners.any());
  owners.learn(written_by({0, 0, 1, 2, 2, 2}));
  EXPECT_TRUE(owners.any());
  EXPECT_EQ(owners.range(0), Range(0, 2));
  EXPECT_EQ(owners.range(1), Range(2, 3));
  EXPECT_EQ(owners.range(2), Range(3, 6));
  EXPECT_EQ(owners.owner(2), 1);
  EXPECT_EQ(owners.range(7), Range(0, 0));
}

TEST(SumOwners, OnlyTheLongestRunIsOwned) {
  SumOwners owners(7, 2);
  owners.learn(written_by({0, 1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(owners.range(0), Range(2, 4));
  EXPECT_EQ(owners.range(1), Range(4, 7));
  EXPECT_EQ(owners.owner(0), -1);
  EXPECT_EQ(owners.owner(1), -1);
}

TEST(SumOwners, NobodyOwnsWhatAllWriteTo) {
  SumOwners owners(3, 16);
  owners.learn(std::vector<BucketUse>(3, {1600, 0, 110, 4}));
  EXPECT_FALSE(owners.any());
  owners.learn(std::vector<BucketUse>(3));  // nothing written
  EXPECT_FALSE(owners.any());
}

TEST(SumOwners, OwnersStayUntilOthersWriteMuchMore) {
  SumOwners owners(2, 4);
  owners.learn(written_by({3, 3}));
  owners.learn(std::vector<BucketUse>(2));  // all of it in place
  EXPECT_EQ(owners.range(3), Range(0, 2));
  owners.learn(std::vector<BucketUse>(2, {250, 100, 100, 3}));  // as many of its own, and half as many more
  EXPECT_EQ(owners.range(3), Range(0, 2));
  owners.learn(std::vector<BucketUse>(2, {900, 0, 800, 1}));
  EXPECT_EQ(owners.range(3), Range(0, 0));
  EXPECT_EQ(owners.range(1), Range(0, 2));
}

TEST(SumOwners, LaunchesOfOneKindLearnFromEachOther) {
  const int kernel = 0;
  const OwnersKey key{&kernel, 0, 2, 2};
  EXPECT_FALSE(known_owners(key).any());
  SumOwners owners(2, 2);
  owners.learn(written_by({0, 1}));
  keep_owners(key, owners);
  EXPECT_EQ(known_owners(key).range(1), Range(1, 2));
  OwnersKey other = key;
  other.workers = 3;
  EXPECT_FALSE(known_owners(other).any());
  for (std::size_t k = 0; k < 100; ++k) keep_owners({&kernel, k + 1, 2, 2}, owners);  // the oldest go
  EXPECT_FALSE(known_owners(key).any());
}

}  // namespace
}  // namespace weft::runtime
