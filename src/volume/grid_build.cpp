// Builds in three steps: points become keys, in which tile of the root, slot of the upper node, slot of the lower node and
// voxel follow each other; sorted, each node is a run of keys; then nodes are written, level by level.
#include "volume/grid_build.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "volume/grid_format.h"

namespace weft::volume {

using runtime::Array;

namespace {

/// Turns the order of a tile's key into that of its coordinates, which have signs.
constexpr std::uint64_t kSigns = std::uint64_t(1) << 19 | std::uint64_t(1) << 40 | std::uint64_t(1) << 61;

/// Where a voxel lies in the tree: compares in the order of the nodes.
struct Key {
  std::uint64_t tile;   // the key of the root's tile, by kSigns
  std::uint64_t below;  // slots: 15 bits of the upper node, 12 of the lower one, 9 of the leaf
  auto operator<=>(const Key&) const = default;
  std::uint32_t upper_slot() const { return std::uint32_t(below >> 21); }
  std::uint32_t lower_slot() const { return std::uint32_t(below >> 9) & 4095; }
  std::uint32_t voxel() const { return std::uint32_t(below) & 511; }
  bool same_lower(const Key& other) const { return tile == other.tile && below >> 21 == other.below >> 21; }
  bool same_leaf(const Key& other) const { return tile == other.tile && below >> 9 == other.below >> 9; }
};

Key key_of(std::int32_t i, std::int32_t j, std::int32_t k) {
  const auto x = std::uint64_t(std::uint32_t(i)), y = std::uint64_t(std::uint32_t(j)),
             z = std::uint64_t(std::uint32_t(k));
  const std::uint64_t upper = (x >> 7 & 31) << 10 | (y >> 7 & 31) << 5 | (z >> 7 & 31);
  const std::uint64_t lower = (x >> 3 & 15) << 8 | (y >> 3 & 15) << 4 | (z >> 3 & 15);
  const std::uint64_t voxel = (x & 7) << 6 | (y & 7) << 3 | (z & 7);
  return {tile_key(i, j, k) ^ kSigns, upper << 21 | lower << 9 | voxel};
}

struct Box {
  std::array<std::int32_t, 3> low{INT32_MAX, INT32_MAX, INT32_MAX}, high{INT32_MIN, INT32_MIN, INT32_MIN};
  void take(const Box& other) {
    for (std::size_t k = 0; k < 3; ++k) {
      low[k] = std::min(low[k], other.low[k]);
      high[k] = std::max(high[k], other.high[k]);
    }
  }
};

std::array<std::int32_t, 3> place_of(const Key& key) {
  const std::uint32_t u = key.upper_slot(), l = key.lower_slot(), v = key.voxel();
  const std::uint64_t tile = key.tile ^ kSigns;
  return {std::int32_t(std::uint32_t(tile >> 42) << 12 | u >> 10 << 7 | l >> 8 << 3 | v >> 6),
          std::int32_t(std::uint32_t(tile >> 21) << 12 | (u >> 5 & 31) << 7 | (l >> 4 & 15) << 3 | (v >> 3 & 7)),
          std::int32_t(std::uint32_t(tile) << 12 | (u & 31) << 7 | (l & 15) << 3 | (v & 7))};
}

class Build {
 public:
  Build(const GridPlan& plan, std::vector<Key> keys)
      : plan_(plan), layout_(*grid_layout(plan.type)), keys_(std::move(keys)) {}

  /// No array, and bits in `status`, if the plan's room is too small.
  Array run(std::uint32_t& status) {
    count();
    const GridCounts room = plan_.room.value_or(GridCounts{voxels_, leaves_, lowers_, tiles_});
    status = status_of({voxels_, leaves_, lowers_, tiles_}, room);
    if (status != kGridBuilt) return {};
    offsets_ = grid_offsets(layout_, room);
    Array out = Array::zeros(types::scalar(ScalarKind::u8), {std::int64_t(offsets_.bytes)});
    at_ = static_cast<std::byte*>(out.data());
    const std::vector<std::byte> head = grid_head(plan_, offsets_);
    std::memcpy(at_, head.data(), head.size());
    counts();
    nodes(offsets_.root);
    return out;
  }

 private:
  template <class T>
  void put(std::uint64_t at, T value) {
    std::memcpy(at_ + at, &value, sizeof value);
  }
  void put_value(std::uint64_t at) { std::ranges::copy(plan_.background, at_ + at); }
  void put_box(std::uint64_t at, const Box& box) {
    for (std::size_t k = 0; k < 3; ++k) put(at + 4 * k, box.low[k]), put(at + 12 + 4 * k, box.high[k]);
  }
  void set_bit(std::uint64_t mask, std::uint32_t bit) { at_[mask + bit / 8] |= std::byte(1u << bit % 8); }

