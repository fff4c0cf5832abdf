// What the driver's calls about arrays, texture and surface objects take, as far as textures need it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "cuda/driver_types.h"

namespace weft::cuda {

using ArrayHandle = struct ArrayTag*;    // CUarray
using LevelsHandle = struct LevelsTag*;  // CUmipmappedArray
using TextureObject = std::uint64_t;     // CUtexObject
using SurfaceObject = std::uint64_t;     // CUsurfObject

/// CUDA_ARRAY3D_DESCRIPTOR. Extents that a rank has not are 0.
struct ArrayShape {
  std::size_t width = 0, height = 0, depth = 0;
  int format = 0;  // CUarray_format
  unsigned channels = 1;
  unsigned flags = 0;
};
inline constexpr unsigned kArraySurface = 2;  // CUDA_ARRAY3D_SURFACE_LDST

inline constexpr int kMemoryHost = 1, kMemoryDevice = 2, kMemoryArray = 3;

/// One end of CUDA_MEMCPY3D.
struct CopyEnd {
  std::size_t x = 0, y = 0, z = 0, level = 0;
  int kind = kMemoryDevice;
  void* host = nullptr;
  DevicePtr device = 0;
  ArrayHandle array = nullptr;
  void* reserved = nullptr;
  std::size_t pitch = 0, height = 0;
};
/// CUDA_MEMCPY3D.
struct ArrayCopy {
  CopyEnd from, to;
  std::size_t width_bytes = 0, height = 1, depth = 1;
};
static_assert(sizeof(CopyEnd) == 88 && sizeof(ArrayCopy) == 200, "the driver knows the sizes");

/// CUDA_RESOURCE_DESC of an array or of one with levels.
struct ResourceShape {
  int kind = 0;  // 0: an array, 1: one with levels
  int padding = 0;
  void* handle = nullptr;
  char rest[120] = {};
  unsigned flags = 0;
  unsigned padding_at_end = 0;
};
static_assert(sizeof(ResourceShape) == 144, "the driver knows the size");

/// CUDA_TEXTURE_DESC.
struct TextureShape {
  std::uint32_t address[3] = {1, 1, 1};
  int linear = 0;
  unsigned flags = 0;
  unsigned anisotropy = 0;
  int linear_levels = 0;
  float level_bias = 0, least_level = 0, most_level = 0;
  float border[4] = {};
  int reserved[12] = {};
};
static_assert(sizeof(TextureShape) == 104, "the driver knows the size");
inline constexpr unsigned kReadAsInteger = 1, kNormalizedCoordinates = 2;

}  // namespace weft::cuda
