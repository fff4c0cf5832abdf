// What a kernel finds at the address that an id is: descriptors of meshes, trees, grids and volumes in slots of 512 bytes. Library
// code (src/stdlib) reads them field by field through structs of the same layout; a launch can't change them. A slot that
// is zero is an empty object of every kind: no points, no nodes, no cells.
#pragma once
#include <cstddef>
#include <cstdint>

#include "types/handle.h"
#include "types/type.h"

namespace weft::geometry {

inline constexpr std::size_t kSlotBytes = 512;
inline constexpr std::size_t kSlabBytes = 64 << 10;  // memory that slots are cut from

/// Opens every descriptor. `kind` is a HandleKind, 0 where there is nothing; `generation` counts what changed the topology.
struct Header {
  std::uint32_t kind;
  std::uint32_t generation;
  std::uint32_t flags;
  std::uint32_t reserved;
};

/// `flags` of a tree.
enum TreeFlags : std::uint32_t {
  kOfFaces = 1,  // leaves hold faces, not boxes
  kMoments = 2,  // there are moments for winding numbers
};

/// A tree (geometry/tree.h): addresses of its parts and their counts.
struct TreeDescriptor {
  Header header;
  std::uint64_t nodes;    // WideNode or NarrowNode
  std::uint64_t leaves;   // blocks or single entries, of faces or boxes
  std::uint64_t moments;  // WideMoments or NarrowMoments; 0 without
  std::uint64_t groups;   // GroupRoot, a table that begins with its length; 0 without
  std::uint32_t nobodys;  // zero: who takes an id for the address of another library's tree finds no nodes here
  std::uint32_t node_count;
  std::uint32_t reserved;
  std::uint32_t entry_count;  // blocks or single entries of leaves
  std::uint64_t fours;        // FourNode, of a GPU's tree of faces; else 0
  std::uint64_t pairs;        // GridHead, then GridPair, of the same; else 0
};
static_assert(sizeof(TreeDescriptor) == 80 && offsetof(TreeDescriptor, fours) == 64 &&
                  offsetof(TreeDescriptor, nobodys) == 48 && offsetof(TreeDescriptor, entry_count) == 60,
              "src/stdlib/bvh.py knows these offsets");

/// A mesh: its arrays as kernels see arrays, and its tree, which has an id of its own.
struct MeshDescriptor {
  Header header;
  float mean_edge;  // mean length of edges, for tolerances
  std::uint32_t reserved[3];
  ArrayDesc points;      // array<vec3f>
  ArrayDesc velocities;  // array<vec3f>, null without
  ArrayDesc indices;     // array<i32>
  std::uint64_t padding[3];
  TreeDescriptor tree;
};
inline constexpr std::size_t kMeshTree = 320;
static_assert(offsetof(MeshDescriptor, points) == 32 && offsetof(MeshDescriptor, velocities) == 120 &&
                  offsetof(MeshDescriptor, indices) == 208 && offsetof(MeshDescriptor, tree) == kMeshTree,
              "src/stdlib/mesh.py knows these offsets");
static_assert(sizeof(MeshDescriptor) <= kSlotBytes);

/// `flags` of a grid.
enum GridFlags : std::uint32_t {
  kInDoubles = 1,  // cells are found in float64, else in float32
};

/// Points sorted by the cell of a table that space is wrapped around (geometry/grid_cells.h).
struct GridDescriptor {
  Header header;
  std::uint64_t starts;  // u32: where a cell's run begins; cells + 1 of them
  std::uint64_t points;  // i32: numbers of points, by cell, then number
  std::uint64_t groups;  // i32: their groups, ascending in a cell; 0 without
  std::int32_t dims[3];
  std::uint32_t point_count;
  double cell_width;
  double inverse_width;
};
static_assert(sizeof(GridDescriptor) == 72 && offsetof(GridDescriptor, starts) == 16 &&
                  offsetof(GridDescriptor, groups) == 32 && offsetof(GridDescriptor, dims) == 40 &&
                  offsetof(GridDescriptor, point_count) == 52 && offsetof(GridDescriptor, inverse_width) == 64,
              "src/stdlib/hash_grid.py knows these offsets");

/// How the voxels of a volume get their indices.
enum class Indexing : std::uint32_t {
  none = 0,
  by_leaf = 1,   // grids of values: 512 for each leaf
  by_first = 2,  // each leaf has a first index, for all of its voxels
  by_count = 3,  // the same, for its active voxels
};

/// A grid of NanoVDB (types/grid_layout.h), with its transforms: world = matrix · index + translation, by rows. Of a grid
/// that kernels don't read there are no tiles, and no type matches.
struct VolumeDescriptor {
  Header header;
  std::uint64_t grid;    // where it begins
  std::uint64_t root;    // its root
  std::uint64_t tiles;   // the root's table
  std::uint64_t leaves;  // the first leaf
  std::uint32_t tile_count;
  std::uint32_t type;  // a GridType
  std::uint32_t leaf_bytes;
  std::uint32_t voxel_count;  // that have an index
  std::uint32_t table_stride;
  std::uint32_t upper_table;
  std::uint32_t lower_table;
  std::uint32_t tile_bytes;
  std::uint32_t tile_value;
  std::uint32_t background;
  std::uint32_t indexing;
  std::uint32_t reserved;
  float matrix[9];
  float inverse[9];
  float translation[3];
  std::uint32_t padding;
  double matrix_wide[9];
  double inverse_wide[9];
  double translation_wide[3];
  std::uint64_t places;            // the table of places in a box (volume/place_table.h)
  std::int32_t places_low[3];      // the box's first place, its corner divided by 8
  std::uint32_t places_extent[3];  // of the box, less one: what lies in it has neighbours in it; 0 without a table
  std::uint32_t places_step[2];    // from an entry to the next along x and y
};
static_assert(sizeof(VolumeDescriptor) == 392 && sizeof(VolumeDescriptor) <= kSlotBytes &&
                  offsetof(VolumeDescriptor, grid) == 16 && offsetof(VolumeDescriptor, root) == 24 &&
                  offsetof(VolumeDescriptor, tile_count) == 48 && offsetof(VolumeDescriptor, table_stride) == 64 &&
                  offsetof(VolumeDescriptor, indexing) == 88 && offsetof(VolumeDescriptor, matrix) == 96 &&
                  offsetof(VolumeDescriptor, inverse) == 132 && offsetof(VolumeDescriptor, translation) == 168 &&
                  offsetof(VolumeDescriptor, matrix_wide) == 184 && offsetof(VolumeDescriptor, inverse_wide) == 256 &&
                  offsetof(VolumeDescriptor, translation_wide) == 328 && offsetof(VolumeDescriptor, places) == 352 &&
                  offsetof(VolumeDescriptor, places_low) == 360 && offsetof(VolumeDescriptor, places_extent) == 372 &&
                  offsetof(VolumeDescriptor, places_step) == 384,
              "src/stdlib/volume.py knows these offsets");

/// `flags` of a texture.
enum TextureFlags : std::uint32_t {
  kNormalized = 1,    // coordinates are 0…1, else 0…extent
  kLinear = 2,        // between texels, else the nearest
  kLinearLevels = 4,  // between levels, else the nearest
  kWhole = 8,         // a GPU's unit gives whole numbers of 32 bits
  kUnsigned = 16,     // and they have no sign
  kLives = 32,        // there is a texture: a slot that is zero has none
  kClamped = 64,      // along all axes the outermost texels go on for ever
  kBordered = 128,    // along some axis there is nothing beyond the edges
  kPlain = 256,       // linear, clamped, with one level
  kHalf = 512,        // gradients of texels are float16
  kBytes = 1024,      // on a CPU texels are bytes that stand for 0…1, else float32
  kNear = 2048,       // as kPlain, but the nearest texel
};

/// One level of a texture. On a CPU texels are float32 or bytes, channels next to each other; on a GPU they are fetched.
struct TextureLevel {
  std::uint64_t texels;  // their address; on a GPU a texture object that gives single ones
  std::int32_t extent[3];
  float scale[3];  // from coordinates to texels
  float low[3];    // where texels are counted from centres if the texture is linear, from edges if not: no place
  float high[3];   // beyond these needs another texel
  std::uint64_t padding;
};
static_assert(sizeof(TextureLevel) == 64 && offsetof(TextureLevel, extent) == 8 &&
                  offsetof(TextureLevel, scale) == 20 && offsetof(TextureLevel, low) == 32 &&
                  offsetof(TextureLevel, high) == 44,
              "src/stdlib/texture.py knows these offsets");

/// A texture (src/texture): levels, how coordinates become texels, and where gradients of texels go.
struct TextureDescriptor {
  Header header;
  std::uint64_t levels;    // TextureLevel, one for each
  std::uint64_t object;    // of the driver, that filters; 0 on a CPU
  std::uint64_t gradient;  // float32 or float16, of the first level's texels; 0 without
  std::uint32_t level_count;
  std::uint32_t channels;    // 1, 2 or 4
  std::uint32_t address[3];  // wrap, clamp, mirror, border
  float period[3];           // the extent of the first level in coordinates
  float inverse[3];          // 1 / period
  float quick[3];            // from coordinates to those of `object`
  TextureLevel first;        // the first level again: it saves a load
};
static_assert(sizeof(TextureDescriptor) == 160 && offsetof(TextureDescriptor, levels) == 16 &&
                  offsetof(TextureDescriptor, gradient) == 32 && offsetof(TextureDescriptor, level_count) == 40 &&
                  offsetof(TextureDescriptor, address) == 48 && offsetof(TextureDescriptor, period) == 60 &&
                  offsetof(TextureDescriptor, inverse) == 72 && offsetof(TextureDescriptor, quick) == 84 &&
                  offsetof(TextureDescriptor, first) == 96,
              "src/stdlib/texture.py knows these offsets");

}  // namespace weft::geometry
