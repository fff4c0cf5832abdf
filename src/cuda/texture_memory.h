// Texels in arrays of the driver, and the objects through which kernels read them: one that filters, and for each level one
// that gives single texels by whole coordinates.
#pragma once
#include <array>
#include <vector>

#include "cuda/device.h"
#include "cuda/texture_types.h"
#include "runtime/array.h"

namespace weft::cuda {

class TextureMemory {
 public:
  struct Plan {
    int rank = 2;
    std::array<std::int64_t, 3> extent = {1, 1, 1};
    int channels = 1;
    ScalarKind format = ScalarKind::f32;
    int levels = 1;
    std::uint32_t address[3] = {1, 1, 1};
    bool normalized = true, linear = true, linear_levels = true;
    bool surface = false;
    std::uint64_t foreign_array = 0;  // CUarray that others own; 0: one is made
  };

  /// Texels are zero unless the array is somebody else's. Throws what the driver says, and ArgumentError for an array of
  /// another shape.
  TextureMemory(Device& device, const Plan& plan);
  ~TextureMemory();
  TextureMemory(const TextureMemory&) = delete;
  TextureMemory& operator=(const TextureMemory&) = delete;

  const Plan& plan() const { return plan_; }
  /// CUtexObject that filters.
  TextureObject object() const { return object_; }
  /// CUtexObject for single texels of a level.
  TextureObject texels(int level) const { return texels_[std::size_t(level)]; }
  /// CUarray of a level.
  ArrayHandle array(int level) const { return arrays_[std::size_t(level)]; }
  /// CUsurfObject of the first level, made when first asked for.
  SurfaceObject surface();

  /// Contiguous texels of a level, in and out, behind the work of the current stream. With memory of the host they wait.
  void upload(int level, const runtime::Array& texels);
  void download(int level, const runtime::Array& out) const;
  void copy_level(int level, const TextureMemory& from);

 private:
  void make_arrays();
  void make_objects();
  void take_foreign();
  void drop() noexcept;
  std::array<std::int64_t, 3> extent_of(int level) const;
  void copy(int level, CopyEnd from, CopyEnd to, bool wait) const;
  CopyEnd memory_end(int level, const runtime::Array& array) const;
  CopyEnd array_end(int level) const;

  Device& device_;
  Plan plan_;
  LevelsHandle levels_ = nullptr;  // of textures with levels
  std::vector<ArrayHandle> arrays_;
  std::vector<TextureObject> texels_;
  TextureObject object_ = 0;
  SurfaceObject surface_ = 0;
};

}  // namespace weft::cuda
