// Making arrays and objects of textures, and copies between them and plain memory.
#include "cuda/texture_memory.h"

#include <algorithm>

#include "runtime/errors.h"
#include "support/check.h"

namespace weft::cuda {
namespace {

/// CU_AD_FORMAT_…
int format_number(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::u8: return 0x01;
    case ScalarKind::u16: return 0x02;
    case ScalarKind::u32: return 0x03;
    case ScalarKind::i8: return 0x08;
    case ScalarKind::i16: return 0x09;
    case ScalarKind::i32: return 0x0a;
    case ScalarKind::f16: return 0x10;
    case ScalarKind::f32: return 0x20;
    case ScalarKind::boolean:
    case ScalarKind::i64:
    case ScalarKind::u64:
    case ScalarKind::bf16:
    case ScalarKind::f64: break;
  }
  WEFT_UNREACHABLE("no format of texels");
}

ArrayShape shape_of(const TextureMemory::Plan& plan) {
  ArrayShape out;
  out.width = std::size_t(plan.extent[0]);
  out.height = plan.rank > 1 ? std::size_t(plan.extent[1]) : 1;  // one dimension: the only row (nvptx/texture.cpp)
  out.depth = plan.rank > 2 ? std::size_t(plan.extent[2]) : 0;
  out.format = format_number(plan.format);
  out.channels = unsigned(plan.channels);
  out.flags = plan.surface ? kArraySurface : 0;
  return out;
}

}  // namespace

TextureMemory::TextureMemory(Device& device, const Plan& plan) : device_(device), plan_(plan) {
  const ContextScope scope(device_);
  try {
    if (plan.foreign_array)
      take_foreign();
    else
      make_arrays();
    make_objects();
  } catch (...) {
    drop();
    throw;
  }
}

TextureMemory::~TextureMemory() {
  // Kernels that were queued may still read it.
  try {
    const ContextScope scope(device_);
    device_.api().context_synchronize();
    drop();
  } catch (...) {  // the context is gone, and all in it
  }
}

void TextureMemory::drop() noexcept {
  const DriverTable& api = device_.api();
  if (surface_) api.surface_destroy(surface_);
  for (const TextureObject one : texels_) api.texture_destroy(one);
  if (object_) api.texture_destroy(object_);
  if (levels_)
    api.levels_destroy(levels_);
  else if (!plan_.foreign_array)
    for (ArrayHandle one : arrays_) api.array_destroy(one);
}

std::array<std::int64_t, 3> TextureMemory::extent_of(int level) const {
  std::array<std::int64_t, 3> out = {1, 1, 1};
  for (std::size_t k = 0; k < std::size_t(plan_.rank); ++k)
    out[k] = std::max<std::int64_t>(plan_.extent[k] >> level, 1);
  return out;
}

void TextureMemory::make_arrays() {
  const DriverTable& api = device_.api();
  const ArrayShape shape = shape_of(plan_);
  if (plan_.levels == 1) {
    ArrayHandle made = nullptr;
    WEFT_CUDA(api, array_create, &made, &shape);
    arrays_.push_back(made);
  } else {
    WEFT_CUDA(api, levels_create, &levels_, &shape, unsigned(plan_.levels));
    for (int level = 0; level < plan_.levels; ++level) {
      ArrayHandle one = nullptr;
      WEFT_CUDA(api, levels_get, &one, levels_, unsigned(level));
      arrays_.push_back(one);
    }
  }
  for (int level = 0; level < plan_.levels; ++level) {
    const auto e = extent_of(level);
    upload(level, runtime::Array::zeros(types::scalar(plan_.format), {e[0] * e[1] * e[2] * plan_.channels}));
  }
}

