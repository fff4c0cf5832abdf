// Reading files: headers first, each number against the length of the file; then inflating, up to the stated size.
#include "volume/grid_file.h"

#include <zlib.h>

#include <algorithm>

#include "types/grid_layout.h"
#include "volume/grid_format.h"

namespace weft::volume {
namespace {

// What a packed byte can become at most: 1032 by deflate, 255 by the compressors of Blosc.
constexpr std::uint64_t kMostByZip = 1032, kMostByBlosc = 256, kSlack = 4096;

std::string version_text(std::uint32_t version) {
  return std::to_string(major_of(version)) + "." + std::to_string(minor_of(version)) + "." +
         std::to_string(patch_of(version));
}

std::uint64_t most_bytes(const StoredGrid& grid) {
  switch (grid.codec) {
    case Codec::none: return grid.file_bytes;
    case Codec::zip:
      return grid.file_bytes > UINT64_MAX / kMostByZip - kSlack ? UINT64_MAX : grid.file_bytes * kMostByZip + kSlack;
    case Codec::blosc:
      return grid.file_bytes > UINT64_MAX / kMostByBlosc - kSlack ? UINT64_MAX
                                                                  : grid.file_bytes * kMostByBlosc + kSlack;
  }
  return 0;
}

/// Reads a segment's header and the metadata behind it; gives the place of what follows the segment.
std::uint64_t read_segment(const GridBytes& file, std::uint64_t at, std::vector<StoredGrid>& out) {
  file.part(at, file::kHeaderBytes, "the header of a segment");
  const auto magic = file.get<std::uint64_t>(at);
  if (magic != kMagicOld && magic != kMagicFile) file.fail(at, "expected the magic number of NanoVDB files");
  const auto version = file.get<std::uint32_t>(at + file::kVersion);
  if (major_of(version) != kMajorVersion)
    file.fail(at + file::kVersion, "this file is of NanoVDB " + version_text(version) + ", expected version 32");
  const auto count = file.get<std::uint16_t>(at + file::kGridCount);
  const auto codec = file.get<std::uint16_t>(at + file::kCodec);
  if (codec > std::uint16_t(Codec::blosc))
    file.fail(at + file::kCodec, "codec " + std::to_string(codec) + ", expected 0 (none), 1 (zip) or 2 (blosc)");
  if (count == 0) file.fail(at + file::kGridCount, "expected a segment of at least one grid");
  at += file::kHeaderBytes;
  const std::size_t first = out.size();
  for (std::uint32_t k = 0; k < count; ++k) {
    file.part(at, file::kMetaBytes, "the metadata of a grid");
    StoredGrid grid;
    grid.bytes = file.get<std::uint64_t>(at + file::kGridBytes);
    grid.file_bytes = file.get<std::uint64_t>(at + file::kFileBytes);
    grid.type = file.get<std::uint32_t>(at + file::kType);
    grid.codec = Codec(codec);
    if (const auto own = file.get<std::uint16_t>(at + file::kMetaCodec); own != codec)
      file.fail(at + file::kMetaCodec, "the grid has codec " + std::to_string(own) +
                                           ", expected that of its segment, " + std::to_string(codec));
    if (grid.bytes < grid::kHeaderBytes + tree::kBytes)
      file.fail(at + file::kGridBytes, "a grid of " + std::to_string(grid.bytes) +
                                           " bytes is too small for its header, expected " +
                                           std::to_string(grid::kHeaderBytes + tree::kBytes) + " or more");
    if (grid.codec == Codec::none && grid.bytes != grid.file_bytes)
      file.fail(at + file::kFileBytes, "a grid that is not compressed has " + std::to_string(grid.file_bytes) +
                                           " bytes in the file and " + std::to_string(grid.bytes) +
                                           " in memory, expected the same");
    if (grid.bytes > most_bytes(grid))
      file.fail(at + file::kGridBytes, std::to_string(grid.file_bytes) + " compressed bytes can't hold the " +
                                           std::to_string(grid.bytes) + " that are stated, expected " +
                                           std::to_string(most_bytes(grid)) + " at most");
    const auto name_bytes = file.get<std::uint32_t>(at + file::kNameBytes);
    at += file::kMetaBytes;
    const auto name = file.part(at, name_bytes, "the name of a grid");
    grid.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    grid.name.resize(std::min(grid.name.find('\0'), grid.name.size()));
    at += name_bytes;
    out.push_back(std::move(grid));
  }
  for (std::size_t k = first; k < out.size(); ++k) {
    file.part(at, out[k].file_bytes, "a grid");
    out[k].at = at;
    at += out[k].file_bytes;
  }
  return at;
}

/// Grids as they lie in memory, one behind the other.
std::vector<StoredGrid> grids_in_memory(const GridBytes& file) {
  std::vector<StoredGrid> out;
  for (std::uint64_t at = 0; at < file.size();) {
    file.part(at, grid::kHeaderBytes, "the header of a grid");
    StoredGrid one;
    one.at = at;
    one.bytes = one.file_bytes = file.get<std::uint64_t>(at + grid::kBytes);
    one.type = file.get<std::uint32_t>(at + grid::kType);
    if (one.bytes < grid::kHeaderBytes + tree::kBytes)
      file.fail(at + grid::kBytes, "a grid of " + std::to_string(one.bytes) +
                                       " bytes is too small for its header, expected " +
                                       std::to_string(grid::kHeaderBytes + tree::kBytes) + " or more");
    file.part(at, one.bytes, "a grid");
    out.push_back(one);
    at += one.bytes;
  }
  return out;
}

void inflate_into(const GridBytes& file, std::uint64_t at, std::span<const std::byte> packed,
                  std::span<std::byte> out) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw runtime::OutOfMemory(out.size(), "zlib has no memory to inflate a grid");
  struct End {
    z_stream& stream;
    ~End() { inflateEnd(&stream); }
  } const end{stream};
  std::size_t in_used = 0, out_used = 0;
  constexpr std::size_t kStep = std::size_t(1) << 30;  // zlib counts in 32 bits
  int status = Z_OK;
  while (status == Z_OK) {
    const std::size_t in = std::min(kStep, packed.size() - in_used), room = std::min(kStep, out.size() - out_used);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + in_used));
    stream.avail_in = uInt(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + out_used);
    stream.avail_out = uInt(room);
    status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t taken = in - stream.avail_in, made = room - stream.avail_out;
    in_used += taken;
    out_used += made;
    if (status == Z_OK && taken == 0 && made == 0) status = Z_BUF_ERROR;
  }
  if (status == Z_STREAM_END && out_used == out.size()) return;
  if (status == Z_STREAM_END || (status == Z_BUF_ERROR && in_used == packed.size()))
    file.fail(at, "the compressed data end after " + std::to_string(out_used) + " bytes, expected " +
                      std::to_string(out.size()));
  if (status == Z_BUF_ERROR)
    file.fail(
        at, "the compressed data hold more than the stated " + std::to_string(out.size()) + " bytes, expected as many");
  file.fail(at + in_used, std::string("broken compressed data, expected a stream of zlib") +
                              (stream.msg ? std::string(": ") + stream.msg : ""));
}

}  // namespace

