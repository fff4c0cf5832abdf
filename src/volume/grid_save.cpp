// Writing files: one segment with one grid.
#include <zlib.h>

#include <algorithm>

#include "types/grid_layout.h"
#include "volume/grid_file.h"
#include "volume/grid_format.h"

namespace weft::volume {
namespace {

/// The number by which NanoVDB's tools find a grid by its name.
std::uint64_t name_key(std::string_view name) {
  std::uint64_t key = 0;
  for (const char c : name) key = key * 67 + static_cast<unsigned char>(c) + (key >> 56);
  return key;
}

std::string zipped(std::span<const std::byte> grid) {
  uLongf size = compressBound(uLong(grid.size()));
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(grid.data()),
                               uLong(grid.size()), Z_DEFAULT_COMPRESSION);
  if (status != Z_OK) throw runtime::OutOfMemory(size, "zlib has no memory to compress a grid");
  out.resize(size);
  return out;
}

template <class T>
void put(std::string& out, std::uint64_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

void add_block(std::string& out, const std::string& block) {
  const auto size = std::uint64_t(block.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out += block;
}

/// What the grid says, at the places that files have for it.
std::string metadata(std::span<const std::byte> grid, Codec codec, std::uint64_t file_bytes, const std::string& name) {
  std::string meta(file::kMetaBytes, '\0');
  const auto copy = [&](std::uint64_t to, std::uint64_t from, std::uint64_t count) {
    std::memcpy(meta.data() + to, grid.data() + from, count);
  };
  put(meta, file::kGridBytes, std::uint64_t(grid.size()));
  put(meta, file::kFileBytes, file_bytes);
  put(meta, file::kNameKey, name_key(name));
  put(meta, file::kNameBytes, std::uint32_t(name.size() + 1));
  put(meta, file::kMetaCodec, std::uint16_t(codec));
  copy(file::kVoxelCount, tree::kAt + tree::kVoxels, 8);
  copy(file::kType, grid::kType, 4);
  copy(file::kClass, grid::kClass, 4);
  copy(file::kWorldBox, grid::kWorldBox, 48);
  copy(file::kVoxelSize, grid::kVoxelSize, 24);
  copy(file::kMetaVersion, grid::kVersion, 4);
  copy(file::kNodeCounts, tree::kAt + tree::kCounts, 12);
  put(meta, file::kNodeCounts + 12, std::uint32_t(1));  // the root
  copy(file::kTileCounts, tree::kAt + tree::kTileCounts, 12);
  std::uint64_t root;
  std::memcpy(&root, grid.data() + tree::kAt + tree::kOffsets + 24, 8);
  // Of a grid whose tree nobody looked at, the box is not known.
  if (root <= grid.size() - tree::kAt && grid.size() - tree::kAt - root >= 24)
    copy(file::kIndexBox, tree::kAt + root + node::kRootBox, 24);
  return meta;
}

}  // namespace

std::string file_of_grid(std::span<const std::byte> grid, Codec codec, const BloscPack& blosc) {
  std::string name(reinterpret_cast<const char*>(grid.data()) + grid::kName, grid::kNameBytes);
  name.resize(std::min(name.find('\0'), name.size()));
  std::uint32_t version;
  std::memcpy(&version, grid.data() + grid::kVersion, 4);

  // The grid is alone in this file, whatever it came with.
  std::string alone(reinterpret_cast<const char*>(grid.data()), grid.size());
  put(alone, grid::kIndex, std::uint32_t(0));
  put(alone, grid::kCount, std::uint32_t(1));
  const auto bytes = std::as_bytes(std::span(alone));
  std::string payload;
  if (codec == Codec::zip) {
    add_block(payload, zipped(bytes));
  } else if (codec == Codec::blosc) {
    constexpr std::size_t kBlock = std::size_t(1) << 30;  // readers take blocks of this size
    for (std::size_t at = 0; at < bytes.size(); at += kBlock)
      add_block(payload, blosc(bytes.subspan(at, std::min(kBlock, bytes.size() - at))));
  } else {
    payload = std::move(alone);
  }

  std::string out(file::kHeaderBytes, '\0');
  put(out, 0, kMagicOld);
  put(out, file::kVersion, version);
  put(out, file::kGridCount, std::uint16_t(1));
  put(out, file::kCodec, std::uint16_t(codec));
  out += metadata(codec == Codec::none ? std::as_bytes(std::span(payload)) : bytes, codec, payload.size(), name);
  out += name;
  out += '\0';
  return out + payload;
}

}  // namespace weft::volume