  void count() {
    for (std::size_t n = 0; n < keys_.size(); ++n) {
      const bool first = n == 0;
      tiles_ += first || keys_[n].tile != keys_[n - 1].tile;
      lowers_ += first || !keys_[n].same_lower(keys_[n - 1]);
      leaves_ += first || !keys_[n].same_leaf(keys_[n - 1]);
    }
    voxels_ = plan_.whole_tiles ? leaves_ * node::kVoxels : keys_.size();
    check_tiles(leaves_);
  }

  /// What the head says of what is there.
  void counts() {
    if (voxels_) put(grid::kFlags, grid::kIsBreadthFirst | grid::kHasBox);
    if (is_index_grid(plan_.type)) put(grid::kIndexedValues, voxels_ + 1);
    const std::uint64_t counts[] = {leaves_, lowers_, tiles_};
    for (std::uint64_t k = 0; k < 3; ++k) put(tree::kAt + tree::kCounts + 4 * k, std::uint32_t(counts[k]));
    put(tree::kAt + tree::kVoxels, voxels_);
    put(offsets_.root + node::kRootTiles, std::uint32_t(tiles_));
  }

  void nodes(std::uint64_t root) {
    Box all;
    std::uint64_t tile = offsets_.tiles, upper = offsets_.uppers, lower = offsets_.lowers, leaf = offsets_.leaves;
    for (std::size_t n = 0; n < keys_.size();) {
      const std::uint64_t key = keys_[n].tile;
      put(tile + node::kTileKey, key ^ kSigns);
      put(tile + node::kTileChild, upper - root);
      fill_table(upper + layout_.upper_table, node::kUpperSlots);
      Box in_upper;
      while (n < keys_.size() && keys_[n].tile == key) {
        const Key first = keys_[n];
        set_bit(upper + node::kUpperChildMask, first.upper_slot());
        put(upper + layout_.upper_table + std::uint64_t(first.upper_slot()) * layout_.table_stride, lower - upper);
        fill_table(lower + layout_.lower_table, node::kLowerSlots);
        Box in_lower;
        while (n < keys_.size() && keys_[n].same_lower(first)) {
          const std::uint32_t slot = keys_[n].lower_slot();
          set_bit(lower + node::kLowerChildMask, slot);
          put(lower + layout_.lower_table + std::uint64_t(slot) * layout_.table_stride, leaf - lower);
          in_lower.take(write_leaf(leaf, n));
          leaf += layout_.leaf_bytes;
        }
        put_box(lower + node::kBox, in_lower);
        in_upper.take(in_lower);
        lower += layout_.lower_bytes;
      }
      put_box(upper + node::kBox, in_upper);
      all.take(in_upper);
      upper += layout_.upper_bytes;
      tile += layout_.tile_bytes;
    }
    put_box(root + node::kRootBox, all);
    if (!keys_.empty()) world_box(all);
  }

  /// Entries that are no links are background; a link that is put later replaces it.
  void fill_table(std::uint64_t table, std::uint32_t slots) {
    if (is_index_grid(plan_.type) ||
        std::all_of(plan_.background.begin(), plan_.background.end(), [](std::byte b) { return b == std::byte(0); }))
      return;
    for (std::uint64_t slot = 0; slot < slots; ++slot) put_value(table + slot * layout_.table_stride);
  }

  /// The leaf of the keys from n on; n becomes that of the next leaf.
  Box write_leaf(std::uint64_t leaf, std::size_t& n) {
    const Key first = keys_[n];
    const std::uint64_t first_index = index_;
    Box box;
    if (plan_.whole_tiles) {
      box.low = place_of({first.tile, first.below & ~std::uint64_t(511)});
      for (std::size_t k = 0; k < 3; ++k) box.high[k] = box.low[k] + 7;
      std::memset(at_ + leaf + node::kLeafMask, 0xff, node::kVoxels / 8);
      while (n < keys_.size() && keys_[n].same_leaf(first)) ++n;
      index_ += node::kVoxels;
    } else {
      for (; n < keys_.size() && keys_[n].same_leaf(first); ++n, ++index_) {
        const std::array<std::int32_t, 3> at = place_of(keys_[n]);
        box.take({at, at});
        set_bit(leaf + node::kLeafMask, keys_[n].voxel());
      }
    }
    for (std::size_t k = 0; k < 3; ++k) {
      put(leaf + node::kLeafBox + 4 * k, box.low[k]);
      put(leaf + node::kLeafExtent + k, std::uint8_t(box.high[k] - box.low[k]));
    }
    put(leaf + node::kLeafFlags, std::uint8_t(2));  // it has a box
    if (is_index_grid(plan_.type)) {
      put(leaf + node::kLeafFirst, first_index);
      put(leaf + node::kLeafPrefix, is_on_index_grid(plan_.type) ? prefix_of(leaf) : 0);
    } else {
      for (std::uint64_t v = 0; v < node::kVoxels; ++v) put_value(leaf + layout_.leaf_table + v * layout_.value_bytes);
    }
    return box;
  }

