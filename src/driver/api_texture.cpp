// Textures of the public API.
#include "weft/texture.h"

#include "driver/api_errors.h"
#include "driver/program_impl.h"
#include "runtime/errors.h"
#include "sema/symbol.h"
#include "texture/texture.h"

namespace weft {
namespace {

using driver::guarded;

texture::Shape shape_of(const runtime::Array& texels, int rank, int levels) {
  if (rank < 1 || rank > 3)
    throw runtime::ArgumentError("a Texture has 1 to 3 dimensions, not " + std::to_string(rank));
  if (!texels.is_valid() || !texels.is_contiguous())
    throw runtime::ArgumentError("the texels of a Texture are a contiguous array");
  const Type* element = texels.element();
  const bool vectors = element->is_vec();
  if (!vectors && !element->is_scalar())
    throw runtime::ArgumentError("the texels of a Texture are numbers or vectors, not " + element->user_name());
  const bool apart = texels.rank() == rank + 1;
  if (texels.rank() != rank && (vectors || !apart))
    throw runtime::ArgumentError("the texels of a Texture of " + std::to_string(rank) +
                                 " dimensions are an array of as many, and one more for channels");
  texture::Shape shape;
  shape.rank = rank;
  shape.format = element->scalar_kind();
  shape.channels = vectors ? int(element->component_count()) : apart ? int(texels.extent(rank)) : 1;
  for (int k = 0; k < rank; ++k) shape.extent[std::size_t(k)] = texels.extent(rank - 1 - k);
  shape.levels = levels ? levels : shape.most_levels();
  return shape;
}

}  // namespace

Texture::Texture(Array texels, int rank, const TextureOptions& options) {
  guarded([&] {
    const runtime::Array source = texels.is_valid() ? texels.internal()->array : runtime::Array();
    const texture::Shape shape = shape_of(source, rank, options.levels);
    texture::Sampling sampling;
    sampling.linear = options.linear;
    sampling.linear_levels = options.linear_levels;
    sampling.normalized = options.normalized;
    for (std::size_t k = 0; k < 3; ++k) sampling.address[k] = texture::Address(options.address[k]);
    auto* device = source.on_host() ? nullptr : dynamic_cast<cuda::Device*>(source.space());
    impl_ = texture::Texture::make(shape, sampling, device, {});
    impl_->set_texels(source);
    if (shape.format == ScalarKind::f32 || shape.format == ScalarKind::f16) {
      auto owner = std::make_shared<std::vector<Array>>(std::vector{texels});
      impl_->set_source(&(*owner)[0].internal()->array, owner);
    }
    Value value;
    value.id = impl_->id();
    for (std::size_t k = 0; k < 3; ++k) value.extent[k] = std::int32_t(shape.extent[k]);
    value_ = std::make_shared<const Value>(value);
  });
}

std::uint64_t Texture::id() const { return value_->id; }
std::int64_t Texture::width() const { return impl_->shape().extent[0]; }
std::int64_t Texture::height() const { return impl_->shape().extent[1]; }
std::int64_t Texture::depth() const { return impl_->shape().extent[2]; }
int Texture::channels() const { return impl_->shape().channels; }

void Texture::set_texels(const Array& texels) {
  guarded([&] {
    if (!texels.is_valid()) throw runtime::ArgumentError("the texels of a Texture are a contiguous array");
    impl_->set_texels(texels.internal()->array);
    impl_->set_source(nullptr, nullptr);
  });
}

Texture::operator Argument() const {
  const std::string name = "Texture" + std::to_string(impl_->shape().rank) + "D";
  return {DataType(sema::library_struct(name)->type), value_.get()};
}

}  // namespace weft
