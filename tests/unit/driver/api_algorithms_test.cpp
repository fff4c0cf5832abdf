// The algorithms of the public header.
#include <gtest/gtest.h>

#include <numeric>

#include "weft/algorithms.h"

namespace weft {
namespace {

TEST(ApiAlgorithms, SumsAndPrefixSums) {
  Array a = Array::from<float>({1, 2, 3, 4}), out = Array::zeros("float32", {4});
  EXPECT_EQ(sum(a), 10.0);
  EXPECT_EQ(inner(a, a), 30.0);
  EXPECT_EQ(sum(Array::from<std::int64_t>({5, -7})), -2.0);
  scan(a, out);
  EXPECT_EQ(out.as<float>()[3], 10.0f);
  scan(a, a, false);
  EXPECT_EQ(a.as<float>()[0], 0.0f);
  EXPECT_EQ(a.as<float>()[3], 6.0f);
  Array vectors = Array::zeros("vec3", {5});
  vectors.as<float>()[4] = 2.5f;
  EXPECT_EQ(sum(vectors), 2.5);
}

TEST(ApiAlgorithms, Sorts) {
  Array keys = Array::zeros("int32", {300, 200}), values = Array::zeros("vec3", {60'000});
  for (std::size_t i = 0; i < 60'000; ++i) {
    keys.as<std::int32_t>()[i] = std::int32_t(60'000 - i);
    values.as<float>()[3 * i] = float(i);
  }
  sort_pairs(keys, values);
  for (std::size_t i = 0; i < 60'000; ++i) {
    ASSERT_EQ(keys.as<std::int32_t>()[i], std::int32_t(i + 1));
    ASSERT_EQ(values.as<float>()[3 * i], float(59'999 - i));
  }
  Array doubles = Array::from<double>({3, -1, 2, -0.5});
  sort(doubles);
  EXPECT_EQ(doubles.as<double>()[0], -1.0);
  EXPECT_EQ(doubles.as<double>()[3], 3.0);
  Array bits = Array::from<std::uint32_t>({0x13, 0x22, 0x31}), one = Array::from<std::uint64_t>({1, 2, 3});
  sort_pairs(bits, one, 0, 4);
  EXPECT_EQ(one.as<std::uint64_t>()[0], 3u);
}

TEST(ApiAlgorithms, RunsAndHistograms) {
  Array values = Array::from<std::int32_t>({4, 4, 7, 7, 7, 9}), lengths = Array::zeros("int32", {6});
  Array counts = Array::zeros("int32", {3}), found = Array::zeros("int32", {6});
  histogram(values, counts, 4, 10);
  EXPECT_EQ(counts.as<std::int32_t>()[0], 2);
  EXPECT_EQ(counts.as<std::int32_t>()[1], 3);
  EXPECT_EQ(counts.as<std::int32_t>()[2], 1);
  EXPECT_EQ(encode_runs(values, found, lengths), 3);
  EXPECT_EQ(lengths.as<std::int32_t>()[1], 3);
  EXPECT_EQ(unique(values, values), 3);
  EXPECT_EQ(values.as<std::int32_t>()[2], 9);
}

TEST(ApiAlgorithms, ArgumentsThatDoNotFit) {
  Array a = Array::zeros("float32", {4});
  EXPECT_THROW(sum(Array()), ArgumentError);
  EXPECT_THROW(sum(Array::zeros("int8", {4})), ArgumentError);
  EXPECT_THROW(inner(a, Array::zeros("float32", {5})), ArgumentError);
  EXPECT_THROW(scan(a, Array::zeros("float32", {5})), ArgumentError);
  EXPECT_THROW(scan(a, Array::zeros("int32", {4})), ArgumentError);
  EXPECT_THROW(sort(Array::zeros("vec3", {4})), ArgumentError);
  EXPECT_THROW(sort(Array::zeros("float16", {4})), ArgumentError);
  EXPECT_THROW(sort_pairs(a, Array::zeros("float32", {3})), ArgumentError);
  EXPECT_THROW(sort_pairs(a, Array::zeros("float32", {4}), 8, 40), ArgumentError);
  EXPECT_THROW(histogram(a, a, 0, 1), ArgumentError);
  EXPECT_THROW(unique(a, Array::zeros("float32", {3})), ArgumentError);
}

}  // namespace
}  // namespace weft
