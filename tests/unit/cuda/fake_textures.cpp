// The fake driver's arrays of texels: plain memory, copied to and from as the driver does; texture and surface objects are
// counted and have no use.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "fake_driver.h"

namespace weft::cuda::fake {
namespace {

#define FAKE(name) \
  if (const Result told = note(name); told != kSuccess) return told

struct Texels {
  ArrayShape shape;
  std::vector<char> bytes;
};

std::map<ArrayHandle, Texels>& arrays() {
  static std::map<ArrayHandle, Texels> all;
  return all;
}

std::map<LevelsHandle, std::vector<ArrayHandle>>& chains() {
  static std::map<LevelsHandle, std::vector<ArrayHandle>> all;
  return all;
}

std::size_t number_bytes(int format) {
  switch (format) {
    case 0x01:
    case 0x08: return 1;
    case 0x02:
    case 0x09:
    case 0x10: return 2;
    default: return 4;
  }
}

std::size_t row_bytes(const ArrayShape& shape) { return shape.width * shape.channels * number_bytes(shape.format); }

ArrayHandle add_array(const ArrayShape& shape) {
  const auto made = reinterpret_cast<ArrayHandle>(new_handle());
  const std::size_t rows = std::max<std::size_t>(shape.height, 1) * std::max<std::size_t>(shape.depth, 1);
  arrays()[made] = {shape, std::vector<char>(row_bytes(shape) * rows)};
  return made;
}

/// Where a row of one end of a copy begins.
char* row_of(const CopyEnd& end, std::size_t y, std::size_t z) {
  if (end.kind == kMemoryArray) {
    Texels& texels = arrays().at(end.array);
    const std::size_t height = std::max<std::size_t>(texels.shape.height, 1);
    return texels.bytes.data() + ((z + end.z) * height + y + end.y) * row_bytes(texels.shape) + end.x;
  }
  char* base = end.kind == kMemoryHost ? static_cast<char*>(end.host) : reinterpret_cast<char*>(end.device);
  return base + (z * end.height + y) * end.pitch;
}

}  // namespace

void add_textures(DriverTable& t) {
  t.array_create = [](ArrayHandle* made, const ArrayShape* shape) -> Result {
    FAKE("array_create");
    return *made = add_array(*shape), kSuccess;
  };
  t.array_destroy = [](ArrayHandle array) -> Result {
    FAKE("array_destroy");
    return arrays().erase(array) ? kSuccess : kErrorInvalidValue;
  };
  t.array_shape = [](ArrayShape* shape, ArrayHandle array) -> Result {
    FAKE("array_shape");
    const auto found = arrays().find(array);
    if (found == arrays().end()) return kErrorInvalidValue;
    return *shape = found->second.shape, kSuccess;
  };
  t.levels_create = [](LevelsHandle* made, const ArrayShape* shape, unsigned levels) -> Result {
    FAKE("levels_create");
    *made = reinterpret_cast<LevelsHandle>(new_handle());
    ArrayShape level = *shape;
    for (unsigned k = 0; k < levels; ++k) {
      chains()[*made].push_back(add_array(level));
      for (std::size_t* one : {&level.width, &level.height, &level.depth})
        if (*one) *one = std::max<std::size_t>(*one / 2, 1);
    }
    return kSuccess;
  };
  t.levels_get = [](ArrayHandle* array, LevelsHandle levels, unsigned level) -> Result {
    FAKE("levels_get");
    const auto& all = chains()[levels];
    if (level >= all.size()) return kErrorInvalidValue;
    return *array = all[level], kSuccess;
  };
  t.levels_destroy = [](LevelsHandle levels) -> Result {
    FAKE("levels_destroy");
    for (ArrayHandle one : chains()[levels]) arrays().erase(one);
    return chains().erase(levels) ? kSuccess : kErrorInvalidValue;
  };
  t.array_copy_async = [](const ArrayCopy* copy, StreamHandle) -> Result {
    FAKE("array_copy_async");
    for (std::size_t z = 0; z < copy->depth; ++z)
      for (std::size_t y = 0; y < copy->height; ++y)
        std::memcpy(row_of(copy->to, y, z), row_of(copy->from, y, z), copy->width_bytes);
    return kSuccess;
  };
  t.texture_create = [](TextureObject* object, const ResourceShape*, const TextureShape*, const void*) -> Result {
    FAKE("texture_create");
    return *object = std::uint64_t(new_handle()), kSuccess;
  };
  t.texture_destroy = [](TextureObject) -> Result {
    FAKE("texture_destroy");
    return kSuccess;
  };
  t.surface_create = [](SurfaceObject* object, const ResourceShape*) -> Result {
    FAKE("surface_create");
    return *object = std::uint64_t(new_handle()), kSuccess;
  };
  t.surface_destroy = [](SurfaceObject) -> Result {
    FAKE("surface_destroy");
    return kSuccess;
  };
}

}  // namespace weft::cuda::fake
