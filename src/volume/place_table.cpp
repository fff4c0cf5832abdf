// Fills from above: the background, values of the root's tiles, of upper and of lower nodes, leaves. What lies outside of the box is
// passed by.
#include "volume/place_table.h"

#include <algorithm>
#include <cstring>

#include "volume/grid_format.h"

namespace weft::volume {

namespace {

using Place = std::array<std::int32_t, 3>;

/// Places from `low` on, up to `high` without it.
struct Range {
  Place low, high;
  Range within(const Place& corner, std::int32_t places) const {
    Range out;
    for (std::size_t k = 0; k < 3; ++k) {
      out.low[k] = std::max(low[k], corner[k]);
      out.high[k] = std::min(high[k], corner[k] + places);
    }
    return out;
  }
  bool empty() const { return low[0] >= high[0] || low[1] >= high[1] || low[2] >= high[2]; }
};

class Fill {
 public:
  Fill(std::span<const std::byte> grid, const GridFacts& facts, PlaceTable& out)
      : grid_(grid), facts_(facts), layout_(*facts.layout), out_(out) {
    box_.low = out.low;
    for (std::size_t k = 0; k < 3; ++k) box_.high[k] = out.low[k] + std::int32_t(out.extent[k]);
  }

  void run() {
    const std::uint64_t background = facts_.root + layout_.background;
    const std::size_t places = std::size_t(out_.extent[0]) * out_.extent[1] * out_.extent[2];
    out_.entries.assign(std::max<std::size_t>(places, 1), entry_of(background));
    if (places == 0) return;
    for (std::uint64_t t = 0; t < facts_.tiles; ++t) {
      const std::uint64_t tile = facts_.root + layout_.root_bytes + t * layout_.tile_bytes;
      const auto key = get<std::uint64_t>(tile + node::kTileKey);
      const std::int32_t i = coordinate(key >> 42), j = coordinate(key >> 21), k = coordinate(key);
      // Keys have room for more tiles than there are; those are not found by anybody.
      if (tile_key(i, j, k) != key) continue;
      const Place corner{i >> 3, j >> 3, k >> 3};
      const auto child = get<std::uint64_t>(tile + node::kTileChild);
      if (child)
        upper(facts_.root + child, corner);
      else
        put(box_.within(corner, kTilePlaces), tile + layout_.tile_value);
    }
  }

 private:
  static constexpr std::int32_t kLowerPlaces = 16, kTilePlaces = 512;
  static std::int32_t coordinate(std::uint64_t bits) { return std::int32_t(std::uint32_t(bits) << 12); }
  static std::uint32_t entry_of(std::uint64_t value) { return kOneValue | std::uint32_t(value / 4); }

  template <class T>
  T get(std::uint64_t at) const {
    T value;
    std::memcpy(&value, grid_.data() + at, sizeof value);
    return value;
  }
  bool has_child(std::uint64_t mask, std::uint32_t slot) const {
    return get<std::uint64_t>(mask + slot / 64 * 8) >> (slot % 64) & 1;
  }
  /// Most values that stand for many voxels are the background: entries lead to one place for all of them, which stays in caches.
  bool is_background(std::uint64_t value) const {
    const std::size_t bytes = layout_.value_bytes ? layout_.value_bytes : sizeof(std::uint64_t);
    return std::memcmp(grid_.data() + value, grid_.data() + facts_.root + layout_.background, bytes) == 0;
  }

  std::uint32_t* row(std::int32_t i, std::int32_t j) {
    const auto x = std::size_t(i - box_.low[0]), y = std::size_t(j - box_.low[1]);
    return out_.entries.data() + (x * out_.extent[1] + y) * out_.extent[2];
  }

  void put(const Range& range, std::uint64_t value) {
    if (range.empty() || is_background(value)) return;
    for (std::int32_t i = range.low[0]; i < range.high[0]; ++i)
      for (std::int32_t j = range.low[1]; j < range.high[1]; ++j)
        std::fill(row(i, j) + (range.low[2] - box_.low[2]), row(i, j) + (range.high[2] - box_.low[2]), entry_of(value));
  }

