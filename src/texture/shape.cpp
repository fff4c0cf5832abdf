// Checks of shapes, levels of means, texels as floats.
#include "texture/shape.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/errors.h"
#include "runtime/half.h"

namespace weft::texture {

using runtime::ArgumentError;
using runtime::Array;

std::array<std::int64_t, 3> Shape::extent_of(int level) const {
  std::array<std::int64_t, 3> out = {1, 1, 1};
  for (std::size_t k = 0; k < std::size_t(rank); ++k) out[k] = std::max<std::int64_t>(extent[k] >> level, 1);
  return out;
}

std::int64_t Shape::numbers(int level) const {
  const auto e = extent_of(level);
  return e[0] * e[1] * e[2] * channels;
}

int Shape::most_levels() const {
  int count = 1;
  for (std::int64_t largest = std::max({extent[0], extent[1], extent[2]}); largest > 1; largest >>= 1) ++count;
  return count;
}

void check(const Shape& shape, const Sampling& sampling) {
  const char* names[] = {"width", "height", "depth"};
  for (std::size_t k = 0; k < std::size_t(shape.rank); ++k)
    if (shape.extent[k] < 1 || shape.extent[k] > INT32_MAX)
      throw ArgumentError(std::string("Texture ") + names[k] + " must be a positive integer, not " +
                          std::to_string(shape.extent[k]));
  if (shape.channels != 1 && shape.channels != 2 && shape.channels != 4)
    throw ArgumentError("Texture num_channels must be 1, 2, or 4, not " + std::to_string(shape.channels));
  std::int64_t most = INT32_MAX / shape.channels;
  for (const std::int64_t extent : shape.extent) most /= extent;
  if (most == 0) throw ArgumentError("a Texture has at most 2147483647 numbers (texels times channels)");
  switch (shape.format) {
    case ScalarKind::u8:
    case ScalarKind::i8:
    case ScalarKind::u16:
    case ScalarKind::i16:
    case ScalarKind::f16:
    case ScalarKind::f32: break;
    case ScalarKind::u32:
    case ScalarKind::i32:
      if (sampling.linear)
        throw ArgumentError("filter_mode: texels of 32-bit integers are not mixed: use TextureFilterMode.CLOSEST");
      if (shape.levels > 1 && sampling.linear_levels)
        throw ArgumentError("mip_filter_mode: texels of 32-bit integers are not mixed: use TextureFilterMode.CLOSEST");
      break;
    case ScalarKind::boolean:
    case ScalarKind::i64:
    case ScalarKind::u64:
    case ScalarKind::bf16:
    case ScalarKind::f64:
      throw ArgumentError("Unsupported texture dtype: " + std::string(scalar_user_name(shape.format)) +
                          ". Supported: uint8, uint16, uint32, int8, int16, int32, float16, float32");
  }
  if (shape.levels < 1 || shape.levels > shape.most_levels())
    throw ArgumentError("num_mip_levels (" + std::to_string(shape.levels) +
                        ") exceeds the maximum for these dimensions (" + std::to_string(shape.most_levels()) + ")");
  for (const Address mode : sampling.address)
    if (mode > Address::border) throw ArgumentError("Invalid texture address mode");
}

Array level_memory(const Shape& shape, int level) {
  return Array::zeros(types::scalar(shape.format), {shape.numbers(level)});
}

namespace {

/// Calls with a number of the type that texels of a format are of in memory; halves are their bits.
template <class Call>
void with_format(ScalarKind format, const Call& call) {
  switch (format) {
    case ScalarKind::u8: return call(std::uint8_t{});
    case ScalarKind::i8: return call(std::int8_t{});
    case ScalarKind::u16: return call(std::uint16_t{});
    case ScalarKind::i16: return call(std::int16_t{});
    case ScalarKind::u32: return call(std::uint32_t{});
    case ScalarKind::i32: return call(std::int32_t{});
    case ScalarKind::f32: return call(float{});
    case ScalarKind::f16:
    case ScalarKind::boolean:
    case ScalarKind::i64:
    case ScalarKind::u64:
    case ScalarKind::bf16:
    case ScalarKind::f64: break;
  }
  WEFT_UNREACHABLE("no format of texels");  // check() was asked before
}

double half_at(const void* texels, std::int64_t k) {
  std::uint16_t bits;
  std::memcpy(&bits, static_cast<const std::uint16_t*>(texels) + k, sizeof bits);
  return runtime::f16_to_float(bits);
}

/// The mean of the texels that a texel of the next level stands for, number by number.
template <class Get, class Put>
void halve(const Shape& shape, int level, const Get& get, const Put& put) {
  const auto from = shape.extent_of(level), to = shape.extent_of(level + 1);
  std::array<std::int64_t, 3> step;
  for (std::size_t k = 0; k < 3; ++k) step[k] = from[k] > 1 ? 2 : 1;
  const double share = 1.0 / double(step[0] * step[1] * step[2]);
  const std::int64_t channels = shape.channels;
  std::int64_t at = 0;
  for (std::int64_t z = 0; z < to[2]; ++z)
    for (std::int64_t y = 0; y < to[1]; ++y)
      for (std::int64_t x = 0; x < to[0]; ++x)
        for (std::int64_t c = 0; c < channels; ++c) {
          double sum = 0;
          for (std::int64_t dz = 0; dz < step[2]; ++dz)
            for (std::int64_t dy = 0; dy < step[1]; ++dy)
              for (std::int64_t dx = 0; dx < step[0]; ++dx)
                sum += get((((z * step[2] + dz) * from[1] + y * step[1] + dy) * from[0] + x * step[0] + dx) * channels +
                           c);
          put(at++, sum * share);
        }
}

}  // namespace

Array next_level(const Shape& shape, int level, const Array& texels) {
  Array out = level_memory(shape, level + 1);
  if (shape.format == ScalarKind::f16) {
    auto* to = static_cast<std::uint16_t*>(out.data());
    halve(
        shape, level, [&](std::int64_t k) { return half_at(texels.data(), k); },
        [&](std::int64_t k, double mean) { to[k] = runtime::f16_from_double(mean); });
    return out;
  }
  with_format(shape.format, [&]<class T>(T) {
    const auto* from = static_cast<const T*>(texels.data());
    auto* to = static_cast<T*>(out.data());
    halve(
        shape, level, [&](std::int64_t k) { return double(from[k]); },
        [&](std::int64_t k, double mean) {
          if constexpr (std::is_integral_v<T>) mean = std::nearbyint(mean);
          to[k] = T(mean);
        });
  });
  return out;
}

void to_floats(ScalarKind format, const void* texels, float* out, std::int64_t numbers) {
  if (format == ScalarKind::f16) {
    for (std::int64_t k = 0; k < numbers; ++k) out[k] = float(half_at(texels, k));
    return;
  }
  with_format(format, [&]<class T>(T) {
    const auto* from = static_cast<const T*>(texels);
    if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
      constexpr float most = float(std::numeric_limits<T>::max());
      for (std::int64_t k = 0; k < numbers; ++k) out[k] = std::max(float(from[k]) / most, -1.0F);
    } else {
      for (std::int64_t k = 0; k < numbers; ++k) out[k] = float(from[k]);
    }
  });
}

}  // namespace weft::texture
