// What a texture is like: its extents, the format of its texels, how it is filtered; and levels made of one another.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/array.h"

namespace weft::texture {

/// The numbers are those of warp.TextureAddressMode and of the driver.
enum class Address : std::uint32_t { wrap = 0, clamp = 1, mirror = 2, border = 3 };

struct Shape {
  int rank = 2;                                    // 1 to 3
  std::array<std::int64_t, 3> extent = {1, 1, 1};  // width, height, depth
  int channels = 1;                                // 1, 2 or 4
  ScalarKind format = ScalarKind::f32;             // of a channel
  int levels = 1;

  std::array<std::int64_t, 3> extent_of(int level) const;
  /// Numbers in a level.
  std::int64_t numbers(int level) const;
  /// How many levels there are down to one texel.
  int most_levels() const;
  bool is_whole() const { return format == ScalarKind::i32 || format == ScalarKind::u32; }
};

struct Sampling {
  bool normalized = true;
  bool linear = true;         // between texels
  bool linear_levels = true;  // between levels
  std::array<Address, 3> address = {Address::clamp, Address::clamp, Address::clamp};
};

/// Throws ArgumentError for what no texture is.
void check(const Shape& shape, const Sampling& sampling);

/// A contiguous array on the host of the texels of a level, as a flat row of numbers.
runtime::Array level_memory(const Shape& shape, int level);
/// The level behind `level` from its texels: means of two along each axis that has two, whole numbers to the nearest.
runtime::Array next_level(const Shape& shape, int level, const runtime::Array& texels);
/// Texels as kernels on a CPU read them: small whole numbers are parts of the largest one.
void to_floats(ScalarKind format, const void* texels, float* out, std::int64_t numbers);

}  // namespace weft::texture
