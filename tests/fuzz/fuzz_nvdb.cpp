// libFuzzer target: files and grids of NanoVDB. An input is the bytes of a file, or a list of changes to a good grid or
// file (grids are large, and most of their bytes mean nothing). Nothing may be read outside of the bytes; what passes the
// check is walked as kernels walk it, and every step must stay inside.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>
#include <vector>

#include "volume/grid.h"
#include "volume/grid_build.h"
#include "volume/grid_file.h"
#include "volume/grid_format.h"
#include "volume/place_table.h"

using namespace weft;
using namespace weft::volume;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::int32_t kVoxels[] = {0, 0, 0, 1, 2, 3, 9, 0, 0, 130, 5, 5};
constexpr GridType kTypes[] = {GridType::float32, GridType::vec3f,    GridType::int64,
                               GridType::vec4d,   GridType::on_index, GridType::index};

/// A good grid of a type, and the places of its words that are not zero.
struct Template {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> words;
  std::string plain, zipped;  // files of it
};

const Template& good_grid(GridType type) {
  static std::map<GridType, Template> made;
  Template& out = made[type];
  if (!out.bytes.empty()) return out;
  GridPlan plan;
  plan.type = type;
  plan.map = grid_map({1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0});
  plan.whole_tiles = type != GridType::on_index;
  const std::vector<std::byte> background(grid_layout(type)->value_bytes, std::byte(1));
  plan.background = background;
  const runtime::Array grid = build_grid(plan, kVoxels);
  const auto* first = static_cast<const std::byte*>(grid.data());
  out.bytes.assign(first, first + grid.size());
  for (std::uint32_t at = 0; at + 8 <= out.bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, out.bytes.data() + at, 8);
    if (word) out.words.push_back(at);
  }
  out.plain = file_of_grid(out.bytes, Codec::none, {});
  out.zipped = file_of_grid(out.bytes, Codec::zip, {});
  return out;
}

/// Changes of nine bytes each: where, what, and how.
void change(std::vector<std::byte>& bytes, const std::vector<std::uint32_t>& words, const std::uint8_t* data,
            std::size_t size) {
  for (; size >= 10; data += 10, size -= 10) {
    std::uint32_t where = 0;
    std::memcpy(&where, data, 3);
    std::uint64_t value = 0;
    std::memcpy(&value, data + 3, 6);
    if (bytes.size() < 8) return;
    const std::size_t at = data[9] & 1 && !words.empty() ? words[where % words.size()] : where % (bytes.size() - 7);
    if (at + 8 > bytes.size()) continue;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    if (data[9] & 2)
      word += std::uint64_t(std::int64_t(std::int16_t(value)));
    else if (data[9] & 4)
      word ^= value;
    else if (data[9] & 8)
      bytes.resize(at);
    else
      word = value;
    if (!(data[9] & 8)) std::memcpy(bytes.data() + at, &word, 8);
  }
}

/// Where a voxel's value is to be found: a leaf, or the value that stands for all voxels around it.
struct Place {
  std::uint64_t at = 0;
  bool leaf = false;
};

/// Goes the way of `_volume_place` (src/stdlib/volume.py), with a test of every address.
Place walk(std::span<const std::byte> grid, const GridFacts& facts, std::int32_t i, std::int32_t j, std::int32_t k) {
  const GridLayout& layout = *facts.layout;
  const auto load = [&](std::uint64_t at) {
    require(at <= grid.size() && grid.size() - at >= 8 && at % 8 == 0);
    std::uint64_t word;
    std::memcpy(&word, grid.data() + at, 8);
    return word;
  };
  const auto x = std::uint32_t(i), y = std::uint32_t(j), z = std::uint32_t(k);
  for (std::uint64_t tile = 0; tile < facts.tiles; ++tile) {
    const std::uint64_t at = facts.root + layout.root_bytes + tile * layout.tile_bytes;
    if (load(at) != tile_key(i, j, k)) continue;
    if (load(at + 8) == 0) return {at + layout.tile_value};
    const std::uint64_t upper = facts.root + load(at + 8);
    const std::uint64_t slot = (x & 0xf80) << 3 | (y & 0xf80) >> 2 | (z & 0xf80) >> 7;
    const std::uint64_t entry = upper + layout.upper_table + slot * layout.table_stride;
    if (!(load(upper + node::kUpperChildMask + slot / 64 * 8) >> slot % 64 & 1)) return load(entry), Place{entry};
    const std::uint64_t lower = upper + load(entry);
    const std::uint64_t inner = (x & 0x78) << 5 | (y & 0x78) << 1 | (z & 0x78) >> 3;
    const std::uint64_t place = lower + layout.lower_table + inner * layout.table_stride;
    if (!(load(lower + node::kLowerChildMask + inner / 64 * 8) >> inner % 64 & 1)) return load(place), Place{place};
    const std::uint64_t leaf = lower + load(place);
    require(leaf >= facts.first_leaf && leaf + layout.leaf_bytes <= grid.size());
    return {leaf, true};
  }
  return {facts.root + layout.background};
}

