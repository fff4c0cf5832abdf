// What precedes a tile: the sum over all tiles before it, found while those are under way, without a second walk over
// memory.
//
// A look-back [Merrill and Garland 2016, Single-pass parallel prefix scan with decoupled look-back] adds up what it happens
// to find: sums of single tiles, then a prefix sum. Floats would come out differently from run to run. Here the tree of
// additions is fixed by the tiles' numbers: 32 tiles are a group, 32 groups a row. A tile waits for the sums of those
// before it in its group, of the groups before its own in its row, and for the prefix sum of all rows before. The last tile
// of a group publishes the group's sum, which needs no prefix; the last one of a row adds the row to the rows before it. So
// what depends on each other in a chain are rows of 1024 tiles, whose memory takes longer to move than a word to arrive.
//
// Tiles are numbered as blocks start: whoever is waited for runs already, and waits end.
#pragma once
#include "algorithms/gpu/ptx_numbers.h"

namespace weft::algorithms::gpu {

/// Where tiles publish sums, all zero before: a number of tiles begun, then words for tiles, groups and rows.
struct TilePrefixes {
  std::uint64_t started = 0, tiles = 0, groups = 0, rows = 0;
};
/// Bytes for so many tiles; the places in them.
std::size_t tile_prefix_bytes(std::int64_t tiles, int sum_bytes);
TilePrefixes tile_prefixes(std::uint64_t memory, std::int64_t tiles, int sum_bytes);

/// The tile that this block takes, in every thread. The TilePrefixes are at `offset` of the arguments. Ends with a barrier.
Reg take_tile(PtxKernel& k, int offset);
/// For one whole warp: publishes the tile's sum and gives what precedes it, both the same in all lanes.
Reg tile_prefix(PtxKernel& k, const NumberText& number, const Reg& tile, const Reg& sum, int offset);

}  // namespace weft::algorithms::gpu