  void upper(std::uint64_t at, const Place& corner) {
    const Range in = box_.within(corner, kTilePlaces);
    if (in.empty()) return;
    Place from, to;
    for (std::size_t k = 0; k < 3; ++k) {
      from[k] = (in.low[k] - corner[k]) / kLowerPlaces;
      to[k] = (in.high[k] - corner[k] - 1) / kLowerPlaces;
    }
    for (std::int32_t x = from[0]; x <= to[0]; ++x)
      for (std::int32_t y = from[1]; y <= to[1]; ++y)
        for (std::int32_t z = from[2]; z <= to[2]; ++z) {
          const auto slot = std::uint32_t(x << 10 | y << 5 | z);
          const std::uint64_t entry = at + layout_.upper_table + std::uint64_t(slot) * layout_.table_stride;
          const Place inner{corner[0] + x * kLowerPlaces, corner[1] + y * kLowerPlaces, corner[2] + z * kLowerPlaces};
          if (has_child(at + node::kUpperChildMask, slot))
            lower(at + get<std::uint64_t>(entry), inner);
          else
            put(box_.within(inner, kLowerPlaces), entry);
        }
  }

  void lower(std::uint64_t at, const Place& corner) {
    const Range in = box_.within(corner, kLowerPlaces);
    for (std::int32_t i = in.low[0]; i < in.high[0]; ++i)
      for (std::int32_t j = in.low[1]; j < in.high[1]; ++j) {
        std::uint32_t* to = row(i, j) - box_.low[2];
        const auto along = std::uint32_t((i - corner[0]) << 8 | (j - corner[1]) << 4);
        for (std::int32_t k = in.low[2]; k < in.high[2]; ++k) {
          const std::uint32_t slot = along | std::uint32_t(k - corner[2]);
          const std::uint64_t entry = at + layout_.lower_table + std::uint64_t(slot) * layout_.table_stride;
          if (has_child(at + node::kLowerChildMask, slot))
            to[k] = std::uint32_t((at + get<std::uint64_t>(entry)) / 4);
          else if (!is_background(entry))
            to[k] = entry_of(entry);
        }
      }
  }

  const std::span<const std::byte> grid_;
  const GridFacts& facts_;
  const GridLayout& layout_;
  PlaceTable& out_;
  Range box_;
};

}  // namespace

std::uint64_t most_places(std::uint64_t grid_bytes) {
  // A table has 4 bytes a place. Below this, or below so small a part of the grid, neither its memory nor the time to make it matters.
  constexpr std::uint64_t kSmall = 1 << 16, kGridBytesPerPlace = 64;
  return std::max(kSmall, grid_bytes / kGridBytesPerPlace);
}

PlaceTable place_table(std::span<const std::byte> grid, const GridFacts& facts) {
  // Offsets count words in 31 bits. At the ends of space neighbours lie at the other end, which no box has in it.
  constexpr std::uint64_t kMostBytes = std::uint64_t(1) << 33;
  constexpr std::int32_t kEnd = 1 << 28;
  PlaceTable out;
  if (!facts.layout) return out;
  const auto without = [&] {
    Fill(grid, facts, out).run();
    return out;
  };
  if (facts.leaves == 0 || facts.bytes > kMostBytes) return without();
  const std::vector<std::int32_t> corners = tile_corners(grid, facts);
  Place low, high;
  for (std::size_t k = 0; k < 3; ++k) low[k] = high[k] = corners[k] >> 3;
  for (std::size_t n = 0; n < corners.size(); ++n) {
    low[n % 3] = std::min(low[n % 3], corners[n] >> 3);
    high[n % 3] = std::max(high[n % 3], corners[n] >> 3);
  }
  std::uint64_t places = 1;
  const std::uint64_t most = most_places(facts.bytes);
  std::array<std::uint32_t, 3> extent;
  for (std::size_t k = 0; k < 3; ++k) {
    if (low[k] <= -kEnd || high[k] + 1 >= kEnd) return without();
    low[k] -= 1;
    extent[k] = std::uint32_t(high[k] - low[k] + 2);
    places *= extent[k];
    if (places > most) return without();
  }
  out.low = low;
  out.extent = extent;
  Fill(grid, facts, out).run();
  return out;
}

}  // namespace weft::volume
