// What to tell those who take a tile of one element for its element, as reductions give it.
#pragma once
#include <string_view>

#include "types/tile_type.h"

namespace weft::sema {

inline constexpr std::string_view kTakeElement = "take its element: …[0]";

inline bool is_tile_of_one(const Type* type) {
  const TileType* tile = tile_type(type);
  return tile && tile->count == 1;
}

}  // namespace weft::sema