  std::uint64_t prefix_of(std::uint64_t leaf) const {
    std::uint64_t prefix = 0, sum = 0;
    for (std::uint64_t word = 0; word < 7; ++word) {
      std::uint64_t bits;
      std::memcpy(&bits, at_ + leaf + node::kLeafMask + 8 * word, 8);
      sum += std::uint64_t(std::popcount(bits));
      prefix |= sum << (9 * word);
    }
    return prefix;
  }

  void world_box(const Box& box) {
    std::array<double, 3> low, high;
    low.fill(HUGE_VAL), high.fill(-HUGE_VAL);
    for (int corner = 0; corner < 8; ++corner) {
      double at[3];
      for (int k = 0; k < 3; ++k)
        at[k] = corner >> k & 1 ? double(box.high[std::size_t(k)]) + 1 : double(box.low[std::size_t(k)]);
      for (std::size_t k = 0; k < 3; ++k) {
        const double* row = &plan_.map.matrix[3 * k];
        // Fused by name: a GPU's kernel gives the same bits.
        const double world =
            std::fma(row[0], at[0], std::fma(row[1], at[1], std::fma(row[2], at[2], plan_.map.translation[k])));
        low[k] = std::min(low[k], world), high[k] = std::max(high[k], world);
      }
    }
    for (std::size_t k = 0; k < 3; ++k)
      put(grid::kWorldBox + 8 * k, low[k]), put(grid::kWorldBox + 24 + 8 * k, high[k]);
  }

  const GridPlan& plan_;
  const GridLayout& layout_;
  std::vector<Key> keys_;
  std::uint64_t tiles_ = 0, lowers_ = 0, leaves_ = 0, voxels_ = 0;
  GridOffsets offsets_;
  std::uint64_t index_ = 1;
  std::byte* at_ = nullptr;
};

}  // namespace

GridMap grid_map(const std::array<double, 9>& m, const std::array<double, 3>& translation) {
  GridMap map{m, {}, translation};
  const auto minor = [&](std::size_t r, std::size_t c) {
    const std::size_t r0 = (r + 1) % 3, r1 = (r + 2) % 3, c0 = (c + 1) % 3, c1 = (c + 2) % 3;
    return m[r0 * 3 + c0] * m[r1 * 3 + c1] - m[r0 * 3 + c1] * m[r1 * 3 + c0];
  };
  const double determinant = m[0] * minor(0, 0) + m[1] * minor(0, 1) + m[2] * minor(0, 2);
  if (!(std::abs(determinant) > 0) || !std::isfinite(determinant) || !std::isfinite(1 / determinant))
    throw runtime::ArgumentError("the transform of a Volume must be one that can be inverted");
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c) map.inverse[r * 3 + c] = minor(c, r) / determinant;
  return map;
}

std::uint32_t status_of(const GridCounts& counts, const GridCounts& room) {
  return (counts.leaves > room.leaves ? kTooManyLeaves : 0u) | (counts.lowers > room.lowers ? kTooManyLowers : 0u) |
         (counts.uppers > room.uppers ? kTooManyUppers : 0u) | (counts.voxels > room.voxels ? kTooManyVoxels : 0u);
}

void check_tiles(std::uint64_t tiles) {
  if (tiles > INT32_MAX / node::kVoxels)
    throw runtime::ArgumentError(std::to_string(tiles) + " tiles are more than a Volume holds: indices have 32 bits");
}

GridOffsets grid_offsets(const GridLayout& layout, const GridCounts& room) {
  GridOffsets out;
  out.root = grid::kHeaderBytes + tree::kBytes;
  out.tiles = out.root + layout.root_bytes;
  out.uppers = out.tiles + room.uppers * layout.tile_bytes;
  out.lowers = out.uppers + room.uppers * layout.upper_bytes;
  out.leaves = out.lowers + room.lowers * layout.lower_bytes;
  out.bytes = out.leaves + room.leaves * layout.leaf_bytes;
  return out;
}

