// What a launch finds out about how its arrays lie.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "driver/launch_form.h"

namespace weft::driver {
namespace {

LaunchForm form_of_array(std::int64_t rows, std::int64_t columns, std::int64_t row_bytes,
                         std::int64_t column_bytes = 4) {
  static float memory[1];
  ParamLayout layout;
  layout.add("x", types::array(types::f32(), 2));
  ArrayDesc desc;
  desc.data = memory;
  desc.ndim = 2;
  desc.shape[0] = rows, desc.shape[1] = columns;
  desc.strides[0] = row_bytes, desc.strides[1] = column_bytes;
  return form_of(layout, &desc, 1);
}

TEST(LaunchForm, ExtentsAndDistancesOf32Bits) {
  EXPECT_FALSE(form_of_array(10, 20, 80).large);
  EXPECT_FALSE(form_of_array(10, 20, -80).large) << "rows in the opposite order";
  EXPECT_FALSE(form_of_array(2, 10, 0x7fffffff).large);
  EXPECT_TRUE(form_of_array(2, 10, 0x80000000).large);
  EXPECT_TRUE(form_of_array(2, 10, -0x80000001LL).large);
  EXPECT_TRUE(form_of_array(std::int64_t(1) << 31, 1, 4).large);
  EXPECT_FALSE(form_of_array((std::int64_t(1) << 31) - 1, 1, 4).large);
  EXPECT_FALSE(form_of_array(2, 10, 0x80000000).strided) << "only a GPU's code minds";
  EXPECT_TRUE(form_of_array(10, 20, 160, 8).strided);
}

TEST(LaunchForm, RowsAtMultiplesOf16Bytes) {
  alignas(16) static char memory[64];
  ParamLayout layout;
  layout.add("x", types::array(types::f32(), 2));
  const auto form = [&](std::size_t begin, std::int64_t row_bytes, std::int64_t column_bytes = 4) {
    ArrayDesc desc;
    desc.data = memory + begin;
    desc.ndim = 2;
    desc.shape[0] = 2, desc.shape[1] = 3;
    desc.strides[0] = row_bytes, desc.strides[1] = column_bytes;
    return form_of(layout, &desc, 1);
  };
  EXPECT_FALSE(form(0, 16).aligned) << "no code of this layout asks";
  layout.asks_alignment = true;
  EXPECT_TRUE(form(0, 16).aligned);
  EXPECT_TRUE(form(16, -32).aligned);
  EXPECT_FALSE(form(4, 16).aligned);
  EXPECT_FALSE(form(0, 12).aligned);
  EXPECT_FALSE(form(0, 32, 8).aligned) << "elements lie apart";
  EXPECT_FALSE(form(0, std::int64_t(1) << 32).aligned) << "too far for 32 bits";
  EXPECT_TRUE(form(0, 16).in_ir().aligned);
  EXPECT_NE(form(0, 16).index(), form(4, 16).index());
  EXPECT_NE(form(0, 16).index(), form(0, 32, 8).index());
  EXPECT_NE(form(0, 16).index(), form(0, std::int64_t(1) << 32).index());
}

/// Blocks of one-dimensional arrays, by where they begin and how many floats they have.
class Blocks : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t k = 0; k < kArrays; ++k) layout.add("x", types::array(types::f32(), 1));
  }
  bool apart(const std::vector<std::pair<std::size_t, std::int64_t>>& arrays, ArrayOrder* known) {
    std::vector<ArrayDesc> block(arrays.size());
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      block[k].data = memory.data() + arrays[k].first;
      block[k].ndim = 1;
      block[k].shape[0] = arrays[k].second, block[k].strides[0] = 4;
    }
    return form_of(layout, block.data(), 1, known).no_overlap;
  }
  static constexpr std::size_t kArrays = 7;
  ParamLayout layout;
  std::vector<float> memory = std::vector<float>(1000);
  ArrayOrder order;
};

TEST_F(Blocks, WhatIsKnownOfTheOrderChangesNoAnswer) {
  std::mt19937 random(5);
  int overlapping = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> arrays(kArrays);
  for (int turn = 0; turn < 5000; ++turn) {
    if (turn % 3 == 0)  // else mostly as it was
      for (auto& [begin, count] : arrays)
        begin = random() % 950, count = std::int64_t(random() % 50 * (random() % 4 != 0));
    else
      std::swap(arrays[random() % kArrays], arrays[random() % kArrays]);
    bool meet = false;
    for (std::size_t j = 0; j < kArrays; ++j)
      for (std::size_t k = 0; k < j; ++k)
        meet |= arrays[j].second && arrays[k].second &&
                arrays[j].first < arrays[k].first + std::size_t(arrays[k].second) &&
                arrays[k].first < arrays[j].first + std::size_t(arrays[j].second);
    ASSERT_EQ(apart(arrays, &order), !meet);
    ASSERT_EQ(apart(arrays, nullptr), !meet);
    overlapping += meet;
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_LT(overlapping, 4000);
}

TEST(ArrayOrder, IsAGuess) {
  const std::uintptr_t lows[] = {100, 200, 300}, highs[] = {200, 300, 400};
  ArrayOrder order;
  EXPECT_FALSE(order.apart(lows, highs, 3)) << "it knows nothing: the first one, again and again";
  EXPECT_TRUE(order.apart(lows, highs, 1));
  EXPECT_TRUE(order.apart(lows, highs, 0));
  order.note(lows, 3);
  EXPECT_TRUE(order.apart(lows, highs, 3));
  EXPECT_TRUE(order.apart(lows, highs, 2));
  const std::uintptr_t turned[] = {300, 100, 200}, ends[] = {400, 200, 300};
  EXPECT_FALSE(order.apart(turned, ends, 3)) << "another order";
  order.note(turned, 3);
  EXPECT_TRUE(order.apart(turned, ends, 3));
  EXPECT_FALSE(order.apart(turned, ends, 2)) << "of arrays that are not there now";
}

}  // namespace
}  // namespace weft::driver
