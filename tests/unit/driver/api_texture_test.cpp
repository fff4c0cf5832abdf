// Textures of the public header: samples, structs' worth of arguments, gradients of texels, what is refused.
#include <gtest/gtest.h>

#include "weft/texture.h"
#include "weft/weft.h"

namespace weft {
namespace {

const char* kKernels = R"(
import warp as wp

@wp.kernel
def row(tex: wp.Texture1D, at: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, at[i], dtype=float)

@wp.kernel
def image(tex: wp.Texture2D, out: wp.array(dtype=wp.vec4)):
    out[0] = wp.texture_sample(tex, 0.5, 0.5, dtype=wp.vec4)
    out[1] = wp.vec4(float(tex.width), float(tex.height), 0.0, 0.0)

@wp.kernel
def block(tex: wp.Texture3D, out: wp.array(dtype=float)):
    out[0] = wp.texture_sample(tex, wp.vec3(0.5, 0.5, 0.5), dtype=float) + float(tex.depth)
)";

class ApiTexture : public testing::Test {
 protected:
  Program program = Program::compile(kKernels, "test.py");
};

TEST_F(ApiTexture, SamplesOfEachRank) {
  Array out = Array::zeros("float32", {3}), at = Array::from<float>({0.125F, 0.25F, 2.0F});
  Texture row(Array::from<float>({1, 2, 4, 8}), 1);
  program.kernel("row").launch({3}, row, at, out);
  EXPECT_EQ(out.read<float>(), (std::vector<float>{1, 1.5F, 8}));
  row.set_texels(Array::from<float>({3, 3, 3, 3}));
  program.kernel("row").launch({3}, row, at, out);
  EXPECT_EQ(out.read<float>(), (std::vector<float>{3, 3, 3}));

  Array colors = Array::zeros("vec4", {2});
  Texture image(Array::from<std::uint8_t>(std::vector<std::uint8_t>(24, 255)).reshape({2, 3, 4}), 2, {.levels = 0});
  program.kernel("image").launch({1}, image, colors);
  EXPECT_EQ(colors.read<float>(), (std::vector<float>{1, 1, 1, 1, 3, 2, 0, 0}));
  EXPECT_EQ(image.channels(), 4);

  Array one = Array::zeros("float32", {1});
  program.kernel("block").launch({1}, Texture(Array::from<float>(std::vector<float>(24, 5)).reshape({4, 3, 2}), 3),
                                 one);
  EXPECT_EQ(one.read<float>(), (std::vector<float>{9}));
}

TEST_F(ApiTexture, WhatIsRefused) {
  EXPECT_THROW(Texture(Array(), 2), ArgumentError);
  EXPECT_THROW(Texture(Array::zeros("float32", {4}), 2), ArgumentError);
  EXPECT_THROW(Texture(Array::zeros("float32", {4, 4, 3}), 2), ArgumentError);
  EXPECT_THROW(Texture(Array::zeros("float64", {4, 4}), 2), ArgumentError);
  EXPECT_THROW(Texture(Array::zeros("int32", {4, 4}), 2), ArgumentError);  // mixed
  EXPECT_THROW(Texture(Array::zeros("float32", {4}), 4), ArgumentError);
  Array out = Array::zeros("float32", {1});
  EXPECT_THROW(program.kernel("block").launch({1}, Texture(Array::zeros("float32", {4}), 1), out), ArgumentError);
}

}  // namespace
}  // namespace weft
