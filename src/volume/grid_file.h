// Files of NanoVDB (.nvdb): segments of a header, metadata for each grid, and the grids, plain or compressed. Whatever a
// file says is checked before it is believed; nothing is allocated that its own length does not justify.
#pragma once
#include <functional>
#include <vector>

#include "volume/grid_bytes.h"

namespace weft::volume {

/// How a grid is packed in a file, as files number it.
enum class Codec : std::uint16_t { none = 0, zip = 1, blosc = 2 };

/// A grid in a file, as the file describes it.
struct StoredGrid {
  std::uint64_t at = 0;          // where in the file its bytes begin
  std::uint64_t file_bytes = 0;  // how many there are
  std::uint64_t bytes = 0;       // how many it has when unpacked
  std::uint32_t type = 0;
  Codec codec = Codec::none;
  std::string name;
};

/// All grids of a file, by its headers; grids as they lie in memory, one behind the other, count as a file, too. At least
/// one, or FormatError.
std::vector<StoredGrid> stored_grids(const GridBytes& file);

/// Unpacks a block that Blosc packed into the room given; says how many bytes it wrote.
using BloscUnpack = std::function<std::uint64_t(std::span<const std::byte> packed, std::span<std::byte> room)>;

/// Unpacks a grid into `out`, which has its `bytes`. Without `blosc` grids of that codec are an error that says so.
void unpack_grid(const GridBytes& file, const StoredGrid& grid, std::span<std::byte> out, const BloscUnpack& blosc);

/// Packs one block with Blosc.
using BloscPack = std::function<std::string(std::span<const std::byte>)>;

/// The bytes of a file that holds this grid alone. The grid has been checked.
std::string file_of_grid(std::span<const std::byte> grid, Codec codec, const BloscPack& blosc);

}  // namespace weft::volume