/// Every entry of the table leads where the walk does, or to an equal value.
void check_table(std::span<const std::byte> grid, const GridFacts& facts) {
  const PlaceTable table = place_table(grid, facts);
  const std::uint64_t value_bytes = facts.layout->value_bytes ? facts.layout->value_bytes : 8;
  std::size_t n = 0;
  if (table.entries.empty() || std::uint64_t(facts.tiles) * table.entries.size() > 1 << 20) return;
  for (std::uint32_t x = 0; x < table.extent[0]; ++x)
    for (std::uint32_t y = 0; y < table.extent[1]; ++y)
      for (std::uint32_t z = 0; z < table.extent[2]; ++z) {
        const std::uint32_t entry = table.entries[n++];
        const auto at = [&](std::size_t k, std::uint32_t part) { return (table.low[k] + std::int32_t(part)) * 8; };
        const Place place = walk(grid, facts, at(0, x), at(1, y), at(2, z));
        require(place.leaf == (entry < kOneValue));
        if (place.leaf) {
          require(place.at == std::uint64_t(entry) * 4);
          continue;
        }
        const std::uint64_t value = std::uint64_t(entry - kOneValue) * 4;
        require(value + value_bytes <= grid.size());
        require(std::memcmp(grid.data() + value, grid.data() + place.at, value_bytes) == 0);
      }
}

void check(std::span<const std::byte> grid) {
  try {
    const GridFacts facts = check_grid(GridBytes(grid, "fuzz"));
    if (!facts.layout) return;
    for (std::size_t n = 0; n + 2 < std::size(kVoxels); n += 3)
      walk(grid, facts, kVoxels[n], kVoxels[n + 1], kVoxels[n + 2]);
    const std::vector<std::int32_t> corners = tile_corners(grid, facts);
    for (std::size_t n = 0; n + 2 < corners.size(); n += 3)
      walk(grid, facts, corners[n], corners[n + 1], corners[n + 2]);
    check_table(grid, facts);
    if (facts.voxels < 1 << 20) voxel_places(grid, facts);
    const std::string file = file_of_grid(grid, Codec::none, {});
    require(stored_grids(GridBytes(std::as_bytes(std::span(file)), "fuzz")).size() == 1);
  } catch (const FormatError& error) {
    require(std::string_view(error.what()).find("byte ") != std::string_view::npos);  // says where
  }
}

void read(std::span<const std::byte> file) {
  try {
    const GridBytes bytes(file, "fuzz");
    for (const StoredGrid& grid : stored_grids(bytes)) {
      if (grid.bytes > 64 << 20) continue;
      std::vector<std::byte> room(grid.bytes);
      unpack_grid(bytes, grid, room, {});
      check(room);
    }
  } catch (const FormatError& error) {
    require(std::string_view(error.what()).find("byte ") != std::string_view::npos);  // says where
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Template& good = good_grid(kTypes[data[1] % std::size(kTypes)]);
  std::vector<std::byte> bytes;
  switch (data[0] % 4) {
    case 0: read(std::as_bytes(std::span(data + 2, size - 2))); break;
    case 1:
      bytes = good.bytes;
      change(bytes, good.words, data + 2, size - 2);
      check(bytes);
      break;
    default: {
      const std::string& file = data[0] % 4 == 2 ? good.plain : good.zipped;
      bytes.assign(reinterpret_cast<const std::byte*>(file.data()),
                   reinterpret_cast<const std::byte*>(file.data()) + file.size());
      change(bytes, {}, data + 2, size - 2);
      read(bytes);
    }
  }
  return 0;
}
