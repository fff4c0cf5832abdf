// The types of voxels in NanoVDB grids, and where the parts of a grid lie: one table for the reader and writer of files
// (src/volume) and for the code that kernels walk grids with (src/sema/lower_volume.cpp, src/stdlib/volume.py).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "types/type.h"

namespace weft {

/// As files number them.
enum class GridType : std::uint32_t {
  unknown = 0,
  float32 = 1,
  float64 = 2,
  int16 = 3,
  int32 = 4,
  int64 = 5,
  vec3f = 6,
  vec3d = 7,
  mask = 8,
  half = 9,
  uint32 = 10,
  boolean = 11,
  rgba8 = 12,
  fp4 = 13,
  fp8 = 14,
  fp16 = 15,
  fpn = 16,
  vec4f = 17,
  vec4d = 18,
  index = 19,
  on_index = 20,
  index_mask = 21,
  on_index_mask = 22,
  point_index = 23,
  vec3u8 = 24,
  vec3u16 = 25,
  uint8 = 26,
};
inline constexpr std::uint32_t kGridTypes = 27;

/// Sizes and places of a grid's parts in bytes. A table has an entry for each child: a link (8 bytes) or a value.
struct GridLayout {
  std::uint32_t value_bytes;   // of a voxel; 0: voxels have indices, no values
  std::uint32_t background;    // in the root
  std::uint32_t root_bytes;    // the root without its tiles, which follow it
  std::uint32_t tile_value;    // in a tile of the root
  std::uint32_t tile_bytes;    // a tile of the root
  std::uint32_t table_stride;  // from one entry of a table to the next
  std::uint32_t upper_table;
  std::uint32_t upper_bytes;
  std::uint32_t lower_table;
  std::uint32_t lower_bytes;
  std::uint32_t leaf_table;
  std::uint32_t leaf_bytes;
};

/// Null for types that kernels don't read.
const GridLayout* grid_layout(GridType type);
/// A number of a layout by its name, "upper_table" say; none for other names.
std::optional<std::uint32_t> grid_layout_part(const GridLayout& layout, std::string_view name);

/// Whether voxels have indices instead of values.
constexpr bool is_index_grid(GridType type) { return type >= GridType::index && type <= GridType::on_index_mask; }
/// Whether only active voxels have an index.
constexpr bool is_on_index_grid(GridType type) { return type == GridType::on_index || type == GridType::on_index_mask; }

/// The grid type whose voxels are of this type; `unknown` if there is none that kernels read.
GridType grid_type_of(const Type* value);
/// The type of a grid's voxels; null for indices and for types that kernels don't read.
const Type* grid_value_type(GridType type);
/// The name that NanoVDB's tools give the type: "float", "Vec3f", "OnIndex"; "?" for a number that is none.
std::string_view grid_type_name(GridType type);

}  // namespace weft
