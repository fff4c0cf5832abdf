// Meshes, trees of boxes and hash grids of the public API.
#include "weft/geometry.h"

#include <functional>

#include "driver/api_errors.h"
#include "driver/gpu_trees.h"
#include "driver/program_impl.h"
#include "geometry/hash_grid.h"
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

/// A change of an object as part of a graph on the CPU.
class Change final : public runtime::Command {
 public:
  Change(std::string text, std::function<void(const runtime::LaunchOptions&)> work)
      : text_(std::move(text)), work_(std::move(work)) {}
  void run(const runtime::LaunchOptions& options) const override { work_(options); }
  std::string text() const override { return text_; }

 private:
  std::string text_;
  std::function<void(const runtime::LaunchOptions&)> work_;
};

/// Changes an object now, or whenever the graph runs that is captured where it lies; that keeps what `work` holds.
void change(const geometry::Object& object, std::string text, std::function<void(const runtime::LaunchOptions&)> work) {
  guarded([&] {
    if (runtime::CommandList* list = object.device() ? nullptr : runtime::recording())
      return list->add(std::make_unique<Change>(std::move(text), std::move(work)));
    work({});
    if (object.device() && object.device()->capture())
      object.device()->keep_for_capture(std::make_shared<const decltype(work)>(std::move(work)));
  });
}

/// Shows a mesh the program's own handles, whose gradients may come and go.
void watch_gradients(geometry::Mesh& mesh, const Array& points, const Array& velocities) {
  const auto handle = [](const Array& one) { return one.is_valid() ? &one.internal()->array : nullptr; };
  mesh.use_handles(handle(points), handle(velocities));
  mesh.set_owner(std::make_shared<std::vector<Array>>(std::vector{points, velocities}));
}

ScalarKind kind_of_points(const DataType& scalar) {
  const Type* type = scalar.internal();
  for (ScalarKind kind : {ScalarKind::f16, ScalarKind::f32, ScalarKind::f64})
    if (type == types::scalar(kind)) return kind;
  throw ArgumentError("the points of a HashGrid are of float16, float32 or float64, not of " + scalar.name());
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
  watch_gradients(*impl_, points_, velocities_);
}

std::uint64_t Mesh::id() const { return impl_->id(); }

void Mesh::refit() {
  change(*impl_, "refit a Mesh", [object = impl_](const runtime::LaunchOptions&) { object->refit(); });
}

void Mesh::rebuild() {
  change(*impl_, "rebuild a Mesh", [object = impl_](const runtime::LaunchOptions&) { object->rebuild({}); });
}

void Mesh::set_points(Array points) {
  guarded([&] { impl_->check_points(array_of(points)); });
  points_ = std::move(points);
  change(*impl_, "give a Mesh other points",
         [object = impl_, points = points_, velocities = velocities_](const runtime::LaunchOptions&) {
           object->set_points(array_of(points));
           watch_gradients(*object, points, velocities);
         });
}

void Mesh::set_velocities(Array velocities) {
  guarded([&] { impl_->check_velocities(array_of(velocities)); });
  velocities_ = std::move(velocities);
  change(*impl_, "give a Mesh other velocities",
         [object = impl_, points = points_, velocities = velocities_](const runtime::LaunchOptions&) {
           object->set_velocities(array_of(velocities));
           watch_gradients(*object, points, velocities);
         });
}

Bvh::Bvh(Array lowers, Array uppers, TreeKind tree, const Array& groups)
    : lowers_(std::move(lowers)), uppers_(std::move(uppers)) {
  driver::use_gpu_trees();
  const geometry::Bvh::Options inner{constructor_of(tree), 0};
  impl_ = guarded([&] { return geometry::Bvh::make(array_of(lowers_), array_of(uppers_), array_of(groups), inner); });
}

std::uint64_t Bvh::id() const { return impl_->id(); }

void Bvh::refit() {
  change(*impl_, "refit a Bvh", [object = impl_](const runtime::LaunchOptions&) { object->refit(); });
}

void Bvh::rebuild() {
  change(*impl_, "rebuild a Bvh", [object = impl_](const runtime::LaunchOptions&) { object->rebuild({}); });
}

HashGrid::HashGrid(std::int64_t x, std::int64_t y, std::int64_t z, const Device& device, DataType scalar) {
  impl_ = guarded([&] { return geometry::HashGrid::make({x, y, z}, kind_of_points(scalar), device.internal()); });
}

std::uint64_t HashGrid::id() const { return impl_->id(); }

Device HashGrid::device() const { return Device(impl_->device()); }

void HashGrid::build(const Array& points, double radius, const Array& groups) {
  const runtime::Array source = array_of(points), group_source = array_of(groups);
  const runtime::Array* given = groups.is_valid() ? &group_source : nullptr;
  guarded([&] { impl_->check(source, radius, given); });
  change(*impl_, "build a HashGrid",
         [object = impl_, source, group_source, radius](const runtime::LaunchOptions& of_graph) {
           runtime::LaunchOptions options;  // a build asks nobody whether to stop
           options.serial = of_graph.serial;
           options.max_threads = of_graph.max_threads;
           object->build(source, radius, group_source.is_valid() ? &group_source : nullptr, options);
         });
}

void HashGrid::reserve(std::int64_t points, bool with_groups) {
  guarded([&] { impl_->reserve(points, with_groups); });
}

}  // namespace weft
