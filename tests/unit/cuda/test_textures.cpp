// Texels in arrays of the driver: in and out, levels, arrays of others, calls that fail.
#include <gtest/gtest.h>

#include <numeric>

#include "cuda/texture_memory.h"
#include "fake_driver.h"
#include "runtime/errors.h"

namespace weft::cuda {
namespace {

using runtime::Array;

class Textures : public testing::Test {
 protected:
  System system{fake::open()};
  Device& device = system.device(0);

  static TextureMemory::Plan plan_of(int rank, int levels = 1) {
    TextureMemory::Plan plan;
    plan.rank = rank;
    for (int k = 0; k < rank; ++k) plan.extent[std::size_t(k)] = 4 + k;
    plan.channels = 2;
    plan.levels = levels;
    return plan;
  }
  static Array counted(std::int64_t n) {
    Array host = Array::empty(types::f32(), {n});
    std::span<float> values = host.span<float>();
    std::iota(values.begin(), values.end(), 1.0F);
    return host;
  }
};

TEST_F(Textures, TexelsThereAndBack) {
  for (int rank = 1; rank <= 3; ++rank) {
    TextureMemory memory(device, plan_of(rank));
    const std::int64_t n = rank == 1 ? 8 : rank == 2 ? 40 : 240;
    Array back = Array::zeros(types::f32(), {n});
    memory.download(0, back);
    EXPECT_EQ(back.span<float>()[0], 0.0F);
    memory.upload(0, counted(n));
    Array on_device = Array::empty(types::f32(), {n}, false, &device);
    memory.download(0, on_device);
    TextureMemory other(device, plan_of(rank));
    other.upload(0, on_device);
    TextureMemory third(device, plan_of(rank));
    third.copy_level(0, other);
    third.download(0, back);
    EXPECT_TRUE(std::equal(back.span<float>().begin(), back.span<float>().end(), counted(n).span<float>().begin()));
    EXPECT_NE(memory.object(), memory.texels(0));
  }
}

TEST_F(Textures, LevelsHaveObjectsOfTheirOwn) {
  {
    TextureMemory memory(device, plan_of(2, 3));
    EXPECT_EQ(fake::state().count("texture_create"), 4);
    memory.upload(1, counted(2 * 2 * 2));
    Array back = Array::zeros(types::f32(), {8});
    memory.download(1, back);
    EXPECT_EQ(back.span<float>()[7], 8.0F);
  }
  EXPECT_EQ(fake::state().count("texture_destroy"), 4);
  EXPECT_EQ(fake::state().count("levels_destroy"), 1);
  EXPECT_EQ(fake::state().count("array_destroy"), 0);
}

TEST_F(Textures, ArraysOfOthersStayTheirs) {
  TextureMemory own(device, plan_of(2));
  TextureMemory::Plan plan = plan_of(2);
  plan.foreign_array = reinterpret_cast<std::uint64_t>(own.array(0));
  {
    TextureMemory borrowed(device, plan);
  }
  EXPECT_EQ(fake::state().count("array_destroy"), 0);
  plan.channels = 4;
  EXPECT_THROW(TextureMemory(device, plan), runtime::ArgumentError);
}

TEST_F(Textures, NothingIsLeftOfWhatFails) {
  fake::state().failing["texture_create"] = 999;
  EXPECT_ANY_THROW(TextureMemory(device, plan_of(3)));
  EXPECT_EQ(fake::state().count("array_destroy"), 1);
}

}  // namespace
}  // namespace weft::cuda
