// Tiles: a block's values of one type in a constant shape. In the IR a tile is a struct {data: array<T,1>, offset: i32}: memory
// of the block and where in it the first element lies. Shape and strides are of the type, so that windows of a tile (views,
// transposes, slices, broadcasts) are tiles as well, over the same memory.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "types/type.h"

namespace weft {

struct TileType {
  const Type* type = nullptr;  // the struct
  const Type* element = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  // in elements; zero: broadcast, negative: backwards
  std::int64_t count = 1;             // of elements
  bool contiguous = true;             // row after row without gaps

  std::size_t rank() const { return shape.size(); }
  /// The tile of the same elements and shape that has memory of its own.
  const TileType& packed() const;
};

inline constexpr std::int64_t kMaxTileElements = 65536;

/// What is known of a type; null if it is no tile.
const TileType* tile_type(const Type* type);

namespace types {
/// A tile that lies row after row.
const TileType& tile(const Type* element, std::span<const std::int64_t> shape);
/// A window into one.
const TileType& tile(const Type* element, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
}  // namespace types

/// "(16, 16)", "(8,)".
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace weft
