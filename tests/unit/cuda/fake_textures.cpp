// The fake driver's arrays of texels: plain memory, copied to and from as the driver does; texture objects, which the PTX
// machine reads as a texture unit does, with weights of 8 bits; surface objects are counted and have no use.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "fake_driver.h"
#include "ptx_threads.h"

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

struct Unit {
  std::vector<ArrayHandle> levels;
  TextureShape shape;
};

std::map<TextureObject, Unit>& units() {
  static std::map<TextureObject, Unit> all;
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

using Texel = std::array<float, 4>;
using Place = std::array<std::int64_t, 3>;

/// A number of a texel: as it is, or with whole ones of 8 and 16 bits between 0 and 1 or -1 and 1. Those of 32 bits are bits.
float number_of(const char* at, int format) {
  const auto read = [&]<class T>(T value) { return std::memcpy(&value, at, sizeof value), value; };
  switch (format) {
    case 0x01: return float(read(std::uint8_t())) / 255.0f;
    case 0x02: return float(read(std::uint16_t())) / 65535.0f;
    case 0x08: return std::max(float(read(std::int8_t())) / 127.0f, -1.0f);
    case 0x09: return std::max(float(read(std::int16_t())) / 32767.0f, -1.0f);
    case 0x10: return float(half_value(read(std::uint16_t()), 'h'));
    default: return read(0.0f);
  }
}

/// Which texel of an axis a whole number means; -1: none, the border.
std::int64_t on_axis(std::int64_t at, std::int64_t extent, std::uint32_t mode) {
  constexpr std::uint32_t kWrap = 0, kMirror = 2, kBorder = 3;
  if (mode == kBorder) return at < 0 || at >= extent ? -1 : at;
  if (mode == kWrap) return (at % extent + extent) % extent;
  if (mode == kMirror) {
    const std::int64_t period = (at % (2 * extent) + 2 * extent) % (2 * extent);
    return period < extent ? period : 2 * extent - 1 - period;
  }
  return std::clamp<std::int64_t>(at, 0, extent - 1);
}

Place extents_of(const ArrayShape& shape) {
  const auto most = [](std::size_t n) { return std::int64_t(std::max<std::size_t>(n, 1)); };
  return {most(shape.width), most(shape.height), most(shape.depth)};
}

Texel texel_at(const Unit& unit, const Texels& texels, Place at) {
  const Place extents = extents_of(texels.shape);
  Texel out = {0, 0, 0, 0};
  for (std::size_t k = 0; k < 3; ++k) {
    at[k] = on_axis(at[k], extents[k], unit.shape.address[k]);
    if (at[k] < 0) return std::copy(std::begin(unit.shape.border), std::end(unit.shape.border), out.begin()), out;
  }
  const std::size_t bytes = number_bytes(texels.shape.format), channels = texels.shape.channels;
  const char* from =
      texels.bytes.data() + std::size_t((at[2] * extents[1] + at[1]) * extents[0] + at[0]) * bytes * channels;
  for (std::size_t k = 0; k < channels; ++k) out[k] = number_of(from + k * bytes, texels.shape.format);
  return out;
}

void mix(Texel& low, const Texel& high, float weight) {
  if (weight == 0) return;  // whole numbers of 32 bits are no floats
  for (std::size_t k = 0; k < 4; ++k) low[k] += (high[k] - low[k]) * weight;
}

float to_8_bits(float weight) { return std::floor(weight * 256 + 0.5f) / 256; }

Texel sample_level(const Unit& unit, std::size_t level, const std::array<float, 3>& place, std::size_t rank) {
  const Texels& texels = arrays().at(unit.levels[level]);
  const Place extents = extents_of(texels.shape);
  Place low = {0, 0, 0};
  std::array<float, 3> weights = {0, 0, 0};
  for (std::size_t k = 0; k < rank; ++k) {
    float at = unit.shape.flags & kNormalizedCoordinates ? place[k] * float(extents[k]) : place[k];
    if (unit.shape.linear) at -= 0.5f;
    at = std::clamp(std::isnan(at) ? 0.0f : at, -1e9f, 1e9f);
    low[k] = std::int64_t(std::floor(at));
    if (unit.shape.linear) weights[k] = to_8_bits(at - std::floor(at));
  }
  std::array<Texel, 8> corners;
  for (std::size_t n = 0; n < 8; ++n) {
    const auto step = [&](std::size_t k) { return low[k] + std::int64_t(weights[k] > 0 && (n >> k & 1)); };
    corners[n] = texel_at(unit, texels, {step(0), step(1), step(2)});
  }
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t n = 0; n < (std::size_t(4) >> k); ++n) {
      Texel low_one = corners[2 * n];
      mix(low_one, corners[2 * n + 1], weights[k]);
      corners[n] = low_one;
    }
  return corners[0];
}

/// By whole coordinates (texels), or by places and a level.
void read_texture(PtxThread& t, const PtxInstruction& i) {
  const auto found = units().find(t.r[i.a]);
  if (found == units().end()) ptx_fail(t, i, "there is no such texture object");
  const Unit& unit = found->second;
  const std::vector<std::int32_t>& list = t.frame().function->lists[std::size_t(i.list)];
  const auto coordinate = [&](std::size_t k) { return list[4 + k]; };
  Texel texel;
  if (i.from_kind == 's') {
    Place at = {0, 0, 0};
    for (std::size_t k = 0; k < i.count; ++k) at[k] = get<std::int32_t>(t, coordinate(k));
    texel = texel_at(unit, arrays().at(unit.levels[0]), at);
  } else {
    std::array<float, 3> place = {0, 0, 0};
    for (std::size_t k = 0; k < i.count; ++k) place[k] = get<float>(t, coordinate(k));
    const float most = std::min(unit.shape.most_level, float(unit.levels.size() - 1));
    float level = std::clamp(get<float>(t, i.b) + unit.shape.level_bias, unit.shape.least_level, most);
    if (!unit.shape.linear_levels) level = std::floor(level + 0.5f);
    const auto first = std::size_t(level);
    texel = sample_level(unit, first, place, i.count);
    const float weight = to_8_bits(level - float(first));
    if (weight > 0) mix(texel, sample_level(unit, std::min(first + 1, unit.levels.size() - 1), place, i.count), weight);
  }
  for (std::size_t k = 0; k < 4; ++k) put(t, list[k], texel[k]);
}

}  // namespace

PtxAction find_texture(const PtxName& name, PtxInstruction& i) {
  // tex.2d.v4.f32.s32, tex.level.2d.v4.f32.f32
  if (name[0] != "tex" || name.size() < 5) return nullptr;
  i.count = std::uint8_t(name[name.size() - 4][0] - '0');
  i.from_kind = name.back()[0];
  return read_texture;
}

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
  t.texture_create = [](TextureObject* object, const ResourceShape* resource, const TextureShape* shape,
                        const void*) -> Result {
    FAKE("texture_create");
    *object = std::uint64_t(new_handle());
    Unit& unit = units()[*object];
    unit.shape = *shape;
    if (resource->kind == 1)
      unit.levels = chains()[static_cast<LevelsHandle>(resource->handle)];
    else
      unit.levels = {static_cast<ArrayHandle>(resource->handle)};
    return kSuccess;
  };
  t.texture_destroy = [](TextureObject object) -> Result {
    FAKE("texture_destroy");
    units().erase(object);
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
