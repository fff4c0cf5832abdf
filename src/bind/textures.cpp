// Textures for Python: the object behind warp.Texture1D, Texture2D and Texture3D, which check what users give.
#include <nanobind/stl/array.h>

#include "bind/bind.h"
#include "bind/gil.h"
#include "bind/graph_journal.h"
#include "cuda/system.h"
#include "runtime/errors.h"
#include "texture/texture.h"

namespace weft::bind {
namespace {

using runtime::Array;
using texture::Texture;

struct TextureRef {
  std::shared_ptr<Texture> texture;
};

cuda::TextureMemory& memory_of(const TextureRef& self) {
  if (!self.texture->memory()) throw runtime::ArgumentError("a texture on the CPU has no objects of the driver");
  return *self.texture->memory();
}

}  // namespace

void register_textures(nb::module_& m) {
  nb::class_<TextureRef>(m, "Texture", "Texels that kernels sample.")
      .def(
          "__init__",
          [](TextureRef* self, int rank, std::array<std::int64_t, 3> extent, int channels, const TypeHandle& dtype,
             int levels, bool normalized, bool linear, bool linear_levels, std::array<std::uint32_t, 3> address,
             int ordinal, bool surface, std::uint64_t cuda_array) {
            texture::Shape shape;
            shape.rank = rank;
            shape.extent = extent;
            shape.channels = channels;
            shape.format = dtype.type->scalar_kind();
            shape.levels = levels;
            texture::Sampling sampling;
            sampling.normalized = normalized;
            sampling.linear = linear;
            sampling.linear_levels = linear_levels;
            for (std::size_t k = 0; k < 3; ++k) sampling.address[k] = texture::Address(address[k]);
            cuda::Device* device = ordinal < 0 ? nullptr : &cuda::System::shared().device(ordinal);
            std::shared_ptr<Texture> made;
            {
              const GilRelease open;
              made = Texture::make(shape, sampling, device, {surface, cuda_array});
            }
            new (self) TextureRef{std::move(made)};
          },
          nb::arg("rank"), nb::arg("extent"), nb::arg("channels"), nb::arg("dtype"), nb::arg("levels"),
          nb::arg("normalized"), nb::arg("linear"), nb::arg("linear_levels"), nb::arg("address"), nb::arg("ordinal"),
          nb::arg("surface"), nb::arg("cuda_array"))
      .def_prop_ro("id", [](const TextureRef& self) { return self.texture->id(); })
      .def(
          "set_texels",
          [](TextureRef& self, const ArrayObject& texels) {
            const Array source = texels.array;
            const GilRelease open;
            self.texture->set_texels(source);
          },
          nb::arg("texels"), "The texels of the first level; others are made of them.")
      .def(
          "get_texels",
          [](const TextureRef& self, int level, const ArrayObject& out) {
            const Array to = out.array;
            const GilRelease open;
            self.texture->get_texels(level, to);
          },
          nb::arg("level"), nb::arg("out"), "The texels of a level.")
      .def(
          "set_source",
          [](TextureRef& self, nb::object source) {
            const Array* array = source.is_none() ? nullptr : &nb::cast<const ArrayObject&>(source).array;
            self.texture->set_source(array, hold_objects({std::move(source)}));
          },
          nb::arg("source").none(), "The array whose gradient is that of the texels, or None.")
      .def_prop_ro("array",
                   [](const TextureRef& self) { return reinterpret_cast<std::uint64_t>(memory_of(self).array(0)); })
      .def_prop_ro("object", [](const TextureRef& self) { return memory_of(self).object(); })
      .def_prop_ro("surface", [](TextureRef& self) { return memory_of(self).surface(); });
}

}  // namespace weft::bind
