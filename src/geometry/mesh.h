// Meshes and trees of boxes: objects that refer to a program's arrays, with a tree over faces or boxes that kernels walk.
#pragma once
#include <atomic>
#include <optional>

#include "geometry/object.h"
#include "geometry/placed_tree.h"
#include "runtime/array.h"

namespace weft::geometry {

/// Triangles. `points` (vec3f), `indices` (int32, three a face), `velocities` (vec3f or none) and `groups` (int32, one a
/// face, or none) are one-dimensional, contiguous, and on one device. They are shared, not copied.
class Mesh final : public Object {
 public:
  struct Options {
    bool winding = false;  // moments for winding numbers
    Constructor constructor = Constructor::best;
    std::uint32_t leaf_size = 0;
  };
  /// Throws ArgumentError for arrays that don't fit, and for an index outside of the points.
  static std::shared_ptr<Mesh> make(runtime::Array points, runtime::Array indices, runtime::Array velocities,
                                    runtime::Array groups, const Options& options);
  explicit Mesh(cuda::Device* device) : Object(HandleKind::mesh, device), tree_(device) {}

  const runtime::Array& points() const { return points_; }
  const runtime::Array& indices() const { return indices_; }
  const runtime::Array& velocities() const { return velocities_; }
  const runtime::Array& groups() const { return groups_; }
  const PlacedTree& tree() const { return tree_; }

  /// Boxes and copies for where the points are now.
  void refit();
  /// Another topology, by another constructor if one is given.
  void rebuild(std::optional<Constructor> constructor);
  /// Other points of the same shape on the same device; refits.
  void set_points(runtime::Array points);
  /// Other velocities, or none.
  void set_velocities(runtime::Array velocities);
  /// What these two throw for arrays that don't fit, for those who will call them later.
  void check_points(const runtime::Array& points) const;
  void check_velocities(const runtime::Array& velocities) const;
  /// The program's own handles of points and velocities (null: none), whose gradients may come and go: kernels and tapes find
  /// those that they have now. Whoever gives them keeps them alive, by set_owner.
  void use_handles(const runtime::Array* points, const runtime::Array* velocities);
  void refresh_gradients() override;
  /// Points, velocities if there are any, indices.
  std::vector<const runtime::Array*> arrays() const override;
  std::shared_ptr<Object> with_arrays(std::span<const runtime::Array> arrays) override;
  bool first_without_winding() override { return !options_.winding && !asked_for_winding_.exchange(true); }

 private:
  void build();
  void describe();
  /// Takes an array in the place of another. The mesh is the caller's alone, as far as kernels go; whoever asks for
  /// gradients waits for no kernel, so that the mutex of handles keeps them apart.
  void exchange(runtime::Array& known, runtime::Array& given);
  /// Boxes for where the points are now, and the descriptor; the mesh is the caller's alone.
  void refit_alone();
  std::shared_ptr<Mesh> twin() const;
  std::shared_ptr<Object> keep() override;
  TreeSource source() const;

  runtime::Array points_, indices_, velocities_, groups_;
  Options options_;
  PlacedTree tree_;
  mutable std::mutex handles_mutex_;            // guards these two, and changes of points and velocities
  const runtime::Array* own_points_ = nullptr;  // the program's
  const runtime::Array* own_velocities_ = nullptr;
  std::atomic<bool> asked_for_winding_{false};
  std::atomic<void*> points_grad_{nullptr}, velocities_grad_{nullptr};  // in the descriptor
};

/// A tree over boxes: `lowers` and `uppers` (vec3f) and `groups` (int32 or none), one of each a box.
class Bvh final : public Object {
 public:
  struct Options {
    Constructor constructor = Constructor::best;
    std::uint32_t leaf_size = 0;
  };
  static std::shared_ptr<Bvh> make(runtime::Array lowers, runtime::Array uppers, runtime::Array groups,
                                   const Options& options);
  explicit Bvh(cuda::Device* device) : Object(HandleKind::bvh, device), tree_(device) {}

  const runtime::Array& lowers() const { return lowers_; }
  const runtime::Array& uppers() const { return uppers_; }
  const runtime::Array& groups() const { return groups_; }
  const PlacedTree& tree() const { return tree_; }
  std::shared_ptr<Object> with_arrays(std::span<const runtime::Array>) override { return publish(keep()); }

  void refit();
  void rebuild(std::optional<Constructor> constructor);
  /// Other boxes, as many as before, on the same device; the tree is that of the old ones until refit or rebuild.
  void set_boxes(runtime::Array lowers, runtime::Array uppers);

 private:
  void build();
  void describe();
  std::shared_ptr<Object> keep() override;
  TreeSource source() const;

  runtime::Array lowers_, uppers_, groups_;
  Options options_;
  PlacedTree tree_;
};

}  // namespace weft::geometry