void TextureMemory::take_foreign() {
  auto* array = reinterpret_cast<ArrayHandle>(plan_.foreign_array);
  ArrayShape found;
  WEFT_CUDA(device_.api(), array_shape, &found, array);
  const ArrayShape wanted = shape_of(plan_);
  if (plan_.levels != 1) throw runtime::ArgumentError("cuda_array: a texture over an array of others has one level");
  if (found.width != wanted.width || found.height != wanted.height || found.depth != wanted.depth ||
      found.format != wanted.format || found.channels != wanted.channels)
    throw runtime::ArgumentError("cuda_array: the array has other extents, channels or another dtype than the texture");
  arrays_.push_back(array);
}

void TextureMemory::make_objects() {
  const DriverTable& api = device_.api();
  const bool whole = plan_.format == ScalarKind::i32 || plan_.format == ScalarKind::u32;
  ResourceShape resource;
  resource.kind = levels_ ? 1 : 0;
  resource.handle = levels_ ? static_cast<void*>(levels_) : static_cast<void*>(arrays_[0]);
  TextureShape shape;
  std::copy(std::begin(plan_.address), std::end(plan_.address), shape.address);
  shape.linear = plan_.linear;
  shape.linear_levels = plan_.linear_levels;
  shape.flags = (plan_.normalized ? kNormalizedCoordinates : 0) | (whole ? kReadAsInteger : 0);
  shape.most_level = float(plan_.levels - 1);
  WEFT_CUDA(api, texture_create, &object_, &resource, &shape, nullptr);

  TextureShape single;
  single.flags = whole ? kReadAsInteger : 0;
  for (ArrayHandle array : arrays_) {
    ResourceShape level;
    level.handle = array;
    TextureObject made = 0;
    WEFT_CUDA(api, texture_create, &made, &level, &single, nullptr);
    texels_.push_back(made);
  }
}

SurfaceObject TextureMemory::surface() {
  if (!surface_) {
    const ContextScope scope(device_);
    ResourceShape resource;
    resource.handle = arrays_[0];
    WEFT_CUDA(device_.api(), surface_create, &surface_, &resource);
  }
  return surface_;
}

CopyEnd TextureMemory::memory_end(int level, const runtime::Array& array) const {
  CopyEnd end;
  const auto e = extent_of(level);
  end.kind = array.on_host() ? kMemoryHost : kMemoryDevice;
  end.host = array.on_host() ? array.data() : nullptr;
  end.device = array.on_host() ? 0 : reinterpret_cast<DevicePtr>(array.data());
  end.pitch = std::size_t(e[0]) * std::size_t(plan_.channels) * types::scalar(plan_.format)->size();
  end.height = std::size_t(e[1]);
  return end;
}

CopyEnd TextureMemory::array_end(int level) const {
  CopyEnd end;
  end.kind = kMemoryArray;
  end.array = arrays_[std::size_t(level)];
  return end;
}

void TextureMemory::copy(int level, CopyEnd from, CopyEnd to, bool wait) const {
  const ContextScope scope(device_);
  const auto e = extent_of(level);
  ArrayCopy copy;
  copy.from = from;
  copy.to = to;
  copy.width_bytes = std::size_t(e[0]) * std::size_t(plan_.channels) * types::scalar(plan_.format)->size();
  copy.height = std::size_t(e[1]);
  copy.depth = std::size_t(e[2]);
  const std::shared_ptr<Stream> stream = device_.stream();
  WEFT_CUDA(device_.api(), array_copy_async, &copy, stream->handle());
  if (wait) WEFT_CUDA(device_.api(), stream_synchronize, stream->handle());
}

void TextureMemory::upload(int level, const runtime::Array& texels) {
  copy(level, memory_end(level, texels), array_end(level), texels.on_host());
}

void TextureMemory::download(int level, const runtime::Array& out) const {
  copy(level, array_end(level), memory_end(level, out), out.on_host());
}

void TextureMemory::copy_level(int level, const TextureMemory& from) {
  copy(level, from.array_end(level), array_end(level), false);
}

}  // namespace weft::cuda
