// What a launch finds out about how its arrays lie.
#include <gtest/gtest.h>

#include "driver/launch_form.h"

namespace weft::driver {
namespace {

LaunchForm form_of_array(std::int64_t rows, std::int64_t columns, std::int64_t row_bytes,
                         std::int64_t column_bytes = 4) {
  static float memory[1];
  ParamLayout layout;
  layout.params.push_back({.name = "x", .type = types::array(types::f32(), 2), .offset = 0});
  layout.size = sizeof(ArrayDesc);
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
  layout.params.push_back({.name = "x", .type = types::array(types::f32(), 2), .offset = 0});
  layout.size = sizeof(ArrayDesc);
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

}  // namespace
}  // namespace weft::driver
