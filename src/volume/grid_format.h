// Where things lie in grids and files of NanoVDB, ABI 32, beyond what depends on the type of voxels (types/grid_layout.h).
#pragma once
#include <cstdint>

namespace weft::volume {

inline constexpr std::uint64_t kMagicOld = 0x304244566f6e614e;   // "NanoVDB0", of files and grids
inline constexpr std::uint64_t kMagicGrid = 0x314244566f6e614e;  // "NanoVDB1", of grids
inline constexpr std::uint64_t kMagicFile = 0x324244566f6e614e;  // "NanoVDB2", of files
inline constexpr std::uint32_t kMajorVersion = 32;
constexpr std::uint32_t major_of(std::uint32_t version) { return version >> 21; }
constexpr std::uint32_t minor_of(std::uint32_t version) { return (version >> 10) & 2047; }
constexpr std::uint32_t patch_of(std::uint32_t version) { return version & 1023; }
constexpr std::uint32_t version_of(std::uint32_t major, std::uint32_t minor, std::uint32_t patch) {
  return major << 21 | minor << 10 | patch;
}
/// What grids made here say they are: NanoVDB 32.6.0, the first with index grids as they are today.
inline constexpr std::uint32_t kWrittenVersion = version_of(kMajorVersion, 6, 0);
inline constexpr std::uint64_t kNoChecksum = ~std::uint64_t(0);
/// Nodes begin at multiples of this.
inline constexpr std::uint64_t kAlignment = 32;

namespace file {
inline constexpr std::uint64_t kHeaderBytes = 16, kVersion = 8, kGridCount = 12, kCodec = 14;
// Of each grid's metadata.
inline constexpr std::uint64_t kMetaBytes = 176, kGridBytes = 0, kFileBytes = 8, kNameKey = 16, kVoxelCount = 24,
                               kType = 32, kClass = 36, kWorldBox = 40, kIndexBox = 88, kVoxelSize = 112,
                               kNameBytes = 136, kNodeCounts = 140, kTileCounts = 156, kMetaCodec = 168,
                               kMetaVersion = 172;
}  // namespace file

namespace grid {
inline constexpr std::uint64_t kHeaderBytes = 672, kChecksum = 8, kVersion = 16, kFlags = 20, kIndex = 24, kCount = 28,
                               kBytes = 32, kName = 40, kNameBytes = 256, kMap = 296, kWorldBox = 560, kVoxelSize = 608,
                               kClass = 632, kType = 636, kFeatures = 640, kFeatureCount = 648, kIndexedValues = 656;
// Of the map.
inline constexpr std::uint64_t kMatrixF = 0, kInverseF = 36, kVectorF = 72, kTaperF = 84, kMatrixD = 88,
                               kInverseD = 160, kVectorD = 232, kTaperD = 256, kMapBytes = 264;
// Flags.
inline constexpr std::uint32_t kHasBox = 2, kIsBreadthFirst = 32;
// Descriptions of features, data that grids bring along.
inline constexpr std::uint64_t kFeatureBytes = 288, kFeatureOffset = 0, kFeatureValues = 8, kFeatureValueBytes = 16,
                               kFeatureSemantic = 20, kFeatureClass = 24, kFeatureType = 28, kFeatureName = 32;
}  // namespace grid

namespace tree {
inline constexpr std::uint64_t kAt = grid::kHeaderBytes, kBytes = 64;
/// Of leaves, lower and upper nodes, and the root, from the tree's beginning on.
inline constexpr std::uint64_t kOffsets = 0, kCounts = 32, kTileCounts = 44, kVoxels = 56;
}  // namespace tree

namespace node {
inline constexpr std::uint64_t kRootBox = 0, kRootTiles = 24;
inline constexpr std::uint64_t kTileKey = 0, kTileChild = 8, kTileState = 16;
inline constexpr std::uint64_t kBox = 0, kFlags = 24, kValueMask = 32, kUpperChildMask = 4128, kLowerChildMask = 544;
inline constexpr std::uint32_t kUpperSlots = 32768, kLowerSlots = 4096, kVoxels = 512;
inline constexpr std::uint64_t kLeafBox = 0, kLeafExtent = 12, kLeafFlags = 15, kLeafMask = 16, kLeafFirst = 80,
                               kLeafPrefix = 88;
}  // namespace node

/// The key of the tile of the root that a voxel lies in.
constexpr std::uint64_t tile_key(std::int32_t i, std::int32_t j, std::int32_t k) {
  return std::uint64_t(std::uint32_t(k) >> 12) | std::uint64_t(std::uint32_t(j) >> 12) << 21 |
         std::uint64_t(std::uint32_t(i) >> 12) << 42;
}

}  // namespace weft::volume
