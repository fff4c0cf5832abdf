// Meshes, trees of boxes, hash grids and volumes from C++: objects that kernels query by their id.
//
//   weft::Mesh mesh(points, indices);                         // arrays of vec3 and int32, shared with the program
//   program.kernel("cast").launch({n}, mesh.id(), rays, hits);   // def cast(mesh: wp.uint64, …): wp.mesh_query_ray(mesh, …)
//   …                                                         // points are moved by another kernel
//   mesh.refit();
//
// Ids are numbers that kernels take as uint64; a launch checks that they are of the right kind and on its device. The handle
// keeps the object: an id is worth nothing without it. Arguments that don't fit are ArgumentErrors. Refits, rebuilds,
// builds and other arrays of a mesh become part of a graph while one is captured; its run then makes the change.
#pragma once
#include <weft/array.h>

#include <cstddef>
#include <span>
#include <string>

namespace weft {

namespace geometry {
class Bvh;
class HashGrid;
class Mesh;
}  // namespace geometry
namespace volume {
struct GridPlan;
class Volume;
}  // namespace volume

/// How a tree is made. None of them changes what queries find.
enum class TreeKind : std::uint8_t {
  best,    // what the device likes best
  sah,     // by surface areas
  median,  // by halves
  lbvh,    // by Morton order
};

struct MeshOptions {
  bool winding_numbers = false;  // lets kernels tell inside from outside by winding numbers; costs memory
  TreeKind tree = TreeKind::best;
  Array groups;  // int32, one a face: queries may start at the faces of one group
};

/// Triangles: `points` and `velocities` (vec3; velocities may be no array) and `indices` (int32, three a face,
/// counter-clockwise seen from outside), contiguous, one-dimensional, on one device. They are shared, not copied.
class Mesh {
 public:
  Mesh(Array points, Array indices, Array velocities = {}, const MeshOptions& options = {});
  std::uint64_t id() const;
  const Array& points() const { return points_; }
  const Array& indices() const { return indices_; }
  const Array& velocities() const { return velocities_; }
  /// Brings the tree to where the points are now; which faces are together stays.
  void refit();
  /// A new tree for where the points are now, under the same id.
  void rebuild();
  /// Other points of the same shape, with their gradient; refits.
  void set_points(Array points);
  /// Other velocities, or none.
  void set_velocities(Array velocities);

 private:
  std::shared_ptr<geometry::Mesh> impl_;
  Array points_, indices_, velocities_;
};

/// A tree over boxes: `lowers` and `uppers` (vec3), contiguous, one-dimensional, on one device; shared, not copied. Boxes
/// with a lower corner above the upper one, or with NaN, are never found.
class Bvh {
 public:
  Bvh(Array lowers, Array uppers, TreeKind tree = TreeKind::best, const Array& groups = {});
  std::uint64_t id() const;
  const Array& lowers() const { return lowers_; }
  const Array& uppers() const { return uppers_; }
  /// Brings the tree to where the boxes are now; which boxes are together stays.
  void refit();
  /// A new tree for where the boxes are now, under the same id.
  void rebuild();

 private:
  std::shared_ptr<geometry::Bvh> impl_;
  Array lowers_, uppers_;
};

/// Points sorted into the cells of a table that space is wrapped around, so that kernels find neighbours
/// (wp.hash_grid_query). Points may lie anywhere; more cells than points are worth little.
class HashGrid {
 public:
  /// So many cells along each axis, for points whose coordinates are of this type: "float16", "float32" or "float64".
  HashGrid(std::int64_t x, std::int64_t y, std::int64_t z, const Device& device = {}, DataType scalar = "float32");
  std::uint64_t id() const;
  Device device() const;
  /// Sorts points (vectors of three, in an array of any shape) into cells as wide as `radius`, with `groups` (int32, one a
  /// point) if there are any. Call it again when they have moved; nothing of the arrays is kept. On a GPU it is queued.
  void build(const Array& points, double radius, const Array& groups = {});
  /// Takes memory for builds of so many points. Memory grows with builds and is kept.
  void reserve(std::int64_t points, bool with_groups = false);

 private:
  std::shared_ptr<geometry::HashGrid> impl_;
};

/// A sparse grid of voxels in the form of NanoVDB, which kernels sample (wp.volume_sample_f and the like). Files and memory
/// that hold no grid, or a broken one, are Errors that say where. Codecs: none and zip.
class Volume {
 public:
  /// The grid of this number in a .nvdb file.
  static Volume load(const std::string& path, const Device& device = {}, std::size_t number = 0);
  /// The same from the bytes of a file.
  static Volume from_file(std::span<const std::byte> file, const Device& device = {}, std::size_t number = 0);
  /// A grid in an array of uint8, which is shared, not copied; it begins at a multiple of 32.
  explicit Volume(Array grid);
  /// Tiles of 8 x 8 x 8 voxels around these voxels (three int32 each), all of value `background`, of voxels as wide as
  /// `voxel_size`. A GPU builds its grids by itself.
  static Volume of_tiles(std::span<const std::int32_t> voxels, double voxel_size, float background,
                         const Device& device = {});
  /// An index grid of these voxels.
  static Volume of_voxels(std::span<const std::int32_t> voxels, double voxel_size, const Device& device = {});

  std::uint64_t id() const;
  /// The grid's bytes.
  const Array& grid() const { return grid_; }
  std::string name() const;
  /// How many tiles there are, and how many voxels have an index.
  std::int64_t tiles() const;
  std::int64_t voxels() const;
  /// Writes a .nvdb file, compressed by zip or not.
  void save(const std::string& path, bool zip = false) const;

 private:
  Volume(Array grid, std::shared_ptr<volume::Volume> impl);
  static Volume of_plan(const volume::GridPlan& plan, std::span<const std::int32_t> voxels, const Device& device);

  Array grid_;
  std::shared_ptr<volume::Volume> impl_;
};

}  // namespace weft