std::vector<StoredGrid> stored_grids(const GridBytes& file) {
  file.part(0, 8, "the magic number of NanoVDB files");
  if (file.get<std::uint64_t>(0) == kMagicGrid) return grids_in_memory(file);
  std::vector<StoredGrid> out;
  for (std::uint64_t at = 0; at < file.size();) at = read_segment(file, at, out);
  return out;
}

void unpack_grid(const GridBytes& file, const StoredGrid& grid, std::span<std::byte> out, const BloscUnpack& blosc) {
  const GridBytes packed = file.from(grid.at, grid.file_bytes, "a grid");
  if (grid.codec == Codec::none) {
    std::ranges::copy(packed.part(0, out.size(), "a grid"), out.begin());
    return;
  }
  if (grid.codec == Codec::blosc && !blosc)
    file.fail(grid.at,
              "this grid is compressed with Blosc, which takes the Python module 'blosc': it is not installed");
  std::uint64_t at = 0;
  for (std::size_t used = 0; used < out.size();) {
    packed.part(at, 8, "the length of compressed data");
    const auto length = packed.get<std::uint64_t>(at);
    at += 8;
    const auto block = packed.part(at, length, "compressed data");
    const auto room = out.subspan(used);
    if (grid.codec == Codec::zip) {
      inflate_into(packed, at, block, room);
      used = out.size();
    } else {
      const std::uint64_t made = blosc(block, room);
      if (made == 0 || made > room.size())
        packed.fail(at, "broken data: Blosc can't unpack them, expected at most " + std::to_string(room.size()) +
                            " bytes of its");
      used += std::size_t(made);
    }
    at += length;
  }
  if (at != packed.size())
    packed.fail(at,
                std::to_string(packed.size() - at) + " bytes are left over behind the compressed data, expected none");
}

}  // namespace weft::volume