std::array<double, 3> voxel_size_of(const GridMap& map) {
  std::array<double, 3> out;
  for (std::size_t k = 0; k < 3; ++k) out[k] = std::hypot(map.matrix[k], map.matrix[k + 3], map.matrix[k + 6]);
  return out;
}

std::vector<std::byte> grid_head(const GridPlan& plan, const GridOffsets& offsets) {
  const GridLayout& layout = *grid_layout(plan.type);
  std::vector<std::byte> out(std::size_t(offsets.tiles));
  const auto put = [&](std::uint64_t at, auto value) { std::memcpy(out.data() + at, &value, sizeof value); };
  put(0, kMagicOld);
  put(grid::kChecksum, kNoChecksum);
  put(grid::kVersion, kWrittenVersion);
  put(grid::kFlags, grid::kIsBreadthFirst);
  put(grid::kCount, std::uint32_t(1));
  put(grid::kBytes, offsets.bytes);
  const GridMap& map = plan.map;
  for (std::size_t k = 0; k < 9; ++k) {
    put(grid::kMap + grid::kMatrixF + 4 * k, float(map.matrix[k]));
    put(grid::kMap + grid::kInverseF + 4 * k, float(map.inverse[k]));
    put(grid::kMap + grid::kMatrixD + 8 * k, map.matrix[k]);
    put(grid::kMap + grid::kInverseD + 8 * k, map.inverse[k]);
  }
  put(grid::kMap + grid::kTaperF, 1.0f);
  put(grid::kMap + grid::kTaperD, 1.0);
  const std::array<double, 3> voxel_size = voxel_size_of(map);
  for (std::size_t k = 0; k < 3; ++k) {
    put(grid::kMap + grid::kVectorF + 4 * k, float(map.translation[k]));
    put(grid::kMap + grid::kVectorD + 8 * k, map.translation[k]);
    put(grid::kVoxelSize + 8 * k, voxel_size[k]);
  }
  put(grid::kClass, std::uint32_t(is_index_grid(plan.type) ? 8 : 0));
  put(grid::kType, std::uint32_t(plan.type));
  put(grid::kFeatures, offsets.bytes);
  const std::uint64_t firsts[] = {offsets.leaves, offsets.lowers, offsets.uppers, offsets.root};
  for (std::uint64_t k = 0; k < 4; ++k) put(tree::kAt + tree::kOffsets + 8 * k, firsts[k] - tree::kAt);
  for (std::uint64_t k = 0; k < 3; ++k) {
    put(offsets.root + node::kRootBox + 4 * k, INT32_MAX);
    put(offsets.root + node::kRootBox + 12 + 4 * k, INT32_MIN);
  }
  std::ranges::copy(plan.background, out.data() + offsets.root + layout.background);
  return out;
}

std::vector<std::int32_t> voxels_of_places(const GridMap& map, std::span<const float> places) {
  std::vector<std::int32_t> out(places.size());
  for (std::size_t n = 0; n + 2 < places.size(); n += 3) {
    double at[3];
    for (std::size_t k = 0; k < 3; ++k) at[k] = double(places[n + k]) - map.translation[k];
    for (std::size_t k = 0; k < 3; ++k) {
      const double* row = &map.inverse[3 * k];
      const double index = std::floor(std::fma(row[0], at[0], std::fma(row[1], at[1], row[2] * at[2])) + 0.5);
      if (!(std::abs(index) < kMostIndex)) throw runtime::ArgumentError(kBadPlaces);
      out[n + k] = std::int32_t(index);
    }
  }
  return out;
}

Array build_grid_within(const GridPlan& plan, std::span<const std::int32_t> points, std::uint32_t& status) {
  const std::size_t count = points.size() / 3;
  std::vector<Key> keys(count);
  for (std::size_t n = 0; n < count; ++n) {
    keys[n] = key_of(points[3 * n], points[3 * n + 1], points[3 * n + 2]);
    if (plan.whole_tiles) keys[n].below &= ~std::uint64_t(511);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return Build(plan, std::move(keys)).run(status);
}

Array build_grid(const GridPlan& plan, std::span<const std::int32_t> points) {
  std::uint32_t status = kGridBuilt;
  GridPlan exact = plan;
  exact.room.reset();
  return build_grid_within(exact, points, status);
}

}  // namespace weft::volume
