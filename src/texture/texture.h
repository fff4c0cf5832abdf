// Textures: texels that kernels sample, reached by an id. On a CPU they are float32 or bytes in plain memory, on a GPU they lie in
// arrays of the driver, for its texture unit.
#pragma once
#include <memory>

#include "cuda/texture_memory.h"
#include "geometry/object.h"
#include "texture/shape.h"

namespace weft::texture {

class Texture final : public geometry::Object {
 public:
  struct Options {
    bool surface = false;             // a GPU's kernels may write to it through a surface object
    std::uint64_t foreign_array = 0;  // CUarray of somebody else, who keeps it alive
  };
  /// All texels are zero; a null device is the CPU. Throws ArgumentError.
  static std::shared_ptr<Texture> make(const Shape& shape, const Sampling& sampling, cuda::Device* device,
                                       const Options& options);
  Texture(const Shape& shape, const Sampling& sampling, cuda::Device* device, const Options& options);

  const Shape& shape() const { return shape_; }
  const Sampling& sampling() const { return sampling_; }
  /// The texels of the first level from an array of as many numbers of the texture's format, contiguous, on any device;
  /// other levels are made of them.
  void set_texels(const runtime::Array& texels);
  /// The texels of a level into such an array.
  void get_texels(int level, const runtime::Array& out) const;
  /// The program's array whose gradient is that of the texels, kept alive by `owner`; null: there is none. It is
  /// contiguous, float32 or float16 as the texels are, with a number for each of the texture's, and on its device.
  void set_source(const runtime::Array* source, std::shared_ptr<const void> owner);

  /// Null on the CPU.
  const cuda::TextureMemory* memory() const { return memory_.get(); }
  cuda::TextureMemory* memory() { return memory_.get(); }

  void refresh_gradients() override;
  std::vector<const runtime::Array*> arrays() const override;
  std::shared_ptr<Object> with_arrays(std::span<const runtime::Array> arrays) override;

 private:
  std::shared_ptr<Object> keep() override;
  std::shared_ptr<Texture> duplicate() const;
  void put(int level, const runtime::Array& texels);
  void describe();

  Shape shape_;
  Sampling sampling_;
  std::vector<runtime::Array> raw_;     // CPU: texels of each level as they were given
  std::vector<runtime::Array> texels_;  // CPU: as kernels read them, the same memory for float32 and uint8
  std::shared_ptr<cuda::TextureMemory> memory_;
  runtime::Array levels_;  // TextureLevel, on the device
  mutable std::mutex source_mutex_;
  const runtime::Array* source_ = nullptr;  // the program's
  runtime::Array own_source_;               // keeps one that is nobody else's
  void* gradient_ = nullptr;                // as the descriptor has it
};

}  // namespace weft::texture
