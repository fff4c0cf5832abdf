// What meshes and trees of boxes do with their arrays: checks, builds, refits, descriptors.
#include "geometry/mesh.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>
#include <string>

#include "runtime/errors.h"

namespace weft::geometry {
namespace {

using runtime::Array;

const Type* vec3f() { return types::vec(types::f32(), 3); }

/// A one-dimensional, contiguous array of this element type; `what` begins the sentence.
void check_array(const Array& array, const Type* element, const std::string& what) {
  if (!array.is_valid() || array.element() != element || array.rank() != 1 || !array.is_contiguous())
    throw runtime::ArgumentError(what + " should be a contiguous one-dimensional array of type " +
                                 element->user_name());
}

void check_same_place(const Array& array, const Array& first, const std::string& what) {
  if (array.space() != first.space() && (!array.on_host() || !first.on_host()))
    throw runtime::ArgumentError(what + " must lie on one device");
}

/// The GPU that an array lies on; null is the CPU.
cuda::Device* device_of(const Array& array) {
  return array.on_host() ? nullptr : static_cast<cuda::Device*>(array.space());
}

std::uint32_t item_count(std::int64_t count, const char* what) {
  if (count > std::int64_t(kMaxItems))
    throw runtime::ArgumentError(std::string("a tree has at most ") + std::to_string(kMaxItems) + " " + what);
  return std::uint32_t(count);
}

/// A number with 12 bits: devices add up lengths in another order each, and what kernels see shall be the same.
float coarse(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return std::isfinite(value) ? std::bit_cast<float>((bits + (1u << 11)) & ~((1u << 12) - 1)) : value;
}

/// Whether the program's handle is still one of this memory: it may have been given another array.
bool is_same(const Array& known, const Array* own) {
  return own && own->is_valid() && known.is_valid() && own->data() == known.data();
}

/// The gradient that an array has now.
void* gradient_of(const Array& known, const Array* own) {
  return is_same(known, own) ? own->desc().grad : known.desc().grad;
}

/// A graph writes a descriptor whenever it runs, whatever the object has by then: it keeps all that kernels find there.
void keep_for_graph(const Object& object, const PlacedTree& tree, std::vector<Array> arrays) {
  cuda::Device* device = object.device();
  if (!device || !device->capture()) return;
  device->keep_for_capture(std::make_shared<const std::vector<Array>>(std::move(arrays)));
  device->keep_for_capture(std::make_shared<const PlacedTree>(tree));
}

/// Waits for launches that read the object, on the CPU: on a GPU streams keep the order.
std::unique_lock<std::shared_mutex> alone(const Object& object) {
  return object.device() ? std::unique_lock<std::shared_mutex>() : std::unique_lock(object.in_use());
}

}  // namespace

std::shared_ptr<Mesh> Mesh::make(Array points, Array indices, Array velocities, Array groups, const Options& options) {
  check_array(points, vec3f(), "Mesh points");
  check_array(indices, types::i32(), "Mesh indices");
  check_same_place(indices, points, "Mesh points and indices");
  if (indices.size() % 3)
    throw runtime::ArgumentError("Mesh indices come in threes, one for each corner of a face: " +
                                 std::to_string(indices.size()) + " is not a multiple of 3");
  if (groups.is_valid()) {
    check_array(groups, types::i32(), "Mesh groups");
    check_same_place(groups, points, "Mesh points and groups");
    if (groups.size() != indices.size() / 3)
      throw runtime::ArgumentError("Mesh groups has " + std::to_string(groups.size()) + " elements for " +
                                   std::to_string(indices.size() / 3) + " faces");
  }
  item_count(indices.size() / 3, "faces");
  auto mesh = std::make_shared<Mesh>(device_of(points));
  mesh->points_ = std::move(points);
  mesh->indices_ = std::move(indices);
  mesh->groups_ = std::move(groups);
  mesh->options_ = options;
  mesh->set_velocities(std::move(velocities));
  mesh->build();
  return publish(std::move(mesh));
}

TreeSource Mesh::source() const {
  TreeSource out;
  out.points = points_;
  out.indices = indices_;
  out.groups = groups_;
  out.count = std::uint32_t(indices_.size() / 3);
  return out;
}

void Mesh::build() {
  TreeOptions options;
  options.constructor = options_.constructor;
  options.leaf_size = options_.leaf_size;
  options.moments = options_.winding;
  auto lock = alone(*this);
  leave_to_pins();
  // Indices never change: that all of them are right is known from the first time on.
  tree_.build(source(), options, generation() == 0);
  next_generation();
  describe();
  if (tree_.facts().bad_face < 0) return;
  const Array corners = indices_.slice(0, 3 * tree_.facts().bad_face, 3 * tree_.facts().bad_face + 3);
  const Array here = Array::empty(types::i32(), {3});
  here.assign(corners);
  const std::int32_t* corner = here.span<std::int32_t>().data();
  throw runtime::ArgumentError("Mesh indices: face " + std::to_string(tree_.facts().bad_face) + " (" +
                               std::to_string(corner[0]) + ", " + std::to_string(corner[1]) + ", " +
                               std::to_string(corner[2]) + ") has an index outside of the " +
                               std::to_string(points_.size()) + " points");
}

void Mesh::describe() {
  MeshDescriptor mesh{};
  mesh.header.kind = std::uint32_t(HandleKind::mesh);
  mesh.header.generation = generation();
  mesh.mean_edge = coarse(tree_.facts().mean_edge);
  mesh.points = points_.desc();
  mesh.velocities = velocities_.desc();
  {
    std::lock_guard handles(handles_mutex_);
    mesh.points.grad = points_grad_ = gradient_of(points_, own_points_);
    mesh.velocities.grad = velocities_grad_ = gradient_of(velocities_, own_velocities_);
  }
  mesh.indices = indices_.desc();
  mesh.tree = tree_.describe(HandleKind::bvh, generation());
  write(mesh);
  tree_.write_mean_edge(id() + offsetof(MeshDescriptor, mean_edge));
  keep_for_graph(*this, tree_, {points_, velocities_, indices_});
}

void Mesh::refit() {
  auto lock = alone(*this);
  refit_alone();
}

void Mesh::refit_alone() {
  if (leave_to_pins()) tree_ = tree_.copy();
  tree_.refit(source());
  next_generation();
  describe();
}

/// With all that kernels see, but for the descriptor, which is not written yet.
std::shared_ptr<Mesh> Mesh::twin() const {
  auto kept = std::make_shared<Mesh>(device());
  kept->points_ = points_;
  kept->indices_ = indices_;
  kept->velocities_ = velocities_;
  kept->groups_ = groups_;
  kept->options_ = options_;
  kept->tree_ = tree_;
  {
    std::lock_guard handles(handles_mutex_);
    kept->use_handles(own_points_, own_velocities_);
    kept->set_owner(owner());
  }
  kept->next_generation();
  return kept;
}

std::shared_ptr<Object> Mesh::keep() {
  std::shared_ptr<Mesh> kept = twin();
  kept->describe();
  return kept;
}

std::shared_ptr<Object> Mesh::with_arrays(std::span<const Array> arrays) {
  std::shared_ptr<Mesh> other = twin();
  other->points_ = arrays.front();
  other->indices_ = arrays.back();
  if (arrays.size() > 2) other->velocities_ = arrays[1];
  other->use_handles(nullptr, nullptr);  // their gradients were given with them
  other->describe();
  return publish(std::move(other));
}

std::vector<const Array*> Mesh::arrays() const {
  const auto handle = [](const Array& known, const Array* own) { return is_same(known, own) ? own : &known; };
  std::lock_guard handles(handles_mutex_);
  std::vector<const Array*> out = {handle(points_, own_points_)};
  if (velocities_.is_valid()) out.push_back(handle(velocities_, own_velocities_));
  out.push_back(&indices_);
  return out;
}

void Mesh::rebuild(std::optional<Constructor> constructor) {
  if (constructor) {
    auto lock = alone(*this);
    options_.constructor = *constructor;
  }
  build();
}

void Mesh::check_points(const Array& points) const {
  check_array(points, vec3f(), "Mesh points");
  std::lock_guard handles(handles_mutex_);
  check_same_place(points, points_, "Mesh points");
  if (points.size() != points_.size())
    throw runtime::ArgumentError("the new points must have the same number of elements as the old ones");
}

void Mesh::set_points(Array points) {
  check_points(points);
  auto lock = alone(*this);
  // Together with the refit: kernels see the old points with the old tree, or the new with the new. Pins get the old.
  if (leave_to_pins()) tree_ = tree_.copy();
  exchange(points_, points);
  try {
    refit_alone();
  } catch (...) {
    exchange(points_, points);
    throw;
  }
}

void Mesh::check_velocities(const Array& velocities) const {
  if (!velocities.is_valid()) return;
  check_array(velocities, vec3f(), "Mesh velocities");
  std::lock_guard handles(handles_mutex_);
  check_same_place(velocities, points_, "Mesh points and velocities");
  if (velocities.size() != points_.size())
    throw runtime::ArgumentError("Mesh velocities has " + std::to_string(velocities.size()) + " elements for " +
                                 std::to_string(points_.size()) + " points");
}

void Mesh::set_velocities(Array velocities) {
  check_velocities(velocities);
  auto lock = alone(*this);
  if (leave_to_pins()) tree_ = tree_.copy();
  exchange(velocities_, velocities);
  if (generation()) describe();
}

void Mesh::exchange(Array& known, Array& given) {
  std::lock_guard handles(handles_mutex_);
  std::swap(known, given);
}

void Mesh::use_handles(const Array* points, const Array* velocities) {
  std::lock_guard handles(handles_mutex_);
  own_points_ = points;
  own_velocities_ = velocities;
}

/// Waits for nobody: a kernel that runs on the mesh may wait for the thread that asks. Gradients are what adjoints alone read.
void Mesh::refresh_gradients() {
  void *points = nullptr, *velocities = nullptr;
  {
    std::lock_guard handles(handles_mutex_);
    points = gradient_of(points_, own_points_);
    velocities = gradient_of(velocities_, own_velocities_);
  }
  if (points == points_grad_ && velocities == velocities_grad_) return;
  if (device()) return describe();
  auto* slot = reinterpret_cast<MeshDescriptor*>(id());
  std::atomic_ref(slot->points.grad).store(points);
  std::atomic_ref(slot->velocities.grad).store(velocities);
  points_grad_ = points;
  velocities_grad_ = velocities;
}

std::shared_ptr<Bvh> Bvh::make(Array lowers, Array uppers, Array groups, const Options& options) {
  check_array(lowers, vec3f(), "Bvh lowers");
  if (groups.is_valid()) {
    check_array(groups, types::i32(), "Bvh groups");
    check_same_place(groups, lowers, "Bvh lowers and groups");
    if (groups.size() != lowers.size())
      throw runtime::ArgumentError("Bvh groups has " + std::to_string(groups.size()) + " elements for " +
                                   std::to_string(lowers.size()) + " boxes");
  }
  item_count(lowers.size(), "boxes");
  auto bvh = std::make_shared<Bvh>(device_of(lowers));
  bvh->lowers_ = lowers;
  bvh->groups_ = std::move(groups);
  bvh->options_ = options;
  bvh->set_boxes(std::move(lowers), std::move(uppers));
  bvh->build();
  return publish(std::move(bvh));
}

TreeSource Bvh::source() const {
  TreeSource out;
  out.lowers = lowers_;
  out.uppers = uppers_;
  out.groups = groups_;
  out.count = std::uint32_t(lowers_.size());
  return out;
}

void Bvh::build() {
  TreeOptions options;
  options.constructor = options_.constructor;
  options.leaf_size = options_.leaf_size;
  auto lock = alone(*this);
  leave_to_pins();
  tree_.build(source(), options, false);
  describe();
}

void Bvh::describe() {
  write(tree_.describe(HandleKind::bvh, next_generation()));
  keep_for_graph(*this, tree_, {});
}

std::shared_ptr<Object> Bvh::keep() {
  auto kept = std::make_shared<Bvh>(device());
  kept->lowers_ = lowers_;
  kept->uppers_ = uppers_;
  kept->groups_ = groups_;
  kept->options_ = options_;
  kept->tree_ = tree_;
  kept->write(tree_.describe(HandleKind::bvh, kept->next_generation()));
  return kept;
}

void Bvh::refit() {
  auto lock = alone(*this);
  if (leave_to_pins()) tree_ = tree_.copy();
  tree_.refit(source());
  describe();
}

void Bvh::rebuild(std::optional<Constructor> constructor) {
  if (constructor) {
    auto lock = alone(*this);
    options_.constructor = *constructor;
  }
  build();
}

void Bvh::set_boxes(Array lowers, Array uppers) {
  check_array(lowers, vec3f(), "Bvh lowers");
  check_array(uppers, vec3f(), "Bvh uppers");
  check_same_place(lowers, lowers_, "Bvh lowers");
  check_same_place(uppers, lowers, "Bvh lowers and uppers");
  if (lowers.size() != lowers_.size() || uppers.size() != lowers_.size())
    throw runtime::ArgumentError("Bvh lowers and uppers must have one element for each of the " +
                                 std::to_string(lowers_.size()) + " boxes");
  auto lock = alone(*this);
  lowers_ = std::move(lowers);
  uppers_ = std::move(uppers);
}

}  // namespace weft::geometry
