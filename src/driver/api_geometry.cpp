// Meshes and trees of boxes of the public API.
#include "weft/geometry.h"

#include "driver/api_errors.h"
#include "driver/gpu_trees.h"
#include "driver/program_impl.h"
#include "geometry/mesh.h"

namespace weft {
namespace {

using driver::guarded;

runtime::Array array_of(const Array& handle) { return handle.is_valid() ? handle.internal()->array : runtime::Array(); }

geometry::Constructor constructor_of(TreeKind kind) {
  switch (kind) {
    case TreeKind::best: return geometry::Constructor::best;
    case TreeKind::sah: return geometry::Constructor::sah;
    case TreeKind::median: return geometry::Constructor::median;
    case TreeKind::lbvh: return geometry::Constructor::lbvh;
  }
  throw ArgumentError("this is no kind of tree");
}

}  // namespace

Mesh::Mesh(Array points, Array indices, Array velocities, const MeshOptions& options)
    : points_(std::move(points)), indices_(std::move(indices)), velocities_(std::move(velocities)) {
  driver::use_gpu_trees();
  geometry::Mesh::Options inner;
  inner.winding = options.winding_numbers;
  inner.constructor = constructor_of(options.tree);
  impl_ = guarded([&] {
    return geometry::Mesh::make(array_of(points_), array_of(indices_), array_of(velocities_), array_of(options.groups),
                                inner);
  });
  watch_gradients();
}

void Mesh::watch_gradients() {
  impl_->ask_gradients([points = points_, velocities = velocities_] {
    return geometry::Mesh::Gradients{array_of(points), array_of(velocities)};
  });
}

std::uint64_t Mesh::id() const { return impl_->id(); }

void Mesh::refit() {
  guarded([&] { impl_->refit(); });
}

void Mesh::rebuild() {
  guarded([&] { impl_->rebuild({}); });
}

void Mesh::set_points(Array points) {
  guarded([&] { impl_->set_points(array_of(points)); });
  points_ = std::move(points);
  watch_gradients();
}

void Mesh::set_velocities(Array velocities) {
  guarded([&] { impl_->set_velocities(array_of(velocities)); });
  velocities_ = std::move(velocities);
  watch_gradients();
}

Bvh::Bvh(Array lowers, Array uppers, TreeKind tree, const Array& groups)
    : lowers_(std::move(lowers)), uppers_(std::move(uppers)) {
  driver::use_gpu_trees();
  const geometry::Bvh::Options inner{constructor_of(tree), 0};
  impl_ = guarded([&] { return geometry::Bvh::make(array_of(lowers_), array_of(uppers_), array_of(groups), inner); });
}

std::uint64_t Bvh::id() const { return impl_->id(); }

void Bvh::refit() {
  guarded([&] { impl_->refit(); });
}

void Bvh::rebuild() {
  guarded([&] { impl_->rebuild({}); });
}

}  // namespace weft
