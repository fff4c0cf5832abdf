// Textures of the public API: texels that kernels sample by wp.texture_sample.
#pragma once
#include <array>
#include <memory>

#include "weft/array.h"
#include "weft/device.h"
#include "weft/program.h"

namespace weft {
namespace texture {
class Texture;
}

/// What lies beyond a texture's edges: the texture again, its outermost texels, its mirror image, zero.
enum class TextureAddress : std::uint8_t { wrap, clamp, mirror, border };

struct TextureOptions {
  bool linear = true;         // between texels, else the nearest
  bool linear_levels = true;  // between mip levels
  bool normalized = true;     // coordinates are 0…1, else they count texels
  std::array<TextureAddress, 3> address = {TextureAddress::clamp, TextureAddress::clamp, TextureAddress::clamp};
  int levels = 1;  // mip levels, each half as large as the one before; 0: all
};

/// A texture of one, two or three dimensions. Passed to launches as it is, where a kernel has a wp.Texture1D, Texture2D or
/// Texture3D.
class Texture {
 public:
  /// Texels of an array of `rank` dimensions (the last one is the width), and one more for 2 or 4 channels. They are
  /// copied, to the array's device; float32 texels have gradients, which go to the array's.
  Texture(Array texels, int rank, const TextureOptions& options = {});
  std::uint64_t id() const;
  std::int64_t width() const;
  std::int64_t height() const;
  std::int64_t depth() const;
  int channels() const;
  /// Other texels of the same shape and type, from the host or the texture's device.
  void set_texels(const Array& texels);

  // NOLINTNEXTLINE(google-explicit-constructor): launches take plain values
  operator Argument() const;

 private:
  struct Value {  // as kernels see it
    std::uint64_t id = 0;
    std::int32_t extent[3] = {};
  };
  std::shared_ptr<texture::Texture> impl_;
  std::shared_ptr<const Value> value_;
};

}  // namespace weft
