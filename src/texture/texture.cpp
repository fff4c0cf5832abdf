// Texels in and out, descriptors, copies for tapes.
#include "texture/texture.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "runtime/errors.h"

namespace weft::texture {

using geometry::TextureDescriptor;
using geometry::TextureLevel;
using runtime::ArgumentError;
using runtime::Array;

namespace {

const Type* bytes_type() { return types::scalar(ScalarKind::u8); }

/// Kernels read two texels of four bytes at once, wherever the first one lies (src/stdlib/texture_bytes.py).
constexpr std::int64_t kReadBehind = 8;

/// The bytes of a contiguous array as an array of them.
Array as_bytes(const Array& array) {
  return Array::wrap(bytes_type(), {std::int64_t(array.bytes())}, {.data = array.data(), .space = array.space()});
}

void check_numbers(const Shape& shape, int level, const Array& array) {
  const Type* element = array.is_valid() ? array.element() : nullptr;
  const bool fits =
      element && array.is_contiguous() &&
      std::int64_t(array.bytes()) == shape.numbers(level) * std::int64_t(types::scalar(shape.format)->size());
  if (!fits) throw ArgumentError("the array of texels is not of the texture's size");
}

/// How far out places along an axis go before they are whole numbers: up to where the texels around are the same for ever,
/// and for those that repeat (whose places are in the first period) where rounding could lead.
struct Ends {
  float low, high;
};
Ends ends_of(Address mode, std::int64_t extent, bool linear) {
  const auto at_most = [](std::int64_t n) {
    const float nearest = float(n);
    return std::int64_t(nearest) > n ? std::nextafter(nearest, 0.0F) : nearest;
  };
  switch (mode) {
    case Address::clamp:
    case Address::mirror: return {0.0F, at_most(extent - 1)};
    case Address::wrap: return {linear ? -1.0F : 0.0F, std::nextafter(float(extent), 0.0F)};
    case Address::border: return {-1.0F, float(extent)};
  }
  WEFT_UNREACHABLE("no address mode");
}

std::unique_lock<std::shared_mutex> alone(const geometry::Object& object) {
  return object.device() ? std::unique_lock<std::shared_mutex>() : std::unique_lock(object.in_use());
}

}  // namespace

std::shared_ptr<Texture> Texture::make(const Shape& shape, const Sampling& sampling, cuda::Device* device,
                                       const Options& options) {
  check(shape, sampling);
  return publish(std::make_shared<Texture>(shape, sampling, device, options));
}

Texture::Texture(const Shape& shape, const Sampling& sampling, cuda::Device* device, const Options& options)
    : Object(HandleKind::texture, device), shape_(shape), sampling_(sampling) {
  if (device) {
    cuda::TextureMemory::Plan plan;
    plan.rank = shape.rank;
    plan.extent = shape.extent;
    plan.channels = shape.channels;
    plan.format = shape.format;
    plan.levels = shape.levels;
    plan.surface = options.surface;
    plan.foreign_array = options.foreign_array;
    plan.linear = sampling.linear;
    plan.linear_levels = sampling.linear_levels;
    for (std::size_t k = 0; k < 3; ++k) plan.address[k] = std::uint32_t(sampling.address[k]);
    // A texture unit repeats and has levels by coordinates of 0…1 only.
    bool repeats = shape.levels > 1;
    for (std::size_t k = 0; k < std::size_t(shape.rank); ++k)
      repeats = repeats || sampling.address[k] == Address::wrap || sampling.address[k] == Address::mirror;
    plan.normalized = sampling.normalized || repeats;
    memory_ = std::make_shared<cuda::TextureMemory>(*device, plan);
  } else {
    if (options.foreign_array) throw ArgumentError("cuda_array: a texture on the CPU has none");
    for (int level = 0; level < shape.levels; ++level) {
      const std::int64_t numbers = shape.numbers(level);
      if (shape.format == ScalarKind::u8) {
        texels_.push_back(Array::zeros(bytes_type(), {numbers + kReadBehind}));
        raw_.push_back(Array::wrap(bytes_type(), {numbers}, {.data = texels_.back().data()}));
        continue;
      }
      raw_.push_back(level_memory(shape, level));
      texels_.push_back(shape.format == ScalarKind::f32 ? raw_.back() : Array::zeros(types::f32(), {numbers}));
    }
  }
  describe();
}

void Texture::describe() {
  TextureDescriptor out{};
  out.header.kind = std::uint32_t(HandleKind::texture);
  const auto flag = [&](bool on, std::uint32_t bit) { out.header.flags |= on ? bit : 0; };
  flag(sampling_.normalized, geometry::kNormalized);
  flag(sampling_.linear, geometry::kLinear);
  flag(sampling_.linear_levels, geometry::kLinearLevels);
  flag(shape_.is_whole(), geometry::kWhole);
  flag(shape_.format == ScalarKind::u32, geometry::kUnsigned);
  flag(true, geometry::kLives);
  flag(shape_.format == ScalarKind::f16, geometry::kHalf);
  flag(!memory_ && shape_.format == ScalarKind::u8, geometry::kBytes);
  const auto any = [&](Address mode) {
    const auto end = sampling_.address.begin() + shape_.rank;
    return std::find(sampling_.address.begin(), end, mode) != end;
  };
  const bool clamped = !any(Address::wrap) && !any(Address::mirror) && !any(Address::border);
  flag(clamped, geometry::kClamped);
  flag(clamped && sampling_.linear && shape_.levels == 1, geometry::kPlain);
  flag(clamped && !sampling_.linear && shape_.levels == 1, geometry::kNear);
  flag(any(Address::border), geometry::kBordered);
  out.level_count = std::uint32_t(shape_.levels);
  out.channels = std::uint32_t(shape_.channels);
  for (std::size_t k = 0; k < 3; ++k) {
    out.address[k] = std::uint32_t(sampling_.address[k]);
    out.period[k] = sampling_.normalized ? 1.0F : float(shape_.extent[k]);
    out.inverse[k] = 1.0F / out.period[k];
    out.quick[k] = memory_ && memory_->plan().normalized ? out.inverse[k] : 1.0F;
  }
  std::vector<TextureLevel> levels;
  for (int n = 0; n < shape_.levels; ++n) {
    TextureLevel level{};
    const auto extent = shape_.extent_of(n);
    level.texels = memory_ ? memory_->texels(n) : reinterpret_cast<std::uint64_t>(texels_[std::size_t(n)].data());
    for (std::size_t k = 0; k < 3; ++k) {
      level.extent[k] = std::int32_t(extent[k]);
      level.scale[k] = sampling_.normalized ? float(extent[k]) : float(double(extent[k]) / double(shape_.extent[k]));
      const Ends ends = ends_of(sampling_.address[k], extent[k], sampling_.linear);
      level.low[k] = ends.low;
      level.high[k] = ends.high;
    }
    levels.push_back(level);
  }
  out.first = levels[0];
  if (levels.size() > 1 && !levels_.is_valid()) {
    const auto bytes = std::int64_t(levels.size() * sizeof(TextureLevel));
    levels_ = Array::empty(bytes_type(), {bytes}, false, device());
    levels_.assign(Array::wrap(bytes_type(), {bytes}, {.data = levels.data()}));
  }
  out.levels = levels_.is_valid() ? reinterpret_cast<std::uint64_t>(levels_.data()) : 0;
  out.object = memory_ ? memory_->object() : 0;
  {
    std::lock_guard lock(source_mutex_);
    gradient_ = source_ ? source_->desc().grad : nullptr;
  }
  out.gradient = reinterpret_cast<std::uint64_t>(gradient_);
  out.header.generation = next_generation();
  write(out);
}

void Texture::put(int level, const Array& texels) {
  if (memory_) return memory_->upload(level, texels);
  const Array& raw = raw_[std::size_t(level)];
  as_bytes(raw).assign(as_bytes(texels));
  Array& texels_read = texels_[std::size_t(level)];
  if (texels_read.data() != raw.data())
    to_floats(shape_.format, raw.data(), static_cast<float*>(texels_read.data()), raw.size());
}

void Texture::set_texels(const Array& texels) {
  check_numbers(shape_, 0, texels);
  auto lock = alone(*this);
  leave_to_pins();
  put(0, texels);
  if (shape_.levels == 1) return;
  Array level = texels;
  if (!texels.on_host()) {
    level = level_memory(shape_, 0);
    as_bytes(level).assign(as_bytes(texels));
  }
  for (int n = 1; n < shape_.levels; ++n) {
    level = next_level(shape_, n - 1, level);
    put(n, level);
  }
}

void Texture::get_texels(int level, const Array& out) const {
  check_numbers(shape_, level, out);
  if (memory_) return memory_->download(level, out);
  as_bytes(out).assign(as_bytes(raw_[std::size_t(level)]));
}

void Texture::set_source(const Array* source, std::shared_ptr<const void> owner) {
  {
    std::lock_guard lock(source_mutex_);
    source_ = source;
  }
  set_owner(std::move(owner));
  refresh_gradients();
}

void Texture::refresh_gradients() {
  void* now = nullptr;
  {
    std::lock_guard lock(source_mutex_);
    now = source_ ? source_->desc().grad : nullptr;
  }
  if (now == gradient_) return;
  if (device()) return describe();
  auto* slot = reinterpret_cast<TextureDescriptor*>(id());
  std::atomic_ref(slot->gradient).store(reinterpret_cast<std::uint64_t>(now));
  gradient_ = now;
}

std::vector<const Array*> Texture::arrays() const {
  std::lock_guard lock(source_mutex_);
  return source_ && source_->has_grad() ? std::vector{source_} : std::vector<const Array*>();
}

std::shared_ptr<Texture> Texture::duplicate() const {
  auto made = std::make_shared<Texture>(shape_, sampling_, device(), Options{});
  for (int level = 0; level < shape_.levels; ++level) {
    if (memory_) {
      made->memory_->copy_level(level, *memory_);
    } else {
      made->raw_[std::size_t(level)].assign(raw_[std::size_t(level)]);
      made->texels_[std::size_t(level)].assign(texels_[std::size_t(level)]);
    }
  }
  return made;
}

std::shared_ptr<geometry::Object> Texture::keep() {
  auto made = duplicate();
  std::lock_guard lock(source_mutex_);
  made->set_source(source_, owner());
  return made;
}

/// The values of the array were copied long ago; what counts is where the gradient goes.
std::shared_ptr<geometry::Object> Texture::with_arrays(std::span<const Array> arrays) {
  auto made = duplicate();
  if (!arrays.empty()) {
    made->own_source_ = arrays[0];
    made->set_source(&made->own_source_, nullptr);
  }
  return publish(made);
}

}  // namespace weft::texture
