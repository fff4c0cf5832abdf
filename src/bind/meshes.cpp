// Meshes and trees of boxes for Python: the classes behind warp.Mesh and warp.Bvh, which check what users give.
#include "bind/bind.h"
#include "bind/gil.h"
#include "bind/graph_journal.h"
#include "driver/gpu_trees.h"
#include "geometry/mesh.h"

namespace weft::bind {
namespace {

using geometry::Bvh;
using geometry::Constructor;
using geometry::Mesh;
using runtime::Array;

Array array_or_none(const ArrayObject* object) { return object ? object->array : Array(); }

Constructor constructor_of(const std::string& name) {
  if (name == "sah") return Constructor::sah;
  if (name == "median") return Constructor::median;
  if (name == "lbvh") return Constructor::lbvh;
  return Constructor::best;
}

std::optional<Constructor> maybe_constructor(const std::optional<std::string>& name) {
  return name ? std::optional(constructor_of(*name)) : std::nullopt;
}

/// Does work of the host that takes long while Python's other threads run.
template <class Work>
auto released(const Work& work) {
  const GilRelease open;
  return work();
}

struct MeshObject {
  std::shared_ptr<Mesh> mesh;
};

struct BvhObject {
  std::shared_ptr<Bvh> bvh;
};

/// Shows the mesh Python's own arrays, whose gradients may come and go.
void watch_gradients(Mesh& mesh, nb::object points, nb::object velocities) {
  const auto handle = [](const nb::object& one) {
    return one.is_none() ? nullptr : &nb::cast<const ArrayObject&>(one).array;
  };
  const Array *const p = handle(points), *const v = handle(velocities);
  auto owner = hold_objects({std::move(points), std::move(velocities)});
  mesh.use_handles(p, v);
  mesh.set_owner(std::move(owner));  // the handles before live until here
}

}  // namespace

void register_meshes(nb::module_& m) {
  driver::use_gpu_trees();
  nb::class_<MeshObject>(m, "Mesh", "Triangles with a tree over them, which kernels reach by an id.")
      .def(
          "__init__",
          [](MeshObject* self, const ArrayObject& points, const ArrayObject& indices, const ArrayObject* velocities,
             const ArrayObject* groups, bool winding, const std::string& constructor, std::uint32_t leaf_size) {
            Mesh::Options options{winding, constructor_of(constructor), leaf_size};
            const Array p = points.array, i = indices.array, v = array_or_none(velocities), g = array_or_none(groups);
            new (self) MeshObject{released([&] { return Mesh::make(p, i, v, g, options); })};
          },
          nb::arg("points"), nb::arg("indices"), nb::arg("velocities").none(), nb::arg("groups").none(),
          nb::arg("winding"), nb::arg("constructor"), nb::arg("leaf_size"))
      .def(
          "watch_gradients",
          [](MeshObject& self, nb::object points, nb::object velocities) {
            watch_gradients(*self.mesh, std::move(points), std::move(velocities));
          },
          nb::arg("points"), nb::arg("velocities").none(),
          "The arrays whose gradients adjoint launches shall find in the mesh.")
      .def_prop_ro("id", [](const MeshObject& self) { return self.mesh->id(); })
      .def_prop_ro(
          "tree_bytes", [](const MeshObject& self) { return self.mesh->tree().bytes(); }, "Bytes of the tree.")
      .def("refit",
           [](MeshObject& self) {
             note_other("a refit of a Mesh");
             released([&] { self.mesh->refit(); });
           })
      .def(
          "rebuild",
          [](MeshObject& self, const std::optional<std::string>& constructor) {
            note_other("a rebuild of a Mesh");
            released([&] { self.mesh->rebuild(maybe_constructor(constructor)); });
          },
          nb::arg("constructor").none())
      .def(
          "set_points",
          [](MeshObject& self, const ArrayObject& points) {
            const Array p = points.array;
            note_other("other points of a Mesh");
            released([&] { self.mesh->set_points(p); });
          },
          nb::arg("points"))
      .def(
          "set_velocities",
          [](MeshObject& self, const ArrayObject* velocities) {
            const Array v = array_or_none(velocities);
            note_other("other velocities of a Mesh");
            released([&] { self.mesh->set_velocities(v); });
          },
          nb::arg("velocities").none());

  nb::class_<BvhObject>(m, "Bvh", "A tree over boxes, which kernels reach by an id.")
      .def(
          "__init__",
          [](BvhObject* self, const ArrayObject& lowers, const ArrayObject& uppers, const ArrayObject* groups,
             const std::string& constructor, std::uint32_t leaf_size) {
            const Array l = lowers.array, u = uppers.array, g = array_or_none(groups);
            const Bvh::Options options{constructor_of(constructor), leaf_size};
            new (self) BvhObject{released([&] { return Bvh::make(l, u, g, options); })};
          },
          nb::arg("lowers"), nb::arg("uppers"), nb::arg("groups").none(), nb::arg("constructor"), nb::arg("leaf_size"))
      .def_prop_ro("id", [](const BvhObject& self) { return self.bvh->id(); })
      .def_prop_ro(
          "tree_bytes", [](const BvhObject& self) { return self.bvh->tree().bytes(); }, "Bytes of the tree.")
      .def("refit",
           [](BvhObject& self) {
             note_other("a refit of a Bvh");
             released([&] { self.bvh->refit(); });
           })
      .def(
          "rebuild",
          [](BvhObject& self, const std::optional<std::string>& constructor) {
            note_other("a rebuild of a Bvh");
            released([&] { self.bvh->rebuild(maybe_constructor(constructor)); });
          },
          nb::arg("constructor").none())
      .def(
          "set_boxes",
          [](BvhObject& self, const ArrayObject& lowers, const ArrayObject& uppers) {
            const Array l = lowers.array, u = uppers.array;
            released([&] { self.bvh->set_boxes(l, u); });
          },
          nb::arg("lowers"), nb::arg("uppers"));
}

}  // namespace weft::bind
